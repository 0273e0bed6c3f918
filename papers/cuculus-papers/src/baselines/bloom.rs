//! The Bloom filter.

use cuculus::{BuildError, Filter, Full, Insert, KeyHash, KeyHasher};

use crate::baselines::memory::{MAX_BITS, zeroed};
use crate::baselines::parameters::{
    DEFAULT_RATE, Shared, at_most, builder, described, in_range, keeps,
};
use crate::baselines::probes::{MAX_HASHES, probes};
use crate::baselines::rates;
use crate::described::filter;

/// A Bloom filter (Bloom 1970; CF paper, §2.1): k bits of a key are set, and a key is found if all of
/// its bits are.
///
/// It takes 1.44 log2(1/ε) bits per key, any number of bits, and more keys than it was planned for,
/// at a higher rate. Where it loses: it cannot delete, and a lookup that finds its key reads k
/// places in memory, log2(1/ε) of them.
///
/// A key inserted twice is the same as once, except for [`len`](Filter::len): [`count`](Filter::count)
/// is zero or one. [`slots`](Filter::slots) are bits, and
/// [`utilization`](Filter::utilization) is the share of them that is set.
#[derive(Clone, PartialEq, Eq)]
pub struct BloomFilter {
    hasher: KeyHasher,
    words: Box<[u64]>,
    bits: u64,
    hashes: u32,
    /// How many of the bits are set.
    ones: u64,
    len: usize,
    capacity: usize,
}

/// A number of cells and of hashes from what a builder was told.
pub(crate) struct Cells {
    pub(crate) cells: u64,
    pub(crate) hashes: u32,
    pub(crate) capacity: usize,
}

impl Cells {
    /// `word` is the builder's for the number of cells, and `max` the most of them.
    pub(crate) fn plan(
        shared: &Shared,
        (word, max): (&'static str, u64),
        cells: Option<u64>,
        hashes: Option<u32>,
    ) -> Result<Self, BuildError> {
        let rate = shared.rate()?;
        if let Some(hashes) = hashes {
            in_range("hashes", hashes, 1..=MAX_HASHES)?;
        }
        let Some(cells) = cells else {
            let capacity = shared.capacity()?;
            let rate = rate.unwrap_or(DEFAULT_RATE);
            at_most(capacity as u64, max)?;
            let (cells, hashes) = rates::cells_and_hashes(capacity, rate, hashes);
            at_most(cells, max)?;
            // The longest list of hashes may be too short for the rate.
            keeps(Some(rate), rates::bloom(cells, capacity, hashes))?;
            return Ok(Self { cells, hashes, capacity });
        };
        in_range(word, cells, 1..=max)?;
        let (capacity, hashes) = match (shared.capacity, hashes) {
            (Some(capacity), Some(hashes)) => (capacity, hashes),
            (Some(capacity), None) => (capacity, rates::best_hashes(cells, capacity)),
            // Half of the bits set.
            (None, Some(hashes)) => {
                let fit = cells as f64 * core::f64::consts::LN_2 / f64::from(hashes);
                (fit as usize, hashes)
            }
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        keeps(rate, rates::bloom(cells, capacity, hashes))?;
        Ok(Self { cells, hashes, capacity })
    }
}

builder! {
    /// Parameters of a [`BloomFilter`]: a capacity, and the rest has defaults.
    BloomFilterBuilder, shared: Shared;

    /// The number of bits, instead of the one that follows from the rate; any number will do.
    bits: u64;

    /// The number of hashes k, 1 to 32, instead of the one that gives the lowest rate.
    hashes: u32;
}

impl BloomFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<BloomFilter, BuildError> {
        let plan = Cells::plan(&self.shared, ("bits", MAX_BITS), self.bits, self.hashes)?;
        let Cells { cells: bits, hashes, capacity } = plan;
        let hasher = self.shared.hasher()?;
        let words = zeroed(bits.div_ceil(64))?;
        Ok(BloomFilter { hasher, words, bits, hashes, ones: 0, len: 0, capacity })
    }
}

impl BloomFilter {
    /// The number of bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// The number of bits of a key.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }
}

filter! { BloomFilter, |filter, hash|
    contains: probes(hash, filter.bits, filter.hashes)
        .all(|bit| filter.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
    count: usize::from(filter.contains_hash(hash));
    len: filter.len;
    slots: filter.bits as usize;
    utilization: filter.ones as f64 / filter.bits as f64;
    heap_bytes: size_of_val(&*filter.words);
    // From the bits that are set now, so repeated keys do not count.
    rate: filter.utilization().powi(filter.hashes as i32);
}

impl Insert for BloomFilter {
    /// Never refused.
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        for bit in probes(hash, self.bits, self.hashes) {
            let word = &mut self.words[(bit / 64) as usize];
            self.ones += !*word >> (bit % 64) & 1;
            *word |= 1 << (bit % 64);
        }
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn clear(&mut self) {
        self.words.fill(0);
        (self.ones, self.len) = (0, 0);
    }
}

described!(BloomFilter, BloomFilterBuilder: hashes, capacity);
