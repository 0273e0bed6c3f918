//! The figures of a filter, to look at.

use core::fmt;

use super::filter::DynamicCuckooFilter;
use super::growth::Extension;
use crate::placement::Placement;
use crate::{Filter, PlacementKind, stats};

/// What a [`DynamicCuckooFilter`] is like at the moment. Prints as a short table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DynamicStats {
    /// The keys held.
    pub len: usize,
    /// The keys up to which the rate is kept.
    pub capacity: usize,
    /// The filters in the list.
    pub filters: usize,
    /// The fewest filters that could hold these keys, each filled to its capacity.
    pub filters_needed: usize,
    /// The filter that takes keys, counted from zero.
    pub current: usize,
    /// Filters appended since the filter was built or cleared.
    pub appended: u64,
    /// Filters dropped since then.
    pub freed: u64,
    /// The keys in each filter of the list.
    pub counts: Vec<usize>,
    /// The keys at which a filter counts as full.
    pub capacity_per_filter: usize,
    /// The buckets of each filter.
    pub buckets_per_filter: usize,
    /// The slots of a bucket.
    pub slots_per_bucket: u32,
    /// The length of a fingerprint.
    pub fingerprint_bits: u32,
    /// How the second bucket is found.
    pub placement: PlacementKind,
    /// When the list goes on to the next filter.
    pub extension: Extension,
    /// The slots that exist.
    pub slots: usize,
    /// The share of the slots in use.
    pub utilization: f64,
    /// All memory held.
    pub size_in_bytes: usize,
    /// The false positive rate to expect now.
    pub expected_false_positive_rate: f64,
    /// The keys that [`Extend`] could not store.
    pub refused: u64,
}

impl DynamicStats {
    pub(super) fn of(filter: &DynamicCuckooFilter) -> Self {
        let filters = filter.blocks.len();
        let capacity_per_filter = filter.rules.capacity_per_filter;
        Self {
            len: filter.len(),
            capacity: filter.capacity(),
            filters,
            filters_needed: filter.len().div_ceil(capacity_per_filter).max(1),
            current: filter.current,
            appended: filter.appended,
            // One was there from the start.
            freed: filter.appended.saturating_sub(filters as u64 - 1),
            counts: filter.blocks.iter().map(|block| block.len).collect(),
            capacity_per_filter,
            buckets_per_filter: filter.places.buckets() as usize,
            slots_per_bucket: filter.shape.slots_per_bucket,
            fingerprint_bits: filter.shape.fingerprint_bits,
            placement: filter.places.kind(),
            extension: filter.rules.extension,
            slots: filter.slots(),
            utilization: filter.utilization(),
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

impl fmt::Display for DynamicStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keys                  {} of {}", self.len, self.capacity)?;
        writeln!(
            f,
            "filters               {} of {} keys, {} needed, {} appended, {} freed",
            self.filters, self.capacity_per_filter, self.filters_needed, self.appended, self.freed
        )?;
        stats::slots(f, self.slots, self.utilization)?;
        writeln!(f)?;
        writeln!(
            f,
            "buckets a filter      {} of {} slots, fingerprints of {} bits",
            self.buckets_per_filter, self.slots_per_bucket, self.fingerprint_bits
        )?;
        stats::memory(f, self.size_in_bytes, self.len)?;
        stats::rate(f, self.expected_false_positive_rate)?;
        stats::refused(f, self.refused)
    }
}
