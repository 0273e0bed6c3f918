//! The segments of a level and their memory: descriptions in pages, blocks in a pool. Knows which
//! segment a path leads to; how large one should be, and what is in it, is decided elsewhere.
#![allow(unsafe_code, reason = "segments point to blocks of the pool")]

use super::pool::{Block, Pool, Relocate};
use super::segment::{Plan, Segment};
use super::segments::{Content, Segments};
use crate::memory::shrink;
use crate::prefetch::prefetch_at;
use crate::table::OutOfMemory;
use crate::wide::Chosen;

/// Descriptions in a page. Only the list of pages is ever copied when there are more of them.
pub(super) const PAGE: usize = 256;

/// A description in a cache line of its own.
#[repr(align(64))]
struct Line(Segment);

/// All segments of a level.
#[derive(Default)]
pub(crate) struct Directory {
    pages: Vec<Vec<Line>>,
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
#[inline(always)]
pub(super) fn index_among(path: u64, count: u32, mask: u32) -> usize {
    let whole = path as u32 & mask;
    (if whole < count { whole } else { whole & (mask >> 1) }) as usize
}

/// The segment that a path leads to among so many, by linear hashing.
#[inline(always)]
pub(super) fn linear_index(path: u64, count: u32) -> usize {
    index_among(path, count, mask_of(count))
}

/// A segment that is written, but not yet in the list. To be installed, added or discarded before
/// anything else is changed: nothing keeps track of its block.
pub(crate) struct Prepared {
    index: usize,
    segment: Segment,
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
    }

    /// Adds the segments of another directory after the last. All pages here are full.
    pub(super) fn append(&mut self, other: Self) -> Result<(), OutOfMemory> {
        debug_assert!(self.pages.iter().all(|page| page.len() == PAGE), "a page is not full");
        let bytes = (other.pages.len() * size_of::<Vec<Line>>()) as u64;
        let reserved = self.pages.try_reserve(other.pages.len());
        reserved.map_err(|_| OutOfMemory { bytes })?;
        self.pool.take_over(other.pool, self.count)?;
        self.pages.extend(other.pages);
        self.capacity += other.capacity;
        self.set_count(self.count + other.count);
        Ok(())
    }

