//! The allocator of the program: the system allocator, with huge pages for large allocations on
//! Linux. Knows sizes, nothing of what is stored.
//!
//! A lookup in a filter is two random reads. With pages of 4 KiB nearly every read misses the TLB:
//! `uniq` on twenty million lines took a quarter less processor time with pages of 2 MiB.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};

/// Smaller allocations fit the TLB, and would waste memory in huge pages.
const LARGE: usize = 8 << 20;

pub(crate) struct LargePages;

// SAFETY: all memory is the system allocator's; the advice to the kernel changes neither its contents
// nor its address.
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

/// Advises the kernel to use huge pages. It may refuse; the memory is usable all the same.
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
    // All pages that hold a part of it. If the first one were left out, the mapping would be in two
    // parts, which the kernel does not extend: every growing `Vec` would be copied.
    let before = at.addr() % PAGE;
    let whole = (before + size).next_multiple_of(PAGE);
    // SAFETY: every page holds a byte of memory that was just allocated, and the advice does not change
    // the contents of any.
    let _ = unsafe { madvise(at.wrapping_sub(before).cast(), whole, Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    /// The most memory that the process ever had, and has now, in bytes.
    fn resident() -> (usize, usize) {
        let status = fs::read_to_string("/proc/self/status").expect("Linux");
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
        };
        (of("VmHWM:"), of("VmRSS:"))
    }

    /// Large memory grows where it is, or is moved by the kernel. Copying would need it twice.
    #[test]
    fn growing_copies_nothing() {
        const SIZE: usize = 256 << 20;
        let mut bytes = vec![1u8; SIZE];
        bytes.reserve_exact(SIZE / 8);
        bytes.resize(SIZE + SIZE / 8, 2);
        let (most, now) = resident();
        assert!(now > SIZE && most < now + SIZE / 4, "{most} at most, {now} now");
        assert!(bytes.first() == Some(&1) && bytes.last() == Some(&2));
    }
}
