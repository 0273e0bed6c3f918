//! From what a user knows to a filter of one small table.

use super::filter::ConsistentCuckooFilter;
use super::policy::{History, Policy, Resizing};
use super::resize::salt;
use crate::papers::index_independent::IndexIndependentCuckooFilterBuilder;
use crate::papers::index_independent::ring_table::RingTable;
use crate::placement::FingerprintSize;
use crate::{BuildError, KeyHasher, Search};

const DEFAULT_BUCKETS: u64 = 64;
/// A new filter with more would stall the insert that needs it. Files may ask for no more either.
pub(super) const MAX_BUCKETS: u32 = 1 << 20;
const DEFAULT_MAX_FILTERS: u32 = 16;
/// A search that fails is followed by a new bucket, and every third insert of a growing filter fails:
/// ten times as many kicks make inserts ten times as slow, for one per cent of the slots.
const DEFAULT_MAX_KICKS: u32 = 50;
pub(super) const MAX_MAX_FILTERS: u32 = 1024;

/// Parameters of a [`ConsistentCuckooFilter`]. All have defaults.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct ConsistentCuckooFilterBuilder {
    each: IndexIndependentCuckooFilterBuilder,
    capacity: Option<usize>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    buckets_per_filter: u64,
    resizing: Resizing,
    max_filters: u32,
    sparse_below: Option<u32>,
}

impl ConsistentCuckooFilterBuilder {
    pub(super) fn new() -> Self {
        Self {
            each: IndexIndependentCuckooFilterBuilder::new().max_kicks(DEFAULT_MAX_KICKS),
            capacity: None,
            rate: None,
            fingerprint_bits: None,
            buckets_per_filter: DEFAULT_BUCKETS,
            resizing: Resizing::default(),
            max_filters: DEFAULT_MAX_FILTERS,
            sparse_below: None,
        }
    }

    fn each(
        mut self,
        set: impl FnOnce(IndexIndependentCuckooFilterBuilder) -> IndexIndependentCuckooFilterBuilder,
    ) -> Self {
        self.each = set(self.each);
        self
    }

    /// The most keys that the set will have: the fingerprints are then as long as the rate needs
    /// with so many keys. The filter takes more, at a higher rate. Without it fingerprints have 32
    /// bits.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The largest share of absent keys that may be reported as present when the filter holds its
    /// capacity; 1 % by default. The rate grows with the keys, so it needs a capacity.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate.
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// The buckets of the first filter, and of those that are added; 64 by default.
    pub fn buckets_per_filter(mut self, buckets: u64) -> Self {
        self.buckets_per_filter = buckets;
        self
    }

    /// b: from 1 to 8 slots in a bucket; 4 by default.
    pub fn slots_per_bucket(self, slots: u32) -> Self {
        self.each(|each| each.slots_per_bucket(slots))
    }

    /// k: from 1 to 16 candidate buckets for a key; 2 by default.
    pub fn candidates(self, candidates: u32) -> Self {
        self.each(|each| each.candidates(candidates))
    }

    /// v: from 1 to 64 nodes of a bucket on the ring; 10 by default.
    pub fn virtual_nodes(self, nodes: u32) -> Self {
        self.each(|each| each.virtual_nodes(nodes))
    }

    /// s: the most filters that are added by themselves or by
    /// [`scale_out`](ConsistentCuckooFilter::scale_out); 16 by default, 1,024 at most. A lookup
    /// asks all filters that there are.
    pub fn max_filters(mut self, filters: u32) -> Self {
        self.max_filters = filters;
        self
    }

    /// How the filter follows its set.
    pub fn resizing(mut self, resizing: Resizing) -> Self {
        self.resizing = resizing;
        self
    }

    /// A removal that leaves fewer entries than this in a bucket tries to remove the bucket. By
    /// default one less than a bucket has slots. The paper tries with fewer than two.
    pub fn sparse_below(mut self, entries: u32) -> Self {
        self.sparse_below = Some(entries);
        self
    }

    /// How room is made in a full bucket.
    pub fn search(self, search: Search) -> Self {
        self.each(|each| each.search(search))
    }

    /// How many buckets a search for room may open before the filter grows; 50 by default. With 500
    /// a growing filter of two candidates and four slots is 93.5 % full instead of 92.5 %, and its
    /// inserts take ten times as long.
    pub fn max_kicks(self, max_kicks: u32) -> Self {
        self.each(|each| each.max_kicks(max_kicks))
    }

    /// A fixed seed for the default hash function: the same operations then give the same bytes.
    /// Without it the seed is random.
    pub fn seed(self, seed: u64) -> Self {
        self.hasher(KeyHasher::xxh3(seed))
    }

    /// Another hash function, for instance a keyed one for keys that an adversary may choose.
    pub fn hasher(self, hasher: KeyHasher) -> Self {
        self.each(|each| each.hasher(hasher))
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<ConsistentCuckooFilter, BuildError> {
        let mut each = self.each.clone().buckets(self.buckets_per_filter);
        each = match (self.fingerprint_bits, self.capacity) {
            (None, None) => each.fingerprint_bits(FingerprintSize::MAX_BITS),
            (Some(bits), _) => each.fingerprint_bits(bits),
            (None, Some(_)) => each,
        };
        each = self.capacity.into_iter().fold(each, IndexIndependentCuckooFilterBuilder::capacity);
        match (self.rate, self.capacity) {
            (Some(_), None) if self.fingerprint_bits.is_none() => {
                return Err(BuildError::MissingCapacity);
            }
            (Some(rate), _) => each = each.false_positive_rate(rate),
            (None, _) => {}
        }
        let (_, first) = each.plan()?;
        let max = u64::from(MAX_BUCKETS);
        if u64::from(first.buckets) > max {
            return Err(BuildError::TooLarge { buckets: u64::from(first.buckets), max });
        }
        let policy = Policy {
            resizing: self.resizing,
            max_filters: self.max_filters,
            sparse: self.sparse_below.unwrap_or((first.shape.slots_per_bucket - 1).max(1)),
        };
        policy.check(first.shape.slots_per_bucket)?;
        Ok(ConsistentCuckooFilter {
            hasher: each.given_or_random_hasher()?,
            size: FingerprintSize::new(first.shape.fingerprint_bits),
            filters: vec![RingTable::new(first, salt(0))?],
            first,
            policy,
            history: History::of_new(),
            refused: 0,
        })
    }
}

impl Policy {
    /// Whether it is one that a filter can follow.
    pub(super) fn check(&self, slots_per_bucket: u32) -> Result<(), BuildError> {
        let max_filters = ("max_filters", self.max_filters, 1, MAX_MAX_FILTERS);
        let sparse_below = ("sparse_below", self.sparse, 0, slots_per_bucket);
        for (parameter, got, min, max) in [max_filters, sparse_below] {
            if !(min..=max).contains(&got) {
                let [got, min, max] = [got, min, max].map(u64::from);
                return Err(BuildError::OutOfRange { parameter, got, min, max });
            }
        }
        Ok(())
    }
}
