//! From what a user knows (keys, rate) to what a list needs (the number and size of its filters),
//! with every refusal before anything is allocated.

use super::block::Block;
use super::filter::DynamicCuckooFilter;
use super::growth::{Extension, Rules};
use crate::cuckoo::CuckooFilterBuilder;
use crate::cuckoo::builder::{ACCEPTED_OVERFULL_CLASSES, DEFAULT_RATE, DEFAULT_SLOTS, Plan};
use crate::placement::FingerprintSize;
use crate::table::{Layout, Shape};
use crate::{BuildError, CuckooFilter, Instructions, KeyHasher, PlacementKind, Search, analysis};

/// The most filters that a list is planned with.
const MOST_PLANNED_FILTERS: u32 = 64;

/// Parameters of a [`DynamicCuckooFilter`].
///
/// A capacity is all that is needed. The number of filters that it is divided by follows from the
/// capacity and the rate (Eq. 12 of the paper: the least memory on average, if every size of the set
/// is equally likely), and the sizes of a filter from that.
///
/// ```
/// use cuculus::{PlacementKind, Search};
/// use cuculus::papers::{DynamicCuckooFilter, Extension};
///
/// // As in the paper: powers of two, a random walk, holes that wait for `compact`.
/// let paper = DynamicCuckooFilter::builder()
///     .capacity(46_080)
///     .buckets_per_filter(2048)
///     .fingerprint_bits(12)
///     .extension(Extension::Passive)
///     .capacity_per_filter(7680)
///     .reuse_holes(false)
///     .placement(PlacementKind::Xor)
///     .search(Search::RandomWalk)
///     .build()?;
/// assert_eq!(paper.stats().buckets_per_filter, 2048);
/// # Ok::<(), cuculus::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct DynamicCuckooFilterBuilder {
    capacity: Option<usize>,
    rate: Option<f64>,
    fingerprint_bits: Option<u32>,
    slots_per_bucket: u32,
    buckets_per_filter: Option<u64>,
    capacity_per_filter: Option<usize>,
    placement: PlacementKind,
    extension: Extension,
    reuse_holes: bool,
    filter_duplicates: bool,
    /// What every filter of the list has in common.
    each: CuckooFilterBuilder,
}

impl DynamicCuckooFilterBuilder {
    pub(super) fn new() -> Self {
        Self {
            capacity: None,
            rate: None,
            fingerprint_bits: None,
            slots_per_bucket: DEFAULT_SLOTS,
            buckets_per_filter: None,
            capacity_per_filter: None,
            placement: PlacementKind::default(),
            extension: Extension::default(),
            reuse_holes: true,
            filter_duplicates: false,
            each: CuckooFilter::builder(),
        }
    }

