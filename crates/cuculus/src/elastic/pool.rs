//! Memory for segments: blocks of a few sizes, those of one size side by side. Knows bytes and
//! owners, nothing of what is in a block.
//!
//! Segments grow nearly in step, so every block given back is a little smaller than the next one
//! that is wanted. Here a gap is filled at once by the last block of the same size, which is why a
//! block says whose it is.
#![allow(unsafe_code, reason = "blocks are cut from slabs by hand")]

use core::ptr::NonNull;
use std::alloc::{self, Layout};

use crate::table::{OutOfMemory, WINDOW};

/// The bytes of a unit: blocks are some units long.
pub(super) const UNIT: usize = 32;
/// The owner's number before the bytes of a block, which are aligned for words.
const HEADER: usize = 8;
/// The largest slab.
const SLAB: usize = 1 << 16;
/// A slab holds this part of the blocks of its size, so that little of the last is unused. Slabs of
/// one size for all blocks would leave an allocator fewer gaps, but more of them half empty: with
/// 16 KiB a filter of 400,000 keys was a fifth larger.
const SLAB_SHARE: usize = 32;
const SLAB_ALIGN: usize = 8;

/// Moves memory, or does not; see [`ElasticFilter::relocate`](super::ElasticFilter::relocate).
pub(super) type Relocate<'a> = dyn FnMut(NonNull<u8>, Layout) -> Option<NonNull<u8>> + 'a;

/// The bytes of a block; its header is before them. Valid as long as the pool's owner says.
pub(super) type Block = NonNull<u8>;

/// A block was moved to fill a gap.
pub(super) struct Moved {
    pub(super) owner: u32,
    pub(super) to: Block,
}

struct Slab {
    start: NonNull<u8>,
    bytes: u32,
    capacity: u32,
}

/// All blocks of one size. Every slab but the last is full.
struct Shelf {
    units: u16,
    block: u32,
    in_last: u32,
    blocks: usize,
    slabs: Vec<Slab>,
}

impl Shelf {
    /// The bytes of the next slab and the blocks in it.
    fn next_slab(&self) -> (usize, usize) {
        let block = self.block as usize;
        let blocks = (self.blocks / SLAB_SHARE).clamp(1, SLAB / block);
        (blocks * block + WINDOW, blocks)
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, SLAB_ALIGN).expect("slabs are small")
    }

    fn add_slab(&mut self) -> Result<(), OutOfMemory> {
        let (bytes, capacity) = self.next_slab();
        let failed = OutOfMemory { bytes: bytes as u64 };
        if self.slabs.len() == self.slabs.capacity() {
            self.slabs.try_reserve_exact(1 + self.slabs.len() / 4).map_err(|_| failed)?;
        }
        // SAFETY: the layout is not of size zero. Zeroed, so that no load finds memory that was
        // never written.
        let start = unsafe { alloc::alloc_zeroed(Self::layout(bytes)) };
        let start = NonNull::new(start).ok_or(failed)?;
        self.slabs.push(Slab { start, bytes: bytes as u32, capacity: capacity as u32 });
        self.in_last = 0;
        Ok(())
    }

    fn drop_last_slab(&mut self) {
        if let Some(slab) = self.slabs.pop() {
            // SAFETY: allocated by `add_slab` with this layout, and popped: nobody else frees it.
            unsafe { alloc::dealloc(slab.start.as_ptr(), Self::layout(slab.bytes as usize)) };
            self.in_last = self.slabs.last().map_or(0, |slab| slab.capacity);
            if self.slabs.capacity() > 2 * self.slabs.len() + 4 {
                shrink(&mut self.slabs, 0);
            }
        }
    }

    /// The bytes of block `i` of the last slab.
    fn block_of_last(&self, i: u32) -> Block {
        let slab = self.slabs.last().expect("a shelf with a block has a slab");
        debug_assert!(i < slab.capacity);
        // SAFETY: block `i` with its header lies within the slab, whose capacity is larger.
        unsafe { slab.start.add((i * self.block) as usize + HEADER) }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        while !self.slabs.is_empty() {
            self.drop_last_slab();
        }
    }
}

/// Blocks of all sizes.
#[derive(Default)]
pub(super) struct Pool {
    shelves: Vec<Shelf>,
}

// SAFETY: a pool owns its slabs, and lends blocks only as raw pointers to its owner.
unsafe impl Send for Pool {}
// SAFETY: through a shared reference nothing can be changed.
unsafe impl Sync for Pool {}

impl Pool {
    /// A block of some units, given to `owner`. After a block come at least [`WINDOW`] bytes that
    /// can be read.
    pub(super) fn take(&mut self, units: usize, owner: u32) -> Result<Block, OutOfMemory> {
        let at = match self.shelves.binary_search_by_key(&(units as u16), |shelf| shelf.units) {
            Ok(at) => at,
            Err(at) => {
                let block = units * UNIT + HEADER;
                let failed = OutOfMemory { bytes: block as u64 };
                self.shelves.try_reserve_exact(1).map_err(|_| failed)?;
                let (block, blocks, in_last, slabs) = (block as u32, 0, 0, Vec::new());
                let units = units as u16;
                self.shelves.insert(at, Shelf { units, block, blocks, in_last, slabs });
                at
            }
        };
        let shelf = &mut self.shelves[at];
        let is_full = shelf.slabs.last().is_none_or(|slab| shelf.in_last == slab.capacity);
        if let Some(failed) = is_full.then(|| shelf.add_slab().err()).flatten() {
            self.drop_if_empty(at);
            return Err(failed);
        }
        let shelf = &mut self.shelves[at];
        let block = shelf.block_of_last(shelf.in_last);
        shelf.in_last += 1;
        shelf.blocks += 1;
        set_owner(block, owner);
        Ok(block)
    }

