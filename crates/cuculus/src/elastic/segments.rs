//! What a level needs of its segments, wherever they are: in a directory of its own memory, or in
//! one that others read while it is changed.

use super::segment::{Plan, Segment};
use crate::table::OutOfMemory;
use crate::wide::Chosen;

/// What a segment is to hold.
pub(crate) trait Content {
    /// Writes it to a segment that was made for its plan.
    fn write_to(&self, segment: &mut Segment, chosen: Chosen);
}

/// The bytes of all groups of a narrow segment.
impl Content for &[u8] {
    fn write_to(&self, segment: &mut Segment, _: Chosen) {
        segment.group_bytes_mut()[..self.len()].copy_from_slice(self);
    }
}

/// All segments of a level.
pub(crate) trait Segments: Default {
    /// A segment that is written, but not yet in the list. To be installed or discarded before
    /// anything else is changed.
    type Prepared;

    fn len(&self) -> usize;

    /// The slots that all blocks have room for.
    fn capacity(&self) -> usize;

    /// The segment that a path leads to, by linear hashing. There must be one.
    fn index(&self, path: u64) -> usize;

    /// [`get`](Self::get) for [`index`](Self::index).
    fn find(&self, path: u64) -> &Segment;

    fn get(&self, index: usize) -> &Segment;

    /// [`get_mut`](Self::get_mut) for [`index`](Self::index).
    fn find_mut(&mut self, path: u64) -> Option<&mut Segment>;

    /// The segment, to be changed in place; `None` if there is no memory for that.
    fn get_mut(&mut self, index: usize) -> Option<&mut Segment>;

    /// Prefetches the description of a path's segment.
    fn prefetch(&self, path: u64);

    fn iter(&self) -> impl Iterator<Item = &Segment>;

    /// Writes a draft, or other content, to a block for a segment, one that exists or the next.
    fn prepare(
        &mut self,
        index: usize,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<Self::Prepared, OutOfMemory>;

    /// Gives the memory back.
    fn discard(&mut self, prepared: Self::Prepared);

    /// Replaces a segment by one that was prepared.
    fn install(&mut self, prepared: Self::Prepared);

    /// Gives a segment a larger or smaller block.
    fn resize(&mut self, index: usize, units: usize) -> Result<(), OutOfMemory>;

    /// Adds a draft, or other content, as the last segment.
    fn push_draft(
        &mut self,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<(), OutOfMemory>;

    /// Adds a copy of a segment of another directory as the last, at some depth.
    fn push_copy(&mut self, segment: &Segment, depth: u32) -> Result<(), OutOfMemory>;

    /// Drops the last segment.
    fn pop(&mut self);

    fn heap_bytes(&self) -> usize;
}
