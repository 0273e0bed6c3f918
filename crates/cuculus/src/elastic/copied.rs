//! Segments that others may read while they are changed: a change is made to a copy, and nobody
//! sees the copy before it is published. Knows which copies are still private; when they are
//! published, and when what they replace is given back, is decided in published.rs. (What nearly
//! every change does needs no copy: in_place.rs.)
//!
//! ```text
//!  memory of a segment   version (8 bytes), description (64 bytes), block, window
//!  private               in `fresh`: made since the last publication, owned and freed here
//!  published             everything else: stored to only under its version (shown.rs), owned by
//!                        the root that has it
//! ```
#![allow(unsafe_code, reason = "segments and their blocks are allocated together by hand")]

use core::ptr::NonNull;
use std::alloc::{self, Layout};

use super::directory::index_among;
use super::pool::UNIT;
use super::segment::{Plan, Segment};
use super::segments::{Content, Segments};
use super::shown::VERSION;
use super::version::Version;
use crate::prefetch::prefetch_at;
use crate::table::{OutOfMemory, WINDOW};
use crate::wide::Chosen;

/// Pieces of memory that are kept for copies: enough for most sizes that occur, but one for so many
/// segments at most.
const MOST_KEPT: usize = 32;
const SEGMENTS_PER_KEPT: usize = 32;
/// What all allocators give without asking for more.
const ALIGN: usize = 16;

/// A segment with its block.
pub(super) type Boxed = NonNull<Segment>;

/// The units that there is memory for, in a segment of some units: a few more, so that every other time
/// a block grows or shrinks it can stay where it is.
#[inline(always)]
pub(super) fn room(units: usize) -> usize {
    units.next_multiple_of(2)
}

fn layout(units: usize) -> Layout {
    let size = VERSION + size_of::<Segment>() + room(units) * UNIT + WINDOW;
    Layout::from_size_align(size, ALIGN).expect("segments are small")
}

/// The bytes that a segment takes.
pub(super) fn bytes_of(segment: &Segment) -> usize {
    layout(segment.units()).size()
}

/// Memory for a segment, and its block. Nothing but the version is written yet.
fn allocate(units: usize, kept: &mut Vec<Kept>) -> Result<(Boxed, NonNull<u8>), OutOfMemory> {
    let failed = OutOfMemory { bytes: layout(units).size() as u64 };
    let start = match kept.iter().rposition(|kept| usize::from(kept.room) == room(units)) {
        // SAFETY: the version is before the description.
        Some(at) => unsafe { kept.swap_remove(at).segment.cast::<u8>().sub(VERSION) },
        // SAFETY: the layout is not of size zero.
        None => NonNull::new(unsafe { alloc::alloc(layout(units)) }).ok_or(failed)?,
    };
    // SAFETY: there are so many bytes, aligned for words, and nobody else has them.
    unsafe {
        start.cast().write(Version::new());
        let segment = start.add(VERSION);
        Ok((segment.cast(), segment.add(size_of::<Segment>())))
    }
}

/// Memory that was a segment's and can be one's again: allocators are slow with pieces of this size.
pub(super) struct Kept {
    pub(super) segment: Boxed,
    pub(super) room: u16,
}

/// Frees a segment.
///
/// # Safety
/// It was allocated here, nobody reads it, and nobody frees it again.
pub(super) unsafe fn free(segment: Boxed) {
    // SAFETY: the caller's; the number of units is one that the memory was allocated for, since segments
    // here get more or fewer only with other memory.
    unsafe {
        let layout = layout(segment.as_ref().units());
        alloc::dealloc(segment.cast::<u8>().sub(VERSION).as_ptr(), layout);
    }
}

/// The same segment in memory of its own, in a block of some units.
#[inline(always)]
fn copy(segment: &Segment, units: usize, kept: &mut Vec<Kept>) -> Result<Boxed, OutOfMemory> {
    let (copy, block) = allocate(units, kept)?;
    // SAFETY: both blocks have so many bytes, if they have the same units; all of them were written
    // when the segment was made. There is room for a description. Zero, so that no load finds memory
    // that was never written.
    unsafe {
        let copied = if units == segment.units() { units * UNIT + WINDOW } else { 0 };
        block.copy_from_nonoverlapping(segment.at, copied);
        block.add(copied).write_bytes(0, room(units) * UNIT + WINDOW - copied);
        let moved = if units == segment.units() {
            segment.at(block)
        } else {
            segment.move_to(block, units)
        };
        copy.write(moved);
    }
    Ok(copy)
}

