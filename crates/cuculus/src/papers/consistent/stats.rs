//! The figures of a filter, to look at.

use core::fmt;

use super::filter::ConsistentCuckooFilter;
use crate::{Filter, stats};

/// What a [`ConsistentCuckooFilter`] is like at the moment. Prints as a short table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConsistentStats {
    /// The keys held.
    pub len: usize,
    /// The slots that exist.
    pub slots: usize,
    /// The filters that there are.
    pub filters: Vec<ConsistentPart>,
    /// The most that there may be.
    pub max_filters: usize,
    /// The length of a fingerprint.
    pub fingerprint_bits: u32,
    /// The share of the slots in use.
    pub utilization: f64,
    /// The memory of the rings, part of all memory.
    pub ring_bytes: usize,
    /// All memory held.
    pub size_in_bytes: usize,
    /// The false positive rate to expect now.
    pub expected_false_positive_rate: f64,
    /// The keys that [`Extend`] could not store.
    pub refused: u64,
}

/// One of the filters that a [`ConsistentCuckooFilter`] consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsistentPart {
    /// The keys held.
    pub len: usize,
    /// The buckets that exist.
    pub buckets: usize,
    /// The slots of a bucket.
    pub slots_per_bucket: u32,
    /// The candidate buckets of a key.
    pub candidates: usize,
    /// The nodes of a bucket on the ring.
    pub virtual_nodes: u32,
}

impl ConsistentStats {
    pub(super) fn of(filter: &ConsistentCuckooFilter) -> Self {
        let parts = filter.filters.iter().map(|table| {
            let plan = table.plan();
            ConsistentPart {
                len: table.len(),
                buckets: plan.buckets as usize,
                slots_per_bucket: plan.shape.slots_per_bucket,
                candidates: plan.candidates,
                virtual_nodes: plan.virtual_nodes,
            }
        });
        Self {
            len: filter.len(),
            slots: filter.slots(),
            filters: parts.collect(),
            max_filters: filter.policy.max_filters as usize,
            fingerprint_bits: filter.first.shape.fingerprint_bits,
            utilization: filter.utilization(),
            ring_bytes: filter.filters.iter().map(|table| table.ring().heap_bytes()).sum(),
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

impl fmt::Display for ConsistentStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keys                  {}", self.len)?;
        writeln!(
            f,
            "slots                 {} ({:.2} % used), fingerprints of {} bits",
            self.slots,
            100.0 * self.utilization,
            self.fingerprint_bits
        )?;
        writeln!(
            f,
            "filters               {} of at most {}",
            self.filters.len(),
            self.max_filters
        )?;
        for part in &self.filters {
            writeln!(
                f,
                "                      {} keys in {} buckets of {} slots",
                part.len, part.buckets, part.slots_per_bucket
            )?;
        }
        stats::memory(f, self.size_in_bytes, self.len)?;
        write!(f, ", {} of them for the rings", self.ring_bytes)?;
        stats::rate(f, self.expected_false_positive_rate)?;
        stats::refused(f, self.refused)
    }
}
