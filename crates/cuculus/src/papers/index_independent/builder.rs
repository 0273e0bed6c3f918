//! From what a user knows (keys, rate) to a table on a ring, with every refusal before anything is
//! allocated.

use super::filter::IndexIndependentCuckooFilter;
use super::ring_table::{RingPlan, RingTable};
use crate::cuckoo::room::Kicks;
use crate::papers::ring::{MAX_CANDIDATES, MAX_VIRTUAL_NODES, Ring};
use crate::placement::FingerprintSize;
use crate::table::{Layout, Shape};
use crate::{BuildError, KeyHasher, Search, analysis};

const DEFAULT_RATE: f64 = 0.01;
const DEFAULT_SLOTS: u32 = 4;
const DEFAULT_CANDIDATES: u32 = 2;
const DEFAULT_VIRTUAL_NODES: u32 = 10;
/// The share of filters that may refuse a key within their capacity because too many look alike.
const ACCEPTED_OVERFULL_VALUES: f64 = 0.001;

/// Parameters of an [`IndexIndependentCuckooFilter`].
///
/// A capacity is all that is needed. The rest has defaults: a false positive rate of 1 % at that
/// capacity, buckets of four, two candidates, ten nodes a bucket, a random seed.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct IndexIndependentCuckooFilterBuilder {
    capacity: Option<usize>,
    buckets: Option<u64>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    slots_per_bucket: Option<u32>,
    candidates: Option<u32>,
    virtual_nodes: Option<u32>,
    search: Search,
    max_kicks: Option<u32>,
    hasher: Option<KeyHasher>,
}

impl IndexIndependentCuckooFilterBuilder {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The keys that the filter is to hold, repetitions counted: as many buckets are made, and the
    /// fingerprints are as long as the rate needs with so many keys.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The number of buckets to begin with, instead of the number that follows from the capacity.
    pub fn buckets(mut self, buckets: u64) -> Self {
        self.buckets = Some(buckets);
        self
    }

    /// The largest share of absent keys that may be reported as present when the filter holds its
    /// capacity. Beyond it the rate goes on growing with the keys.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate. If a rate is given too, the
    /// length must keep it.
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// b: from 1 to 8 slots in a bucket; 4 by default.
    pub fn slots_per_bucket(mut self, slots: u32) -> Self {
        self.slots_per_bucket = Some(slots);
        self
    }

    /// k: from 1 to 16 candidate buckets for a key; 2 by default. More fill the buckets better and
    /// make every operation slower. Some may be the same bucket.
    pub fn candidates(mut self, candidates: u32) -> Self {
        self.candidates = Some(candidates);
        self
    }

    /// v: from 1 to 64 nodes of a bucket on the ring; 10 by default. More make the buckets' shares
    /// of the ring more even, so that they fill better, and cost five to six bytes each.
    pub fn virtual_nodes(mut self, nodes: u32) -> Self {
        self.virtual_nodes = Some(nodes);
        self
    }

    /// How room is made in a full bucket.
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// How many buckets a search for room may open before a key is refused; 500 by default,
    /// 65,535 at most.
    pub fn max_kicks(mut self, max_kicks: u32) -> Self {
        self.max_kicks = Some(max_kicks);
        self
    }

    /// A fixed seed for the default hash function: the same operations then give the same bytes.
    /// Without it the seed is random.
    pub fn seed(self, seed: u64) -> Self {
        self.hasher(KeyHasher::xxh3(seed))
    }

