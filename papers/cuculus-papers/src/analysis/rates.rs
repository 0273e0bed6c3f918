//! The papers' false positive rates, and the fingerprint lengths that keep them.
//!
//! The papers let fingerprints take 2^f values. Those of this library take one less, since zero
//! marks an empty slot: [`false_positive_rate`] is what its filters have, the functions named after
//! equations are what the papers say.

use cuculus::lab::analysis::{share, some_equal};

use super::false_positive_rate;

/// The rate of [`false_positive_rate`] if all 2^bits values are fingerprints, as in the papers:
/// 1 − (1 − 2^−bits)^entries. With the number of keys for `entries` this is the true rate of the
/// filters of the CCF paper.
fn false_positive_rate_of_all_values(bits: u32, entries: f64) -> f64 {
    some_equal(2f64.powi(bits.min(1024) as i32), entries)
}

/// The rate of `filters` filters that are all asked, each with rate `per_filter` (DCF Eq. 3):
/// 1 − (1 − ε)^s. Inverse of [`rate_per_filter`].
#[must_use]
pub fn rate_of_all(per_filter: f64, filters: u32) -> f64 {
    if filters == 0 {
        return 0.0;
    }
    -f64::exp_m1(f64::from(filters) * f64::ln_1p(-share(per_filter)))
}

/// The bound of a dynamic cuckoo filter of `filters` filters, 1 − (1 − 1/2^f)^2bs (DCF Eq. 4); of one
/// filter it is Eq. 2, in which all `2·slots` entries are taken.
#[must_use]
pub fn dynamic_rate_bound(bits: u32, slots_per_bucket: u32, filters: u32) -> f64 {
    consistent_rate_as_printed(bits, 2, slots_per_bucket, filters)
}

/// The rate that each of `filters` filters may have for all of them to have `rate`:
/// 1 − (1 − ε)^(1/s) (DCF §V.B). No filters count as one.
#[must_use]
pub fn rate_per_filter(rate: f64, filters: u32) -> f64 {
    -f64::exp_m1(f64::ln_1p(-share(rate)) / f64::from(filters.max(1)))
}

/// The false positive rate of a consistent cuckoo filter of `filters` filters as printed (CCF
/// Theorem 1, Eq. 1). **The filter does not have it.**
///
/// The theorem counts the slots that a query looks at. But a fingerprint's candidates are hashes
/// of the fingerprint, so a query looks exactly where every equal one is stored, and each of the n
/// keys of all filters counts: 1 − (1 − 2^−f)^n, whatever k, b and s are. That is
/// [`false_positive_rate`] with n entries. A threshold on s does not bound it; only [`fingerprint_bits_for_keys`] does.
#[must_use]
pub fn consistent_rate_as_printed(
    bits: u32,
    candidates: u32,
    slots_per_bucket: u32,
    filters: u32,
) -> f64 {
    let looked_at = [candidates, slots_per_bucket, filters].map(f64::from).iter().product();
    false_positive_rate_of_all_values(bits, looked_at)
}

