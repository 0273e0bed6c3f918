//! An allocator that counts what a thread holds, and fails when it is told to. A test binary that
//! uses it makes it its global allocator.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted and failing.
#[derive(Debug)]
pub struct Heap;

// Of each thread its own: the harness allocates too.
thread_local! {
    /// A thread may free what another allocated, so the count does not begin at zero.
    static LIVE: Cell<usize> = const { Cell::new(1 << 40) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static ALL: Cell<usize> = const { Cell::new(0) };
    /// Allocations that succeed before one fails; none fails if this is negative.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
    /// If not zero, one allocation in ten fails, as this generator says.
    static REFUSING: Cell<u64> = const { Cell::new(0) };
}

impl Heap {
    fn fails() -> bool {
        let state = REFUSING.get();
        if state != 0 {
            // Marsaglia's xorshift, never zero.
            let state = state ^ state << 13;
            let state = state ^ state >> 7;
            REFUSING.set(state ^ state << 17);
            return state.is_multiple_of(10);
        }
        let left = LEFT.get();
        if left >= 0 {
            LEFT.set(left - 1);
        }
        FAILED.set(FAILED.get() | (left == 0));
        left == 0
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged, or fails as it may.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::fails() {
            return std::ptr::null_mut();
        }
        LIVE.set(LIVE.get() + layout.size());
        PEAK.set(PEAK.get().max(LIVE.get()));
        ALL.set(ALL.get() + layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(start, layout) }
    }
}

/// The bytes that this thread holds, counted from a number of no meaning.
#[must_use]
pub fn live() -> usize {
    LIVE.get()
}

/// Begins a new peak.
pub fn reset_peak() {
    PEAK.set(LIVE.get());
}

/// The most bytes that were held since the last new peak, counted as [`live`] is.
#[must_use]
pub fn peak() -> usize {
    PEAK.get()
}

/// All bytes that this thread has ever been given.
#[must_use]
pub fn given() -> usize {
    ALL.get()
}

/// What a call leaves allocated, and the most it had allocated at a time.
pub fn allocated<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let value = f();
    (value, LIVE.get() - before, PEAK.get() - before)
}

/// Runs with allocation `n` failing, counted from 0. Says whether one failed.
pub fn failing<T>(n: i64, f: impl FnOnce() -> T) -> (T, bool) {
    FAILED.set(false);
    LEFT.set(n);
    let outcome = f();
    LEFT.set(-1);
    (outcome, FAILED.get())
}

/// Runs with each allocation failing one time in ten, in an order of its own.
pub fn with_a_tenth_refused<T>(order: u64, f: impl FnOnce() -> T) -> T {
    REFUSING.set(order | 1);
    let result = f();
    REFUSING.set(0);
    result
}
