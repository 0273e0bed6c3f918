//! The list of filters that the Dynamic Cuckoo Filter paper evaluates (§VI.B), for the experiments
//! that measure it.

use cuculus::lab::{PlacementKind, Search};
use cuculus_papers::{DynamicCuckooFilter, DynamicCuckooFilterBuilder, Extension};

/// The paper's false positive rate: 2·4·6 / 2^12, six filters of buckets of four, 12 bits.
pub(super) const RATE: f64 = 1.17e-2;
pub(super) const SLOTS: u32 = 4;
/// The paper's number of keys while the list gets longer.
pub(super) const KEYS: usize = 46_080;
/// The paper's number of filters while the number of keys grows.
pub(super) const FILTERS: usize = 6;
/// The share of the variance that a line must explain for times to be called linear.
pub(super) const LINEAR: f64 = 0.98;

/// The list that takes `keys` keys with exactly `filters` filters, as the paper has it: powers of
/// two, a random walk, and the next filter when a share of the keys is in.
pub(super) fn paper_list(keys: usize, filters: usize, buckets: u64) -> DynamicCuckooFilterBuilder {
    DynamicCuckooFilter::builder()
        .capacity(keys)
        .capacity_per_filter(keys.div_ceil(filters))
        .buckets_per_filter(buckets)
        .slots_per_bucket(SLOTS)
        .fingerprint_bits(fingerprint_bits(filters))
        .extension(Extension::Passive)
        .reuse_holes(false)
        .placement(PlacementKind::Xor)
        .search(Search::PaperWalk)
}

/// The shortest fingerprints that keep the rate with this many filters, all full (Eq. 4).
pub(super) fn fingerprint_bits(filters: usize) -> u32 {
    let entries = 2.0 * f64::from(SLOTS) * filters as f64;
    // The rate is rounded in the paper.
    (entries / RATE).log2().round() as u32
}

/// The smallest power of two whose slots take these keys at a load of 15/16, the paper's.
pub(super) fn buckets_for(keys: usize) -> u64 {
    ((keys as f64 / (0.9375 * f64::from(SLOTS))).ceil() as u64).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_the_paper() {
        assert_eq!((fingerprint_bits(6), fingerprint_bits(48)), (12, 15));
        assert_eq!((buckets_for(7680), buckets_for(7681), buckets_for(1344)), (2048, 4096, 512));
        let mut list = paper_list(4608, 6, 256).seed(1).build().unwrap();
        list.extend(0..4608u64);
        assert_eq!((list.filters(), list.refused()), (6, 0));
    }
}
