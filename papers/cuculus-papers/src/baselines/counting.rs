//! The counting Bloom filter.

use cuculus::{BuildError, Filter, Full, Insert, KeyHash, KeyHasher, Remove};

use crate::baselines::bloom::Cells;
use crate::baselines::counters::{Counters, SATURATED};
use crate::baselines::memory::MAX_BITS;
use crate::baselines::parameters::{Shared, builder, described, figures};
use crate::baselines::probes::probes;
use crate::described::filter;

pub(crate) const MAX_COUNTERS: u64 = MAX_BITS / 4;

/// A counting Bloom filter (Fan, Cao, Almeida and Broder 2000; CF paper, §2.1): a Bloom filter with a
/// counter of four bits for each bit, so that keys can be removed.
///
/// Where it loses: four times the memory of a Bloom filter, and as many places to read. A counter that
/// has reached fifteen has lost count and is never lowered again. What it belongs to is found for ever
/// then, which is an error in the harmless direction; with different keys at their planned number
/// that happens to two counters in 10^15, with copies of a key to its own.
///
/// [`count`](Filter::count) goes up to fifteen. [`slots`](Filter::slots) are counters, and
/// [`utilization`](Filter::utilization) is the share of them above zero.
#[derive(Clone, PartialEq, Eq)]
pub struct CountingBloomFilter {
    hasher: KeyHasher,
    counters: Counters,
    hashes: u32,
    len: usize,
    capacity: usize,
}

builder! {
    /// Parameters of a [`CountingBloomFilter`]: a capacity, and the rest has defaults.
    CountingBloomFilterBuilder, shared: Shared;

    /// The number of counters, instead of the one that follows from the rate; any number will do.
    counters: u64;

    /// The number of hashes k, 1 to 32, instead of the one that gives the lowest rate.
    hashes: u32;
}

impl CountingBloomFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<CountingBloomFilter, BuildError> {
        let word = ("counters", MAX_COUNTERS);
        let plan = Cells::plan(&self.shared, word, self.counters, self.hashes)?;
        let Cells { cells, hashes, capacity } = plan;
        let hasher = self.shared.hasher()?;
        Ok(CountingBloomFilter {
            hasher,
            counters: Counters::new(cells)?,
            hashes,
            len: 0,
            capacity,
        })
    }
}

figures! { CountingBloomFilter,
    /// The current figures of a [`CountingBloomFilter`].
    CountingStats of filter;
    /// The counters that have reached fifteen and are never lowered again.
    saturated: u64 = filter.counters.saturated;
}

impl CountingBloomFilter {
    /// The number of counters of a key.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }
}

/// The operations of a counting Bloom filter on counters alone: a dynamic one has a list of them.
impl Counters {
    #[inline(always)]
    pub(crate) fn contains_key(&self, hash: KeyHash, hashes: u32) -> bool {
        probes(hash, self.count, hashes).all(|at| self.get(at) > 0)
    }

    /// The least of the key's counters.
    pub(crate) fn count_key(&self, hash: KeyHash, hashes: u32) -> usize {
        let counts = probes(hash, self.count, hashes).map(|at| self.get(at));
        counts.min().unwrap_or(SATURATED) as usize
    }

    #[inline(always)]
    pub(crate) fn add_key(&mut self, hash: KeyHash, hashes: u32) {
        probes(hash, self.count, hashes).for_each(|at| self.increment(at));
    }

    #[inline(always)]
    pub(crate) fn remove_key(&mut self, hash: KeyHash, hashes: u32) {
        probes(hash, self.count, hashes).for_each(|at| self.decrement(at));
    }

    pub(crate) fn rate(&self, hashes: u32) -> f64 {
        (self.used as f64 / self.count as f64).powi(hashes as i32)
    }
}

filter! { CountingBloomFilter, |filter, hash|
    contains: filter.counters.contains_key(hash, filter.hashes);
    count: filter.counters.count_key(hash, filter.hashes);
    len: filter.len;
    slots: filter.counters.count as usize;
    utilization: filter.counters.used as f64 / filter.counters.count as f64;
    heap_bytes: filter.counters.heap_bytes();
    // From the counters above zero now.
    rate: filter.counters.rate(filter.hashes);
}

impl Insert for CountingBloomFilter {
    /// Never refused.
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.counters.add_key(hash, self.hashes);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn clear(&mut self) {
        self.counters.clear();
        self.len = 0;
    }
}

impl Remove for CountingBloomFilter {
    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        // A key whose counters all stick is still found when the last of its copies is gone.
        let found = self.len > 0 && self.counters.contains_key(hash, self.hashes);
        if found {
            self.counters.remove_key(hash, self.hashes);
            self.len -= 1;
        }
        found
    }
}

described!(CountingBloomFilter, CountingBloomFilterBuilder: hashes, capacity);
