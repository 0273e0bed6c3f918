//! Memory for segments: blocks of any size, packed into regions. Knows bytes and owners, nothing of
//! what is in a block.
//!
//! ```text
//!  region   a piece of memory from the allocator, most of them of the same size:
//!           blocks side by side, then what is free, then a window that can be read
//!  block    8 bytes that say whose it is and how long, then its bytes
//! ```
//!
//! Segments grow nearly in step, so every block given back would be a little smaller than the next
//! one that is wanted: an allocator, or slabs for each size, lose a fifth of the memory that way.
//! Here a block grows where it is, and those after it in its region move up. Only when the region
//! is full a block moves to another one. Whoever owns a block that moves is told.
#![allow(unsafe_code, reason = "blocks are cut from regions by hand")]

use core::ptr::NonNull;
use std::alloc::{self, Layout};

use crate::memory::{lower, shrink};
use crate::table::{OutOfMemory, WINDOW};

/// The bytes of a unit: blocks are some units long.
pub(super) const UNIT: usize = 32;
/// The bytes before those of a block, which are aligned for words.
const HEADER: usize = 8;
const ALIGN: usize = 8;
/// The largest region, with what allocators add a multiple of a page. Twice as large ones would be
/// fuller by 2 %, and growing a block would take twice as long.
const LARGEST: usize = (1 << 14) - 16;
/// A region is at most this part of all memory, so that little of the last one is unused.
const SHARE: usize = 16;
/// Up to this much memory every block has a region of its own, exactly as long: in a few small ones
/// most of what is free could not be used.
const SMALL: usize = 1 << 18;
/// A block of more than this has a region of its own in any case: few of them would fit beside each
/// other, and what is left of the region is of use to smaller ones only.
const LARGE_BLOCK: usize = LARGEST / 4;
/// Regions are emptied when more than this part of the memory is free.
const FREE_SHARE: usize = 16;
/// Regions are listed by how many of these bytes are free, if there are many.
const CLASS: usize = 256;
const CLASSES: usize = LARGEST / CLASS + 1;
const FEW: usize = 32;
/// Bits of a header that say how long the block is.
const UNITS_BITS: u32 = 9;
const NONE: u32 = u32::MAX;
/// The most numbers that no region has. Pools begin with about half as many regions of one block.
const MOST_VACANT: u32 = 256;

/// Moves memory, or does not; see [`ElasticFilter::relocate`](super::ElasticFilter::relocate).
pub(super) type Relocate<'a> = dyn FnMut(NonNull<u8>, Layout) -> Option<NonNull<u8>> + 'a;

/// The bytes of a block; its header is before them. Valid as long as the pool's owner says.
pub(super) type Block = NonNull<u8>;

struct Region {
    start: NonNull<u8>,
    /// Bytes for blocks: without the window.
    capacity: u32,
    used: u32,
    /// Others of the same class.
    before: u32,
    after: u32,
}

impl Region {
    fn layout(&self) -> Layout {
        layout(self.capacity as usize)
    }

    fn free(&self) -> usize {
        (self.capacity - self.used) as usize
    }

    /// Whether this is only a number that no region has.
    fn is_vacant(&self) -> bool {
        self.capacity == 0
    }
}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity + WINDOW, ALIGN).expect("regions are small")
}

/// Makes a region longer or shorter. What was never written is zero, as in a new one.
fn reallocate(start: NonNull<u8>, capacity: usize, wanted: usize) -> Option<NonNull<u8>> {
    let (before, after) = (layout(capacity), layout(wanted));
    // SAFETY: regions are allocated with this layout, by this allocator; no size is zero.
    let start = NonNull::new(unsafe { alloc::realloc(start.as_ptr(), before, after.size()) })?;
    if let Some(more) = wanted.checked_sub(capacity) {
        // SAFETY: the region has so many bytes now.
        unsafe { start.add(before.size()).write_bytes(0, more) };
    }
    Some(start)
}

