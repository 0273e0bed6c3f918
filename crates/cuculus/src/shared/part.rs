//! A part of the keys: anybody reads it, one thread at a time changes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::FullCause;
use crate::elastic::part::{Division, Part, PartKey};
use crate::elastic::published::{Guard, Place, Published, pin};
use crate::elastic::writing::{Prepared, Writing};
use crate::table::OutOfMemory;

/// Keys of a batch whose segments are prefetched at a time.
pub(super) const TOGETHER: usize = 8;

/// What readers read is on other cache lines than the lock, which they would otherwise wait for.
#[derive(Default)]
pub(super) struct SharedPart {
    published: Lines<Published>,
    writing: Lines<Mutex<Writing>>,
}

/// Two cache lines, since processors fetch them in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Lines<T>(T);

/// The thread that changes a part.
pub(super) struct Writer<'a> {
    writing: MutexGuard<'a, Writing>,
    published: &'a Published,
}

impl Writer<'_> {
    /// A part of its own with the same keys.
    pub(super) fn copy(&self) -> Result<Part, OutOfMemory> {
        self.writing.copy()
    }

    /// Changes the part; what has changed is visible to all others then. If it panics nothing is, and
    /// the part is not changed any more.
    #[inline(always)]
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Writing) -> T) -> T {
        self.writing.begin();
        let result = change(&mut self.writing);
        self.writing.publish(self.published);
        result
    }

    #[inline(always)]
    fn insert(&mut self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        if self.writing.insert_shown(key, division) {
            return Ok(());
        }
        self.insert_slowly(key, division)
    }

    #[inline(never)]
    fn insert_slowly(&mut self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        self.change(|part| part.insert(key, division))
    }

    #[inline(always)]
    fn insert_absent(&mut self, key: PartKey, division: &Division) -> Result<bool, FullCause> {
        let is_absent = !self.writing.contains(key);
        if is_absent {
            self.insert(key, division)?;
        }
        Ok(is_absent)
    }

    #[inline(always)]
    fn remove(&mut self, key: PartKey, division: &Division) -> bool {
        self.writing.remove_shown(key, division) || self.remove_slowly(key, division)
    }

    #[inline(never)]
    fn remove_slowly(&mut self, key: PartKey, division: &Division) -> bool {
        self.change(|part| part.remove(key, division))
    }
}

impl SharedPart {
    pub(super) fn new(part: &Part) -> Result<Self, OutOfMemory> {
        let prepared = Prepared::new(part)?;
        let mut writing = Writing::default();
        writing.set(prepared);
        let published = Published::default();
        writing.publish(&published);
        Ok(Self { published: Lines(published), writing: Lines(Mutex::new(writing)) })
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.look(Writing::is_broken)
    }

    /// `WIDE` if the processor has the wider instructions.
    #[inline(always)]
    pub(super) fn contains<const WIDE: bool>(&self, key: PartKey, pinned: &Guard) -> bool {
        let found = self.published.0.contains::<WIDE>(key, pinned);
        found.unwrap_or_else(|| self.contains_with_lock(key, pinned))
    }

    #[cold]
    #[inline(never)]
    fn contains_with_lock(&self, key: PartKey, pinned: &Guard) -> bool {
        self.with_lock(|part| part.contains::<false>(key, pinned), true)
    }

    /// Where a key is looked for.
    #[inline(always)]
    pub(super) fn place<'a>(&'a self, key: PartKey, pinned: &'a Guard) -> Option<Place<'a>> {
        self.published.0.place(key, pinned)
    }

    pub(super) fn count(&self, key: PartKey) -> usize {
        let count = self.published.0.count(key);
        count.unwrap_or_else(|| self.with_lock(|part| part.count(key), 1))
    }

    /// Asks again while nothing changes: there is an answer then.
    #[cold]
    fn with_lock<T>(&self, ask: impl Fn(&Published) -> Option<T>, other: T) -> T {
        let _held = self.writing.0.lock().unwrap_or_else(PoisonError::into_inner);
        ask(&self.published.0).unwrap_or(other)
    }

