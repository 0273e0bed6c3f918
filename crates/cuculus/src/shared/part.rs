//! A part of the keys behind a lock: any number of threads read it, or one changes it, with the code
//! of the elastic filter.

use super::gate::{Gate, Poisoned, Writing};
use crate::FullCause;
use crate::elastic::part::{Division, Part, PartKey};
use crate::table::OutOfMemory;

/// Keys of a batch that are prefetched at a time.
const TOGETHER: usize = 8;
/// Keys of a batch whose answers are noted at a time.
const NOTED: usize = 64;

/// Two cache lines, since processors fetch them in pairs: who changes one part makes nobody wait who
/// reads another.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct SharedPart(Gate<Part>);

/// The thread that changes a part.
pub(super) struct Writer<'a> {
    part: Writing<'a, Part>,
    division: &'a Division,
}

impl Writer<'_> {
    /// A part of its own with the same keys.
    pub(super) fn copy(&self) -> Result<Part, OutOfMemory> {
        self.part.try_clone()
    }

    /// Replaces all keys.
    pub(super) fn set(&mut self, part: Part) {
        *self.part = part;
    }

    fn insert(&mut self, key: PartKey) -> Result<(), FullCause> {
        self.part.insert(key, self.division)
    }

    fn insert_absent(&mut self, key: PartKey) -> Result<bool, FullCause> {
        let is_absent = !self.part.contains(key, self.division);
        if is_absent {
            self.insert(key)?;
        }
        Ok(is_absent)
    }

    fn remove(&mut self, key: PartKey) -> bool {
        self.part.remove(key, self.division)
    }

    /// Does something with each key, up to the first error; what they need is on its way.
    fn each<T>(
        &mut self,
        keys: &[(T, PartKey)],
        mut change: impl FnMut(&mut Self, &(T, PartKey)) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        for group in keys.chunks(TOGETHER) {
            self.part.prefetch(group);
            group.iter().try_for_each(|key| change(self, key))?;
        }
        Ok(())
    }
}

impl SharedPart {
    pub(super) fn new(part: Part) -> Self {
        Self(Gate::new(part))
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// Nobody knows what a panic has left: any key may be there then.
    #[inline]
    pub(super) fn contains(&self, key: PartKey, division: &Division) -> bool {
        self.0.read().map_or(true, |part| part.contains(key, division))
    }

    /// Looks up some keys, and says of each whether it may be there.
    pub(super) fn contains_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) {
        let part = self.0.read();
        for keys in keys.chunks(NOTED) {
            let mut hits = [part.is_err(); NOTED];
            if let Ok(part) = &part {
                part.contains_batch(keys, division, &mut hits[..keys.len()]);
            }
            keys.iter().zip(hits).for_each(|(&(at, _), hit)| each(at, hit));
        }
    }

    /// As [`contains`](Self::contains).
    pub(super) fn count(&self, key: PartKey) -> usize {
        self.0.read().map_or(1, |part| part.count(key))
    }

    #[inline(always)]
    pub(super) fn write<'a>(&'a self, division: &'a Division) -> Result<Writer<'a>, FullCause> {
        let part = self.0.write().map_err(|_| FullCause::Poisoned)?;
        Ok(Writer { part, division })
    }

    #[inline]
    pub(super) fn insert(&self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        self.write(division)?.insert(key)
    }

    pub(super) fn insert_absent(
        &self,
        key: PartKey,
        division: &Division,
    ) -> Result<bool, FullCause> {
        self.write(division)?.insert_absent(key)
    }

    #[inline]
    pub(super) fn remove(&self, key: PartKey, division: &Division) -> bool {
        self.write(division).is_ok_and(|mut part| part.remove(key))
    }

    pub(super) fn clear(&self, division: &Division) {
        if let Ok(mut part) = self.write(division) {
            part.set(Part::default());
        }
    }

    /// Inserts keys in turn, up to the first that is refused; counts those that went in.
    pub(super) fn insert_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        inserted: &mut usize,
    ) -> Result<(), FullCause> {
        self.write(division)?.each(keys, |part, &(_, key)| {
            part.insert(key)?;
            *inserted += 1;
            Ok(())
        })
    }

    /// Inserts keys that are not contained, up to the first that is refused, and says of each
    /// whether it was inserted.
    pub(super) fn insert_absent_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) -> Result<(), FullCause> {
        self.write(division)?.each(keys, |part, &(at, key)| {
            each(at, part.insert_absent(key)?);
            Ok(())
        })
    }

    /// Removes keys, and says of each whether it was there.
    pub(super) fn remove_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) -> Result<(), FullCause> {
        self.write(division)?.each(keys, |part, &(at, key)| {
            each(at, part.remove(key));
            Ok(())
        })
    }

    /// A copy of the part as it is at some moment.
    pub(super) fn copy(&self) -> Result<Part, FullCause> {
        let part = self.0.read().map_err(|_| FullCause::Poisoned)?;
        part.try_clone().map_err(|_| FullCause::OutOfMemory)
    }

    /// Figures of the part. After a panic those of what it has left.
    pub(super) fn look<T>(&self, figure: impl FnOnce(&Part) -> T) -> T {
        figure(&self.0.read().unwrap_or_else(|Poisoned(part)| part))
    }

    /// All memory outside of the part itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.look(Part::heap_bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::{FullCause, Persist as _, SharedFilter};

    /// A writer that panics may have left anything: nobody relies on it, and everybody is told.
    #[test]
    fn a_part_loses_no_key_after_a_panic() {
        let filter = SharedFilter::builder().parts(2).seed(1).build().expect("valid");
        for key in 0..10_000u64 {
            filter.insert(&key).expect("room");
        }
        let part = &filter.shared.parts[0];
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut writer = part.write(&filter.shared.division).expect("whole");
            writer.set(Default::default());
            panic!("in the middle of a change");
        }));
        assert!(panicked.is_err());
        assert_eq!((filter.poisoned_parts(), filter.stats().poisoned_parts), (1, 1));
        let hashes: Vec<_> = (0..10_000u64).map(|key| filter.hasher().hash(&key)).collect();
        let mut hits = Vec::new();
        filter.contains_batch(&hashes, &mut hits);
        assert!(hits.iter().all(|&hit| hit));
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
        let saved = filter.write_to(Vec::new()).expect_err("keys are missing");
        assert!(saved.to_string().contains("panicked"), "{saved}");
    }
}
