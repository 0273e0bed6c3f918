//! How full a table can be: the bound of the Consistent Cuckoo Filter paper and the threshold
//! that it stands in for.
//!
//! Both suppose that every bucket is equally likely. On a ring the arcs differ, so an
//! index-independent filter stays below: [`ring_threshold`].

use cuculus::lab::analysis::at_least;

use super::bisection;

/// T̂ as CCF Table II prints it: candidates from two to seven, slots from one to four.
pub const TABLE_II: [[f64; 4]; 6] = [
    [0.796812130, 1.861790807, 2.905683863, 3.934728166],
    [0.940479791, 1.979049536, 2.992264312, 3.997079786],
    [0.980172599, 1.996604114, 2.999390447, 3.999888473],
    [0.993022846, 1.999453835, 2.999955482, 3.999996295],
    [0.997483538, 1.999913939, 2.999996938, 3.999999888],
    [0.999082240, 1.999986694, 2.999999798, 3.999999996],
];

/// T̂ of CCF Theorem 4 (Eq. 4–9) for a filter of `buckets` buckets, in keys per bucket: above it the
/// keys cannot all be stored, because too many slots lie in buckets that too few keys lead to.
///
/// The paper says that below it all keys fit with high probability. That is wrong: the argument
/// counts, bucket by bucket, the keys that lead there, and so counts a key in each of its candidates.
/// T̂ is an upper bound. Where storing really begins to fail is [`orientability_threshold`]: with
/// two candidates and buckets of one at a load of .5, for T̂ = .797.
///
/// Table II has 2^30 buckets and counts whole keys: ⌊T̂·2^30⌋/2^30, rounded to nine digits, is what
/// it prints for 22 of its 24 entries. The other two, (2, 2) and (4, 3), are one off in the last
/// digit.
///
/// With one candidate only the keys that a single bucket can hold are sure to fit: `slots`/`buckets`.
#[must_use]
pub fn upper_threshold(candidates: u32, slots_per_bucket: u32, buckets: u64) -> f64 {
    let (k, b, m) = (f64::from(candidates), f64::from(slots_per_bucket), buckets as f64);
    if candidates == 0 || buckets == 0 {
        return 0.0;
    }
    if candidates == 1 || buckets == 1 {
        return b / m;
    }
    // ln(1 − p0) and p0/(1 − p0) of Eq. 5.
    let missed = k * f64::ln_1p(-1.0 / m);
    let odds = f64::exp_m1(-missed);
    let unused = |n: f64| {
        unused_slots(slots_per_bucket, f64::exp(n * missed), |found| {
            (n - found) / (found + 1.0) * odds
        })
    };
    // The binomials are those of a real n, so that there is a crossing.
    bisection::last(b, m * b, |n| b - unused(n) > n / m) / m
}

/// T̂ for ever larger filters on a ring with `virtual_nodes` nodes per bucket, in keys per bucket: as
/// [`upper_threshold`], but with shares of the ring as uneven as they are; zero with one candidate.
///
/// The share of a bucket with v nodes follows a gamma distribution with a relative variance of 1/v,
/// so the keys that lead to a bucket are not Poisson but negative binomial. The CCF paper counts
/// with even shares. With ten nodes that makes little difference to T̂, with one node much: a load
/// of .66 instead of .98 for two candidates and four slots. (A filter that removes the buckets that
/// stay sparse chooses among the shares, and gets beyond.)
#[must_use]
pub fn ring_threshold(candidates: u32, slots_per_bucket: u32, virtual_nodes: u32) -> f64 {
    if candidates < 2 || virtual_nodes == 0 {
        return 0.0;
    }
    let (k, b, v) = (f64::from(candidates), f64::from(slots_per_bucket), f64::from(virtual_nodes));
    let unused = |t: f64| {
        let none = f64::exp(-v * f64::ln_1p(k * t / v));
        unused_slots(slots_per_bucket, none, |found| {
            (v + found) / (found + 1.0) * (k * t / (v + k * t))
        })
    };
    bisection::last(0.0, b, |t| b - unused(t) > t)
}

