//! From what a user knows (keys, rate) to what a table needs (buckets, bits), with every refusal
//! before anything is allocated.

use super::filter::CuckooFilter;
use super::room::Kicks;
use super::straight::Body;
#[cfg(any(test, feature = "lab"))]
use crate::builder::lab_setters;
use crate::builder::{ACCEPTED_OVERFULL, Parameters, setters};
use crate::placement::{AnyPlacement, FingerprintSize, MAX_BUCKETS, PlacementKind};
use crate::table::{BucketShape, Layout, Table};
use crate::wide::Instructions;
use crate::{BuildError, KeyHasher, analysis};

/// Parameters of a [`CuckooFilter`].
///
/// A capacity is all that is needed. The rest has defaults: a false positive rate of 1 %, buckets
/// of four, a random seed.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct CuckooFilterBuilder {
    pub(crate) parameters: Parameters,
    semi_sorted: bool,
}

setters! { CuckooFilterBuilder, hasher in parameters.hasher;
    /// The keys that the filter must hold, repetitions counted. Zero makes the smallest filter.
    capacity(keys: usize) => parameters.capacity;

    /// The number of buckets, for those who want to fix the table itself. Replaces the size that
    /// follows from the capacity.
    buckets(buckets: u64) => parameters.buckets;

    /// The largest share of absent keys that may be reported as present, when the filter is full.
    false_positive_rate(rate: f64) => parameters.rate;

    /// The length of a fingerprint, 4 to 32 bits (5 to 32 if semi-sorted), instead of a rate. If
    /// a rate is given too, the length must keep it.
    fingerprint_bits(bits: u32) => parameters.fingerprint_bits;

    /// From 1 to 8 slots in a bucket. Four is the default and rarely beaten: fewer fill worse,
    /// more need longer fingerprints.
    slots_per_bucket(slots: u32) => parameters.slots_per_bucket;

    /// Sorts the four fingerprints of a bucket to save a bit for each: the same rate in less
    /// memory, for slower operations, inserts most of all. Needs buckets of four.
    semi_sorted(semi_sorted: bool) => semi_sorted;

    /// How many buckets a search for room may open before a key is refused; 500 by default,
    /// 2,000 at most. With zero nothing is ever moved.
    max_kicks(max_kicks: u32) => parameters.max_kicks;
}

#[cfg(any(test, feature = "lab"))]
lab_setters!(CuckooFilterBuilder);

/// Parameters that can be built.
pub struct Plan {
    pub hasher: KeyHasher,
    pub shape: BucketShape,
    pub buckets: u32,
    pub placement: AnyPlacement,
    pub kicks: Kicks,
    pub capacity: usize,
    pub instructions: Instructions,
}

impl From<Parameters> for CuckooFilterBuilder {
    fn from(parameters: Parameters) -> Self {
        Self { parameters, semi_sorted: false }
    }
}

impl CuckooFilterBuilder {
    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<CuckooFilter, BuildError> {
        let Plan { hasher, shape, buckets, placement, kicks, capacity, instructions } =
            self.plan()?;
        let mut table = Table::new(shape, buckets)?;
        table.ask_for_huge_pages();
        let size = FingerprintSize::new(shape.fingerprint_bits);
        Ok(CuckooFilter {
            hasher,
            shape,
            body: Body::new(table, placement, size),
            kicks,
            instructions,
            len: 0,
            capacity,
            refused: 0,
        })
    }

    /// Whether a filter, wherever it comes from, has exactly the parameters that
    /// [`build`](Self::build) would give it: size, lengths, limits, hash function and seed. A
    /// program that accepts files from others can so refuse those that it would not have written.
    ///
    /// ```
    /// use cuculus::CuckooFilter;
    ///
    /// let ours = CuckooFilter::builder().capacity(1000).seed(7);
    /// assert!(ours.describes(&ours.build()?));
    /// assert!(!ours.describes(&ours.clone().max_kicks(501).build()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn describes(&self, filter: &CuckooFilter) -> bool {
        self.plan().is_ok_and(|plan| {
            plan.hasher == filter.hasher
                && plan.shape == filter.shape
                && plan.placement == filter.body.placement()
                && plan.kicks == filter.kicks
                && plan.capacity == filter.capacity
        })
    }

    /// Checks everything; allocates nothing.
    pub fn plan(&self) -> Result<Plan, BuildError> {
        let (layout, slots) = self.layout()?;
        let load = analysis::planned_load(slots);
        let buckets_for = |keys: usize| analysis::buckets_for(keys as u64, slots);
        let (capacity, wanted) = self.parameters.keys_and_buckets(load, buckets_for)?;
        let (kind, buckets) = self.placed(slots, capacity, wanted);
        let buckets = u32::try_from(buckets)
            .map_err(|_| BuildError::TooLarge { buckets, max: MAX_BUCKETS })?;
        let fingerprint_bits = self.bits(layout, slots, buckets, capacity)?;
        let shape = BucketShape { fingerprint_bits, slots_per_bucket: slots, layout };
        Ok(Plan {
            kicks: self.parameters.kicks()?,
            hasher: self.parameters.hasher()?,
            shape,
            buckets,
            placement: AnyPlacement::new(kind, buckets),
            capacity,
            instructions: self.parameters.instructions,
        })
    }

    /// The placement, and the number of buckets that it makes of those wanted. Chunks are taken
    /// where they cost next to no memory.
    fn placed(&self, slots: u32, capacity: usize, wanted: u64) -> (PlacementKind, u64) {
        let free_choice = self.parameters.placement.is_none() && self.parameters.buckets.is_none();
        let chunked = analysis::chunked_buckets_for(capacity as u64, slots);
        match chunked {
            Some(buckets) if free_choice => (PlacementKind::Chunked, buckets),
            _ => {
                let kind = self.parameters.placement.unwrap_or_default();
                (kind, kind.round_up(wanted))
            }
        }
    }

    fn layout(&self) -> Result<(Layout, u32), BuildError> {
        let slots = self.parameters.slots_per_bucket();
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

    fn bits(
        &self,
        layout: Layout,
        slots: u32,
        buckets: u32,
        capacity: usize,
    ) -> Result<u32, BuildError> {
        let (buckets, keys) = (f64::from(buckets), capacity as f64);
        // What a full filter holds in the two buckets of a key. The smallest tables are filled
        // further than planned, and one of given size may be asked to hold more than it can.
        let load = (keys / buckets / f64::from(slots)).min(1.0).max(analysis::planned_load(slots));
        let entries = 2.0 * f64::from(slots) * load;
        self.parameters.bits(
            layout.fingerprint_bits(),
            |bits| analysis::false_positive_rate(bits, entries),
            |bits| analysis::overfull_classes(bits, slots, buckets, keys) < ACCEPTED_OVERFULL,
        )
    }
}
