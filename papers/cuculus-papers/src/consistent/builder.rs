//! From what a user knows (keys, rate) to a consistent filter, which starts with one small table.

use super::filter::ConsistentCuckooFilter;
use super::policy::{History, Policy, Resizing};
use super::resize::salt;
use crate::index_independent::IndexIndependentCuckooFilterBuilder;
use crate::index_independent::ring_table::RingTable;
use cuculus::lab::builder::{check_range, setters};
use cuculus::lab::placement::FingerprintSize;
use cuculus::{BuildError, lab::memory};

const DEFAULT_BUCKETS: u64 = 64;
/// A new filter with more would stall the insert that needs it. Files may ask for no more either.
pub(super) const MAX_BUCKETS: u32 = 1 << 20;
const DEFAULT_MAX_FILTERS: u32 = 16;
/// A search that fails is followed by a new bucket, and every third insert of a growing filter fails:
/// ten times as many kicks make inserts ten times as slow, for 1 % of the slots.
const DEFAULT_MAX_KICKS: u32 = 50;
pub(super) const MAX_MAX_FILTERS: u32 = 1024;

/// Parameters of a [`ConsistentCuckooFilter`]. All have defaults.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct ConsistentCuckooFilterBuilder {
    /// What every filter on a ring has.
    each: IndexIndependentCuckooFilterBuilder,
    buckets_per_filter: u64,
    resizing: Resizing,
    max_filters: u32,
    sparse_below: Option<u32>,
    searched: Option<usize>,
}

setters! { ConsistentCuckooFilterBuilder, hasher in each.parameters.hasher;
    /// The most keys that the set will have: the fingerprints are then long enough to keep the
    /// rate with that number of keys. The filter takes more, at a higher rate. Without it
    /// fingerprints have 32 bits.
    capacity(keys: usize) => each.parameters.capacity;

    /// The largest share of absent keys that may be reported as present when the filter holds its
    /// capacity; 1 % by default. The rate grows with the keys, so it needs a capacity.
    false_positive_rate(rate: f64) => each.parameters.rate;

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate.
    fingerprint_bits(bits: u32) => each.parameters.fingerprint_bits;

    /// The buckets of the first filter, and of those that are added; 64 by default.
    buckets_per_filter(buckets: u64) => buckets_per_filter;

    /// b: from 1 to 8 slots in a bucket; 4 by default.
    slots_per_bucket(slots: u32) => each.parameters.slots_per_bucket;

    /// k: from 1 to 16 candidate buckets for a key; 2 by default.
    candidates(candidates: u32) => each.candidates;

    /// v: from 1 to 64 nodes of a bucket on the ring; 10 by default.
    virtual_nodes(nodes: u32) => each.virtual_nodes;

    /// s: the most filters that are added by themselves or by
    /// [`scale_out`](ConsistentCuckooFilter::scale_out); 16 by default, 1,024 at most. A lookup
    /// asks all filters that there are.
    max_filters(filters: u32) => max_filters;

    /// How the filter follows its set.
    resizing(resizing: Resizing) => resizing;

    /// A removal that leaves fewer entries than this in a bucket tries to remove the bucket. By
    /// default one less than a bucket has slots. The paper tries with fewer than two.
    sparse_below(entries: u32) => sparse_below;

    /// How many buckets a search for room may open before the filter grows; 50 by default. With 500
    /// a growing filter of two candidates and four slots is 93.5 % full instead of 92.5 %, and its
    /// inserts take ten times as long.
    max_kicks(max_kicks: u32) => each.parameters.max_kicks;

    /// How room is made in a full bucket.
    search(search: cuculus::lab::Search) => each.parameters.search;

    /// How many filters besides the active one are searched for room with kicks, as the paper does
    /// with all. A filter that is loaded searches the usual number again.
    filters_searched(filters: usize) => searched;
}

impl Default for ConsistentCuckooFilterBuilder {
    fn default() -> Self {
        Self {
            each: IndexIndependentCuckooFilterBuilder::default().max_kicks(DEFAULT_MAX_KICKS),
            buckets_per_filter: DEFAULT_BUCKETS,
            resizing: Resizing::default(),
            max_filters: DEFAULT_MAX_FILTERS,
            sparse_below: None,
            searched: None,
        }
    }
}

impl ConsistentCuckooFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<ConsistentCuckooFilter, BuildError> {
        let mut each = self.each.clone().buckets(self.buckets_per_filter);
        let given = &mut each.parameters;
        if given.capacity.is_none() && given.fingerprint_bits.is_none() {
            if given.rate.is_some() {
                return Err(BuildError::MissingCapacity);
            }
            given.fingerprint_bits = Some(FingerprintSize::MAX_BITS);
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
            searched: self.searched.unwrap_or(Policy::searched(first.kicks)),
        };
        policy.check(first.shape.slots_per_bucket)?;
        let mut filters = memory::with_room(1)?;
        filters.push(RingTable::new(first, salt(0))?);
        Ok(ConsistentCuckooFilter {
            hasher: each.parameters.hasher()?,
            size: FingerprintSize::new(first.shape.fingerprint_bits),
            filters,
            first,
            policy,
            history: History::of_new(),
            refused: 0,
        })
    }
}

impl Policy {
    pub(super) fn check(&self, slots_per_bucket: u32) -> Result<(), BuildError> {
        check_range("max_filters", self.max_filters, 1..=MAX_MAX_FILTERS)?;
        check_range("sparse_below", self.sparse, 0..=slots_per_bucket)
    }
}
