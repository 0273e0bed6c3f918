//! From what a user knows (keys, rate) to a table on a ring, with every refusal before anything is
//! allocated.

use super::filter::IndexIndependentCuckooFilter;
use super::ring_table::{RingPlan, RingTable};
use crate::analysis;
use crate::ring::{MAX_CANDIDATES, MAX_VIRTUAL_NODES, Ring};
use cuculus::BuildError;
use cuculus::lab::builder::{ACCEPTED_OVERFULL, Parameters, check_range, setters};
use cuculus::lab::placement::FingerprintSize;
use cuculus::lab::table::{BucketShape, Layout};

const DEFAULT_CANDIDATES: u32 = 2;
const DEFAULT_VIRTUAL_NODES: u32 = 10;

/// Parameters of an [`IndexIndependentCuckooFilter`].
///
/// A capacity is all that is needed. The rest has defaults: a false positive rate of 1 % at that
/// capacity, buckets of four, two candidates, ten nodes per bucket, a random seed.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct IndexIndependentCuckooFilterBuilder {
    pub(crate) parameters: Parameters,
    pub(crate) candidates: u32,
    pub(crate) virtual_nodes: u32,
}

setters! { IndexIndependentCuckooFilterBuilder, hasher in parameters.hasher;
    /// The keys that the filter is to hold, repetitions counted: the number of buckets and the
    /// length of the fingerprints follow from it.
    capacity(keys: usize) => parameters.capacity;

    /// The number of buckets to begin with, instead of the number that follows from the capacity.
    buckets(buckets: u64) => parameters.buckets;

    /// The largest share of absent keys that may be reported as present when the filter holds its
    /// capacity. Beyond it the rate goes on growing with the keys.
    false_positive_rate(rate: f64) => parameters.rate;

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate. If a rate is given too, the
    /// length must keep it.
    fingerprint_bits(bits: u32) => parameters.fingerprint_bits;

    /// b: from 1 to 8 slots in a bucket; 4 by default.
    slots_per_bucket(slots: u32) => parameters.slots_per_bucket;

    /// k: from 1 to 16 candidate buckets for a key; 2 by default. More fill the buckets better and
    /// make every operation slower. Some may be the same bucket.
    candidates(candidates: u32) => candidates;

    /// v: from 1 to 64 nodes of a bucket on the ring; 10 by default. More make the buckets' shares
    /// of the ring more even, so that they fill better, and cost little more than four bytes each.
    virtual_nodes(nodes: u32) => virtual_nodes;

    /// How many buckets a search for room may open before a key is refused; 500 by default,
    /// 2,000 at most.
    max_kicks(max_kicks: u32) => parameters.max_kicks;

    /// How room is made in a full bucket.
    search(search: cuculus::lab::Search) => parameters.search;
}

impl Default for IndexIndependentCuckooFilterBuilder {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            candidates: DEFAULT_CANDIDATES,
            virtual_nodes: DEFAULT_VIRTUAL_NODES,
        }
    }
}

impl IndexIndependentCuckooFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<IndexIndependentCuckooFilter, BuildError> {
        let (capacity, plan) = self.plan()?;
        Ok(IndexIndependentCuckooFilter {
            hasher: self.parameters.hasher()?,
            size: FingerprintSize::new(plan.shape.fingerprint_bits),
            table: RingTable::new(plan, 0)?,
            first_buckets: plan.buckets,
            capacity,
            refused: 0,
        })
    }

    /// The capacity and what it needs. Checks everything; allocates nothing.
    pub(crate) fn plan(&self) -> Result<(usize, RingPlan), BuildError> {
        let slots = self.parameters.slots_per_bucket();
        let Self { candidates, virtual_nodes, .. } = *self;
        let shape =
            BucketShape { fingerprint_bits: 4, slots_per_bucket: slots, layout: Layout::Packed };
        let mut plan = RingPlan {
            shape,
            candidates: candidates as usize,
            kicks: self.parameters.kicks()?,
            virtual_nodes,
            buckets: 1,
        };
        plan.check()?;
        let load = analysis::planned_ring_load(candidates, slots, virtual_nodes);
        let (capacity, buckets) = self.parameters.keys_and_buckets(load, |keys| {
            // 32 slots more, since small tables fill unevenly. The cast saturates.
            f64::ceil((keys as f64 / load + 32.0) / f64::from(slots)) as u64
        })?;
        let max = u64::from(Ring::most_buckets(virtual_nodes));
        let Some(buckets) = u32::try_from(buckets).ok().filter(|&b| u64::from(b) <= max) else {
            return Err(BuildError::TooLarge { buckets, max });
        };
        plan.buckets = buckets.max(1);
        let keys = capacity as f64;
        plan.shape.fingerprint_bits = self.parameters.bits(
            Layout::Packed.fingerprint_bits(),
            |bits| analysis::false_positive_rate(bits, keys),
            |bits| {
                analysis::overfull_fingerprints(bits, candidates, slots, keys) < ACCEPTED_OVERFULL
            },
        )?;
        plan.check()?;
        Ok((capacity, plan))
    }
}

impl RingPlan {
    /// Whether there can be such a table.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let Self { shape, candidates, virtual_nodes, buckets, .. } = *self;
        let (slots, layout) = (shape.slots_per_bucket, Layout::Packed);
        if !layout.slots_per_bucket().contains(&slots) {
            return Err(BuildError::SlotsPerBucket { got: slots, expected: "from 1 to 8" });
        }
        check_range("fingerprint_bits", shape.fingerprint_bits, layout.fingerprint_bits())?;
        check_range("candidates", candidates as u64, 1..=MAX_CANDIDATES as u64)?;
        check_range("virtual_nodes", virtual_nodes, 1..=MAX_VIRTUAL_NODES)?;
        let (buckets, max) = (u64::from(buckets), u64::from(Ring::most_buckets(virtual_nodes)));
        if buckets > max {
            return Err(BuildError::TooLarge { buckets, max });
        }
        Ok(())
    }
}
