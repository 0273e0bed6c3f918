//! The one who changes a part while others read it. Whoever has it holds the part's lock.

use super::copied::Copied;
use super::join::{add_lengths, copy_segment};
use super::level::Level;
use super::part::{Division, Part, PartKey, copy};
use super::published::{self, Published, Root, Waiting};
use super::segment::Segment;
use crate::FullCause;
use crate::table::OutOfMemory;

/// A part with what publishing it needs.
#[derive(Default)]
pub(crate) struct Writing {
    part: Part<Copied>,
    /// For the next operation that moves entries from one segment to another.
    spare: Option<Box<Root>>,
    waiting: Waiting,
    /// Whether a change was begun and not published: only after a panic.
    is_broken: bool,
}

/// The keys that a part will have, with all memory that publishing them needs.
pub(crate) struct Prepared {
    part: Part<Copied>,
    spare: Option<Box<Root>>,
}

impl Prepared {
    pub(crate) fn new(part: &Part) -> Result<Self, OutOfMemory> {
        let part = copy(part)?;
        let spare = published::room_for(&part.levels)?;
        Ok(Self { part, spare })
    }
}

impl Writing {
    pub(crate) fn part(&self) -> &Part<Copied> {
        &self.part
    }

    /// All memory but that of the current root.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.part.heap_bytes() + published::spare_bytes(&self.spare)
    }

    /// The bytes that were replaced and are not freed yet, since others may still read them.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting.bytes() + self.part.levels.main.directory.kept_bytes()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// A change begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        self.is_broken = true;
        let Self { part, waiting, .. } = self;
        waiting.take(|segment| part.levels.main.directory.keep(segment));
    }

    pub(crate) fn contains(&self, key: PartKey) -> bool {
        self.part.contains(key)
    }

    /// Inserts a key where others see it, if that takes no more than moving codes. If it says no,
    /// nothing has changed.
    #[inline(always)]
    pub(crate) fn insert_shown(&mut self, key: PartKey, division: &Division) -> bool {
        self.is_broken = true;
        let is_done = self.part.insert_shown(key, division);
        self.is_broken = false;
        is_done
    }

    /// Removes a key where others see it, if it is there and that takes no more than moving codes.
    /// If it says no, nothing has changed.
    #[inline(always)]
    pub(crate) fn remove_shown(&mut self, key: PartKey, division: &Division) -> bool {
        self.is_broken = true;
        let is_done = self.part.remove_shown(key, division);
        self.is_broken = false;
        is_done
    }

    /// Nothing has changed after an error.
    #[inline(always)]
    pub(crate) fn insert(&mut self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        self.make_ready(division).map_err(|_| FullCause::OutOfMemory)?;
        self.part.insert(key, division)
    }

    /// Says whether there was one. Without memory nothing is removed.
    #[inline(always)]
    pub(crate) fn remove(&mut self, key: PartKey, division: &Division) -> bool {
        self.make_ready(division).is_ok() && self.part.remove(key, division)
    }

    #[inline(always)]
    fn make_ready(&mut self, division: &Division) -> Result<(), OutOfMemory> {
        if self.part.levels.may_reshape(&division.part) {
            published::make_ready(&self.part.levels, &mut self.spare)?;
        }
        Ok(())
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        self.part = Part::default();
    }

    /// Replaces all keys.
    pub(crate) fn set(&mut self, Prepared { part, spare }: Prepared) {
        (self.part, self.spare) = (part, spare);
    }

    /// A part of its own with the same keys.
    pub(crate) fn copy(&self) -> Result<Part, OutOfMemory> {
        copy(&self.part)
    }

    /// Makes all changes visible.
    #[inline(always)]
    pub(crate) fn publish(&mut self, published: &Published) {
        published.publish(&mut self.part.levels, &mut self.spare, &self.waiting);
        self.is_broken = false;
    }

    /// A part of its own with the keys that readers see: what is left after a panic.
    #[allow(unsafe_code, reason = "segments that others may read are read without their version")]
    pub(crate) fn copy_published(&self, published: &Published) -> Result<Part, FullCause> {
        let mut part = Part::default();
        let copy = |level, segment: &Segment| {
            while part.levels.overflow.len() < level {
                part.levels.overflow.push(Level::overflow()).map_err(|_| FullCause::OutOfMemory)?;
            }
            add_lengths(segment, 0, &mut part.lengths)?;
            let to = part.levels.level_mut(level);
            copy_segment(segment, segment.depth(), to).map_err(|_| FullCause::OutOfMemory)
        };
        // SAFETY: whoever has this holds the lock.
        unsafe { published.each_segment(copy) }?;
        Ok(part)
    }
}