    /// Makes room in the list for a segment more.
    pub(super) fn reserve(&mut self) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: (PAGE * size_of::<Line>()) as u64 };
        if self.len().is_multiple_of(PAGE) {
            // Owners of blocks are numbers of 32 bits.
            if self.count > u32::MAX - PAGE as u32 {
                return Err(failed);
            }
            let mut page = Vec::new();
            // Most filters have a few segments, and the list of those is no longer than needed.
            let room = if self.count == 0 { 1 } else { PAGE };
            page.try_reserve_exact(room).map_err(|_| failed)?;
            let more = 1 + self.pages.len() / 8;
            if self.pages.len() == self.pages.capacity() {
                self.pages.try_reserve_exact(more).map_err(|_| failed)?;
            }
            self.pages.push(page);
        }
        let Some(page) = self.pages.last_mut() else { return Err(failed) };
        if page.len() == page.capacity() {
            let more = (page.len() / 4).max(1).min(PAGE - page.len());
            page.try_reserve_exact(more).map_err(|_| failed)?;
        }
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(super) fn unreserve(&mut self) {
        while self.pages.last().is_some_and(Vec::is_empty) {
            self.pages.pop();
        }
        if self.pages.capacity() > 2 * self.pages.len() + 4 {
            shrink(&mut self.pages, 0);
        }
    }

    /// Adds the segment prepared after the last, for which room was reserved.
    pub(super) fn push(&mut self, prepared: Prepared) {
        debug_assert_eq!(prepared.index, self.len());
        self.capacity += prepared.segment.capacity();
        if let Some(page) = self.pages.last_mut() {
            page.push(Line(prepared.segment));
        }
        self.set_count(self.count + 1);
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

impl Segments for Directory {
    type Prepared = Prepared;

    #[inline(always)]
    fn len(&self) -> usize {
        self.count as usize
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    fn index(&self, path: u64) -> usize {
        index_among(path, self.count, self.mask)
    }

    #[inline(always)]
    fn find(&self, path: u64) -> &Segment {
        assert!(self.count > 0, "no segments");
        let index = self.index(path);
        // SAFETY: there is a segment. The index is below the count: either by comparison, or since half of the mask is
        // below the highest bit of the count. Every page but the last is full, so a segment with
        // an index below the count is there.
        unsafe { &self.pages.get_unchecked(index / PAGE).get_unchecked(index % PAGE).0 }
    }

    #[inline(always)]
    fn find_mut(&mut self, path: u64) -> Option<&mut Segment> {
        assert!(self.count > 0, "no segments");
        let index = self.index(path);
        // SAFETY: as for `find`.
        Some(unsafe {
            &mut self.pages.get_unchecked_mut(index / PAGE).get_unchecked_mut(index % PAGE).0
        })
    }

    #[inline(always)]
    fn prefetch(&self, path: u64) {
        if self.count > 0 {
            prefetch_at(core::ptr::from_ref(self.find(path)));
        }
    }

    #[inline(always)]
    fn get(&self, index: usize) -> &Segment {
        &self.pages[index / PAGE][index % PAGE].0
    }

    #[inline(always)]
    fn get_mut(&mut self, index: usize) -> Option<&mut Segment> {
        Some(&mut self.pages[index / PAGE][index % PAGE].0)
    }

    fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.pages.iter().flatten().map(|line| &line.0)
    }

    fn prepare(
        &mut self,
        index: usize,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<Prepared, OutOfMemory> {
        let at = self.pool.take(plan.units, index as u32)?;
        let mut segment = Segment::new(at, plan);
        content.write_to(&mut segment, chosen);
        Ok(Prepared { index, segment })
    }

    #[inline(always)]
    fn resize(&mut self, index: usize, units: usize) -> Result<(), OutOfMemory> {
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
            }
            return Ok(());
        }
        let at = self.pool.take(units, index as u32)?;
        let segment = self.get(index).move_to(at, units);
        self.install(Prepared { index, segment });
        Ok(())
    }

    fn discard(&mut self, prepared: Prepared) {
        self.give_back(prepared.segment.at);
    }

    fn install(&mut self, prepared: Prepared) {
        self.capacity += prepared.segment.capacity();
        let old = core::mem::replace(
            &mut self.pages[prepared.index / PAGE][prepared.index % PAGE].0,
            prepared.segment,
        );
        self.capacity -= old.capacity();
        self.give_back(old.at);
    }

    fn push_draft(
        &mut self,
        content: &impl Content,
        plan: &Plan,
        chosen: Chosen,
    ) -> Result<(), OutOfMemory> {
        self.reserve()?;
        match self.prepare(self.len(), content, plan, chosen) {
            Ok(prepared) => {
                self.push(prepared);
                Ok(())
            }
            Err(failed) => {
                self.unreserve();
                Err(failed)
            }
        }
    }

    fn push_copy(&mut self, segment: &Segment, depth: u32) -> Result<(), OutOfMemory> {
        self.reserve()?;
        let index = self.len();
        let at = match self.pool.take(segment.units(), index as u32) {
            Ok(at) => at,
            Err(failed) => {
                self.unreserve();
                return Err(failed);
            }
        };
        let mut segment = segment.move_to(at, segment.units());
        segment.set_depth(depth);
        self.push(Prepared { index, segment });
        Ok(())
    }

    fn pop(&mut self) {
        let Some(Line(old)) = self.pages.last_mut().and_then(Vec::pop) else { return };
        self.capacity -= old.capacity();
        self.set_count(self.count - 1);
        if let [page] = &mut self.pages[..]
            && page.capacity() > page.len() + page.len() / 4 + 1
        {
            shrink(page, page.len() / 8);
        }
        self.unreserve();
        self.give_back(old.at);
    }

    fn heap_bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(|page| page.capacity() * size_of::<Line>()).sum();
        self.pool.heap_bytes() + pages + self.pages.capacity() * size_of::<Vec<Line>>()
    }
}

/// A block was moved.
fn follow(pages: &mut [Vec<Line>], owner: u32, to: Block) {
    let owner = owner as usize;
    pages[owner / PAGE][owner % PAGE].0.at = to;
}
