//! The formulas behind the parameters: error rates, fingerprint lengths, loads and sizes.
//!
//! Builders use these and nothing else, so a figure computed here is the figure that a filter
//! has.

/// The probability that a filter with `bits`-bit fingerprints says yes to an absent key whose
/// candidate buckets hold `entries` fingerprints in all: 1 − (1 − 1/(2^bits − 1))^entries.
///
/// The Cuckoo Filter paper (§5.1, Eq. 4) has 1 − (1 − 1/2^f)^2b for full buckets. Fingerprints
/// here are one of 2^f − 1 values, since zero marks the empty slot, and a filter at load α has
/// 2bα entries to compare with on average.
///
/// ```
/// // 12-bit fingerprints, buckets of four, 95 % full: Table 3 of the paper says 0.19 %.
/// let rate = cuculus::analysis::false_positive_rate(12, 2.0 * 4.0 * 0.95);
/// assert!((rate - 0.00185).abs() < 0.00001);
/// ```
#[must_use]
pub fn false_positive_rate(bits: u32, entries: f64) -> f64 {
    let values = 2f64.powi(bits as i32) - 1.0;
    // ln_1p and exp_m1 keep the digits where the rate is tiny.
    -f64::exp_m1(entries * f64::ln_1p(-1.0 / values))
}

/// How many sets of more than 2b keys with equal fingerprints and equal buckets to expect: each
/// is a key refused, however large the table.
///
/// A fingerprint and an unordered pair of buckets are one of `buckets`·(2^bits − 1)/2 classes, and
/// the keys fall among them at random. Only short fingerprints in large tables make it matter:
/// with four slots a bucket and eight bits it stays below 10^-6 for any table, with one slot and
/// eight bits it passes one at half a million keys.
///
/// ```
/// use cuculus::analysis::overfull_classes;
///
/// assert!(overfull_classes(8, 4, 4.5e9, 1.7e10) < 1e-6);
/// assert!(overfull_classes(8, 1, 5e5 / 0.47, 5e5) > 1.0);
/// ```
#[must_use]
pub fn overfull_classes(bits: u32, slots_per_bucket: u32, buckets: f64, keys: f64) -> f64 {
    let classes = buckets * (2f64.powi(bits as i32) - 1.0) / 2.0;
    let mean = keys / classes;
    // The first term of the Poisson tail is nearly all of it.
    let term = (1..=2 * slots_per_bucket + 1).fold(1.0, |term, k| term * mean / f64::from(k));
    classes * term * f64::exp(-mean)
}

/// The share of its slots that a large table of two candidate buckets is planned to fill, for 1
/// to 8 slots in a bucket.
///
/// Below what is possible at all (.5, .897, .959, .980, .988, .993, .996 and .998: the thresholds
/// of orientability) and below where a breadth-first search of 500 kicks first fails at a million
/// buckets (measured for 1, 2, 4 and 8 slots: .487, .874, .972 and .996), so that the last inserts
/// are still fast.
#[must_use]
pub fn planned_load(slots_per_bucket: u32) -> f64 {
    match slots_per_bucket {
        1 => 0.47,
        2 => 0.85,
        3 => 0.93,
        4 => 0.955,
        5 => 0.965,
        6 => 0.97,
        7 => 0.975,
        _ => 0.98,
    }
}

/// The buckets that so many keys need, an even number: then no bucket is its own alternate.
///
/// Small tables fill unevenly, so they get some slots more than the planned load asks for:
/// measured so that one filter in two thousand refuses a key within its capacity, the worst size
/// counted. With one slot a bucket there is no sharp threshold to stay below; the window around
/// it is as wide as that of a random graph, keys^(2/3).
#[must_use]
pub fn buckets_for(capacity: u64, slots_per_bucket: u32) -> u64 {
    if capacity <= 2 * u64::from(slots_per_bucket) {
        return 2; // one key's two buckets are every key's two buckets
    }
    let keys = capacity as f64;
    let reserve = match slots_per_bucket {
        1 => 10.0 + 9.0 * keys.powf(2.0 / 3.0),
        2 => 28.0,
        3 => 20.0,
        _ => 16.0,
    };
    let slots = keys / planned_load(slots_per_bucket) + reserve;
    let buckets = (slots / f64::from(slots_per_bucket)).ceil() as u64; // saturates
    buckets.checked_next_multiple_of(2).unwrap_or(u64::MAX)
}

/// The share of its slots that a table on a ring is planned to fill, for k candidates, b slots a
/// bucket and v nodes a bucket.
#[must_use]
pub fn planned_ring_load(_candidates: u32, _slots_per_bucket: u32, _virtual_nodes: u32) -> f64 {
    0.5
}

/// Expected values.
#[must_use]
pub fn overfull_values(bits: u32, equal: u32, keys: f64) -> f64 {
    let values = 2f64.powi(bits as i32) - 1.0;
    let mean = keys / values;
    let term = (1..=equal + 1).fold(1.0, |term, k| term * mean / f64::from(k));
    values * term * f64::exp(-mean)
}
