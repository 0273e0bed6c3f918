//! A part of the keys: anybody reads it, one thread at a time changes it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::FullCause;
use crate::elastic::part::{Division, Part, PartKey};
use crate::elastic::published::Published;
use crate::elastic::writing::{Writing, copy_published};
use crate::table::OutOfMemory;

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
}

impl SharedPart {
    pub(super) fn new(part: &Part) -> Result<Self, OutOfMemory> {
        let mut writing = Writing::new(part)?;
        let published = Published::default();
        writing.publish(&published);
        Ok(Self { published: Lines(published), writing: Lines(Mutex::new(writing)) })
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.look(Writing::is_broken)
    }

    #[inline(always)]
    pub(super) fn contains(&self, key: PartKey, division: &Division) -> bool {
        self.published.0.contains(key, division.chosen())
    }

    pub(super) fn count(&self, key: PartKey) -> usize {
        self.published.0.count(key)
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
        self.write()?.change(|part| part.insert(key, division))
    }

    pub(super) fn insert_absent(
        &self,
        key: PartKey,
        division: &Division,
    ) -> Result<bool, FullCause> {
        let may_be_absent = !self.contains(key, division);
        Ok(may_be_absent && self.write()?.change(|part| part.insert_absent(key, division))?)
    }

    #[inline(always)]
    pub(super) fn remove(&self, key: PartKey, division: &Division) -> bool {
        self.write().is_ok_and(|mut part| part.change(|part| part.remove(key, division)))
    }

    pub(super) fn clear(&self) {
        if let Ok(mut part) = self.write() {
            part.change(|part| part.set(Writing::default()));
        }
    }

    /// Inserts keys in turn, up to the first that is refused; counts those that went in.
    pub(super) fn insert_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        inserted: &mut usize,
    ) -> Result<(), FullCause> {
        self.write()?.change(|part| {
            for &(_, key) in keys {
                part.insert(key, division)?;
                *inserted += 1;
            }
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
        self.write()?.change(|part| {
            for &(at, key) in keys {
                each(at, part.insert_absent(key, division)?);
            }
            Ok(())
        })
    }

    /// Removes keys, and says of each whether it was there.
    pub(super) fn remove_many(
        &self,
        keys: &[(u32, PartKey)],
        division: &Division,
        mut each: impl FnMut(u32, bool),
    ) {
        if let Ok(mut part) = self.write() {
            part.change(|part| {
                keys.iter().for_each(|&(at, key)| each(at, part.remove(key, division)));
            });
        }
    }

    /// A copy of the part as it is at some moment; after a panic as it was before.
    pub(super) fn copy(&self) -> Result<Part, FullCause> {
        match self.write() {
            Ok(writer) => writer.copy().map_err(|_| FullCause::OutOfMemory),
            Err(_) => copy_published(&self.published.0),
        }
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
