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

/// The shortest fingerprint that keeps the rate when the candidate buckets hold `entries`
/// fingerprints in all, or `None` if even 32 bits are too short.
#[must_use]
pub fn fingerprint_bits(rate: f64, entries: f64) -> Option<u32> {
    (4..=32).find(|&bits| false_positive_rate(bits, entries) <= rate)
}

/// The share of its slots that a large table of two candidate buckets can be planned to fill,
/// for 1, 2, 4 or 8 slots in a bucket.
///
/// Below the loads that are possible at all (.5, .897, .980, .998; Fernholz and Ramachandran 2007),
/// by a margin that a search of 500 kicks needs: the first refusal at 2^24 buckets was measured
/// at .490, .874, .963 and .986.
#[must_use]
pub fn planned_load(slots_per_bucket: u32) -> f64 {
    match slots_per_bucket {
        1 => 0.47,
        2 => 0.85,
        4 => 0.95,
        _ => 0.975,
    }
}

/// The buckets that so many keys need.
#[must_use]
pub fn buckets_for(capacity: u64, slots_per_bucket: u32) -> u64 {
    let slots = capacity as f64 / planned_load(slots_per_bucket);
    let buckets = (slots / f64::from(slots_per_bucket)).ceil();
    // An even number, so that no bucket is its own alternate; `as` saturates.
    (buckets as u64).max(1).checked_next_multiple_of(2).unwrap_or(u64::MAX)
}
