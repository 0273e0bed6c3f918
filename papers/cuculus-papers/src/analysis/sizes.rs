//! The memory of every filter in bits per key, everything included.
//!
//! The CCF paper counts slots and leaves its ring out, which is several times as large as what
//! the slots hold.

use cuculus::lab::analysis::share;

/// A cuckoo filter whose slots are filled to `load`: f/α. Infinite for an empty one.
///
/// ```
/// // Table 3 of the Cuckoo Filter paper: 12.60 bits at a load of .9524.
/// assert!((cuculus_papers::analysis::cuckoo_bits_per_key(12, 0.9524) - 12.60).abs() < 0.005);
/// ```
#[must_use]
pub fn cuckoo_bits_per_key(fingerprint_bits: u32, load: f64) -> f64 {
    per_filled_slot(f64::from(fingerprint_bits), load)
}

/// A semi-sorted cuckoo filter: (f − 1)/α, because four sorted parts of four bits are one of 3,876
/// and take twelve bits, not sixteen (Cuckoo Filter paper, §5.2).
#[must_use]
pub fn semi_sorted_bits_per_key(fingerprint_bits: u32, load: f64) -> f64 {
    per_filled_slot(f64::from(fingerprint_bits.saturating_sub(1)), load)
}

/// A dynamic cuckoo filter of `keys` keys in filters of `slots_per_filter` slots, each but the last
/// filled to `load`. The last is as large as the others, however few keys it holds.
///
/// ```
/// use cuculus_papers::analysis::dynamic_bits_per_key;
///
/// let full = dynamic_bits_per_key(12, 1000, 0.95, 950);
/// assert!((full - 12.63).abs() < 0.01);
/// // One key more is a filter more.
/// assert!((dynamic_bits_per_key(12, 1000, 0.95, 951) / full - 2.0).abs() < 0.01);
/// ```
#[must_use]
pub fn dynamic_bits_per_key(
    fingerprint_bits: u32,
    slots_per_filter: u64,
    load: f64,
    keys: u64,
) -> f64 {
    let held = f64::floor(slots_per_filter as f64 * share(load));
    if keys == 0 || held < 1.0 {
        return f64::INFINITY;
    }
    let filters = f64::ceil(keys as f64 / held);
    filters * slots_per_filter as f64 * f64::from(fingerprint_bits) / keys as f64
}

/// What a consistent-hash ring costs beside the slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RingCost {
    /// For each virtual node.
    pub bits_per_node: f64,
    /// For each bucket, however many nodes it has.
    pub bits_per_bucket: f64,
}

impl RingCost {
    /// The ring of this library: 32 bits per node, kept sorted in cells, and about half a bit for the
    /// cells; names of buckets and the way back from them, ten bytes per bucket.
    pub const CELLS: Self = Self { bits_per_node: 32.0 + 0.5, bits_per_bucket: 80.0 };

    /// A ring as in textbooks, a search tree or a sorted list of positions and the buckets they
    /// belong to, a word each.
    pub const TEXTBOOK: Self = Self { bits_per_node: 128.0, bits_per_bucket: 0.0 };

    /// No ring: what the CCF paper counts.
    pub const UNCOUNTED: Self = Self { bits_per_node: 0.0, bits_per_bucket: 0.0 };
}

/// An index-independent or consistent cuckoo filter with its ring: (f + (v·node + bucket)/b)/α.
///
/// ```
/// use cuculus_papers::analysis::{RingCost, ring_bits_per_key};
///
/// // The CCF paper's parameters: v = 10, b = 3, f = 30, and a load of .95.
/// let bits = |ring| ring_bits_per_key(30, 3, 10, 0.95, ring).round();
/// assert_eq!(bits(RingCost::UNCOUNTED), 32.0);
/// assert_eq!(bits(RingCost::CELLS), 174.0);
/// assert_eq!(bits(RingCost::TEXTBOOK), 481.0);
/// ```
#[must_use]
pub fn ring_bits_per_key(
    fingerprint_bits: u32,
    slots_per_bucket: u32,
    virtual_nodes: u32,
    load: f64,
    ring: RingCost,
) -> f64 {
    if slots_per_bucket == 0 {
        return f64::INFINITY;
    }
    let bucket = f64::from(virtual_nodes) * ring.bits_per_node + ring.bits_per_bucket;
    let slot = f64::from(fingerprint_bits) + bucket / f64::from(slots_per_bucket);
    per_filled_slot(slot, load)
}