/// The bytes that a block takes of a region.
fn bytes_of(units: usize) -> usize {
    HEADER + units * UNIT
}

/// What is before the bytes of a block.
#[derive(Clone, Copy)]
struct Header {
    owner: u32,
    region: u32,
    units: usize,
}

impl Header {
    /// # Safety
    /// There is a block.
    unsafe fn of(block: Block) -> Self {
        // SAFETY: the caller's; headers are aligned, as blocks are.
        let [owner, rest] = unsafe { block.sub(HEADER).cast::<[u32; 2]>().read() };
        Self { owner, region: rest >> UNITS_BITS, units: (rest & ((1 << UNITS_BITS) - 1)) as usize }
    }

    /// # Safety
    /// There is room for a block.
    unsafe fn write(self, block: Block) {
        let rest = self.region << UNITS_BITS | self.units as u32;
        // SAFETY: the caller's.
        unsafe { block.sub(HEADER).cast::<[u32; 2]>().write([self.owner, rest]) };
    }
}

/// Blocks of all sizes.
#[derive(Default)]
pub(super) struct Pool {
    /// In the order in which their memory was allocated, or nearly so.
    regions: Vec<Region>,
    /// The first region of each class; none if there are few.
    classes: Option<Box<[u32; CLASSES]>>,
    /// Numbers in the list that no region has. Never the last one.
    vacant: u32,
    /// Whether a region was dropped since somebody asked.
    is_shorter: bool,
    capacity: usize,
    used: usize,
}

// SAFETY: a pool owns its regions, and lends blocks only as raw pointers to its owner.
unsafe impl Send for Pool {}
// SAFETY: through a shared reference nothing can be changed.
unsafe impl Sync for Pool {}

impl Pool {
    /// A block of some units, given to `owner`. After a block come at least [`WINDOW`] bytes that
    /// can be read. No other block moves.
    pub(super) fn take(&mut self, units: usize, owner: u32) -> Result<Block, OutOfMemory> {
        let bytes = bytes_of(units);
        let room = if self.is_for_itself(bytes) { None } else { self.with_room(bytes, NONE) };
        let region = match room {
            Some(region) => region,
            None => self.add_region(self.usual_capacity(bytes))?,
        };
        Ok(self.append(region, units, owner))
    }

    /// Gives a block back. `moved` is told of blocks that are somewhere else then.
    pub(super) fn give_back(&mut self, block: Block, mut moved: impl FnMut(u32, Block)) {
        // SAFETY: a block that was taken.
        let Header { region, units, .. } = unsafe { Header::of(block) };
        self.close_gap(region, block, bytes_of(units), 0, &mut moved);
        if self.regions[region as usize].used == 0 {
            self.drop_region(region, &mut moved);
        }
        self.compact(&mut moved);
    }

    /// Makes a block longer or shorter without taking another; says whether it could be done. The
    /// bytes that it keeps stay as they are. `moved` is told of blocks that are somewhere else then,
    /// which may be this one.
    pub(super) fn resize(
        &mut self,
        block: Block,
        units: usize,
        mut moved: impl FnMut(u32, Block),
    ) -> bool {
        // SAFETY: a block that was taken.
        let header = unsafe { Header::of(block) };
        if self.is_for_itself(bytes_of(units)) {
            let is_fitted = self.refit(block, header, units, &mut moved);
            if is_fitted || units > header.units {
                return is_fitted;
            }
        }
        if units <= header.units {
            let (old, new) = (bytes_of(header.units), bytes_of(units));
            // What is free in a small region is seldom taken: better one of the right size.
            let region = &self.regions[header.region as usize];
            let (capacity, free) = (region.capacity as usize, region.free() + old - new);
            if capacity < LARGEST - WINDOW && free > capacity / 8 {
                return false;
            }
            // SAFETY: as above.
            unsafe { Header { units, ..header }.write(block) };
            self.close_gap(header.region, block, old, new, &mut moved);
            self.compact(&mut moved);
            return true;
        }
        let more = (units - header.units) * UNIT;
        if self.regions[header.region as usize].free() < more {
            return false;
        }
        let after = self.rest_after(header.region, block, bytes_of(header.units));
        // SAFETY: the blocks after this one end where the used part does, and so much is free.
        unsafe {
            let from = block.sub(HEADER).add(bytes_of(header.units));
            from.add(more).copy_from(from, after);
            Header { units, ..header }.write(block);
            self.tell(from.add(more), after, &mut moved);
        }
        self.set_used(header.region, |used| used + more as u32);
        true
    }