    /// The keys up to which the false positive rate is kept, repetitions counted. More are taken,
    /// for a larger rate.
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = Some(keys);
        self
    }

    /// The largest share of absent keys that may be reported as present, up to the capacity; 1 % by
    /// default.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate. If a rate is given too, the
    /// length must keep it.
    pub fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self.each = self.each.fingerprint_bits(bits);
        self
    }

    /// From 1 to 8 slots in a bucket; four by default.
    pub fn slots_per_bucket(mut self, slots: u32) -> Self {
        self.slots_per_bucket = slots;
        self.each = self.each.slots_per_bucket(slots);
        self
    }

    /// The number of buckets of each filter, the paper's l. Replaces the size that follows from the
    /// capacity; without a capacity the rate is kept for the keys of one filter.
    pub fn buckets_per_filter(mut self, buckets: u64) -> Self {
        self.buckets_per_filter = Some(buckets);
        self
    }

    /// The number of keys at which a filter counts as full, the paper's c: to passive extension, to
    /// [`compact`](DynamicCuckooFilter::compact), and where holes are used again. By default the
    /// slots times the load that filters are planned for, .955 with four slots a bucket.
    pub fn capacity_per_filter(mut self, keys: usize) -> Self {
        self.capacity_per_filter = Some(keys);
        self
    }

    /// When the list goes on to the next filter; active by default.
    pub fn extension(mut self, extension: Extension) -> Self {
        self.extension = extension;
        self
    }

    /// Whether the slots of removed keys are used again before the list gets longer. They are by
    /// default: when the current filter is full the emptiest of the others takes over, and one is
    /// appended only if all are full. An insert then looks at all filters once in a while, and with
    /// kicks at two of them at most.
    ///
    /// With `false` it is as in the paper: the list is only gone through forwards, and what lies
    /// behind is used again only by [`compact`](DynamicCuckooFilter::compact) and
    /// [`shrink_to_fit`](DynamicCuckooFilter::shrink_to_fit), to make the list shorter.
    pub fn reuse_holes(mut self, reuse: bool) -> Self {
        self.reuse_holes = reuse;
        self
    }

    /// Whether a key that seems to be there is not stored again; `false` by default.
    ///
    /// For keys that come again and again and are never removed. **Not for sets from which keys are
    /// removed**: a different key with the same fingerprint and the same buckets seems to be there
    /// too. It is then not stored, though the insert succeeds, and it vanishes when the other is
    /// removed. With 12 bits that happens to one key in two hundred while the list grows to six
    /// filters. To know which keys are already there takes a set that does not err.
    ///
    /// ```
    /// use cuculus::{Filter, Insert};
    /// use cuculus::papers::DynamicCuckooFilter;
    ///
    /// let builder = DynamicCuckooFilter::builder().capacity(1000).filter_duplicates(true);
    /// let mut set = builder.build()?;
    /// set.insert("key")?;
    /// set.insert("key")?;
    /// assert_eq!(set.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter_duplicates(mut self, filter: bool) -> Self {
        self.filter_duplicates = filter;
        self
    }

    /// How the second bucket of a key is found; [`PlacementKind::Xor`] is the paper's.
    pub fn placement(mut self, placement: PlacementKind) -> Self {
        self.placement = placement;
        self.each = self.each.placement(placement);
        self
    }

    /// How room is made in a full bucket; [`Search::RandomWalk`] is the paper's.
    pub fn search(mut self, search: Search) -> Self {
        self.each = self.each.search(search);
        self
    }

    /// How many buckets a search for room in a filter may open, the paper's MNK; 500 by default,
    /// 65,535 at most. With zero nothing is ever moved.
    pub fn max_kicks(mut self, max_kicks: u32) -> Self {
        self.each = self.each.max_kicks(max_kicks);
        self
    }

    /// A fixed seed for the default hash function: the same operations then give the same bytes.
    /// Without it the seed is random.
    pub fn seed(self, seed: u64) -> Self {
        self.hasher(KeyHasher::xxh3(seed))
    }

    /// Another hash function, for instance a keyed one for keys that an adversary may choose.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.each = self.each.hasher(hasher);
        self
    }

    /// Which instructions batches may use. Only of interest for measurements and tests.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.each = self.each.instructions(instructions);
        self
    }

    /// Builds the filter, with the first of its list.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<DynamicCuckooFilter, BuildError> {
        let (plan, rules) = self.plan()?;
        let Plan { hasher, shape, buckets, places, kicks, capacity, instructions } = plan;
        let first = Block::new(shape, buckets)?;
        let mut blocks = Vec::new();
        let failed = BuildError::OutOfMemory { bytes: size_of::<Block>() as u64 };
        blocks.try_reserve_exact(1).map_err(|_| failed)?;
        blocks.push(first);
        Ok(DynamicCuckooFilter {
            hasher,
            shape,
            size: FingerprintSize::new(shape.fingerprint_bits),
            places,
            kicks,
            rules,
            instructions,
            blocks,
            current: 0,
            len: 0,
            capacity,
            appended: 0,
            refused: 0,
        })
    }

    /// Checks everything; allocates nothing. The plan is that of a filter of the list, but for the
    /// capacity, which is that of all.
    fn plan(&self) -> Result<(Plan, Rules), BuildError> {
        let rate = self.rate.or(self.fingerprint_bits.is_none().then_some(DEFAULT_RATE));
        if let Some(got) = rate.filter(|rate| !(*rate > 0.0 && *rate < 1.0)) {
            return Err(BuildError::RateOutOfRange { got });
        }
        // Zero is refused below.
        let asked_for = self.capacity_per_filter.map(|keys| keys.max(1));
        let (each, capacity, filters) = match (self.capacity, self.buckets_per_filter) {
            (None, None) => return Err(BuildError::MissingCapacity),
            (capacity, Some(buckets)) => {
                let buckets = self.placement.round_up(buckets);
                let keys = asked_for.unwrap_or_else(|| self.planned_keys(buckets));
                let capacity = capacity.unwrap_or(keys);
                let each = self.each.clone().buckets(buckets).capacity(keys);
                (each, capacity, filters_of(capacity, keys))
            }
            (Some(capacity), None) => {
                let filters = match asked_for {
                    Some(keys) => filters_of(capacity, keys),
                    None => self.filters_for(capacity),
                };
                let keys = asked_for.unwrap_or(capacity.div_ceil(filters as usize));
                (self.each.clone().capacity(keys), capacity, filters)
            }
        };
        let mut plan = match rate {
            None => each.plan()?,
            Some(rate) => {
                let of_each = analysis::rate_per_filter(rate, filters);
                each.false_positive_rate(of_each).plan().map_err(|error| match error {
                    BuildError::RateTooSmall { smallest, .. } => {
                        let smallest = analysis::rate_of_all(smallest, filters);
                        BuildError::RateTooSmall { got: rate, smallest }
                    }
                    other => other,
                })?
            }
        };
        plan.capacity = capacity;
        let slots = plan.shape.slots_per_bucket;
        if self.fingerprint_bits.is_none() {
            // Equal entries are counted over the whole list, so all keys must find classes of their
            // own, not only those of one filter.
            let (buckets, keys) = (f64::from(plan.buckets), capacity as f64);
            let fits = |&bits: &u32| {
                analysis::overfull_classes(bits, slots, buckets, keys) < ACCEPTED_OVERFULL_CLASSES
            };
            let shortest = plan.shape.fingerprint_bits;
            let longest = *Layout::Packed.fingerprint_bits().end();
            plan.shape.fingerprint_bits = (shortest..=longest).find(fits).unwrap_or(longest);
        }
        let capacity_per_filter =
            self.capacity_per_filter.unwrap_or_else(|| self.planned_keys(u64::from(plan.buckets)));
        let most = u64::from(plan.buckets) * u64::from(slots);
        if !(1..=most).contains(&(capacity_per_filter as u64)) {
            return Err(BuildError::OutOfRange {
                parameter: "capacity_per_filter",
                got: capacity_per_filter as u64,
                min: 1,
                max: most,
            });
        }
        let Self { extension, reuse_holes, filter_duplicates, .. } = *self;
        Ok((plan, Rules { extension, capacity_per_filter, reuse_holes, filter_duplicates }))
    }

    /// The keys that so many buckets are planned to hold, one at least.
    fn planned_keys(&self, buckets: u64) -> usize {
        let slots = buckets as f64 * f64::from(self.slots_per_bucket);
        ((slots * analysis::planned_load(self.slots_per_bucket)) as usize).max(1)
    }

    /// The number of filters that needs the least memory on average while the set grows from nothing
    /// to its capacity: the more there are, the less of the last one is empty, and the longer are the
    /// fingerprints that keep the rate.
    ///
    /// That is Eq. 12 of the paper for uniform sizes, as [`DynamicSizing`](analysis::DynamicSizing)
    /// solves it for any distribution; here without a table of all sizes, and counting all memory
    /// that a filter of the list takes. What comes with each filter decides for small sets: for the
    /// paper's 1,330 keys two filters are best, not eight, which would take half as much again.
    fn filters_for(&self, capacity: usize) -> u32 {
        let slots = self.slots_per_bucket;
        let entries = 2.0 * f64::from(slots) * analysis::planned_load(slots);
        // A length without a rate says nothing about how often it may be compared.
        let given = self.fingerprint_bits.filter(|_| self.rate.is_some());
        let memory = |filters: u32| {
            let rate = analysis::rate_per_filter(self.rate.unwrap_or(DEFAULT_RATE), filters);
            let mut lengths = Layout::Packed.fingerprint_bits();
            let bits =
                lengths.find(|&bits| analysis::false_positive_rate(bits, entries) <= rate)?;
            let bits = match given {
                Some(given) if given < bits => return None,
                given => given.unwrap_or(bits),
            };
            let keys = capacity.div_ceil(filters as usize) as u64;
            let shape =
                Shape { fingerprint_bits: bits, slots_per_bucket: slots, layout: Layout::Packed };
            let table = shape.payload_bytes(analysis::buckets_for(keys, slots));
            let each = size_of::<Block>() as f64 + table as f64;
            Some(expected_filters(capacity, filters) * each)
        };
        (1..=MOST_PLANNED_FILTERS)
            .take_while(|&filters| filters as usize <= capacity)
            .filter_map(|filters| Some((filters, memory(filters)?)))
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(1, |(filters, _)| filters)
    }
}

