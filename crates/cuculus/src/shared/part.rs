//! A part of the keys behind a lock: any number of threads read it, or one changes it, with the code
//! of the elastic filter.

use super::gate::{Gate, Poisoned, Writing};
use crate::FullCause;
use crate::KeyHash;
use crate::elastic::engine::Engine;

/// A key and its number in a batch.
pub(super) type Numbered = (u32, KeyHash);

/// Keys of a batch that are prefetched at a time.
const TOGETHER: usize = 8;
/// Keys of a batch whose answers are noted at a time.
const NOTED: usize = 64;

/// Two cache lines, since processors fetch them in pairs: who changes one part makes nobody wait who
/// reads another.
#[repr(align(128))]
pub(super) struct SharedPart(Gate<Engine>);

impl SharedPart {
    pub(super) fn new(part: Engine) -> Self {
        Self(Gate::new(part))
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// Nobody knows what a panic has left: any key may be there then.
    #[inline]
    pub(super) fn contains(&self, hash: KeyHash) -> bool {
        self.0.read().map_or(true, |part| part.contains(hash))
    }

    /// Looks up some keys, and says of each whether it may be there.
    pub(super) fn contains_many(&self, keys: &[Numbered], mut each: impl FnMut(u32, bool)) {
        let part = self.0.read();
        for keys in keys.chunks(NOTED) {
            let mut hits = [part.is_err(); NOTED];
            if let Ok(part) = &part {
                part.contains_each(keys, |&(_, hash)| hash, &mut hits[..keys.len()]);
            }
            keys.iter().zip(hits).for_each(|(&(at, _), hit)| each(at, hit));
        }
    }

    /// As [`contains`](Self::contains).
    pub(super) fn count(&self, hash: KeyHash) -> usize {
        self.0.read().map_or(1, |part| part.count(hash))
    }

    // Out of line it took 15 ns more.
    #[inline(always)]
    pub(super) fn write(&self) -> Result<Writing<'_, Engine>, FullCause> {
        self.0.write().map_err(|_| FullCause::Poisoned)
    }

    #[inline]
    pub(super) fn insert(&self, hash: KeyHash) -> Result<(), FullCause> {
        self.write()?.insert(hash)
    }

    pub(super) fn insert_absent(&self, hash: KeyHash) -> Result<bool, FullCause> {
        let mut part = self.write()?;
        insert_absent(&mut part, hash)
    }

    #[inline]
    pub(super) fn remove(&self, hash: KeyHash) -> bool {
        self.write().is_ok_and(|mut part| part.remove(hash))
    }

    pub(super) fn clear(&self) {
        if let Ok(mut part) = self.write() {
            part.clear();
        }
    }

    /// Inserts keys in turn, up to the first that is refused; counts those that went in.
    pub(super) fn insert_many(
        &self,
        keys: &[Numbered],
        inserted: &mut usize,
    ) -> Result<(), FullCause> {
        self.change_each(keys, |part, (_, hash)| {
            part.insert(hash)?;
            *inserted += 1;
            Ok(())
        })
    }

    /// Inserts keys that are not contained, up to the first that is refused, and says of each
    /// whether it was inserted.
    pub(super) fn insert_absent_many(
        &self,
        keys: &[Numbered],
        mut each: impl FnMut(u32, bool),
    ) -> Result<(), FullCause> {
        self.change_each(keys, |part, (at, hash)| {
            each(at, insert_absent(part, hash)?);
            Ok(())
        })
    }

    /// Removes keys, and says of each whether it was there.
    pub(super) fn remove_many(
        &self,
        keys: &[Numbered],
        mut each: impl FnMut(u32, bool),
    ) -> Result<(), FullCause> {
        self.change_each(keys, |part, (at, hash)| {
            each(at, part.remove(hash));
            Ok(())
        })
    }

    /// Does something with each key, up to the first error; what they need is on its way.
    fn change_each(
        &self,
        keys: &[Numbered],
        mut change: impl FnMut(&mut Engine, Numbered) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        let mut part = self.write()?;
        for group in keys.chunks(TOGETHER) {
            part.prefetch(group, |&(_, hash)| hash);
            group.iter().try_for_each(|&key| change(&mut part, key))?;
        }
        Ok(())
    }

    /// A copy of the part as it is at some moment.
    pub(super) fn copy(&self) -> Result<Engine, FullCause> {
        let part = self.0.read().map_err(|_| FullCause::Poisoned)?;
        part.try_clone().map_err(|_| FullCause::OutOfMemory)
    }

    /// Figures of the part. After a panic those of what it has left.
    pub(super) fn look<T>(&self, figure: impl FnOnce(&Engine) -> T) -> T {
        figure(&self.0.read().unwrap_or_else(|Poisoned(part)| part))
    }
}

fn insert_absent(part: &mut Engine, hash: KeyHash) -> Result<bool, FullCause> {
    let is_absent = !part.contains(hash);
    if is_absent {
        part.insert(hash)?;
    }
    Ok(is_absent)
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
            let mut writer = part.write().expect("whole");
            writer.clear();
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
            let is_poisoned = filter.shared.part_of(filter.hasher().hash(&key)) == 0;
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
