//! From a number of keys to buckets.

use cuculus::{BuildError, KeyHasher, analysis};

use super::draft::Form;
use super::map::{CuckooTable, empty_slots};
use crate::baselines::kicks::DEFAULT_MAX_KICKS;
use crate::baselines::parameters::{builder, in_range};

const MAX_CAPACITY: u64 = 1 << 36;

builder! {
    /// Parameters of a [`CuckooTable`]; all have defaults.
    CuckooTableBuilder;

    /// The keys for which there is room at once. More make the table grow.
    capacity: usize;

    /// One table for both hash functions, or two with a function each, as in the first paper; one by
    /// default.
    tables: u32;

    /// From 1 to 8 slots in a bucket; four by default.
    slots_per_bucket: u32;

    /// How many buckets a search for room may open before everything is rehashed; 500 by default,
    /// 65,535 at most.
    max_kicks: u32;

    /// A fixed seed. Without it the seed is random.
    seed: u64;
}

impl CuckooTableBuilder {
    /// Builds the table, or says which parameter cannot be satisfied.
    pub fn build<K, V>(&self) -> Result<CuckooTable<K, V>, BuildError> {
        let slots = self.slots_per_bucket.unwrap_or(4);
        if !(1..=8).contains(&slots) {
            return Err(BuildError::SlotsPerBucket { got: slots, expected: "from 1 to 8" });
        }
        let tables = in_range("tables", self.tables.unwrap_or(1), 1..=2)?;
        let max_kicks = self.max_kicks.unwrap_or(DEFAULT_MAX_KICKS);
        in_range("max_kicks", max_kicks, 0..=65_535)?;
        let capacity = in_range("capacity", self.capacity.unwrap_or(0) as u64, 0..=MAX_CAPACITY)?;
        let seed = match self.seed {
            Some(seed) => seed,
            // The hash of nothing by a function with a random seed.
            None => KeyHasher::random()?.hash("").get(),
        };
        // Even, so that two tables are the same size.
        let buckets = analysis::buckets_for(capacity, slots).next_multiple_of(2) as usize;
        let form = Form { seed, buckets, tables, slots_per_bucket: slots as usize };
        let bytes = (form.slots() as u64).saturating_mul(size_of::<Option<(K, V)>>() as u64);
        let slots = empty_slots(form.slots()).ok_or(BuildError::OutOfMemory { bytes })?;
        Ok(CuckooTable { form, max_kicks, slots, len: 0, rehashed: 0, grown: 0 })
    }
}
