//! From keys and rate to buckets and remainders.

use cuculus::BuildError;

use super::cells::{Cells, Shape};
use super::filter::{DleftCountingBloomFilter, SUBTABLES};
use crate::baselines::memory::MAX_BITS;
use crate::baselines::parameters::{Shared, at_most, builder, in_range};

const MAX_REMAINDER_BITS: u32 = 28;
const MAX_BUCKETS: u64 = 1 << 32;

/// The load at which buckets of 2 to 8 cells still take every key, with four subtables. Up to 2^20
/// buckets the first key was refused at .60, .72, .785, .82, .855, .88 and .89 or later (in the CF
/// paper, with 2^25 buckets of four, at .78); it falls slowly with the number of buckets.
fn planned_load(slots_per_bucket: u32) -> f64 {
    match slots_per_bucket {
        ..=2 => 0.54,
        3 => 0.67,
        4 => 0.74,
        5 => 0.78,
        6 => 0.82,
        7 => 0.84,
        8.. => 0.86,
    }
}

builder! {
    /// Parameters of a [`DleftCountingBloomFilter`]: a capacity, and the rest has defaults.
    DleftCountingBloomFilterBuilder, shared: Shared;

    /// The number of buckets, instead of the one that follows from the capacity; made a multiple of
    /// four.
    buckets: u64;

    /// From 2 to 8 cells in a bucket; eight by default, as its authors use. The CF paper has four.
    slots_per_bucket: u32;

    /// The length of a remainder, 1 to 28 bits, instead of a rate.
    remainder_bits: u32;

    /// The length of a counter, 1 to 4 bits; two by default.
    counter_bits: u32;
}

impl DleftCountingBloomFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<DleftCountingBloomFilter, BuildError> {
        let slots_per_bucket = self.slots_per_bucket.unwrap_or(8);
        if !(2..=8).contains(&slots_per_bucket) {
            let expected = "from 2 to 8";
            return Err(BuildError::SlotsPerBucket { got: slots_per_bucket, expected });
        }
        let counter_bits = self.counter_bits.unwrap_or(2);
        in_range("counter_bits", counter_bits, 1..=4)?;
        let load = planned_load(slots_per_bucket) * f64::from(slots_per_bucket);
        let wanted = match (self.buckets, self.shared.capacity) {
            (Some(buckets), _) => in_range("buckets", buckets, 1..=MAX_BUCKETS)?,
            // In small tables chance has more room.
            (None, Some(keys)) => ((keys as f64 + 2.0 * (keys as f64).sqrt()) / load).ceil() as u64,
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        let each = wanted.div_ceil(SUBTABLES as u64).max(1);
        let buckets = each.saturating_mul(SUBTABLES as u64);
        at_most(buckets, MAX_BUCKETS)?;
        let capacity = self.shared.capacity.unwrap_or((buckets as f64 * load) as usize);
        let rate_with = |bits: u32| capacity as f64 / (each as f64 * f64::from(bits).exp2());
        let given = ("remainder_bits", self.remainder_bits);
        let remainder_bits = self.shared.bits(given, 1..=MAX_REMAINDER_BITS, rate_with)?;
        let shape = Shape { remainder_bits, counter_bits, slots_per_bucket };
        let bucket_bits = u64::from(shape.cell_bits() * slots_per_bucket);
        at_most(buckets, MAX_BITS / bucket_bits)?;
        let hasher = self.shared.hasher()?;
        let cells = Cells::new(buckets, shape)?;
        Ok(DleftCountingBloomFilter {
            hasher,
            cells,
            shape,
            buckets: each,
            used: 0,
            len: 0,
            capacity,
        })
    }
}
