//! Keys whose fingerprints are equal: more of them than their buckets have slots can never be stored.

use cuculus::lab::analysis::{fingerprints, overfull};

/// How many fingerprints to expect that more than `candidates`·`slots` of the keys share: in an
/// index-independent or consistent filter each is a key that can never be stored.
///
/// There the candidates follow from the fingerprint alone, so the classes are the fingerprints
/// themselves, and no bucket that is added makes more of them. The CCF paper adds buckets "until"
/// the key fits, which then never ends.
///
/// With two candidates, buckets of three and 16 bits the first such set is likely to appear at some
/// forty or fifty thousand keys: the number expected is .05 at 31 thousand, .6 at 46 thousand and
/// one at 50 thousand.
#[must_use]
pub fn overfull_fingerprints(bits: u32, candidates: u32, slots_per_bucket: u32, keys: f64) -> f64 {
    overfull(fingerprints(bits), u64::from(candidates) * u64::from(slots_per_bucket), keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::bisection;
    use cuculus::conformance::Random;

    /// The keys at which as many overfull fingerprints are expected.
    fn keys_until(bits: u32, candidates: u32, slots: u32, expected: f64) -> f64 {
        bisection::last(0.0, 1e9, |keys| {
            overfull_fingerprints(bits, candidates, slots, keys) < expected
        })
    }

    /// Draws fingerprints until one was drawn more than `fit` times.
    fn first_overfull(bits: u32, fit: u32, random: &mut Random) -> usize {
        let mut held = vec![0; (1 << bits) - 1];
        (1..)
            .find(|_| {
                let fingerprint = random.below(held.len());
                held[fingerprint] += 1;
                held[fingerprint] > fit
            })
            .expect("some are equal in the end")
    }

    #[test]
    fn sixteen_bits_stick_at_some_forty_thousand_keys() {
        let expected = |keys: f64| overfull_fingerprints(16, 2, 3, keys);
        assert!((expected(31_000.0) - 0.046).abs() < 0.001);
        assert!((expected(46_000.0) - 0.592).abs() < 0.001);
        let keys = keys_until(16, 2, 3, 1.0);
        assert!((49_000.0..51_000.0).contains(&keys), "{keys}");
        assert!((expected(keys) - 1.0).abs() < 1e-9);
    }

    /// Half of all filters stick before the number expected reaches ln 2.
    #[test]
    fn the_first_overfull_fingerprint_comes_when_it_is_expected() {
        let mut random = Random::new(5);
        for (bits, candidates, slots) in [(16, 2, 3), (8, 2, 4), (10, 1, 4), (12, 3, 1)] {
            let keys = keys_until(bits, candidates, slots, core::f64::consts::LN_2);
            let before = (0..400)
                .filter(|_| (first_overfull(bits, candidates * slots, &mut random) as f64) < keys)
                .count();
            // Half of 400, and three and a half standard deviations.
            assert!((165..=235).contains(&before), "{bits} {candidates} {slots}: {before}");
        }
    }

    #[test]
    fn every_argument_has_an_answer() {
        let numbers =
            [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, 1e-9, 1.0, 1e9, 1e300, f64::INFINITY];
        for bits in [0, 1, 16, 64, u32::MAX] {
            for (k, b) in [(0, 0), (0, 3), (1, 1), (2, 3), (1000, 1000)] {
                for number in numbers {
                    assert!(overfull_fingerprints(bits, k, b, number) >= 0.0);
                }
            }
        }
    }
}
