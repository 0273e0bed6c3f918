//! The figures of a filter, to look at.

use core::fmt;

use super::filter::IndexIndependentCuckooFilter;
use crate::{Filter, stats};

/// What an [`IndexIndependentCuckooFilter`] is like at the moment. Prints as a short table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct IndexIndependentStats {
    /// The keys held.
    pub len: usize,
    /// The keys that it was built for.
    pub capacity: usize,
    /// The slots that exist.
    pub slots: usize,
    /// The buckets that exist.
    pub buckets: usize,
    /// The slots of a bucket.
    pub slots_per_bucket: u32,
    /// The length of a fingerprint.
    pub fingerprint_bits: u32,
    /// The candidate buckets of a key.
    pub candidates: usize,
    /// The nodes of a bucket on the ring.
    pub virtual_nodes: u32,
    /// The share of the slots in use.
    pub utilization: f64,
    /// The memory of the ring, part of all memory.
    pub ring_bytes: usize,
    /// All memory held.
    pub size_in_bytes: usize,
    /// The false positive rate to expect now.
    pub expected_false_positive_rate: f64,
    /// The keys that [`Extend`] could not store.
    pub refused: u64,
}

impl IndexIndependentStats {
    pub(super) fn of(filter: &IndexIndependentCuckooFilter) -> Self {
        let plan = filter.table.plan();
        Self {
            len: filter.len(),
            capacity: filter.capacity(),
            slots: filter.slots(),
            buckets: filter.buckets(),
            slots_per_bucket: plan.shape.slots_per_bucket,
            fingerprint_bits: plan.shape.fingerprint_bits,
            candidates: plan.candidates,
            virtual_nodes: plan.virtual_nodes,
            utilization: filter.utilization(),
            ring_bytes: filter.table.ring().heap_bytes(),
            size_in_bytes: filter.size_in_bytes(),
            expected_false_positive_rate: filter.expected_false_positive_rate(),
            refused: filter.refused(),
        }
    }

    /// All memory, divided by the keys held; infinite for an empty filter.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        stats::bits_per_key(self.size_in_bytes, self.len)
    }
}

impl fmt::Display for IndexIndependentStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keys                  {} of {}", self.len, self.capacity)?;
        stats::slots(f, self.slots, self.utilization)?;
        writeln!(f)?;
        writeln!(
            f,
            "buckets               {} of {} slots, fingerprints of {} bits",
            self.buckets, self.slots_per_bucket, self.fingerprint_bits
        )?;
        writeln!(
            f,
            "ring                  {} nodes a bucket, {} candidates a key, {} bytes",
            self.virtual_nodes, self.candidates, self.ring_bytes
        )?;
        stats::memory(f, self.size_in_bytes, self.len)?;
        stats::rate(f, self.expected_false_positive_rate)?;
        stats::refused(f, self.refused)
    }
}
