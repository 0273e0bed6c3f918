//! How much memory is held, by an allocator that counts. A filter's own word for its size is not
//! taken, for ours as little as for others'.
#![allow(unsafe_code, reason = "an allocator has no safe form")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count of the bytes that were asked for and not yet given back.
///
/// Counts with a load and a store instead of an atomic addition, which would cost as much as a
/// small allocation and burden filters that allocate while they work. Exact as long as one thread
/// allocates at a time, and all experiments have one thread.
pub struct CountingAllocator;

/// The bytes allocated at the moment, or `None` if [`CountingAllocator`] is not the program's
/// allocator.
#[must_use]
pub fn live_bytes() -> Option<usize> {
    // A program has allocated something before it gets here.
    Some(LIVE.load(Relaxed)).filter(|&bytes| bytes > 0)
}

fn count(freed: usize, allocated: usize) {
    LIVE.store(LIVE.load(Relaxed).wrapping_sub(freed).wrapping_add(allocated), Relaxed);
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
