//! Which keys go in, and which do not: whole numbers from either end, told apart only by hashing.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Keys worked on between two looks at the clock.
const PIECE: u64 = 1 << 16;

/// The `i`-th key that is inserted.
#[inline]
pub(super) fn inserted(i: u64) -> u64 {
    i
}

/// The `i`-th key that is not.
#[inline]
pub(super) fn absent(i: u64) -> u64 {
    u64::MAX - i
}

/// How many absent keys are asked for: enough for a rate of one in a thousand to be measured.
pub(super) fn probes(items: u64) -> u64 {
    items.max(1_000_000)
}

/// Calls `work` with `0..count` in pieces and `after` with the length of each; only the work is
/// timed.
pub(super) fn timed(
    count: u64,
    mut work: impl FnMut(std::ops::Range<u64>) -> Result<()>,
    mut after: impl FnMut(u64),
) -> Result<Duration> {
    let mut time = Duration::ZERO;
    let mut next = 0;
    while next < count {
        let end = count.min(next + PIECE);
        let start = Instant::now();
        work(next..end)?;
        time += start.elapsed();
        after(end - next);
        next = end;
    }
    Ok(time)
}
