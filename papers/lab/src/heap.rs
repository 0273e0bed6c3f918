//! How much memory is held, by an allocator that counts. A filter's own account of its size is not
//! used, for ours as little as for others'.
#![allow(unsafe_code, reason = "an allocator has no safe form")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    /// Neither made on first use nor dropped, so the allocator may touch it at any time.
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, with the bytes counted that each thread allocates and frees.
///
/// Each thread has its own count: an atomic addition would cost as much as a small allocation and
/// burden filters that allocate while they work, and what other threads do is none of an
/// experiment's business. Every experiment has one thread.
pub struct CountingAllocator;

/// A moment from which memory is counted.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Mark {
    /// Now, or `None` if [`CountingAllocator`] is not the program's allocator.
    pub fn now() -> Option<Self> {
        let before = LIVE.get();
        let probe = black_box(Box::new(0u8));
        let counted = LIVE.get() != before;
        drop(probe);
        counted.then_some(Self(before))
    }

    /// What this thread has allocated since then and not freed; zero if it freed more.
    pub fn held(self) -> usize {
        // A thread that frees what others allocated counts below zero, and wraps around.
        usize::try_from(LIVE.get().wrapping_sub(self.0) as isize).unwrap_or(0)
    }
}

fn count(freed: usize, allocated: usize) {
    LIVE.set(LIVE.get().wrapping_sub(freed).wrapping_add(allocated));
}

// SAFETY: every call goes to the system's allocator with the arguments unchanged, so its promises
// hold; the count touches no allocated memory and cannot panic.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, and it is the same one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        // SAFETY: as above; `block` came from the same allocator with this layout.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}