    /// Gives a block back. The gap is filled by another one, unless it was the last.
    pub(super) fn give_back(&mut self, units: usize, block: Block) -> Option<Moved> {
        let units = units as u16;
        let at = self.shelves.binary_search_by_key(&units, |shelf| shelf.units).ok()?;
        let shelf = &mut self.shelves[at];
        let last = shelf.block_of_last(shelf.in_last - 1);
        let moved = (last != block).then(|| {
            // SAFETY: both are blocks of this shelf with headers before them, and not the same.
            unsafe {
                let (from, to) = (last.sub(HEADER), block.sub(HEADER));
                to.copy_from_nonoverlapping(from, shelf.block as usize);
                Moved { owner: to.cast::<u32>().read(), to: block }
            }
        });
        shelf.in_last -= 1;
        shelf.blocks -= 1;
        if shelf.in_last == 0 {
            shelf.drop_last_slab();
            self.drop_if_empty(at);
        }
        moved
    }

    /// Offers each slab to `relocate`, which says where its bytes are now if it has moved them;
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
        for shelf in &mut self.shelves {
            let (block, last) = (shelf.block as usize, shelf.slabs.len().saturating_sub(1));
            for (i, slab) in shelf.slabs.iter_mut().enumerate() {
                let layout = Shelf::layout(slab.bytes as usize);
                let Some(start) = relocate(slab.start, layout) else { continue };
                slab.start = start;
                let blocks = if i == last { shelf.in_last } else { slab.capacity };
                for i in 0..blocks as usize {
                    // SAFETY: these blocks are in use, so their headers were written and are
                    // within the slab.
                    unsafe {
                        let header = start.add(i * block);
                        moved(header.cast::<u32>().read(), header.add(HEADER));
                    }
                }
            }
        }
    }

    fn drop_if_empty(&mut self, at: usize) {
        if self.shelves[at].slabs.is_empty() {
            self.shelves.remove(at);
            shrink(&mut self.shelves, 2);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let slabs = |shelf: &Shelf| -> usize {
            shelf.slabs.iter().map(|slab| slab.bytes as usize).sum::<usize>()
                + shelf.slabs.capacity() * size_of::<Slab>()
        };
        self.shelves.iter().map(slabs).sum::<usize>() + self.shelves.capacity() * size_of::<Shelf>()
    }
}

/// Gives back what a list does not need, but for room for some more items. Without memory for the
/// copy the list stays as it is.
pub(super) fn shrink<T>(list: &mut Vec<T>, more: usize) {
    let mut smaller = Vec::new();
    if list.capacity() > list.len() + more && smaller.try_reserve_exact(list.len() + more).is_ok() {
        smaller.append(list);
        *list = smaller;
    }
}

/// Writes the owner of a block that was just taken or renamed.
fn set_owner(block: Block, owner: u32) {
    // SAFETY: every block has an aligned header of four bytes before it.
    unsafe { block.sub(HEADER).cast::<u32>().write(owner) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    /// Blocks keep their bytes and owners while others come and go, and memory follows.
    #[test]
    fn gaps_are_filled_and_memory_is_given_back() {
        let mut pool = Pool::default();
        let mut random = Random::new(1);
        let mut held: Vec<Option<(usize, Block)>> = vec![None; 3000];
        let mut most = 0;
        for step in 0..60_000 {
            let owner = random.below(held.len());
            let growing = step < 30_000;
            match held[owner].take() {
                Some((units, block)) if !growing || random.below(3) == 0 => {
                    // SAFETY: a block that this test took and did not give back.
                    assert_eq!(unsafe { block.read() }, owner as u8);
                    if let Some(moved) = pool.give_back(units, block) {
                        let other = held[moved.owner as usize].as_mut().expect("held by another");
                        other.1 = moved.to;
                    }
                }
                None if growing => {
                    let units = 30 + random.below(8);
                    let block = pool.take(units, owner as u32).expect("memory");
                    // SAFETY: as above.
                    unsafe { block.write(owner as u8) };
                    held[owner] = Some((units, block));
                }
                same => held[owner] = same,
            }
            let wanted: usize = held.iter().flatten().map(|(units, _)| units * UNIT).sum();
            if wanted > 1_000_000 {
                most = most.max(pool.heap_bytes() * 100 / wanted);
            }
        }
        assert!((100..=125).contains(&most), "{most} % of what is in use");
        for owner in 0..held.len() {
            let Some((units, block)) = held[owner].take() else { continue };
            if let Some(moved) = pool.give_back(units, block) {
                held[moved.owner as usize].as_mut().expect("held by another").1 = moved.to;
            }
        }
        assert!(pool.shelves.is_empty() && pool.heap_bytes() < 512);
    }
}