/// The filters that so many keys need, one at least.
fn filters_of(capacity: usize, keys_per_filter: usize) -> u32 {
    u32::try_from(capacity.div_ceil(keys_per_filter)).unwrap_or(u32::MAX).max(1)
}

/// How many of the filters are in use on average, if every number of keys from one to the capacity
/// is equally likely: the sum of i·r_i.
fn expected_filters(capacity: usize, filters: u32) -> f64 {
    let each = capacity.div_ceil(filters as usize);
    (0..filters as usize)
        .map(|used| {
            let keys = capacity.saturating_sub(used.saturating_mul(each)).min(each);
            (used + 1) as f64 * keys as f64 / capacity as f64
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{DynamicSizing, SetSizes};

    /// Of a large set the same number as the general solution finds; of a small one fewer.
    #[test]
    fn the_number_of_filters_is_that_of_equation_12_with_all_memory_counted() {
        for (capacity, rate, differs) in
            [(1330, 9.8e-3, true), (2_000_000, 9.8e-3, false), (5_000_000, 1e-3, false)]
        {
            let sizes = SetSizes::uniform(capacity).expect("some");
            let best = DynamicSizing::new(rate).best(&sizes, MOST_PLANNED_FILTERS);
            let builder = DynamicCuckooFilter::builder().false_positive_rate(rate);
            let chosen = builder.filters_for(capacity);
            assert_eq!(chosen != best.filters, differs, "{capacity} {rate}: {chosen}");
            assert!(chosen <= best.filters);
        }
        let builder = DynamicCuckooFilter::builder();
        assert_eq!((builder.filters_for(0), builder.filters_for(1)), (1, 1));
        assert!((expected_filters(1000, 1) - 1.0).abs() < 1e-12);
        assert!((expected_filters(1000, 4) - 2.5).abs() < 1e-12);
    }
}
