//! The dynamic Bloom filter.

use cuculus::{BuildError, Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove};

use crate::analysis;

use crate::baselines::bloom::Cells;
use crate::baselines::counters::Counters;
use crate::baselines::counting::MAX_COUNTERS;
use crate::baselines::parameters::{DEFAULT_RATE, Shared, builder, described, figures, in_range};
use crate::described::filter;

/// A lookup asks every filter of the list, so longer lists are of no use.
const MAX_FILTERS: usize = 65_536;
/// In how many filters a capacity is divided unless the user says otherwise.
const DEFAULT_FILTERS: usize = 10;

/// A dynamic Bloom filter (Guo, Wu, Chen, Yuan and Luo 2010; DCF paper, §II.C): a list of equal
/// counting Bloom filters, and another is appended when all are full.
///
/// ```
/// use cuculus::{Filter, Insert};
/// use cuculus_papers::baselines::{DynamicBloomFilter, Removal};
///
/// let mut set = DynamicBloomFilter::builder().capacity(1000).capacity_per_filter(100).build()?;
/// for key in 0..1000u64 {
///     set.insert(&key)?;
/// }
/// assert_eq!(set.filters(), 10);
/// // The key seems to be in one filter only, or else it stays.
/// let outcome = set.try_remove(&7u64);
/// assert!(outcome == Removal::Removed || outcome == Removal::GivenUp);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Where it loses
/// A removal must know the filter in which the key was counted. If several seem to have it, none can
/// be trusted (the *multiple address problem*, DCF paper, Fig. 1), and the removal is given up: a key
/// that was removed stays, **found for ever, and counted by `len`**. The more filters, the more often.
/// What is promised is no more than this:
///
/// * A key inserted and not removed is found, as long as only inserted keys are removed. (The one filter
///   that matches an inserted key is the one that has it.)
/// * A key that was never inserted, removed by mistake, can take counters of others, which are then
///   missing: false negatives, as in any counting Bloom filter.
/// * [`remove`](Remove::remove) says true only if the key was taken out.
/// * Memory is given back by [`clear`](Insert::clear) only. (Its authors also merge two filters that
///   are half empty; in the DCF paper's description there is no such step.)
///
/// [`count`](Filter::count) goes up to fifteen per filter. [`slots`](Filter::slots) are counters, and
/// [`utilization`](Filter::utilization) is the share of them above zero.
#[derive(Clone, PartialEq, Eq)]
pub struct DynamicBloomFilter {
    hasher: KeyHasher,
    /// Never empty.
    parts: Vec<Part>,
    /// The part that takes keys; any with room if it has none.
    active: usize,
    hashes: u32,
    capacity: usize,
    capacity_per_filter: usize,
    len: usize,
    given_up: u64,
}

/// One of the counting Bloom filters, with the keys that it was given and not asked to give back.
#[derive(Clone, PartialEq, Eq)]
struct Part {
    counters: Counters,
    len: usize,
}

/// What became of a removal from a [`DynamicBloomFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// One filter matched, and the key was taken out of it.
    Removed,
    /// Several filters matched, so nothing was done: the key is still found.
    GivenUp,
    /// No filter matched: the key is not in.
    Absent,
}

builder! {
    /// Parameters of a [`DynamicBloomFilter`]. The rate is kept up to the capacity, and the list grows on
    /// after that.
    DynamicBloomFilterBuilder, shared: Shared;

    /// The keys after which a filter of the list is full; a tenth of the capacity by default.
    capacity_per_filter: usize;

    /// The counters of each filter, instead of the number that follows from the rate.
    counters_per_filter: u64;

    /// The number of hashes k, 1 to 32, instead of the one that gives the lowest rate.
    hashes: u32;
}

impl DynamicBloomFilterBuilder {
    /// Builds the filter, with a list of one, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<DynamicBloomFilter, BuildError> {
        let each = match (self.capacity_per_filter, self.shared.capacity) {
            (Some(each), _) => each,
            (None, capacity) => {
                capacity.ok_or(BuildError::MissingCapacity)?.div_ceil(DEFAULT_FILTERS).max(1)
            }
        };
        in_range("capacity_per_filter", each as u64, 1..=MAX_COUNTERS)?;
        let capacity = self.shared.capacity.unwrap_or(each);
        let filters = capacity.div_ceil(each).max(1) as u64;
        in_range(
            "capacity",
            filters.saturating_mul(each as u64),
            1..=MAX_FILTERS as u64 * each as u64,
        )?;
        // Each of s filters may have a part of the rate only (DCF paper, Eq. 3).
        let rate = match (self.shared.rate()?, self.counters_per_filter) {
            (None, Some(_)) => None,
            (rate, _) => {
                Some(analysis::rate_per_filter(rate.unwrap_or(DEFAULT_RATE), filters as u32))
            }
        };
        let part = Shared { capacity: Some(each), rate, ..self.shared.clone() };
        let word = ("counters_per_filter", MAX_COUNTERS);
        let Cells { cells, hashes, .. } =
            Cells::plan(&part, word, self.counters_per_filter, self.hashes)?;
        let hasher = self.shared.hasher()?;
        let mut parts = Vec::new();
        parts.push(Part { counters: Counters::new(cells)?, len: 0 });
        parts.shrink_to_fit();
        Ok(DynamicBloomFilter {
            hasher,
            parts,
            active: 0,
            hashes,
            capacity,
            capacity_per_filter: each,
            len: 0,
            given_up: 0,
        })
    }
}

