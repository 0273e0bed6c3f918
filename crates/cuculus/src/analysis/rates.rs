//! False positive rates, and the fingerprint lengths that keep them.
//!
//! The papers let fingerprints take 2^f values. Those of this library take one less, since zero
//! marks an empty slot.

/// The probability that a filter with `bits`-bit fingerprints says yes to an absent key whose
/// candidate buckets hold `entries` fingerprints in all: 1 − (1 − 1/(2^bits − 1))^entries.
///
/// The Cuckoo Filter paper (§5.1, Eq. 4) has 1 − (1 − 1/2^f)^2b for full buckets. Fingerprints
/// here are one of 2^f − 1 values, since zero marks the empty slot, and a filter at load α has
/// 2bα entries to compare with on average.
///
/// In an index-independent or consistent filter the candidates follow from the fingerprint alone.
/// Then every key stored is one to compare with, and `entries` is the number of keys. (Theorem 1
/// of the CCF paper counts the slots that a query looks at instead, and is wrong.)
///
/// ```
/// // 12-bit fingerprints, buckets of four, 95 % full: Table 3 of the paper says 0.19 %.
/// let rate = cuculus::analysis::false_positive_rate(12, 2.0 * 4.0 * 0.95);
/// assert!((rate - 0.00185).abs() < 0.00001);
/// ```
#[must_use]
pub fn false_positive_rate(bits: u32, entries: f64) -> f64 {
    some_equal(values(bits) - 1.0, entries)
}

/// The fingerprint length log2(2b/ε) that keeps a cuckoo filter of rate ε (DCF §V.B, from Eq. 2),
/// as the real number that the paper counts with. Infinite for a rate of zero.
#[must_use]
pub fn real_fingerprint_bits(rate: f64, slots_per_bucket: u32) -> f64 {
    (f64::log2(2.0 * f64::from(slots_per_bucket)) - f64::log2(share(rate))).max(0.0)
}

/// [`real_fingerprint_bits`] rounded up, as a filter needs it; `u32::MAX` for a rate of zero.
///
/// The approximation in Eq. 2 errs on the safe side by more than the value lost to the empty slot,
/// so the length also keeps the rate here, except with one slot in a bucket, where
/// [`false_positive_rate`] may come out above by a share of 2^−(f+1).
///
/// ```
/// assert_eq!(cuculus::analysis::fingerprint_bits(0.0012303, 4), 13);
/// ```
#[must_use]
pub fn fingerprint_bits(rate: f64, slots_per_bucket: u32) -> u32 {
    real_fingerprint_bits(rate, slots_per_bucket).ceil() as u32 // saturates
}

/// A rate or a load: what is no number counts as zero.
pub fn share(number: f64) -> f64 {
    if number.is_nan() { 0.0 } else { number.clamp(0.0, 1.0) }
}

/// The probability that one of `entries` random values, out of `values`, equals a given one.
pub fn some_equal(values: f64, entries: f64) -> f64 {
    if entries.is_nan() || entries <= 0.0 {
        return 0.0;
    }
    if values <= 1.0 || entries.is_infinite() {
        return 1.0;
    }
    // ln_1p and exp_m1 keep the digits where the rate is tiny.
    -f64::exp_m1(entries * f64::ln_1p(-1.0 / values))
}

fn values(bits: u32) -> f64 {
    2f64.powi(bits.min(1024) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    /// 2b/2^f ≤ 1/n in whole numbers: the shortest f with 2bn ≤ 2^f.
    #[test]
    fn lengths_are_those_of_whole_numbers() {
        for slots in 1..=8 {
            for inverse in (1..=5000u64).chain((13..60).map(|power| 1 << power)) {
                let values = u128::from(2 * slots * inverse).next_power_of_two();
                let bits = fingerprint_bits(1.0 / inverse as f64, slots as u32);
                assert_eq!(bits, values.trailing_zeros(), "1/{inverse}, {slots} slots");
            }
        }
        assert_eq!([0.0, -1.0, f64::NAN].map(|rate| fingerprint_bits(rate, 4)), [u32::MAX; 3]);
        assert_eq!([1.0, 7.0].map(|rate| fingerprint_bits(rate, 4)), [3; 2]);
        assert_eq!(fingerprint_bits(0.5, 0), 0);
    }

    /// A key's candidates follow from its fingerprint, so the filter is a multiset of fingerprints:
    /// the distinct ones are the share of absent keys that it reports as present.
    #[test]
    fn the_true_rate_is_that_of_a_set_of_fingerprints() {
        let (bits, keys, sets) = (12, 1000, 100);
        let fingerprints = (1 << bits) - 1;
        let mut random = Random::new(7);
        let mut equal = 0;
        for _ in 0..sets {
            let mut held = vec![false; fingerprints];
            (0..keys).for_each(|_| held[random.below(fingerprints)] = true);
            equal += held.iter().filter(|&&held| held).count();
        }
        let rate = equal as f64 / (sets * fingerprints) as f64;
        // A set has 887 distinct ones, give or take 10; the mean of a hundred, one.
        let want = false_positive_rate(bits, keys as f64);
        assert!((rate / want - 1.0).abs() < 4.0 / 887.0, "{rate} {want}");
    }

    #[test]
    fn every_argument_has_an_answer() {
        for number in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.5, 1e300, f64::INFINITY] {
            for bits in [0, 1, 2, 31, 1024, u32::MAX] {
                let rate = false_positive_rate(bits, number);
                assert!((0.0..=1.0).contains(&rate), "{bits} {number}: {rate}");
            }
        }
    }
}
