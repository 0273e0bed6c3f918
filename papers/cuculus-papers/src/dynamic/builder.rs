//! From what a user knows (keys, rate) to what a list needs (the number and size of its filters),
//! with every refusal before anything is allocated.

use super::block::Block;
use super::filter::DynamicCuckooFilter;
use super::growth::{Extension, Rules};
use crate::analysis;
use cuculus::BuildError;
use cuculus::CuckooFilterBuilder;
use cuculus::lab::Plan;
use cuculus::lab::builder::{ACCEPTED_OVERFULL, Parameters, check_range, lab_setters, setters};
use cuculus::lab::placement::FingerprintSize;
use cuculus::lab::table::{BucketShape, Layout};

/// The most filters that a list is planned with.
const MOST_PLANNED_FILTERS: u32 = 64;

/// Parameters of a [`DynamicCuckooFilter`].
///
/// A capacity is all that is needed. The number of filters that it is divided by follows from the
/// capacity and the rate (Eq. 12 of the paper: the least memory on average, if every size of the set
/// is equally likely), and the sizes of a filter from that.
///
/// ```
/// use cuculus_papers::{DynamicCuckooFilter, Extension};
///
/// // The sizes of the paper, and holes that wait for `compact`.
/// let paper = DynamicCuckooFilter::builder()
///     .capacity(46_080)
///     .buckets_per_filter(2048)
///     .fingerprint_bits(12)
///     .extension(Extension::Passive)
///     .capacity_per_filter(7680)
///     .reuse_holes(false)
///     .build()?;
/// assert_eq!(paper.stats().buckets_per_filter, 2048);
/// # Ok::<(), cuculus::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until build() is called"]
pub struct DynamicCuckooFilterBuilder {
    /// Those of the whole list, but for the buckets, which are those of each filter.
    parameters: Parameters,
    capacity_per_filter: Option<usize>,
    extension: Extension,
    reuse_holes: bool,
    filter_duplicates: bool,
}

setters! { DynamicCuckooFilterBuilder, hasher in parameters.hasher;
    /// The keys up to which the false positive rate is kept, repetitions counted. More are taken,
    /// for a larger rate.
    capacity(keys: usize) => parameters.capacity;

    /// The largest share of absent keys that may be reported as present, up to the capacity; 1 % by
    /// default.
    false_positive_rate(rate: f64) => parameters.rate;

    /// The length of a fingerprint, 4 to 32 bits, instead of a rate. If a rate is given too, the
    /// length must keep it.
    fingerprint_bits(bits: u32) => parameters.fingerprint_bits;

    /// From 1 to 8 slots in a bucket; four by default.
    slots_per_bucket(slots: u32) => parameters.slots_per_bucket;

    /// The number of buckets of each filter, the paper's l. Replaces the size that follows from the
    /// capacity; without a capacity the rate is kept for the keys of one filter.
    buckets_per_filter(buckets: u64) => parameters.buckets;

    /// The number of keys at which a filter counts as full, the paper's c: to passive extension, to
    /// [`compact`](DynamicCuckooFilter::compact), and where holes are used again. By default the
    /// slots times the load that filters are planned for, .955 with four slots per bucket.
    capacity_per_filter(keys: usize) => capacity_per_filter;

    /// When the list goes on to the next filter; active by default.
    extension(extension: Extension) => extension;

    /// Whether the slots of removed keys are used again before the list gets longer. They are by
    /// default: when the current filter is full the emptiest of the others takes over, and one is
    /// appended only if all are full. An insert then looks at all filters once in a while, and with
    /// kicks at two of them at most.
    ///
    /// With `false` it is as in the paper: the list is only gone through forwards, and what lies
    /// behind is used again only by [`compact`](DynamicCuckooFilter::compact) and
    /// [`shrink_to_fit`](DynamicCuckooFilter::shrink_to_fit), to make the list shorter.
    reuse_holes(reuse: bool) => reuse_holes;

    /// Whether a key that seems to be there is not stored again; `false` by default.
    ///
    /// For keys that come again and again and are never removed. **Not for sets from which keys are
    /// removed**: a different key with the same fingerprint and the same buckets seems to be there
    /// too. It is then not stored, though the insert succeeds, and it vanishes when the other is
    /// removed. With 12 bits that happens to one key in two hundred while the list grows to six
    /// filters. To know which keys are already there takes an exact set.
    filter_duplicates(filter: bool) => filter_duplicates;

    /// How many buckets a search for room in a filter may open, the paper's MNK; 500 by default,
    /// 2,000 at most. With zero nothing is ever moved.
    max_kicks(max_kicks: u32) => parameters.max_kicks;
}

lab_setters!(DynamicCuckooFilterBuilder);