    /// Makes the region of a block that is alone as long as the block is to be.
    fn refit(
        &mut self,
        block: Block,
        header: Header,
        units: usize,
        moved: &mut impl FnMut(u32, Block),
    ) -> bool {
        let Region { start, capacity, used, .. } = self.regions[header.region as usize];
        let wanted = bytes_of(units);
        if used as usize != bytes_of(header.units) {
            return false;
        }
        let Some(start) = reallocate(start, capacity as usize, wanted) else { return false };
        self.unlink(header.region);
        let region = &mut self.regions[header.region as usize];
        (region.start, region.capacity, region.used) = (start, wanted as u32, wanted as u32);
        self.capacity = self.capacity + wanted - capacity as usize;
        self.used = self.used + wanted - used as usize;
        self.link(header.region);
        // SAFETY: the block begins the region, and has room for its units.
        let at = unsafe { start.add(HEADER) };
        // SAFETY: as above.
        unsafe { Header { units, ..header }.write(at) };
        if at != block {
            moved(header.owner, at);
        }
        true
    }

    /// Makes the region with most room as short as what is in it, after blocks of the sizes that they are to
    /// stay at.
    pub(super) fn fit(&mut self, mut moved: impl FnMut(u32, Block)) {
        let Some(at) = self.emptiest() else { return };
        let Region { start, capacity, used, .. } = self.regions[at as usize];
        if used == capacity {
            return;
        }
        // (Without memory for a smaller one it stays as it is.)
        let Some(start) = reallocate(start, capacity as usize, used as usize) else { return };
        self.unlink(at);
        let region = &mut self.regions[at as usize];
        (region.start, region.capacity) = (start, used);
        self.capacity -= (capacity - used) as usize;
        self.link(at);
        // SAFETY: the used part is whole blocks.
        unsafe { self.tell(start, used as usize, &mut moved) };
    }

    /// The bytes after a block that are in use.
    fn rest_after(&self, region: u32, block: Block, bytes: usize) -> usize {
        let region = &self.regions[region as usize];
        let start = block.as_ptr().addr() - HEADER - region.start.as_ptr().addr();
        region.used as usize - start - bytes
    }

    /// Moves the blocks after one down, when of its bytes some are kept.
    fn close_gap(
        &mut self,
        region: u32,
        block: Block,
        bytes: usize,
        kept: usize,
        moved: &mut impl FnMut(u32, Block),
    ) {
        let after = self.rest_after(region, block, bytes);
        // SAFETY: all within the used part of the region.
        unsafe {
            let from = block.sub(HEADER).add(bytes);
            let to = block.sub(HEADER).add(kept);
            to.copy_from(from, after);
            self.tell(to, after, moved);
        }
        self.set_used(region, |used| used - (bytes - kept) as u32);
    }

    /// Tells of all blocks in some bytes.
    ///
    /// # Safety
    /// The bytes are whole blocks.
    unsafe fn tell(&self, from: NonNull<u8>, bytes: usize, moved: &mut impl FnMut(u32, Block)) {
        let mut at = 0;
        while at < bytes {
            // SAFETY: the caller's.
            unsafe {
                let block = from.add(at + HEADER);
                let Header { owner, units, .. } = Header::of(block);
                moved(owner, block);
                at += bytes_of(units);
            }
        }
    }

