//! The figures of an index-independent filter, to read and to print.

use super::filter::IndexIndependentCuckooFilter;
use cuculus::stats;

stats! {
    /// The current figures of an [`IndexIndependentCuckooFilter`]. Prints as a short table.
    IndexIndependentStats of filter: IndexIndependentCuckooFilter {
        /// The keys that it was built for.
        capacity: usize = filter.capacity(),
        /// The buckets that exist.
        buckets: usize = filter.buckets(),
        /// The slots of a bucket.
        slots_per_bucket: u32 = filter.table.plan().shape.slots_per_bucket,
        /// The length of a fingerprint.
        fingerprint_bits: u32 = filter.table.plan().shape.fingerprint_bits,
        /// The candidate buckets of a key.
        candidates: usize = filter.table.plan().candidates,
        /// The nodes of a bucket on the ring.
        virtual_nodes: u32 = filter.table.plan().virtual_nodes,
        /// The memory of the ring, part of all memory.
        ring_bytes: usize = filter.table.ring().heap_bytes(),
    }
}

impl IndexIndependentStats {
    fn own_rows(&self) -> [(&'static str, String); 3] {
        let Self { buckets, slots_per_bucket, fingerprint_bits, .. } = self;
        let Self { virtual_nodes, candidates, ring_bytes, .. } = self;
        let table = format!(
            "{buckets} of {slots_per_bucket} slots, fingerprints of {fingerprint_bits} bits"
        );
        let ring = format!(
            "{virtual_nodes} nodes per bucket, {candidates} candidates per key, {ring_bytes} bytes"
        );
        [("capacity", self.capacity.to_string()), ("buckets", table), ("ring", ring)]
    }
}
