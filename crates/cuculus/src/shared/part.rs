//! A part of the keys behind a lock.

use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use crate::FullCause;
use crate::elastic::part::{Division, Part, PartKey};
use crate::table::OutOfMemory;

/// On a cache line of its own, so that writers of different parts do not meet.
#[repr(align(128))]
pub(super) struct SharedPart(RwLock<Part>);

/// A writer of a part.
pub(super) type Writer<'a> = RwLockWriteGuard<'a, Part>;

impl SharedPart {
    pub(super) fn new(part: Part) -> Self {
        Self(RwLock::new(part))
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.0.is_poisoned()
    }

    /// A panic may have left anything: then every key may be there.
    pub(super) fn contains(&self, key: PartKey, division: &Division) -> bool {
        self.0.read().map_or(true, |part| part.contains(key, division))
    }

    pub(super) fn count(&self, key: PartKey) -> usize {
        self.0.read().map_or(1, |part| part.count(key))
    }

    pub(super) fn write(&self) -> Result<Writer<'_>, FullCause> {
        self.0.write().map_err(|_| FullCause::Poisoned)
    }

    pub(super) fn insert(&self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        self.write()?.insert(key, division)
    }

    pub(super) fn insert_absent(
        &self,
        key: PartKey,
        division: &Division,
    ) -> Result<bool, FullCause> {
        let mut part = self.write()?;
        let is_absent = !part.contains(key, division);
        if is_absent {
            part.insert(key, division)?;
        }
        Ok(is_absent)
    }

    pub(super) fn remove(&self, key: PartKey, division: &Division) -> bool {
        self.write().is_ok_and(|mut part| part.remove(key, division))
    }

    pub(super) fn clear(&self) {
        if let Ok(mut part) = self.write() {
            *part = Part::default();
        }
    }

    /// A copy of the part as it is at some moment.
    pub(super) fn copy(&self) -> Result<Part, OutOfMemory> {
        self.look(Part::try_clone)
    }

    /// Figures of the part.
    pub(super) fn look<T>(&self, figure: impl FnOnce(&Part) -> T) -> T {
        figure(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Inserts keys in turn, up to the first that is refused.
    pub(super) fn insert_many(
        &self,
        keys: impl Iterator<Item = PartKey>,
        division: &Division,
    ) -> Inserted {
        let mut inserted = 0;
        let result = self.write().and_then(|mut part| {
            for key in keys {
                part.insert(key, division)?;
                inserted += 1;
            }
            Ok(())
        });
        Inserted { inserted, result }
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
        for &(at, key) in keys {
            let is_absent = !part.contains(key, division);
            if is_absent {
                part.insert(key, division)?;
            }
            each(at, is_absent);
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
        if let Ok(mut part) = self.write() {
            keys.iter().for_each(|&(at, key)| each(at, part.remove(key, division)));
        }
    }
}

/// What came of inserting many keys.
pub(super) struct Inserted {
    pub(super) inserted: usize,
    pub(super) result: Result<(), FullCause>,
}
