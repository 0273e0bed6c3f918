//! The figures of a consistent cuckoo filter, to read and to print.

use super::filter::ConsistentCuckooFilter;
use crate::index_independent::ring_table::RingTable;
use cuculus::stats;

stats! {
    /// The current figures of a [`ConsistentCuckooFilter`]. Prints as a short table.
    ConsistentStats of filter: ConsistentCuckooFilter {
        /// The filters that there are.
        filters: Vec<ConsistentPart> = filter.filters.iter().map(ConsistentPart::of).collect(),
        /// The most that there may be.
        max_filters: usize = filter.policy.max_filters as usize,
        /// The length of a fingerprint.
        fingerprint_bits: u32 = filter.first.shape.fingerprint_bits,
        /// The memory of the rings, part of all memory.
        ring_bytes: usize = filter.filters.iter().map(|table| table.ring().heap_bytes()).sum(),
    }
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

impl ConsistentPart {
    fn of(table: &RingTable) -> Self {
        let plan = table.plan();
        Self {
            len: table.len(),
            buckets: plan.buckets as usize,
            slots_per_bucket: plan.shape.slots_per_bucket,
            candidates: plan.candidates,
            virtual_nodes: plan.virtual_nodes,
        }
    }
}

impl ConsistentStats {
    fn own_rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let Self { filters, max_filters, fingerprint_bits, ring_bytes, .. } = self;
        let parts = filters.iter().map(|part| {
            let ConsistentPart { len, buckets, slots_per_bucket, .. } = part;
            ("", format!("{len} keys in {buckets} buckets of {slots_per_bucket} slots"))
        });
        let lengths = ("fingerprints", format!("{fingerprint_bits} bits"));
        let count = ("filters", format!("{} of at most {max_filters}", filters.len()));
        let rings = ("rings", format!("{ring_bytes} bytes of the memory"));
        [lengths, count].into_iter().chain(parts).chain([rings])
    }
}