    /// Another hash function, for instance a keyed one for keys that an adversary may choose.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<IndexIndependentCuckooFilter, BuildError> {
        let (capacity, plan) = self.plan()?;
        Ok(IndexIndependentCuckooFilter {
            hasher: self.given_or_random_hasher()?,
            size: FingerprintSize::new(plan.shape.fingerprint_bits),
            table: RingTable::new(plan, 0)?,
            first_buckets: plan.buckets,
            capacity,
            refused: 0,
        })
    }

    pub(crate) fn given_or_random_hasher(&self) -> Result<KeyHasher, BuildError> {
        KeyHasher::given_or_random(self.hasher.as_ref())
    }

    /// The capacity and what it needs. Checks everything; allocates nothing.
    pub(crate) fn plan(&self) -> Result<(usize, RingPlan), BuildError> {
        let slots = self.slots_per_bucket.unwrap_or(DEFAULT_SLOTS);
        let candidates = self.candidates.unwrap_or(DEFAULT_CANDIDATES);
        let virtual_nodes = self.virtual_nodes.unwrap_or(DEFAULT_VIRTUAL_NODES);
        let shape = Shape { fingerprint_bits: 4, slots_per_bucket: slots, layout: Layout::Packed };
        let kicks = Kicks::new(self.search, self.max_kicks)?;
        let candidates = candidates as usize;
        let mut plan = RingPlan { shape, candidates, kicks, virtual_nodes, buckets: 1 };
        plan.check()?;
        let load = analysis::planned_ring_load(candidates as u32, slots, virtual_nodes);
        let (capacity, buckets) = match (self.capacity, self.buckets) {
            (capacity, Some(buckets)) => {
                let fits = buckets as f64 * f64::from(slots) * load;
                (capacity.unwrap_or(fits as usize), buckets)
            }
            (Some(keys), None) => {
                // Some slots more, since small tables fill unevenly.
                let wanted = (keys as f64 / load + 32.0) / f64::from(slots);
                (keys, wanted.ceil() as u64) // saturates
            }
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        let max = u64::from(Ring::most_buckets(virtual_nodes));
        let Some(buckets) = u32::try_from(buckets).ok().filter(|&b| u64::from(b) <= max) else {
            return Err(BuildError::TooLarge { buckets, max });
        };
        plan.buckets = buckets.max(1);
        plan.shape.fingerprint_bits = self.bits(candidates as u32, slots, capacity)?;
        plan.check()?;
        Ok((capacity, plan))
    }

    /// The length of a fingerprint: the one asked for, or the shortest that keeps the rate with so
    /// many keys and lets them be stored.
    fn bits(&self, candidates: u32, slots: u32, capacity: usize) -> Result<u32, BuildError> {
        let rate = self.rate.or(self.fingerprint_bits.is_none().then_some(DEFAULT_RATE));
        if let Some(got) = rate.filter(|rate| !(*rate > 0.0 && *rate < 1.0)) {
            return Err(BuildError::RateOutOfRange { got });
        }
        let keys = capacity as f64;
        let keeps = |bits, rate| analysis::false_positive_rate(bits, keys) <= rate;
        let fits = |bits| {
            let overfull = analysis::overfull_fingerprints(bits, candidates, slots, keys);
            overfull < ACCEPTED_OVERFULL_VALUES
        };
        let mut allowed = Layout::Packed.fingerprint_bits();
        let longest = *allowed.end();
        let bits = self.fingerprint_bits.or_else(|| {
            allowed.find(|&bits| fits(bits) && rate.is_none_or(|rate| keeps(bits, rate)))
        });
        let bits = bits.unwrap_or(longest);
        match rate {
            Some(got) if !keeps(bits.min(longest), got) => {
                let smallest = analysis::false_positive_rate(bits.min(longest), keys);
                Err(BuildError::RateTooSmall { got, smallest })
            }
            _ => Ok(bits),
        }
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
        let bits = layout.fingerprint_bits();
        for (parameter, got, min, max) in [
            ("fingerprint_bits", u64::from(shape.fingerprint_bits), *bits.start(), *bits.end()),
            ("candidates", candidates as u64, 1, MAX_CANDIDATES as u32),
            ("virtual_nodes", u64::from(virtual_nodes), 1, MAX_VIRTUAL_NODES),
        ] {
            let (min, max) = (u64::from(min), u64::from(max));
            if !(min..=max).contains(&got) {
                return Err(BuildError::OutOfRange { parameter, got, min, max });
            }
        }
        let (buckets, max) = (u64::from(buckets), u64::from(Ring::most_buckets(virtual_nodes)));
        if buckets > max {
            return Err(BuildError::TooLarge { buckets, max });
        }
        Ok(())
    }
}
