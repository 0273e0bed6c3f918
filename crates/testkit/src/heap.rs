//! An allocator that counts what a thread holds, and fails when it is told to. A test binary that
//! uses it makes it its global allocator.
//!
//! Memory counts for the thread that allocated it until anybody frees it. Threads that end leave some for
//! others to free, and a count by the thread that frees would go down for memory that it never held.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counted and failing.
#[derive(Debug)]
pub struct Heap;

// Of each thread its own: the harness allocates too.
thread_local! {
    static OWNER: Cell<Option<Owner>> = const { Cell::new(None) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static ALL: Cell<usize> = const { Cell::new(0) };
    /// Allocations that succeed before one fails; none fails if this is negative.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
    /// If not zero, one allocation in ten fails, as this generator says.
    static REFUSING: Cell<u64> = const { Cell::new(0) };
}

/// The number of a thread. After many others it comes again.
type Owner = u16;

/// The bytes that are counted for each thread.
static LIVE: [AtomicUsize; 1 << Owner::BITS] = [const { AtomicUsize::new(0) }; 1 << Owner::BITS];

fn owner() -> Owner {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let owner = OWNER.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed) as Owner);
    OWNER.set(Some(owner));
    owner
}

fn count_of(owner: Owner) -> &'static AtomicUsize {
    &LIVE[usize::from(owner)]
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

/// The layout behind the number of its owner, and where it begins there.
fn with_owner(layout: Layout) -> Option<(Layout, usize)> {
    Layout::new::<Owner>().extend(layout).ok()
}

// SAFETY: every call is passed on to the system's allocator for a few bytes more, or fails as it may.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, at)) = with_owner(layout).filter(|_| !Self::fails()) else {
            return std::ptr::null_mut();
        };
        // SAFETY: not of size zero.
        let start = unsafe { System.alloc(whole) };
        if start.is_null() {
            return start;
        }
        let (owner, size) = (owner(), layout.size());
        let live = count_of(owner).fetch_add(size, Ordering::Relaxed) + size;
        PEAK.set(PEAK.get().max(live));
        ALL.set(ALL.get() + size);
        // SAFETY: the owner's place is at the beginning, and what the caller gets is within the memory.
        unsafe {
            start.cast::<Owner>().write(owner);
            start.add(at)
        }
    }

    unsafe fn dealloc(&self, given: *mut u8, layout: Layout) {
        let (whole, at) = with_owner(layout).expect("as when it was allocated");
        // SAFETY: the caller keeps the contract of `dealloc`, so `alloc` has given it.
        unsafe {
            let start = given.sub(at);
            let owner = start.cast::<Owner>().read();
            count_of(owner).fetch_sub(layout.size(), Ordering::Relaxed);
            System.dealloc(start, whole);
        }
    }
}

/// The bytes that this thread has allocated and nobody has freed.
#[must_use]
pub fn live() -> usize {
    count_of(owner()).load(Ordering::Relaxed)
}

/// Begins a new peak.
pub fn reset_peak() {
    PEAK.set(live());
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
    let before = live();
    PEAK.set(before);
    let value = f();
    (value, live() - before, PEAK.get() - before)
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[global_allocator]
    static ALLOCATOR: Heap = Heap;

    /// Beside what is compared: the library's own of a thread.
    const FEW: usize = 4096;

    #[test]
    fn memory_counts_for_the_thread_that_allocated_it() {
        let before = live();
        let theirs = thread::spawn(|| vec![0u8; 1 << 20]).join().expect("no panic");
        assert!(live().abs_diff(before) < FEW);
        drop(theirs);
        assert!(live().abs_diff(before) < FEW);
        let ours = vec![0u8; 1 << 20];
        assert!(live() >= before + (1 << 20));
        thread::spawn(|| drop(ours)).join().expect("no panic");
        assert!(live().abs_diff(before) < FEW);
    }
}
