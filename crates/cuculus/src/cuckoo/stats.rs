//! The figures of a filter, to look at.

use core::fmt;

use super::filter::CuckooFilter;
use crate::placement::Placement;
use crate::table::Layout;
use crate::{Filter, PlacementKind, stats};

/// What a [`CuckooFilter`] is like at the moment. Prints as a short table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CuckooStats {
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
    /// Whether the buckets are semi-sorted.
    pub semi_sorted: bool,
    /// How the second bucket is found.
    pub placement: PlacementKind,
    /// The share of the slots in use.
    pub utilization: f64,
    /// All memory held.
    pub size_in_bytes: usize,
    /// The false positive rate to expect now.
    pub expected_false_positive_rate: f64,
    /// The keys that [`Extend`] could not store.
    pub refused: u64,
}

impl CuckooStats {
    pub(super) fn of(filter: &CuckooFilter) -> Self {
        Self {
            len: filter.len(),
            capacity: filter.capacity(),
            slots: filter.slots(),
            buckets: filter.places.buckets() as usize,
            slots_per_bucket: filter.shape.slots_per_bucket,
            fingerprint_bits: filter.shape.fingerprint_bits,
            semi_sorted: filter.shape.layout == Layout::SemiSorted,
            placement: filter.places.kind(),
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

impl fmt::Display for CuckooStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = if self.semi_sorted { ", semi-sorted" } else { "" };
        writeln!(f, "keys                  {} of {}", self.len, self.capacity)?;
        stats::slots(f, self.slots, self.utilization)?;
        writeln!(f)?;
        writeln!(
            f,
            "buckets               {} of {} slots, fingerprints of {} bits{layout}",
            self.buckets, self.slots_per_bucket, self.fingerprint_bits
        )?;
        stats::memory(f, self.size_in_bytes, self.len)?;
        stats::rate(f, self.expected_false_positive_rate)?;
        stats::refused(f, self.refused)
    }
}
