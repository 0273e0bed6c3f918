//! How long each single operation takes, and the longest of them. Knows nothing of the operations.

use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The time of every operation on the wall, in nanoseconds, by its number.
///
/// On the wall because a user waits there. What other programs take from the processor is in it
/// too; [`least`](Self::least) removes that where operations can be repeated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pauses(Vec<u32>);

/// The times that a share of the operations kept to, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) p50: u32,
    pub(crate) p99: u32,
    pub(crate) p999: u32,
    pub(crate) p9999: u32,
    pub(crate) max: u32,
}

/// Two runs that did the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Waits {
    /// Of the first.
    pub(crate) raw: Summary,
    /// Of the shorter time of each operation.
    pub(crate) least: Summary,
}

impl Waits {
    pub(crate) fn of(first: &Pauses, second: &Pauses) -> Self {
        Self { raw: first.summary(), least: first.least(second).summary() }
    }
}

impl Pauses {
    /// Room for this many operations, so that the list is not moved between them.
    pub(crate) fn with_capacity(operations: usize) -> Self {
        Self(Vec::with_capacity(operations))
    }

    /// Runs one operation and keeps its time, the clock's own included.
    #[inline(always)]
    pub(crate) fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = operation();
        let time = start.elapsed().as_nanos();
        self.0.push(u32::try_from(time).unwrap_or(u32::MAX));
        result
    }

    /// The shorter time of each operation of two runs that did the same. What is left is the
    /// operation's own, unless both runs were disturbed at the same one.
    fn least(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| *a.min(b)).collect())
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |share: f64| {
            let place = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(place.saturating_sub(1)).copied().unwrap_or(0)
        };
        Summary { p50: at(0.5), p99: at(0.99), p999: at(0.999), p9999: at(0.9999), max: at(1.0) }
    }
}

/// What the clock itself takes, in nanoseconds: part of every time.
pub(crate) fn clock_nanoseconds() -> u32 {
    let mut pauses = Pauses::with_capacity(100_000);
    for _ in 0..100_000 {
        pauses.time(|| ());
    }
    pauses.summary().p50
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_of_all_operations() {
        let pauses = Pauses((1..=10_000).rev().collect());
        let summary = Summary { p50: 5000, p99: 9900, p999: 9990, p9999: 9999, max: 10_000 };
        assert_eq!(pauses.summary(), summary);
        assert_eq!(Pauses::default().summary(), Summary::default());
    }

    #[test]
    fn the_least_of_two_is_taken_for_each_operation() {
        let least = Pauses(vec![5, 90, 7]).least(&Pauses(vec![80, 6, 70]));
        assert_eq!(least, Pauses(vec![5, 6, 7]));
    }

    #[test]
    fn every_operation_is_timed() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.time(|| 7), 7);
        assert_eq!(pauses.0.len(), 1);
    }
}
