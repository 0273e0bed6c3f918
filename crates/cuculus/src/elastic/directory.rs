//! The segments of a level and their memory: descriptions in pages, blocks in a pool. Knows which
//! segment a path leads to; how large one should be, and what is in it, is decided elsewhere.
#![allow(unsafe_code, reason = "segments point to blocks of the pool")]

use super::page::Page;
use super::pool::{Block, Pool, Relocate};
use super::rewrite::Draft;
use super::segment::{Plan, Segment};
use crate::memory::{lower, shrink};
use crate::prefetch::prefetch_at;
use crate::table::OutOfMemory;

/// Descriptions in a page. Only the list of pages is ever copied when there are more of them.
pub(super) const PAGE: usize = 256;
const FEW_PAGES: usize = 8;
const SPARE_PAGES: usize = 64;
/// The last pages, one of which moves when the memory of the blocks becomes shorter.
const LAST_PAGES: usize = 16;

/// A description in a cache line of its own.
#[repr(align(64))]
struct Line(Segment);

/// All segments of a level.
#[derive(Default)]
pub(crate) struct Directory {
    pages: Vec<Page<Line>>,
    count: u32,
    /// The bits of a path that can choose a segment: one more than `count` has, but for the
    /// lowest.
    mask: u32,
    pool: Pool,
    capacity: usize,
}

/// The bits of a path that can choose one of so many segments.
fn mask_of(count: u32) -> u32 {
    count.checked_ilog2().map_or(0, |depth| ((2u64 << depth) - 1) as u32)
}

/// [`linear_index`] with the mask at hand.
#[inline]
pub(super) fn index_among(path: u64, count: u32, mask: u32) -> usize {
    let whole = path as u32 & mask;
    (if whole < count { whole } else { whole & (mask >> 1) }) as usize
}

/// The segment that a path leads to among so many, by linear hashing.
#[inline]
pub(super) fn linear_index(path: u64, count: u32) -> usize {
    index_among(path, count, mask_of(count))
}

// SAFETY: the blocks that segments point to belong to the pool of the same directory.
unsafe impl Send for Directory {}
// SAFETY: through a shared reference blocks are only read.
unsafe impl Sync for Directory {}

impl Directory {
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.mask = mask_of(count);
    }

    fn give_back(&mut self, block: Block) {
        let Self { pages, pool, .. } = self;
        pool.give_back(block, |owner, to| follow(pages, owner, to));
        self.lower();
    }

    /// Moves lists down that lie above the memory of the blocks when that has become shorter: one
    /// at a time, so that little is returned to the system at once.
    #[inline]
    fn lower(&mut self) {
        let Some(end) = self.pool.new_end() else { return };
        lower(&mut self.pages, end);
        // Pages were allocated one after the other, but for those that were moved before.
        let last = self.pages.iter_mut().rev().take(LAST_PAGES);
        if let Some(page) = last.max_by_key(|page| page.as_ptr().addr()) {
            page.lower(end);
        }
    }

    /// Makes room in the list for a segment more.
    pub(super) fn reserve(&mut self) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: (PAGE * size_of::<Line>()) as u64 };
        if self.len().is_multiple_of(PAGE) {
            // Owners of blocks are numbers of 32 bits.
            if self.count > u32::MAX - PAGE as u32 {
                return Err(failed);
            }
            // Most filters have a few segments, and the list of those is no longer than needed.
            let page = Page::with_room(if self.count == 0 { 1 } else { PAGE })?;
            let more = (1 + self.pages.len() / 8).max(self.spare_pages());
            if self.pages.len() == self.pages.capacity() {
                self.pages.try_reserve_exact(more).map_err(|_| failed)?;
            }
            self.pages.push(page);
        }
        let Some(page) = self.pages.last_mut() else { return Err(failed) };
        if page.len() == page.capacity() {
            let more = (page.len() / 4).max(1).min(PAGE - page.len());
            page.set_capacity(page.len() + more)?;
        }
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(super) fn unreserve(&mut self) {
        while self.pages.last().is_some_and(|page| page.is_empty()) {
            self.pages.pop();
        }
        let spare = self.spare_pages();
        if self.pages.capacity() > 2 * self.pages.len() + 4 + spare {
            shrink(&mut self.pages, spare);
        }
    }

    /// The room that the list of pages has at least for more, when its length changes. A longer
    /// list is no small piece of memory: allocators keep those that were freed, wherever they are,
    /// and return nothing to the system that is below.
    fn spare_pages(&self) -> usize {
        if self.pages.len() < FEW_PAGES { 0 } else { SPARE_PAGES }
    }

    /// [`Pool::relocate`], and segments follow.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn relocate(&mut self, relocate: &mut Relocate<'_>) {
        let Self { pages, pool, .. } = self;
        // SAFETY: the caller's.
        unsafe { pool.relocate(relocate, |owner, to| follow(pages, owner, to)) };
    }

    /// [`Pool::fit`], and segments follow.
    pub(super) fn fit(&mut self) {
        let Self { pages, pool, .. } = self;
        pool.fit(|owner, to| follow(pages, owner, to));
    }

    /// A copy, with blocks of its own.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::default();
        self.iter().try_for_each(|segment| copy.push_copy(segment, segment.depth()))?;
        Ok(copy)
    }
}

impl Directory {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// The slots that all blocks have room for.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The segment that a path leads to, by linear hashing. There must be one.
    #[inline]
    pub(super) fn index(&self, path: u64) -> usize {
        index_among(path, self.count, self.mask)
    }

