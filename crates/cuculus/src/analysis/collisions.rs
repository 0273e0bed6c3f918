//! Keys that look alike: more of them than their buckets have slots can never be stored.

use super::poisson;

/// How many sets of more than 2b keys with equal fingerprints and equal buckets to expect: each
/// is a key refused, however large the table.
///
/// A fingerprint and an unordered pair of buckets are one of `buckets`·(2^bits − 1)/2 classes, and
/// the keys fall among them at random. Only short fingerprints in large tables make it matter:
/// with four slots per bucket and eight bits it stays below 10^-6 for any table, with one slot and
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
    overfull(buckets * fingerprints(bits) / 2.0, 2 * u64::from(slots_per_bucket), keys)
}

/// How many of `classes` classes more than `fit` of the keys fall into.
pub fn overfull(classes: f64, fit: u64, keys: f64) -> f64 {
    if classes.is_nan() || classes <= 0.0 {
        return 0.0;
    }
    let share = poisson::at_least(keys / classes, fit + 1);
    // Of infinitely many classes nothing is shared.
    if share > 0.0 { classes * share } else { 0.0 }
}

pub fn fingerprints(bits: u32) -> f64 {
    2f64.powi(bits.min(1024) as i32) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    #[test]
    fn as_many_classes_are_overfull_as_expected() {
        let mut random = Random::new(6);
        let (fingerprints, fit, keys, sets) = ((1usize << 10) - 1, 3, 500, 1000);
        let mut overfull = 0;
        for _ in 0..sets {
            let mut held = vec![0; fingerprints];
            (0..keys).for_each(|_| held[random.below(fingerprints)] += 1);
            overfull += held.iter().filter(|&&held| held > fit).count();
        }
        let got = overfull as f64 / sets as f64;
        let want = super::overfull(fingerprints as f64, fit, keys as f64);
        // A Poisson number with mean 1.6, a thousand times.
        assert!((got - want).abs() < 4.0 * f64::sqrt(want / sets as f64), "{got} {want}");
    }

    #[test]
    fn every_argument_has_an_answer() {
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-9, 1.0, 1e9, 1e300, f64::INFINITY];
        for bits in [0, 1, 16, 64, u32::MAX] {
            for (slots, number) in [0, 3, 1000].into_iter().flat_map(|b| numbers.map(|n| (b, n))) {
                let all = numbers.map(|buckets| overfull_classes(bits, slots, buckets, number));
                assert!(all.iter().all(|&classes| classes >= 0.0), "{bits} {slots} {number}");
            }
        }
    }
}
