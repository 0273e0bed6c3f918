//! The figures of a dynamic cuckoo filter, to read and to print.

use super::filter::DynamicCuckooFilter;
use super::growth::Extension;
use cuculus::lab::placement::Placement;
use cuculus::stats;

stats! {
    /// The current figures of a [`DynamicCuckooFilter`]. Prints as a short table.
    DynamicStats of filter: DynamicCuckooFilter {
        /// The keys up to which the rate is kept.
        capacity: usize = filter.capacity(),
        /// The filters in the list.
        filters: usize = filter.filters(),
        /// The fewest filters that could hold these keys, each filled to its capacity.
        filters_needed: usize = filter.len().div_ceil(filter.rules.capacity_per_filter).max(1),
        /// The filter that takes keys, counted from zero.
        current: usize = filter.current,
        /// Filters appended since the filter was built or cleared.
        appended: u64 = filter.appended,
        /// Filters dropped since then. (One was there from the start.)
        freed: u64 = filter.appended.saturating_sub(filter.filters() as u64 - 1),
        /// The keys in each filter of the list.
        counts: Vec<usize> = filter.blocks.iter().map(|block| block.len).collect(),
        /// The keys at which a filter counts as full.
        capacity_per_filter: usize = filter.rules.capacity_per_filter,
        /// The buckets of each filter.
        buckets_per_filter: usize = filter.placement.buckets() as usize,
        /// The slots of a bucket.
        slots_per_bucket: u32 = filter.shape.slots_per_bucket,
        /// The length of a fingerprint.
        fingerprint_bits: u32 = filter.shape.fingerprint_bits,
        /// When the list goes on to the next filter.
        extension: Extension = filter.rules.extension,
    }
}

impl DynamicStats {
    fn own_rows(&self) -> [(&'static str, String); 3] {
        let Self { filters, capacity_per_filter, filters_needed, appended, freed, .. } = self;
        let Self { buckets_per_filter, slots_per_bucket, fingerprint_bits, .. } = self;
        let list = format!(
            "{filters} of {capacity_per_filter} keys, {filters_needed} needed, \
             {appended} appended, {freed} freed"
        );
        let table = format!(
            "{buckets_per_filter} of {slots_per_bucket} slots, \
             fingerprints of {fingerprint_bits} bits"
        );
        [("capacity", self.capacity.to_string()), ("filters", list), ("buckets per filter", table)]
    }
}