    /// [`get`](Self::get) for [`index`](Self::index).
    #[inline]
    pub(super) fn find(&self, path: u64) -> &Segment {
        assert!(self.count > 0, "no segments");
        let index = self.index(path);
        // SAFETY: there is a segment. The index is below the count: either by comparison, or since half of the mask is
        // below the highest bit of the count. Every page but the last is full, so a segment with
        // an index below the count is there.
        unsafe { &self.pages.get_unchecked(index / PAGE).get_unchecked(index % PAGE).0 }
    }

    /// [`get_mut`](Self::get_mut) for [`index`](Self::index).
    #[inline]
    pub(super) fn find_mut(&mut self, path: u64) -> &mut Segment {
        assert!(self.count > 0, "no segments");
        let index = self.index(path);
        // SAFETY: as for `find`.
        unsafe { &mut self.pages.get_unchecked_mut(index / PAGE).get_unchecked_mut(index % PAGE).0 }
    }

    /// Prefetches the description of a path's segment.
    #[inline]
    pub(super) fn prefetch(&self, path: u64) {
        if self.count > 0 {
            prefetch_at(core::ptr::from_ref(self.find(path)));
        }
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> &Segment {
        &self.pages[index / PAGE][index % PAGE].0
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Segment {
        &mut self.pages[index / PAGE][index % PAGE].0
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.pages.iter().flat_map(|page| page.iter()).map(|line| &line.0)
    }

    /// Gives a segment a larger or smaller block.
    #[inline(always)]
    pub(super) fn resize(&mut self, index: usize, units: usize) -> Result<(), OutOfMemory> {
        let Self { pages, pool, capacity, .. } = self;
        let segment = &mut pages[index / PAGE][index % PAGE].0;
        let (before, held) = (segment.capacity(), segment.units());
        if units < held {
            segment.set_units(units);
            *capacity = *capacity + segment.capacity() - before;
        }
        let at = segment.at;
        if pool.resize(at, units, |owner, to| follow(pages, owner, to)) {
            let segment = &mut pages[index / PAGE][index % PAGE].0;
            if units > held {
                segment.set_units(units);
                *capacity = *capacity + segment.capacity() - before;
            } else {
                self.lower();
            }
            return Ok(());
        }
        self.move_to(index, units)
    }

    /// Writes a draft in place of a segment, whose block is long enough, and makes it as short as the plan
    /// says (if a shorter one that has to be elsewhere is refused, it stays).
    pub(super) fn replace(&mut self, index: usize, draft: &Draft, plan: &Plan) {
        let segment = self.get_mut(index);
        let before = segment.capacity();
        segment.become_as(plan);
        draft.write_to(segment);
        self.capacity = self.capacity + self.get(index).capacity() - before;
        if plan.units < self.get(index).units() {
            _ = self.move_to(index, plan.units);
        }
    }

    /// Gives a segment another block, in a region that is fuller than others.
    fn move_to(&mut self, index: usize, units: usize) -> Result<(), OutOfMemory> {
        let at = self.pool.take(units, index as u32)?;
        let moved = self.get(index).move_to(at, units);
        let now = moved.capacity();
        let old = core::mem::replace(self.get_mut(index), moved);
        self.capacity = self.capacity + now - old.capacity();
        self.give_back(old.at);
        Ok(())
    }

    /// Adds a draft as the last segment.
    pub(super) fn push(&mut self, draft: &Draft, plan: &Plan) -> Result<(), OutOfMemory> {
        self.push_with(plan.units, |at| {
            let mut segment = Segment::new(at, plan);
            draft.write_to(&mut segment);
            segment
        })
    }

    /// Adds a copy of a segment of another directory as the last, at some depth.
    pub(super) fn push_copy(&mut self, segment: &Segment, depth: u32) -> Result<(), OutOfMemory> {
        self.push_with(segment.units(), |at| {
            let mut segment = segment.move_to(at, segment.units());
            segment.set_depth(depth);
            segment
        })
    }

    fn push_with(
        &mut self,
        units: usize,
        make: impl FnOnce(Block) -> Segment,
    ) -> Result<(), OutOfMemory> {
        self.reserve()?;
        let at = match self.pool.take(units, self.count) {
            Ok(at) => at,
            Err(failed) => {
                self.unreserve();
                return Err(failed);
            }
        };
        let segment = make(at);
        self.capacity += segment.capacity();
        if let Some(page) = self.pages.last_mut() {
            page.push(Line(segment));
        }
        self.set_count(self.count + 1);
        Ok(())
    }

    /// Drops the last segment.
    pub(super) fn pop(&mut self) {
        let Some(Line(old)) = self.pages.last_mut().and_then(Page::pop) else { return };
        self.capacity -= old.capacity();
        self.set_count(self.count - 1);
        if let [page] = &mut self.pages[..]
            && page.capacity() > page.len() + page.len() / 4 + 1
        {
            // (Without memory for a shorter one it stays as it is.)
            _ = page.set_capacity(page.len() + page.len() / 8);
        }
        self.unreserve();
        self.give_back(old.at);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(Page::heap_bytes).sum();
        self.pool.heap_bytes() + pages + self.pages.capacity() * size_of::<Page<Line>>()
    }
}

/// A block was moved.
fn follow(pages: &mut [Page<Line>], owner: u32, to: Block) {
    let owner = owner as usize;
    pages[owner / PAGE][owner % PAGE].0.at = to;
}
