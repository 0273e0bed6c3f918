//! The figures of a cuckoo filter, to read and to print.

use super::filter::CuckooFilter;
use crate::placement::Placement;
use crate::stats::stats;
use crate::table::Layout;

stats! {
    /// The current figures of a [`CuckooFilter`]. Prints as a short table.
    CuckooStats of filter: CuckooFilter {
        /// The keys that it was built for.
        capacity: usize = filter.capacity(),
        /// The buckets that exist.
        buckets: usize = filter.body.placement().buckets() as usize,
        /// The slots of a bucket.
        slots_per_bucket: u32 = filter.shape.slots_per_bucket,
        /// The length of a fingerprint.
        fingerprint_bits: u32 = filter.shape.fingerprint_bits,
        /// Whether the buckets are semi-sorted.
        semi_sorted: bool = filter.shape.layout == Layout::SemiSorted,
    }
}

impl CuckooStats {
    fn own_rows(&self) -> [(&'static str, String); 2] {
        let Self { capacity, buckets, slots_per_bucket, fingerprint_bits, .. } = self;
        let layout = if self.semi_sorted { ", semi-sorted" } else { "" };
        let table = format!(
            "{buckets} of {slots_per_bucket} slots, fingerprints of {fingerprint_bits} bits{layout}"
        );
        [("capacity", capacity.to_string()), ("buckets", table)]
    }
}