fn per_filled_slot(bits: f64, load: f64) -> f64 {
    let load = share(load);
    if load > 0.0 { bits / load } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuculus::{CuckooFilter, Filter, Insert};

    /// The papers' own figures: Table 3 of the Cuckoo Filter, and the ring that the CCF paper does
    /// not count.
    #[test]
    fn figures_of_the_papers() {
        assert!((cuckoo_bits_per_key(12, 127.78 / 134.22) - 12.60).abs() < 0.01);
        // 13-bit fingerprints in the room of twelve.
        assert!((semi_sorted_bits_per_key(13, 128.04 / 134.22) - 12.58).abs() < 0.01);
        let payload = ring_bits_per_key(30, 3, 10, 0.95, RingCost::UNCOUNTED);
        assert!((payload - 31.6).abs() < 0.05);
        assert_eq!(payload, cuckoo_bits_per_key(30, 0.95));
        let ring = RingCost { bits_per_node: 32.5, bits_per_bucket: 80.0 };
        assert_eq!(ring, RingCost::CELLS);
        let all = ring_bits_per_key(30, 3, 10, 0.95, ring);
        assert!((all - (30.0 + (325.0 + 80.0) / 3.0) / 0.95).abs() < 1e-9);
        assert!(all > 5.0 * payload);
    }

    #[test]
    fn filters_have_the_size_that_is_computed() {
        for (semi_sorted, bits) in [(false, 12), (true, 13)] {
            let mut filter = CuckooFilter::builder()
                .capacity(50_000)
                .fingerprint_bits(bits)
                .semi_sorted(semi_sorted)
                .seed(1)
                .build()
                .expect("parameters");
            (0..50_000u64).for_each(|key| filter.insert(&key).expect("capacity"));
            let got = 8.0 * filter.size_in_bytes() as f64 / 50_000.0;
            let formula = if semi_sorted { semi_sorted_bits_per_key } else { cuckoo_bits_per_key };
            let want = formula(bits, filter.utilization());
            assert!((got / want - 1.0).abs() < 0.01, "{semi_sorted}: {got} {want}");
        }
    }

    #[test]
    fn the_last_filter_is_as_large_as_the_others() {
        for (keys, filters) in [(1, 1), (950, 1), (951, 2), (1900, 2), (9500, 10), (9501, 11)] {
            let got = dynamic_bits_per_key(12, 1000, 0.95, keys);
            let want = f64::from(filters) * 12_000.0 / keys as f64;
            assert!((got - want).abs() < 1e-9, "{keys}: {got} {want}");
        }
    }

    #[test]
    fn every_argument_has_an_answer() {
        for load in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 7.0, f64::INFINITY] {
            for count in [0, 1, 30, u32::MAX] {
                assert!(cuckoo_bits_per_key(count, load) >= 0.0);
                assert!(semi_sorted_bits_per_key(count, load) >= 0.0);
                assert!(dynamic_bits_per_key(count, u64::from(count), load, 1) >= 0.0);
                assert!(dynamic_bits_per_key(count, u64::MAX, load, u64::MAX) >= 0.0);
                for ring in [RingCost::CELLS, RingCost::TEXTBOOK, RingCost::UNCOUNTED] {
                    assert!(ring_bits_per_key(count, count, count, load, ring) >= 0.0);
                }
            }
        }
        assert_eq!(dynamic_bits_per_key(12, 1000, 0.95, 0), f64::INFINITY);
    }
}