    #[inline(always)]
    pub(super) fn write(&self) -> Result<Writer<'_>, FullCause> {
        let writing = self.writing.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writing.is_broken() {
            return Err(FullCause::Poisoned);
        }
        Ok(Writer { writing, published: &self.published.0 })
    }

    #[inline(always)]
    pub(super) fn insert(&self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        self.write()?.insert(key, division)
    }

    pub(super) fn insert_absent(
        &self,
        key: PartKey,
        division: &Division,
    ) -> Result<bool, FullCause> {
        self.write()?.insert_absent(key, division)
    }

    #[inline(always)]
    pub(super) fn remove(&self, key: PartKey, division: &Division) -> bool {
        self.write().is_ok_and(|mut part| part.remove(key, division))
    }

    pub(super) fn clear(&self) {
        if let Ok(mut part) = self.write() {
            part.change(Writing::clear);
        }
    }

    /// Inserts keys in turn, up to the first that is refused; counts those that went in.
    pub(super) fn insert_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        inserted: &mut usize,
    ) -> Result<(), FullCause> {
        let mut part = self.write()?;
        for group in self.prefetched(keys) {
            for &(_, key) in group {
                part.insert(key, division)?;
                *inserted += 1;
            }
        }
        Ok(())
    }

    /// Inserts keys that are not contained, up to the first that is refused, and says of each
    /// whether it was inserted.
    pub(super) fn insert_absent_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) -> Result<(), FullCause> {
        let mut part = self.write()?;
        for group in self.prefetched(keys) {
            for &(at, key) in group {
                each(at, part.insert_absent(key, division)?);
            }
        }
        Ok(())
    }

    /// Removes keys, and says of each whether it was there.
    pub(super) fn remove_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) {
        let Ok(mut part) = self.write() else { return };
        for group in self.prefetched(keys) {
            group.iter().for_each(|&(at, key)| each(at, part.remove(key, division)));
        }
    }

    /// Keys in groups whose segments are on their way.
    fn prefetched<'a>(
        &'a self,
        keys: &'a [(u32, PartKey)],
    ) -> impl Iterator<Item = &'a [(u32, PartKey)]> {
        keys.chunks(TOGETHER).inspect(|group| {
            let pinned = pin();
            group.iter().for_each(|&(_, key)| _ = self.place(key, &pinned));
        })
    }

    /// A copy of the part as it is at some moment; after a panic as it was before.
    pub(super) fn copy(&self) -> Result<Part, FullCause> {
        let writing = self.writing.0.lock().unwrap_or_else(PoisonError::into_inner);
        if writing.is_broken() {
            return writing.copy_published(&self.published.0);
        }
        writing.copy().map_err(|_| FullCause::OutOfMemory)
    }

    /// Figures of the part. After a panic those of what was about to be.
    pub(super) fn look<T>(&self, figure: impl FnOnce(&Writing) -> T) -> T {
        figure(&self.writing.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All memory outside of the part itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.published.0.heap_bytes() + self.look(Writing::heap_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use crate::{Filter as _, FullCause, SharedFilter};

    /// Whatever a writer that panics has begun, others see nothing of it, and are told.
    #[test]
    fn a_part_is_read_but_not_changed_after_a_panic() {
        let filter = SharedFilter::builder().parts(2).seed(1).build().expect("valid");
        for key in 0..10_000u64 {
            filter.insert(&key).expect("room");
        }
        let before = filter.keys_of_parts();
        let part = &filter.shared.parts[0];
        let division = &filter.shared.division;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            part.write().expect("whole").change(|writing| {
                for key in 20_000..26_000u64 {
                    let (at, key) = division.locate(filter.hasher().hash(&key));
                    if at == 0 {
                        writing.insert(key, division).expect("room");
                    }
                }
                panic!("in the middle of a change");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!((filter.poisoned_parts(), filter.stats().poisoned_parts), (1, 1));
        let (mut refused, mut inserted) = (0, 0);
        for key in 0..10_000u64 {
            assert!(filter.contains(&key) && filter.count(&key) >= 1, "{key}");
            let is_poisoned = filter.shared.division.locate(filter.hasher().hash(&key)).0 == 0;
            match filter.insert(&key) {
                Ok(()) => inserted += 1,
                Err(full) => {
                    assert_eq!(full.cause, FullCause::Poisoned);
                    assert!(full.to_string().contains("panicked"), "{full}");
                    refused += 1;
                }
            }
            assert_eq!(filter.remove(&key), !is_poisoned);
        }
        assert!(refused > 4000 && inserted > 4000, "{refused} {inserted}");
        let found = (20_000..26_000u64).filter(|key| filter.contains(key)).count();
        assert!(found < 200, "{found} keys of a change that was never done");
        // What is left can be saved, and goes on as another filter.
        assert_eq!(filter.keys_of_parts(), before);
        let saved = filter.snapshot();
        assert_eq!(saved.len(), 10_000);
        let again = SharedFilter::from(saved);
        assert!((0..10_000u64).all(|key| again.remove(&key)) && again.is_empty());
    }

    /// A reader may see the end of a group as it was and its beginning as it will be. The number of its
    /// slots was then negative, and a product of it overflowed, which is a panic where overflows are checked.
    #[test]
    fn groups_that_end_before_they_begin_are_not_read() {
        let filter = SharedFilter::builder().parts(1).seed(1).build().expect("valid");
        (0..2000u64).for_each(|key| filter.insert(&key).expect("room"));
        let (at, key) = filter.shared.division.locate(filter.hasher().hash(&7u64));
        let part = &filter.shared.parts[at];
        let _writer = part.write().expect("whole");
        assert!(!part.published.0.reads_torn_groups(key));
    }

    /// A lookup that meets a writer in the middle of a change waits for it, and for no other part.
    #[test]
    fn a_lookup_waits_for_a_writer_that_was_stopped() {
        let filter = SharedFilter::builder().parts(2).seed(1).build().expect("valid");
        (0..2000u64).for_each(|key| filter.insert(&key).expect("room"));
        let located = |key: u64| filter.shared.division.locate(filter.hasher().hash(&key));
        let (at, key) = located(7);
        let part = &filter.shared.parts[at];
        let (is_asked, is_answered) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let writer = part.write().expect("whole");
            part.published.0.while_changed(key, || {
                assert_eq!(part.published.0.contains::<false>(key, &super::pin()), None);
                assert_eq!(part.published.0.count(key), None);
                let other = (0..2000u64).find(|&key| located(key).0 != at).expect("two parts");
                assert!(filter.contains(&other) && filter.count(&other) > 0);
                scope.spawn(|| {
                    is_asked.store(true, Ordering::SeqCst);
                    assert!(filter.contains(&7u64) && filter.count(&7u64) > 0);
                    is_answered.store(true, Ordering::SeqCst);
                });
                while !is_asked.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                thread::sleep(Duration::from_millis(20));
                assert!(!is_answered.load(Ordering::SeqCst), "an answer from half a change");
            });
            drop(writer);
        });
        assert!(is_answered.into_inner());
    }

    impl SharedFilter {
        /// The number of keys in each part, as readers see them.
        fn keys_of_parts(&self) -> Vec<usize> {
            let parts = self.shared.parts.iter();
            parts.map(|part| part.copy().expect("memory").len()).collect()
        }
    }
}
