//! From what a user knows (keys, rate) to what a table needs (buckets, bits), with every refusal
//! before anything is allocated.

use super::filter::CuckooFilter;
use super::room::Kicks;
use crate::placement::{FingerprintSize, MAX_BUCKETS, Places};
use crate::table::{Layout, Shape, Table};
use crate::{BuildError, Instructions, KeyHasher, PlacementKind, Search, analysis};

pub(crate) const DEFAULT_RATE: f64 = 0.01;
pub(crate) const DEFAULT_SLOTS: u32 = 4;
/// The share of filters that may refuse a key within their capacity because too many look alike.
pub(crate) const ACCEPTED_OVERFULL_CLASSES: f64 = 0.001;

/// Parameters of a [`CuckooFilter`].
///
/// A capacity is all that is needed. The rest has defaults: a false positive rate of 1 %, buckets
/// of four, a random seed.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct CuckooFilterBuilder {
    capacity: Option<usize>,
    buckets: Option<u64>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    slots_per_bucket: Option<u32>,
    semi_sorted: bool,
    placement: PlacementKind,
    search: Search,
    max_kicks: Option<u32>,
    hasher: Option<KeyHasher>,
    instructions: Instructions,
}

/// Parameters that can be built.
pub(crate) struct Plan {
    pub(crate) hasher: KeyHasher,
    pub(crate) shape: Shape,
    pub(crate) buckets: u32,
    pub(crate) places: Places,
    pub(crate) kicks: Kicks,
    pub(crate) capacity: usize,
    pub(crate) instructions: Instructions,
}

impl CuckooFilterBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// The keys that the filter must hold, repetitions counted. Zero makes the smallest filter.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The number of buckets, for those who want to fix the table itself. Replaces the size that
    /// follows from the capacity.
    pub fn buckets(mut self, buckets: u64) -> Self {
        self.buckets = Some(buckets);
        self
    }

    /// The largest share of absent keys that may be reported as present, when the filter is full.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The length of a fingerprint, 4 to 32 bits (5 to 32 if semi-sorted), instead of a rate. If
    /// a rate is given too, the length must keep it.
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// From 1 to 8 slots in a bucket. Four is the default and rarely beaten: fewer fill worse,
    /// more need longer fingerprints.
    pub fn slots_per_bucket(mut self, slots: u32) -> Self {
        self.slots_per_bucket = Some(slots);
        self
    }

    /// Sorts the four fingerprints of a bucket to save a bit for each: the same rate in less
    /// memory, for slower operations, inserts most of all. Needs buckets of four.
    pub fn semi_sorted(mut self, semi_sorted: bool) -> Self {
        self.semi_sorted = semi_sorted;
        self
    }

    /// How the second bucket of a key is found.
    pub fn placement(mut self, placement: PlacementKind) -> Self {
        self.placement = placement;
        self
    }

    /// How room is made in a full bucket.
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// How many buckets a search for room may open before a key is refused; 500 by default,
    /// 65,535 at most. With zero nothing is ever moved.
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

    /// Which instructions batches may use. Only of interest for measurements and tests.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<CuckooFilter, BuildError> {
        let Plan { hasher, shape, buckets, places, kicks, capacity, instructions } = self.plan()?;
        let table = Table::new(shape, buckets)?;
        let size = FingerprintSize::new(shape.fingerprint_bits);
        Ok(CuckooFilter {
            hasher,
            shape,
            size,
            places,
            kicks,
            instructions,
            table,
            len: 0,
            capacity,
            refused: 0,
        })
    }

    /// Checks everything; allocates nothing.
    pub(crate) fn plan(&self) -> Result<Plan, BuildError> {
        let (layout, slots) = self.layout()?;
        let (capacity, wanted) = match (self.capacity, self.buckets) {
            (capacity, Some(buckets)) => {
                let load = analysis::planned_load(slots);
                let fits = buckets as f64 * f64::from(slots) * load;
                (capacity.unwrap_or(fits as usize), buckets)
            }
            (Some(capacity), None) => (capacity, analysis::buckets_for(capacity as u64, slots)),
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        let buckets = self.placement.round_up(wanted);
        let buckets = u32::try_from(buckets)
            .map_err(|_| BuildError::TooLarge { buckets, max: MAX_BUCKETS })?;
        let fingerprint_bits = self.bits(layout, slots, buckets, capacity)?;
        let shape = Shape { fingerprint_bits, slots_per_bucket: slots, layout };
        let kicks = Kicks::new(self.search, self.max_kicks)?;
        Ok(Plan {
            hasher: KeyHasher::given_or_random(self.hasher.as_ref())?,
            shape,
            buckets,
            places: Places::new(self.placement, buckets),
            kicks,
            capacity,
            instructions: self.instructions,
        })
    }

    fn layout(&self) -> Result<(Layout, u32), BuildError> {
        let slots = self.slots_per_bucket.unwrap_or(DEFAULT_SLOTS);
        let (layout, expected) = if self.semi_sorted {
            (Layout::SemiSorted, "4 for semi-sorted buckets")
        } else {
            (Layout::Packed, "from 1 to 8")
        };
        if layout.slots_per_bucket().contains(&slots) {
            Ok((layout, slots))
        } else {
            Err(BuildError::SlotsPerBucket { got: slots, expected })
        }
    }

    /// The length of a fingerprint: the one asked for, or the shortest that keeps the rate and
    /// lets the capacity be reached.
    fn bits(
        &self,
        layout: Layout,
        slots: u32,
        buckets: u32,
        capacity: usize,
    ) -> Result<u32, BuildError> {
        let rate = self.rate.or(self.fingerprint_bits.is_none().then_some(DEFAULT_RATE));
        if let Some(got) = rate.filter(|rate| !(*rate > 0.0 && *rate < 1.0)) {
            return Err(BuildError::RateOutOfRange { got });
        }
        let (buckets, keys) = (f64::from(buckets), capacity as f64);
        // What a full filter holds in the two buckets of a key. The smallest tables are filled
        // further than planned, and one of given size may be asked to hold more than it can.
        let load = (keys / buckets / f64::from(slots)).min(1.0).max(analysis::planned_load(slots));
        let entries = 2.0 * f64::from(slots) * load;
        let keeps = |bits, rate| analysis::false_positive_rate(bits, entries) <= rate;
        let fits = |bits| {
            analysis::overfull_classes(bits, slots, buckets, keys) < ACCEPTED_OVERFULL_CLASSES
        };
        let mut allowed = layout.fingerprint_bits();
        let (min, max) = (*allowed.start(), *allowed.end());
        let bits = match (self.fingerprint_bits, rate) {
            (Some(got), _) if !allowed.contains(&got) => {
                return Err(BuildError::OutOfRange {
                    parameter: "fingerprint_bits",
                    got: u64::from(got),
                    min: u64::from(min),
                    max: u64::from(max),
                });
            }
            (Some(got), _) => got,
            (None, rate) => allowed
                .find(|&bits| fits(bits) && rate.is_none_or(|rate| keeps(bits, rate)))
                .unwrap_or(max),
        };
        match rate {
            Some(got) if !keeps(bits, got) => {
                let smallest = analysis::false_positive_rate(bits, entries);
                Err(BuildError::RateTooSmall { got, smallest })
            }
            _ => Ok(bits),
        }
    }
}