figures! { DynamicBloomFilter,
    /// The current figures of a [`DynamicBloomFilter`].
    DynamicBloomStats of filter;
    /// Removals that were given up since the filter was built or cleared.
    given_up: u64 = filter.given_up;
}

impl DynamicBloomFilter {
    /// The filters in the list. A lookup asks each of them.
    #[must_use]
    pub fn filters(&self) -> usize {
        self.parts.len()
    }

    /// Removes a key, if it is in one filter only; see [`Removal`].
    pub fn try_remove<K: cuculus::Key + ?Sized>(&mut self, key: &K) -> Removal {
        self.try_remove_hash(self.hasher.hash(key))
    }

    /// Removes a key by its hash, if it is in one filter only.
    pub fn try_remove_hash(&mut self, hash: KeyHash) -> Removal {
        let hashes = self.hashes;
        let mut matching =
            self.parts.iter_mut().filter(|part| part.counters.contains_key(hash, hashes));
        let Some(part) = matching.next() else { return Removal::Absent };
        if matching.next().is_some() {
            self.given_up += 1;
            return Removal::GivenUp;
        }
        // Counters that stick are found even if the filter has no key left.
        if part.len == 0 {
            return Removal::Absent;
        }
        part.counters.remove_key(hash, hashes);
        part.len -= 1;
        self.len -= 1;
        Removal::Removed
    }

    /// The share of these keys that seem to be in several filters, so that none of them could be
    /// removed now (DCF paper, Fig. 1 a). Nothing changes.
    pub fn multiple_address_rate(&self, keys: impl IntoIterator<Item = KeyHash>) -> f64 {
        let (mut all, mut several) = (0u64, 0u64);
        for hash in keys {
            let found = |part: &&Part| part.counters.contains_key(hash, self.hashes);
            all += 1;
            several += u64::from(self.parts.iter().filter(found).nth(1).is_some());
        }
        several as f64 / all.max(1) as f64
    }

    fn counters_per_filter(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.counters.count)
    }

    /// A filter with room: the active one, the first of the others, or a new one.
    fn filter_with_room(&mut self) -> Result<usize, FullCause> {
        let has_room = |part: &Part| part.len < self.capacity_per_filter;
        if has_room(&self.parts[self.active]) {
            return Ok(self.active);
        }
        if let Some(found) = self.parts.iter().position(has_room) {
            return Ok(found);
        }
        if self.parts.len() >= MAX_FILTERS {
            return Err(FullCause::TooManyFilters { max: MAX_FILTERS });
        }
        self.parts.try_reserve_exact(1).map_err(|_| FullCause::OutOfMemory)?;
        let counters =
            Counters::new(self.counters_per_filter()).map_err(|_| FullCause::OutOfMemory)?;
        self.parts.push(Part { counters, len: 0 });
        Ok(self.parts.len() - 1)
    }
}

filter! { DynamicBloomFilter, |filter, hash|
    contains: filter.parts.iter().any(|part| part.counters.contains_key(hash, filter.hashes));
    count: filter.parts.iter().map(|part| part.counters.count_key(hash, filter.hashes)).sum();
    len: filter.len;
    slots: filter.parts.len() * filter.counters_per_filter() as usize;
    utilization: {
        let used: u64 = filter.parts.iter().map(|part| part.counters.used).sum();
        used as f64 / filter.slots() as f64
    };
    heap_bytes: {
        let counters: usize = filter.parts.iter().map(|part| part.counters.heap_bytes()).sum();
        filter.parts.capacity() * size_of::<Part>() + counters
    };
    // That some filter of the list says yes by mistake.
    rate: {
        let rates = filter.parts.iter().map(|part| part.counters.rate(filter.hashes));
        -f64::exp_m1(rates.map(|rate| f64::ln_1p(-rate)).sum())
    };
}

impl Insert for DynamicBloomFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let at = match self.filter_with_room() {
            Ok(at) => at,
            Err(cause) => return Err(Full::new(cause, self.len, self.slots())),
        };
        let part = &mut self.parts[at];
        part.counters.add_key(hash, self.hashes);
        part.len += 1;
        self.active = at;
        self.len += 1;
        Ok(())
    }

    fn clear(&mut self) {
        self.parts.truncate(1);
        self.parts.shrink_to_fit();
        for part in &mut self.parts {
            part.counters.clear();
            part.len = 0;
        }
        (self.active, self.len, self.given_up) = (0, 0, 0);
    }
}

impl Remove for DynamicBloomFilter {
    /// True if the key was removed; false if it was not there, and also if it stays because the
    /// removal was given up.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.try_remove_hash(hash) == Removal::Removed
    }
}

described! {
    DynamicBloomFilter, DynamicBloomFilterBuilder: hashes, capacity, capacity_per_filter
}