/// All segments of a level.
#[derive(Default)]
pub(crate) struct Copied {
    segments: Vec<Boxed>,
    mask: u32,
    /// The segments that nobody else has seen.
    fresh: Vec<u32>,
    /// Whether their number has changed since the last publication.
    reshaped: bool,
    capacity: usize,
    bytes: usize,
    kept: Vec<Kept>,
}

// SAFETY: segments are memory without a thread; they are changed only by whoever has the directory,
// and those that others can read only by atomic stores.
unsafe impl Send for Copied {}

/// Written, and in no list.
pub(crate) struct Prepared {
    index: usize,
    segment: Boxed,
}

impl Copied {
    fn set_mask(&mut self) {
        let depth = self.segments.len().checked_ilog2();
        self.mask = depth.map_or(0, |depth| ((2u64 << depth) - 1) as u32);
    }

    pub(super) fn mask(&self) -> u32 {
        self.mask
    }

    /// All segments, private or not.
    pub(super) fn segments(&self) -> &[Boxed] {
        &self.segments
    }

    /// Calls `publish` for each private segment with its number. If it returns another segment, that
    /// one has become the same, and takes the place of the private one.
    #[inline(always)]
    pub(super) fn publish_each(&mut self, mut publish: impl FnMut(u32, Boxed) -> Option<Boxed>) {
        while let Some(&index) = self.fresh.last() {
            let private = self.segments[index as usize];
            let shown = publish(index, private);
            self.fresh.pop();
            if let Some(shown) = shown {
                self.segments[index as usize] = shown;
                self.keep(private);
            }
        }
    }

    pub(super) fn is_reshaped(&self) -> bool {
        self.reshaped
    }

    /// All segments have been published.
    pub(super) fn set_published(&mut self) {
        self.fresh.clear();
        self.reshaped = false;
    }

    /// Memory for copies to come.
    pub(super) fn keep(&mut self, segment: Boxed) {
        let most = MOST_KEPT.min(self.segments.len() / SEGMENTS_PER_KEPT);
        if self.kept.len() >= most || self.kept.try_reserve(1).is_err() {
            // SAFETY: the caller gives it away.
            unsafe { free(segment) };
            return;
        }
        // SAFETY: it is there.
        let room = room(unsafe { segment.as_ref() }.units()) as u16;
        self.kept.push(Kept { segment, room });
    }

    /// The bytes of the memory for copies to come.
    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|kept| layout(usize::from(kept.room)).size()).sum()
    }

    fn reserve(&mut self, segments: usize) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: (8 * segments) as u64 };
        self.fresh.try_reserve(2).map_err(|_| failed)?;
        if segments > 0 && self.segments.len() == self.segments.capacity() {
            let more = segments + self.segments.len() / 8;
            self.segments.try_reserve_exact(more).map_err(|_| failed)?;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn is_fresh(&self, index: usize) -> bool {
        self.fresh.contains(&(index as u32))
    }

    /// A published segment has other units now.
    pub(super) fn recount(&mut self, before: usize, after: usize) {
        self.capacity = self.capacity + after - before;
    }

    /// Puts a private segment in the place of another, for which room was reserved.
    fn replace(&mut self, index: usize, segment: Boxed) {
        let old = core::mem::replace(&mut self.segments[index], segment);
        // SAFETY: both are there.
        let (new, was) = unsafe { (segment.as_ref(), old.as_ref()) };
        self.capacity = self.capacity + new.capacity() - was.capacity();
        self.bytes = self.bytes + bytes_of(new) - bytes_of(was);
        if self.is_fresh(index) {
            // SAFETY: allocated here, and nobody else has seen it.
            unsafe { free(old) };
        } else {
            self.fresh.push(index as u32);
        }
    }

    fn push(&mut self, segment: Boxed) {
        // SAFETY: it is there.
        let new = unsafe { segment.as_ref() };
        self.capacity += new.capacity();
        self.bytes += bytes_of(new);
        self.fresh.push(self.segments.len() as u32);
        self.segments.push(segment);
        self.reshaped = true;
        self.set_mask();
    }
}

impl Segments for Copied {
    type Prepared = Prepared;