    /// Puts a new block behind the others of a region that has room for it.
    fn append(&mut self, region: u32, units: usize, owner: u32) -> Block {
        let Region { start, used, .. } = self.regions[region as usize];
        // SAFETY: so much is free.
        let block = unsafe {
            let block = start.add(used as usize + HEADER);
            Header { owner, region, units }.write(block);
            block
        };
        self.set_used(region, |used| used + bytes_of(units) as u32);
        block
    }

    /// A region other than one that has room, the fullest of those or nearly so.
    fn with_room(&self, bytes: usize, other_than: u32) -> Option<u32> {
        if self.classes.is_none() {
            let regions = (0..).zip(&self.regions);
            let fit = regions.filter(|&(at, region)| region.free() >= bytes && at != other_than);
            return fit.min_by_key(|(_, region)| region.free()).map(|(at, _)| at);
        }
        // In the class after its own all have room.
        for &first in self.classes.as_ref()?.get(bytes.div_ceil(CLASS)..)? {
            let second = self.regions.get(first as usize).map_or(NONE, |region| region.after);
            let region = if first == other_than { second } else { first };
            if region != NONE {
                return Some(region);
            }
        }
        None
    }

    /// The region with most room, or nearly so.
    fn emptiest(&self) -> Option<u32> {
        if self.classes.is_none() {
            return self.emptiest_of_all();
        }
        self.classes.as_ref()?.iter().rev().find(|&&first| first != NONE).copied()
    }

    fn emptiest_of_all(&self) -> Option<u32> {
        let held = (0..).zip(&self.regions).filter(|(_, region)| !region.is_vacant());
        held.max_by_key(|(_, region)| region.free()).map(|(at, _)| at)
    }

    /// The first region of the class with so much free, if there are classes.
    fn class(&mut self, free: usize) -> Option<&mut u32> {
        let class = (free / CLASS).min(CLASSES - 1);
        self.classes.as_mut()?.get_mut(class)
    }

    fn link(&mut self, region: u32) {
        let free = self.regions[region as usize].free();
        let Some(first) = self.class(free) else { return };
        let after = core::mem::replace(first, region);
        (self.regions[region as usize].before, self.regions[region as usize].after) = (NONE, after);
        if let Some(after) = self.regions.get_mut(after as usize) {
            after.before = region;
        }
    }

    fn unlink(&mut self, region: u32) {
        if self.classes.is_none() {
            return;
        }
        let Region { before, after, .. } = self.regions[region as usize];
        let free = self.regions[region as usize].free();
        match self.regions.get_mut(before as usize) {
            Some(before) => before.after = after,
            None => {
                if let Some(first) = self.class(free) {
                    *first = after;
                }
            }
        }
        if let Some(after) = self.regions.get_mut(after as usize) {
            after.before = before;
        }
    }

