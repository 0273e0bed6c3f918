//! The program's allocator: the system's, with large pages for large pieces where Linux has them.
//! Knows sizes, nothing of what is kept there.
//!
//! A lookup in a filter goes to two places at random. In pages of 4 KiB nearly each of them has to be
//! found in the page tables first: `uniq` on twenty million lines took a quarter less processor time
//! with pages of 2 MiB.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};

/// Pieces from this size on are worth it: smaller ones fit what the processor remembers of page
/// tables, and would take memory that they do not need.
const LARGE: usize = 8 << 20;

pub(crate) struct LargePages;

// SAFETY: all memory is the system allocator's; what is asked of the kernel besides changes neither
// its contents nor where it is.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the promises of `alloc`, which are the same.
        prefer_large_pages(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        prefer_large_pages(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for `alloc`; `at` came from the system allocator.
        prefer_large_pages(unsafe { System.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as for `realloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Asks for large pages. Without them everything is as it was, so a refusal is no error.
#[inline(always)]
fn prefer_large_pages(at: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !at.is_null() {
        advise(at, size);
    }
    at
}

#[cfg(target_os = "linux")]
#[cold]
fn advise(at: *mut u8, size: usize) {
    use rustix::mm::{Advice, madvise};

    const PAGE: usize = 4096;
    let skipped = at.align_offset(PAGE);
    let whole = size.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: the pages lie within a piece that was just allocated, and the advice leaves their
    // contents alone.
    let _ = unsafe { madvise(at.wrapping_add(skipped).cast(), whole, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}