/// The shortest fingerprints with which an index-independent or consistent filter of `keys` keys
/// keeps the rate; `u32::MAX` if none does, for a rate of zero.
#[must_use]
pub fn fingerprint_bits_for_keys(keys: f64, rate: f64) -> u32 {
    let keeps = |bits| false_positive_rate(bits, keys) <= share(rate);
    // Rates below 2^-1000 are no numbers that a program meets.
    (0..=1000).find(|&bits| keeps(bits)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuculus::analysis::{fingerprint_bits, real_fingerprint_bits};

    fn close(got: f64, want: f64) -> bool {
        (got - want).abs() <= 1e-12 * want
    }

    fn cuckoo_rate_bound(bits: u32, slots_per_bucket: u32) -> f64 {
        dynamic_rate_bound(bits, slots_per_bucket, 1)
    }

    /// In whole numbers: 1 − (15/16)^4.
    #[test]
    fn the_bound_of_a_cuckoo_filter_is_exact() {
        assert!(close(cuckoo_rate_bound(4, 2), f64::from(65_536 - 50_625) / 65_536.0));
        assert!(close(false_positive_rate(4, 2.0), 1.0 - 196.0 / 225.0));
        // Eq. 2 goes on with an approximation from above.
        assert!(cuckoo_rate_bound(12, 4) < 8.0 / 4096.0);
        assert!(cuckoo_rate_bound(12, 4) > 0.999 * 8.0 / 4096.0);
    }

    #[test]
    fn the_bounds_of_one_and_of_many_filters_agree() {
        for (bits, slots, filters) in [(4, 1, 1), (8, 4, 6), (12, 4, 64), (32, 8, 1000)] {
            let one = cuckoo_rate_bound(bits, slots);
            let all = dynamic_rate_bound(bits, slots, filters);
            assert!(close(rate_of_all(one, filters), all));
            assert!((rate_per_filter(all, filters) / one - 1.0).abs() < 1e-9);
        }
        assert_eq!(rate_of_all(0.5, 0), 0.0);
        assert!(close(rate_of_all(0.5, 2), 0.75));
    }

    #[test]
    fn lengths_keep_their_rate_and_are_not_longer_than_the_formula_asks() {
        for slots in [1, 2, 3, 4, 8] {
            for exponent in 1..120 {
                let rate = 0.8f64.powi(exponent);
                let bits = fingerprint_bits(rate, slots);
                let entries = 2.0 * f64::from(slots);
                assert!(cuckoo_rate_bound(bits, slots) <= rate);
                assert!(entries / 2f64.powi(bits as i32 - 1) > rate);
                // The value lost to the empty slot matters only to the shortest sums.
                let room = if slots == 1 { 1.0 + 0.5f64.powi(bits as i32) } else { 1.0 };
                assert!(false_positive_rate(bits, entries) <= rate * room, "{slots} {rate}");
            }
        }
        // The one case that exceeds it, by as much as said.
        let excess = false_positive_rate(8, 2.0) / (2.0 / 256.0) - 1.0;
        assert_eq!(fingerprint_bits(2.0 / 256.0, 1), 8);
        assert!((excess - 1.0 / 512.0).abs() < 0.01 / 512.0);
    }

    /// The figures that were measured on a prototype of the filter, and those claimed.
    #[test]
    fn a_consistent_filter_does_not_have_the_rate_of_theorem_1() {
        for (bits, claimed, measured) in [(16, 0.00009, 0.0151), (12, 0.0015, 0.217)] {
            assert!((consistent_rate_as_printed(bits, 2, 3, 1) / claimed - 1.0).abs() < 0.03);
            for rate in
                [false_positive_rate(bits, 1000.0), false_positive_rate_of_all_values(bits, 1000.0)]
            {
                assert!((rate / measured - 1.0).abs() < 0.005, "{rate} {measured}");
            }
        }
    }

    #[test]
    fn filters_add_up() {
        let want = 1.0 - (1.0 - 1.0 / 256.0f64).powi(3 * 4 * 5);
        assert!((consistent_rate_as_printed(8, 3, 4, 5) / want - 1.0).abs() < 1e-12);
    }

    #[test]
    fn lengths_for_keys_are_the_shortest_that_keep_the_rate() {
        for keys in [1.0, 10.0, 7290.0, 1e6, 1e12] {
            for rate in [0.5, 0.01, 0.001, 1e-9] {
                let bits = fingerprint_bits_for_keys(keys, rate);
                assert!(false_positive_rate(bits, keys) <= rate);
                assert!(false_positive_rate(bits - 1, keys) > rate);
            }
        }
        assert_eq!(fingerprint_bits_for_keys(1e6, 0.0), u32::MAX);
        assert_eq!(fingerprint_bits_for_keys(0.0, 0.0), 0);
    }

    #[test]
    fn every_argument_has_an_answer() {
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.5, 1.0, 1e300, f64::INFINITY];
        let counts = [0, 1, 2, 31, 1024, u32::MAX];
        for number in numbers {
            for count in counts {
                for rate in [
                    false_positive_rate_of_all_values(count, number),
                    rate_of_all(number, count),
                    rate_per_filter(number, count),
                ] {
                    assert!((0.0..=1.0).contains(&rate), "{number} {count}: {rate}");
                }
                assert!(real_fingerprint_bits(number, count) >= 0.0);
                let _ = fingerprint_bits(number, count);
                let _ = fingerprint_bits_for_keys(number, number);
            }
        }
        for (bits, count) in counts.into_iter().flat_map(|a| counts.map(|b| (a, b))) {
            for rate in [
                cuckoo_rate_bound(bits, count),
                dynamic_rate_bound(bits, count, count),
                consistent_rate_as_printed(bits, count, count, 2),
            ] {
                assert!((0.0..=1.0).contains(&rate), "{bits} {count}: {rate}");
            }
        }
    }
}