    /// Begins to list regions by class.
    #[cold]
    fn list(&mut self) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: (CLASSES * size_of::<u32>()) as u64 };
        let mut classes = Vec::new();
        classes.try_reserve_exact(CLASSES).map_err(|_| failed)?;
        classes.resize(CLASSES, NONE);
        self.classes = classes.into_boxed_slice().try_into().ok();
        for region in 0..self.regions.len() as u32 {
            if !self.regions[region as usize].is_vacant() {
                self.link(region);
            }
        }
        Ok(())
    }

    fn set_used(&mut self, region: u32, used: impl FnOnce(u32) -> u32) {
        let held = &self.regions[region as usize];
        let (before, after) = (held.used, used(held.used));
        self.used = self.used + after as usize - before as usize;
        let class = |used| (held.capacity - used) as usize / CLASS;
        if class(before) == class(after) {
            self.regions[region as usize].used = after;
        } else {
            self.unlink(region);
            self.regions[region as usize].used = after;
            self.link(region);
        }
    }

    /// Whether a block of some bytes has a region of its own.
    fn is_for_itself(&self, bytes: usize) -> bool {
        self.used <= SMALL || bytes > LARGE_BLOCK
    }

    /// The capacity of a new region for a block of some bytes.
    fn usual_capacity(&self, bytes: usize) -> usize {
        if self.is_for_itself(bytes) {
            return bytes;
        }
        ((self.used / SHARE).min(LARGEST - WINDOW) / ALIGN * ALIGN).max(bytes)
    }

    fn add_region(&mut self, capacity: usize) -> Result<u32, OutOfMemory> {
        let failed = OutOfMemory { bytes: capacity as u64 };
        if self.regions.len() >> (u32::BITS - UNITS_BITS) != 0 {
            return Err(failed);
        }
        if self.regions.len() == self.regions.capacity() {
            self.regions.try_reserve_exact(1 + self.regions.len() / 8).map_err(|_| failed)?;
        }
        if self.regions.len() == FEW && self.classes.is_none() {
            self.list()?;
        }
        // SAFETY: the layout is not of size zero. Zeroed, so that no load finds memory that was
        // never written.
        let start = unsafe { alloc::alloc_zeroed(layout(capacity)) };
        let start = NonNull::new(start).ok_or(failed)?;
        let region = self.regions.len() as u32;
        let (before, after) = (NONE, NONE);
        self.regions.push(Region { start, capacity: capacity as u32, used: 0, before, after });
        self.capacity += capacity;
        self.link(region);
        Ok(region)
    }

    /// Drops a region without blocks. What is in the last one moves to its place, if it fits, and the
    /// memory of the last one is given back: the memory that was allocated last. Allocators return
    /// memory to the system from its end on, so a gap anywhere else would stay with the process: one
    /// that had shrunk from four million keys to 400,000 held eight times what the filter did.
    fn drop_region(&mut self, mut region: u32, moved: &mut impl FnMut(u32, Block)) {
        let last = self.regions.len() as u32 - 1;
        let end = &self.regions[last as usize];
        let fitting = end.used..=end.capacity;
        if region != last && fitting.contains(&self.regions[region as usize].capacity) {
            self.move_all(last, region, moved);
            region = last;
        }
        self.is_shorter = true;
        self.unlink(region);
        let dropped = &mut self.regions[region as usize];
        // SAFETY: allocated by `add_region` with this layout, and nobody else frees it.
        unsafe { alloc::dealloc(dropped.start.as_ptr(), dropped.layout()) };
        self.capacity -= dropped.capacity as usize;
        if region == last {
            self.regions.pop();
        } else if self.used > SMALL && self.vacant < MOST_VACANT {
            // Too small for what is in the last one, which keeps its place at the end.
            dropped.capacity = 0;
            self.vacant += 1;
        } else {
            self.fill_number(region);
        }
        while self.regions.pop_if(|region| region.is_vacant()).is_some() {
            self.vacant -= 1;
        }
        if self.regions.len() < FEW / 2 {
            self.classes = None;
        }
        if self.regions.capacity() > self.regions.len() * 5 / 4 + 4 {
            shrink(&mut self.regions, 0);
        }
    }

    /// Where the region ends that was allocated last, or nearly so, if one was dropped since this was
    /// asked before: what lies above keeps memory from being returned to the system. (Small pools
    /// have little to return.)
    pub(super) fn new_end(&mut self) -> Option<usize> {
        if !core::mem::take(&mut self.is_shorter) || self.used <= SMALL {
            return None;
        }
        let last = self.regions.last()?;
        let end = last.start.as_ptr().addr() + last.layout().size();
        lower(&mut self.regions, end);
        Some(end)
    }

    /// Gives a number that is free, and not in any class, to the last region.
    fn fill_number(&mut self, number: u32) {
        self.unlink(self.regions.len() as u32 - 1);
        self.regions.swap_remove(number as usize);
        self.link(number);
        self.renumber(number, &mut |_, _| {});
    }

    /// Moves the blocks of a region to one without any that has room for them.
    fn move_all(&mut self, from: u32, to: u32, moved: &mut impl FnMut(u32, Block)) {
        let Region { start, used, .. } = self.regions[from as usize];
        // SAFETY: two regions, of which each has so many bytes.
        unsafe { self.regions[to as usize].start.copy_from_nonoverlapping(start, used as usize) };
        self.set_used(to, |_| used);
        self.set_used(from, |_| 0);
        self.renumber(to, moved);
    }

    /// Writes the number of a region into its blocks, and tells of all of them.
    fn renumber(&mut self, region: u32, moved: &mut impl FnMut(u32, Block)) {
        let Region { start, used, .. } = self.regions[region as usize];
        let mut at = 0;
        while at < used as usize {
            // SAFETY: the used part is whole blocks.
            unsafe {
                let block = start.add(at + HEADER);
                let header = Header::of(block);
                Header { region, ..header }.write(block);
                moved(header.owner, block);
                at += bytes_of(header.units);
            }
        }
    }

    /// Empties the region that has most room, or a part of it, if much memory is free. In a pool that has
    /// become small its blocks get regions of their own.
    fn compact(&mut self, moved: &mut impl FnMut(u32, Block)) {
        let (spare, is_small) = (self.capacity - self.used, self.used <= SMALL);
        // The list is not to be longer than a small pool needs.
        while is_small
            && self.vacant > 0
            && let Some(at) = self.regions.iter().rposition(Region::is_vacant)
        {
            self.fill_number(at as u32);
            self.vacant -= 1;
        }
        if spare <= if is_small { 0 } else { self.capacity / FREE_SHARE + LARGEST / 4 } {
            return;
        }
        let region = if is_small { self.emptiest_of_all() } else { self.emptiest() };
        let Some(region) = region else { return };
        // From the last block on, so that none has to close a gap.
        loop {
            let Region { start, used, .. } = self.regions[region as usize];
            let (mut at, mut last) = (0, None);
            while at < used as usize {
                // SAFETY: the used part is whole blocks.
                let block = unsafe { start.add(at + HEADER) };
                // SAFETY: as above.
                let header = unsafe { Header::of(block) };
                at += bytes_of(header.units);
                last = Some((block, header));
            }
            let Some((block, Header { owner, units, .. })) = last else { break };
            let to = if is_small {
                self.add_region(bytes_of(units)).ok()
            } else {
                self.with_room(bytes_of(units), region)
            };
            let Some(to) = to else { return };
            let copy = self.append(to, units, owner);
            // SAFETY: both have so many units, and are not the same.
            unsafe { copy.copy_from_nonoverlapping(block, units * UNIT) };
            moved(owner, copy);
            self.set_used(region, |used| used - bytes_of(units) as u32);
        }
        self.drop_region(region, moved);
    }

    /// Offers each region to `relocate`, which says where its bytes are now if it has moved them;
    /// `moved` is told of every block that is somewhere else then, with its owner.
    ///
    /// # Safety
    /// What `relocate` returns belongs to the pool, is of the layout given, from the global
    /// allocator, and holds the same bytes; the memory where they were is the pool's no longer.
    pub(super) unsafe fn relocate(
        &mut self,
        relocate: &mut Relocate<'_>,
        mut moved: impl FnMut(u32, Block),
    ) {
        for at in 0..self.regions.len() {
            let region = &mut self.regions[at];
            if region.is_vacant() {
                continue;
            }
            let Some(start) = relocate(region.start, region.layout()) else { continue };
            region.start = start;
            let used = region.used as usize;
            // SAFETY: the used part is whole blocks.
            unsafe { self.tell(start, used, &mut moved) };
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.capacity
            + (self.regions.len() - self.vacant as usize) * WINDOW
            + self.regions.capacity() * size_of::<Region>()
            + self.classes.as_ref().map_or(0, |classes| size_of_val(&**classes))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for region in self.regions.iter().filter(|region| !region.is_vacant()) {
            // SAFETY: allocated by `add_region` with this layout; nobody uses it any more.
            unsafe { alloc::dealloc(region.start.as_ptr(), region.layout()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    type Held = Vec<Option<(usize, Block)>>;

    fn follow(held: &mut Held) -> impl FnMut(u32, Block) {
        |owner, to| held[owner as usize].as_mut().expect("held by another").1 = to
    }

    /// A block's own bytes: first and last.
    fn stamp(owner: usize, units: usize, block: Block) {
        // SAFETY: a block of so many units that this test took.
        unsafe {
            block.cast::<u32>().write(owner as u32);
            block.add(units * UNIT - 4).cast::<u32>().write(!(owner as u32));
        }
    }

    fn check_start(owner: usize, block: Block) {
        // SAFETY: as above.
        assert_eq!(unsafe { block.cast::<u32>().read() }, owner as u32);
    }

    fn check(owner: usize, units: usize, block: Block) {
        check_start(owner, block);
        // SAFETY: as above.
        unsafe {
            assert_eq!(block.add(units * UNIT - 4).cast::<u32>().read(), !(owner as u32));
        }
    }

    /// Blocks keep their bytes while others come, grow, shrink and go, and memory follows.
    #[test]
    fn blocks_keep_their_bytes_and_memory_follows() {
        let mut pool = Pool::default();
        let mut random = Random::new(1);
        let mut held: Held = vec![None; 3000];
        let mut most = 0;
        for step in 0..80_000 {
            let owner = random.below(held.len());
            let is_growing = step < 40_000;
            match held[owner] {
                None if is_growing => {
                    let units = 30 + random.below(8);
                    let block = pool.take(units, owner as u32).expect("memory");
                    stamp(owner, units, block);
                    held[owner] = Some((units, block));
                }
                Some((units, block)) if is_growing && random.below(8) > 0 => {
                    let more = units + 1 + random.below(2);
                    if pool.resize(block, more, follow(&mut held)) {
                        let (_, block) = held[owner].expect("held");
                        check_start(owner, block);
                        stamp(owner, more, block);
                        held[owner] = Some((more, block));
                    }
                }
                Some((units, block)) if random.below(3) == 0 => {
                    check(owner, units, block);
                    held[owner] = None;
                    pool.give_back(block, follow(&mut held));
                }
                Some((units, block)) if units > 30 => {
                    check(owner, units, block);
                    let less = units - 1;
                    stamp(owner, less, block);
                    held[owner] = Some((less, block));
                    if !pool.resize(block, less, follow(&mut held)) {
                        let new = pool.take(less, owner as u32).expect("memory");
                        stamp(owner, less, new);
                        held[owner] = Some((less, new));
                        pool.give_back(block, follow(&mut held));
                    }
                }
                _ => {}
            }
            let wanted: usize = held.iter().flatten().map(|(units, _)| units * UNIT).sum();
            if wanted > 1_000_000 {
                most = most.max(pool.heap_bytes() * 100 / wanted);
            }
            if step % 1000 == 0 {
                for (owner, &slot) in held.iter().enumerate() {
                    if let Some((units, block)) = slot {
                        check(owner, units, block);
                    }
                }
            }
        }
        assert!((100..=118).contains(&most), "{most} % of what is in use");
        for owner in 0..held.len() {
            let Some((_, block)) = held[owner].take() else { continue };
            pool.give_back(block, follow(&mut held));
        }
        assert!(pool.regions.is_empty() && pool.used == 0 && pool.heap_bytes() < 512);
    }

    /// What is given back is the memory that was allocated last: nothing else comes back to the system.
    #[test]
    fn memory_is_given_back_from_its_end() {
        let (mut pool, mut held): (Pool, Held) = (Pool::default(), vec![None; 8000]);
        for (owner, held) in held.iter_mut().enumerate() {
            let block = pool.take(50, owner as u32).expect("memory");
            stamp(owner, 50, block);
            *held = Some((50, block));
        }
        let starts: Vec<_> = pool.regions.iter().map(|region| region.start).collect();
        let mut random = Random::new(3);
        while pool.used > 4 * SMALL {
            let owner = random.below(held.len());
            let Some((units, block)) = held[owner].take() else { continue };
            check(owner, units, block);
            pool.give_back(block, follow(&mut held));
        }
        let kept = pool.regions.len();
        assert!((60..starts.len() / 2).contains(&kept), "{kept} of {}", starts.len());
        // Those of one block, which come first in a new pool, may be gone.
        for (region, start) in pool.regions.iter().zip(&starts) {
            assert!(region.is_vacant() || region.start == *start);
        }
        assert!(pool.vacant > 50);
        while held.iter().flatten().count() > 10 {
            let owner = random.below(held.len());
            let Some((units, block)) = held[owner].take() else { continue };
            check(owner, units, block);
            pool.give_back(block, follow(&mut held));
        }
        assert_eq!((pool.vacant, pool.regions.len()), (0, 10));
        for (owner, &slot) in held.iter().enumerate() {
            if let Some((units, block)) = slot {
                check(owner, units, block);
            }
        }
    }

    /// Takes a block and makes it longer, unit by unit, as segments grow.
    fn grow(pool: &mut Pool, held: &mut Held, owner: usize, from: usize, to: usize) {
        if held[owner].is_none() {
            held[owner] = Some((from, pool.take(from, owner as u32).expect("memory")));
        }
        for units in from + 1..=to {
            let (_, block) = held[owner].expect("held");
            if !pool.resize(block, units, follow(held)) {
                let new = pool.take(units, owner as u32).expect("memory");
                let (_, block) = held[owner].replace((units, new)).expect("held");
                pool.give_back(block, follow(held));
            }
            held[owner].as_mut().expect("held").0 = units;
        }
    }

    /// Blocks of more than half a region left the other half free, each of them.
    #[test]
    fn large_blocks_leave_nothing_free() {
        let (mut pool, mut held): (Pool, Held) = (Pool::default(), vec![None; 200]);
        (0..200).for_each(|owner| grow(&mut pool, &mut held, owner, 60, 97));
        (0..50).for_each(|owner| grow(&mut pool, &mut held, 4 * owner, 97, 270));
        let used: usize = held.iter().flatten().map(|held| bytes_of(held.0)).sum();
        assert_eq!(pool.used, used);
        assert!(
            used > 2 * SMALL && pool.capacity < used + used / 14,
            "{} of {used}",
            pool.capacity
        );
        // Shorter ones share regions again.
        for owner in 0..50 {
            let (units, block) = held[4 * owner].expect("held");
            let less = units / 4;
            if !pool.resize(block, less, follow(&mut held)) {
                let new = pool.take(less, 4 * owner as u32).expect("memory");
                held[4 * owner] = Some((less, new));
                pool.give_back(block, follow(&mut held));
            }
            held[4 * owner].as_mut().expect("held").0 = less;
        }
        let used: usize = held.iter().flatten().map(|held| bytes_of(held.0)).sum();
        assert_eq!(pool.used, used);
        assert!(pool.capacity < used + used / 8, "{} of {used}", pool.capacity);
    }

    /// What was packed into regions of a large pool has regions of its own in a small one.
    #[test]
    fn a_pool_that_becomes_small_has_nothing_free() {
        let (mut pool, mut held): (Pool, Held) = (Pool::default(), vec![None; 400]);
        (0..400).for_each(|owner| grow(&mut pool, &mut held, owner, 40, 60));
        (0..400).for_each(|owner| stamp(owner, 60, held[owner].expect("held").1));
        for owner in 0..395 {
            let (units, block) = held[owner].take().expect("held");
            check(owner, units, block);
            pool.give_back(block, follow(&mut held));
            let is_settled = pool.used < SMALL / 2;
            assert!(!is_settled || pool.capacity == pool.used, "{} {}", pool.capacity, pool.used);
        }
        (395..400).for_each(|owner| check(owner, 60, held[owner].expect("held").1));
    }
}