    #[inline(always)]
    fn len(&self) -> usize {
        self.segments.len()
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    fn index(&self, path: u64) -> usize {
        index_among(path, self.segments.len() as u32, self.mask)
    }

    #[inline(always)]
    fn find(&self, path: u64) -> &Segment {
        self.get(self.index(path))
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &Segment {
        // SAFETY: private, or published and changed only here, by whoever has the directory; others
        // only load from it. It is freed only after it was replaced here.
        unsafe { self.segments[index].as_ref() }
    }

    #[inline(always)]
    fn find_mut(&mut self, path: u64) -> Option<&mut Segment> {
        self.get_mut(self.index(path))
    }

    #[inline(always)]
    fn get_mut(&mut self, index: usize) -> Option<&mut Segment> {
        if !self.is_fresh(index) {
            self.reserve(0).ok()?;
            let mut kept = core::mem::take(&mut self.kept);
            let segment = self.get(index);
            let copy = copy(segment, segment.units(), &mut kept);
            self.kept = kept;
            let copy = copy.ok()?;
            self.replace(index, copy);
        }
        // SAFETY: private, and borrowed with the directory.
        Some(unsafe { self.segments[index].as_mut() })
    }

    #[inline(always)]
    fn prefetch(&self, path: u64) {
        if self.len() > 0 {
            prefetch_at(self.segments[self.index(path)].as_ptr());
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Segment> {
        (0..self.len()).map(|index| self.get(index))
    }

    fn prepare(
        &mut self,
        index: usize,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<Prepared, OutOfMemory> {
        self.reserve(0)?;
        let (mut segment, block) = allocate(plan.units, &mut self.kept)?;
        // SAFETY: there is room for a description and a block, and nobody else has seen them. Zero, so
        // that no load finds memory that was never written.
        let written = unsafe {
            block.write_bytes(0, room(plan.units) * UNIT + WINDOW);
            segment.write(Segment::new(block, plan));
            segment.as_mut()
        };
        content.write_to(written, chosen);
        Ok(Prepared { index, segment })
    }

    fn discard(&mut self, prepared: Prepared) {
        // SAFETY: allocated here, and nobody else has seen it.
        unsafe { free(prepared.segment) };
    }

    fn install(&mut self, prepared: Prepared) {
        self.replace(prepared.index, prepared.segment);
    }

    fn resize(&mut self, index: usize, units: usize) -> Result<(), OutOfMemory> {
        self.reserve(0)?;
        if self.is_fresh(index) && room(self.get(index).units()) == room(units) {
            // SAFETY: private, and borrowed with the directory.
            let segment = unsafe { self.segments[index].as_mut() };
            let before = segment.capacity();
            segment.set_units(units);
            self.capacity = self.capacity + segment.capacity() - before;
            return Ok(());
        }
        let mut kept = core::mem::take(&mut self.kept);
        let copy = copy(self.get(index), units, &mut kept);
        self.kept = kept;
        self.replace(index, copy?);
        Ok(())
    }

    fn push_draft(
        &mut self,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<(), OutOfMemory> {
        self.reserve(1)?;
        let prepared = self.prepare(self.len(), content, plan, chosen)?;
        self.push(prepared.segment);
        Ok(())
    }

    fn push_copy(&mut self, segment: &Segment, depth: u32) -> Result<(), OutOfMemory> {
        self.reserve(1)?;
        let mut copy = copy(segment, segment.units(), &mut self.kept)?;
        // SAFETY: nobody else has seen it.
        unsafe { copy.as_mut() }.set_depth(depth);
        self.push(copy);
        Ok(())
    }

    fn pop(&mut self) {
        let Some(old) = self.segments.pop() else { return };
        // SAFETY: it is there.
        let segment = unsafe { old.as_ref() };
        self.capacity -= segment.capacity();
        self.bytes -= bytes_of(segment);
        self.reshaped = true;
        self.set_mask();
        let index = self.segments.len() as u32;
        if let Some(at) = self.fresh.iter().position(|&fresh| fresh == index) {
            self.fresh.swap_remove(at);
            // SAFETY: allocated here, and nobody else has seen it.
            unsafe { free(old) };
        }
        if self.segments.capacity() > 2 * self.segments.len() + 4 {
            crate::memory::shrink(&mut self.segments, 0);
        }
    }

    fn heap_bytes(&self) -> usize {
        let lists = self.segments.capacity() * size_of::<Boxed>() + self.fresh.capacity() * 4;
        self.bytes + lists
    }
}

/// Frees what nobody else has seen. What was published belongs to the root: a panic that drops a
/// directory takes nothing away from those who read.
impl Drop for Copied {
    fn drop(&mut self) {
        let fresh = self.fresh.iter().map(|&index| self.segments[index as usize]);
        for segment in fresh.chain(self.kept.iter().map(|kept| kept.segment)) {
            // SAFETY: allocated here, and nobody else has seen it.
            unsafe { free(segment) };
        }
    }
}