/// The share of its slots that a new table on a ring is planned to fill.
///
/// A share of what [`ring_threshold`] allows at most, from a quarter to eight tenths: below where a
/// breadth-first search of 500 kicks first failed in 4,096 buckets, for 1 to 8 slots, 2 to 8
/// candidates, and 1, 10 and 64 nodes; and with few slots so far below that small filters too, all
/// but one in two hundred, hold what they are planned for. With one candidate any load may fail.
#[must_use]
pub fn planned_ring_load(candidates: u32, slots_per_bucket: u32, virtual_nodes: u32) -> f64 {
    let share = match (candidates, slots_per_bucket) {
        (..=1, _) | (_, 0) => return 0.05,
        (2, 1) => 0.25,
        (2, 2) | (3, 1) => 0.6,
        _ => 0.8,
    };
    let bound = ring_threshold(candidates, slots_per_bucket, virtual_nodes);
    share * bound / f64::from(slots_per_bucket)
}

/// The slots of a bucket that stay empty because too few keys lead to it: Σ (b − φ)·P(Φ = φ) over
/// φ < b, from P(Φ = 0) and the ratio of each term to the one before.
///
/// Where P(Φ = 0) is too small for a number, the bucket has hundreds of keys to choose from, at
/// least two for each slot that the crossing leaves, and nothing stays empty.
fn unused_slots(slots: u32, none: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut probability) = (0.0, none);
    for found in 0..slots {
        if probability == 0.0 {
            break;
        }
        sum += f64::from(slots - found) * probability;
        probability *= ratio(f64::from(found));
    }
    sum
}