impl Default for DynamicCuckooFilterBuilder {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            capacity_per_filter: None,
            extension: Extension::default(),
            reuse_holes: true,
            filter_duplicates: false,
        }
    }
}

impl DynamicCuckooFilterBuilder {
    /// Builds the filter, with the first of its list, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<DynamicCuckooFilter, BuildError> {
        let (plan, rules) = self.plan()?;
        let Plan { hasher, shape, buckets, placement, kicks, capacity, .. } = plan;
        let first = Block::new(shape, buckets)?;
        let mut blocks = Vec::new();
        let failed = BuildError::OutOfMemory { bytes: size_of::<Block>() as u64 };
        blocks.try_reserve_exact(1).map_err(|_| failed)?;
        blocks.push(first);
        Ok(DynamicCuckooFilter {
            hasher,
            shape,
            size: FingerprintSize::new(shape.fingerprint_bits),
            placement,
            kicks,
            rules,
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
        let rate = self.parameters.rate()?;
        // Zero is refused below.
        let asked_for = self.capacity_per_filter.map(|keys| keys.max(1));
        let (buckets, keys, capacity, filters) =
            match (self.parameters.capacity, self.parameters.buckets) {
                (None, None) => return Err(BuildError::MissingCapacity),
                (capacity, Some(buckets)) => {
                    let buckets = self.parameters.placement.unwrap_or_default().round_up(buckets);
                    let keys = asked_for.unwrap_or_else(|| self.planned_keys(buckets));
                    let capacity = capacity.unwrap_or(keys);
                    (Some(buckets), keys, capacity, filters_of(capacity, keys))
                }
                (Some(capacity), None) => {
                    let filters = match asked_for {
                        Some(keys) => filters_of(capacity, keys),
                        None => self.filters_for(capacity),
                    };
                    let keys = asked_for.unwrap_or(capacity.div_ceil(filters as usize));
                    (None, keys, capacity, filters)
                }
            };
        let each = Parameters {
            capacity: Some(keys),
            buckets,
            rate: rate.map(|rate| analysis::rate_per_filter(rate, filters)),
            ..self.parameters.clone()
        };
        let mut plan = CuckooFilterBuilder::from(each).plan().map_err(|error| match error {
            BuildError::RateTooSmall { got, smallest } => BuildError::RateTooSmall {
                got: rate.unwrap_or(got),
                smallest: analysis::rate_of_all(smallest, filters),
            },
            other => other,
        })?;
        plan.capacity = capacity;
        let slots = plan.shape.slots_per_bucket;
        if self.parameters.fingerprint_bits.is_none() {
            // Equal entries are counted over the whole list, so all keys must find classes of their
            // own, not only those of one filter.
            let (buckets, keys) = (f64::from(plan.buckets), capacity as f64);
            let fits = |&bits: &u32| {
                analysis::overfull_classes(bits, slots, buckets, keys) < ACCEPTED_OVERFULL
            };
            let shortest = plan.shape.fingerprint_bits;
            let longest = *Layout::Packed.fingerprint_bits().end();
            plan.shape.fingerprint_bits = (shortest..=longest).find(fits).unwrap_or(longest);
        }
        let capacity_per_filter =
            self.capacity_per_filter.unwrap_or_else(|| self.planned_keys(u64::from(plan.buckets)));
        let most = u64::from(plan.buckets) * u64::from(slots);
        check_range("capacity_per_filter", capacity_per_filter as u64, 1..=most)?;
        let Self { extension, reuse_holes, filter_duplicates, .. } = *self;
        Ok((plan, Rules { extension, capacity_per_filter, reuse_holes, filter_duplicates }))
    }

    /// The keys that this number of buckets is planned to hold, one at least.
    fn planned_keys(&self, buckets: u64) -> usize {
        let slots = self.parameters.slots_per_bucket();
        ((buckets as f64 * f64::from(slots) * analysis::planned_load(slots)) as usize).max(1)
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
        let slots = self.parameters.slots_per_bucket();
        let entries = 2.0 * f64::from(slots) * analysis::planned_load(slots);
        // A length without a rate says nothing about how often it may be compared.
        let given = self.parameters.fingerprint_bits.filter(|_| self.parameters.rate.is_some());
        let memory = |filters: u32| {
            let rate = analysis::rate_per_filter(self.parameters.rate_or_default(), filters);
            let mut lengths = Layout::Packed.fingerprint_bits();
            let bits =
                lengths.find(|&bits| analysis::false_positive_rate(bits, entries) <= rate)?;
            let bits = match given {
                Some(given) if given < bits => return None,
                given => given.unwrap_or(bits),
            };
            let keys = capacity.div_ceil(filters as usize) as u64;
            let shape = BucketShape {
                fingerprint_bits: bits,
                slots_per_bucket: slots,
                layout: Layout::Packed,
            };
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

/// The filters that hold this capacity, one at least.
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
