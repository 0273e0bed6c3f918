//! The work that operations do, counted in buckets opened, entries moved and lists looked through:
//! the same number on every machine, so that a test can hold it to a bound. Counts only in tests and
//! with the feature `lab`, and only where an operation has left its usual path.

#[cfg(any(test, feature = "lab"))]
use std::cell::Cell;

#[cfg(any(test, feature = "lab"))]
thread_local! {
    static DONE: Cell<u64> = const { Cell::new(0) };
}

/// Counts work of this thread.
#[inline]
pub fn add(units: usize) {
    #[cfg(any(test, feature = "lab"))]
    DONE.set(DONE.get() + units as u64);
    #[cfg(not(any(test, feature = "lab")))]
    let _ = units;
}

/// The work that this thread has done since it was asked last.
#[cfg(any(test, feature = "lab"))]
#[allow(unreachable_pub, reason = "public with the feature `lab`")]
#[allow(clippy::must_use_candidate, reason = "also called to begin a new count")]
pub fn take_work() -> u64 {
    DONE.take()
}