/// The load below which all keys of a large table can be placed with high probability, and above
/// which they cannot: the threshold of orientability.
///
/// With Q(x, y) = P(Poisson(x) ≥ y), let x solve k·b = x·Q(x, b)/Q(x, b + 1); the keys per bucket
/// are then x/(k·Q(x, b)^(k−1)), and the load is that divided by b (Fountoulakis, Khosla and
/// Panagiotou; Lelarge). It is what Theorem 4 of the CCF paper set out to find
/// ([`upper_threshold`]):
///
/// | candidates, slots | 2, 1 | 2, 2 | 2, 3 | 2, 4 | 3, 1 | 3, 2 | 4, 1 |
/// |---|---|---|---|---|---|---|---|
/// | T̂/b of the paper | .797 | .931 | .969 | .984 | .940 | .990 | .980 |
/// | this threshold | .500 | .897 | .959 | .980 | .918 | .988 | .977 |
/// | a walk of 500 kicks, measured | .504 | .874 | .938 | .962 | .897 | .975 | .963 |
///
/// The last row is where a random walk in 65,536 buckets first refuses a key, the mean of twenty.
/// (With one slot and two candidates the threshold is not sharp at that size: .43 to .53.) What the
/// builders plan with, [`planned_load`](super::planned_load), stays below all three. With one candidate no load is safe, however small, because some bucket among many
/// is always chosen too often: zero.
#[must_use]
pub fn orientability_threshold(candidates: u32, slots_per_bucket: u32) -> f64 {
    match (candidates, slots_per_bucket) {
        (..=1, _) | (_, 0) => return 0.0,
        // The solution is x = 0: in a sparse random graph no component has two cycles.
        (2, 1) => return 0.5,
        _ => {}
    }
    let (k, b, slots) =
        (f64::from(candidates), f64::from(slots_per_bucket), u64::from(slots_per_bucket));
    let mean_of_full = |x: f64| x * at_least(x, slots) / at_least(x, slots + 1);
    let x = bisection::last(0.0, k * b, |x| mean_of_full(x) < k * b);
    let found = at_least(x, slots);
    (x / (k * b * found.powf(k - 1.0))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuculus::conformance::Random;

    fn table_ii() -> impl Iterator<Item = (u32, u32, f64)> {
        (2..).zip(TABLE_II).flat_map(|(k, row)| (1..).zip(row).map(move |(b, t)| (k, b, t)))
    }

    #[test]
    fn all_entries_of_table_ii_come_out() {
        for (k, b, printed) in table_ii() {
            let t = upper_threshold(k, b, 1 << 30);
            // The table counts whole keys, and a key is 9.3·10^-10 here.
            assert!((t - printed).abs() < 1.3e-9, "{k} {b}: {t} {printed}");
        }
    }

    #[test]
    fn table_ii_counts_whole_keys_in_two_to_the_thirty_buckets() {
        let digits = |t: f64| (t * 1e9).round() as i64;
        let buckets = f64::from(1 << 30);
        let other: Vec<_> = table_ii()
            .filter_map(|(k, b, printed)| {
                let whole = (upper_threshold(k, b, 1 << 30) * buckets).floor() / buckets;
                let off = digits(printed) - digits(whole);
                (off != 0).then_some((k, b, off))
            })
            .collect();
        assert_eq!(other, [(2, 2, 1), (4, 3, -1)]);
    }

    /// Eq. 4–9 as they stand, for the whole numbers of keys on either side of the crossing, and a
    /// straight line in between. Fig. 3 has 50 buckets.
    #[test]
    fn the_bound_is_where_the_two_utilisations_cross() {
        for (m, k, b) in [(50, 2, 2), (50, 4, 2), (50, 2, 1), (50, 2, 4), (7, 3, 3), (12, 2, 8)] {
            let p0 = 1.0 - (1.0 - 1.0 / f64::from(m)).powi(k);
            let surplus = |n: u32| {
                let choose = |of: u32, r: u32| {
                    (0..r).fold(1.0, |c, i| c * f64::from(of - i) / f64::from(i + 1))
                };
                let unused: f64 = (0..b)
                    .map(|found| {
                        (1.0 - f64::from(found) / f64::from(b))
                            * choose(n, found)
                            * p0.powi(found as i32)
                            * (1.0 - p0).powi((n - found) as i32)
                    })
                    .sum();
                1.0 - unused - f64::from(n) / f64::from(m * b)
            };
            let got = upper_threshold(k as u32, b, u64::from(m)) * f64::from(m);
            let (before, after) = (surplus(got as u32), surplus(got as u32 + 1));
            assert!(before >= 0.0 && after < 0.0, "{m} {k} {b}: {got}");
            let want = got.floor() + before / (before - after);
            assert!((got - want).abs() < 0.02, "{m} {k} {b}: {got} {want}");
        }
    }

    /// Buckets with random shares, and keys that lead to them.
    #[test]
    fn the_bound_of_a_ring_is_that_of_random_shares() {
        for (k, b, v) in [(2, 4, 1), (2, 3, 10), (3, 1, 2), (4, 8, 5)] {
            let t = ring_threshold(k, b, v);
            let (mut random, buckets) = (Random::new(9), 400_000u64);
            let mut uniform = || (random.bits() >> 11) as f64 * 2f64.powi(-53) + 1e-300;
            let mut filled = 0u64;
            for _ in 0..buckets {
                let share: f64 = (0..v).map(|_| -uniform().ln()).sum::<f64>() / f64::from(v);
                // Arrivals one after the other, until the mean is used up.
                let mut left = f64::from(k) * t * share + uniform().ln();
                let mut keys = 0;
                while left > 0.0 && keys < b {
                    keys += 1;
                    left += uniform().ln();
                }
                filled += u64::from(keys);
            }
            let mean = filled as f64 / buckets as f64;
            assert!((mean - t).abs() < 0.01 * t, "{k} {b} {v}: {mean} {t}");
            assert!(t < upper_threshold(k, b, 1 << 30));
        }
    }

    #[test]
    fn in_large_filters_it_is_a_mean_of_cut_poisson_variables() {
        for (k, b) in [(2, 1), (2, 8), (3, 2), (16, 3), (2, 300), (1000, 1000)] {
            let t = upper_threshold(k, b, 1 << 30);
            // The mean of a count is the sum of the chances to reach one, two, three …
            let mean: f64 = (1..=u64::from(b)).map(|count| at_least(f64::from(k) * t, count)).sum();
            assert!((mean - t).abs() < 3e-10 * t, "{k} {b}: {mean} {t}");
        }
    }

    /// The figures of another solver.
    #[test]
    fn thresholds_of_orientability() {
        for (k, b, load) in [
            (2, 1, 0.5),
            (2, 2, 0.897012),
            (2, 3, 0.959154),
            (2, 4, 0.980370),
            (2, 8, 0.997853),
            (3, 1, 0.917935),
            (3, 2, 0.988201),
            (3, 4, 0.999253),
            (4, 1, 0.976770),
            (4, 2, 0.998241),
            (5, 1, 0.992438),
        ] {
            let got = orientability_threshold(k, b);
            assert!((got - load).abs() < 1e-6, "{k} {b}: {got} {load}");
        }
    }

    #[test]
    fn what_is_possible_lies_below_the_bound_of_the_paper() {
        let large = |k, b| upper_threshold(k, b, 1 << 30);
        for k in 2..12 {
            for b in 1..20 {
                let (true_load, bound) =
                    (orientability_threshold(k, b), large(k, b) / f64::from(b));
                assert!(true_load <= bound + 1e-12, "{k} {b}: {true_load} {bound}");
                assert!(true_load > 0.0 && bound <= 1.0);
                let more = [orientability_threshold(k + 1, b), orientability_threshold(k, b + 1)];
                assert!(more.iter().all(|&more| more >= true_load - 1e-12), "{k} {b}");
            }
        }
        // And by much: T̂/b is .797 here.
        assert!(orientability_threshold(2, 1) < 0.63 * large(2, 1));
    }

    /// Two candidates of one slot each: keys are edges, and all fit if and only if no component
    /// has more edges than buckets.
    #[test]
    fn storing_fails_far_below_the_bound_of_the_paper() {
        let buckets = 50_000;
        let fits = |load: f64, seed: u64| {
            let mut random = Random::new(seed);
            let mut parent: Vec<usize> = (0..buckets).collect();
            let mut full = vec![false; buckets];
            (0..(load * buckets as f64) as usize).all(|_| {
                let [a, b] = [(); 2].map(|()| {
                    let mut at = random.below(buckets);
                    while parent[at] != at {
                        parent[at] = parent[parent[at]];
                        at = parent[at];
                    }
                    at
                });
                let room = !(full[a] && full[b]);
                parent[b] = a;
                full[a] = full[a] || full[b] || a == b;
                room
            })
        };
        assert!((0..10).all(|seed| fits(0.45, seed)));
        assert!(!(0..10).any(|seed| fits(0.55, seed)));
    }

    #[test]
    fn every_argument_has_an_answer() {
        let counts = [0, 1, 2, 3, 1000, u32::MAX];
        for (k, b) in counts.into_iter().flat_map(|k| counts.map(|b| (k, b))) {
            for keys in [1, 2, 1 << 30, u64::MAX].map(|m| upper_threshold(k, b, m)) {
                assert!((0.0..=f64::from(b)).contains(&keys), "{k} {b}: {keys}");
            }
            assert!((0.0..=1.0).contains(&orientability_threshold(k, b)));
        }
        assert_eq!(upper_threshold(2, 4, 0), 0.0);
        // With one candidate nothing but a single bucket's worth is safe.
        assert_eq!(upper_threshold(1, 4, 100), 0.04);
        assert_eq!((ring_threshold(1, 4, 10), orientability_threshold(1, 4)), (0.0, 0.0));
        assert_eq!(upper_threshold(3, 4, 1), 4.0);
    }
}
