//! The chance that all keys of an index-independent filter find a place, from above: Theorem 5 of
//! the Consistent Cuckoo Filter paper.

/// How many of a filter's buckets are hit by throws at random: Ω of CCF Eq. 11.
///
/// In closed form P(Ω = j) = C(m, j)·S(t, j)/m^t, where S(t, j) counts the maps of t things onto j.
/// Written out by inclusion and exclusion this is a sum of large terms with changing signs, of
/// which no digit may be right from some thirty throws on. So the throws are made one after the other:
/// with j buckets hit, the next throw hits one of them with probability j/m and another with
/// (m − j)/m. All terms are positive, and each throw costs one rounding.
///
/// Eq. 11 means the same, but its binomials must start from n·k throws, not from n keys; the
/// paper's own example does.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// The fewest buckets whose probability is not too small for a number.
    first: u64,
    probabilities: Vec<f64>,
}

impl Occupancy {
    /// After `throws` throws at `buckets` buckets.
    ///
    /// Takes time in proportion to the throws times the square root of the buckets, or to the
    /// square of the throws if they are few.
    #[must_use]
    pub fn of(buckets: u32, throws: u64) -> Self {
        let m = f64::from(buckets);
        let mut this = Self { first: 0, probabilities: vec![1.0] };
        if buckets == 0 {
            return this;
        }
        for _ in 0..throws {
            this.throw(m);
            if this.first == u64::from(buckets) {
                break; // all are hit, as good as certainly
            }
        }
        this
    }

    fn throw(&mut self, m: f64) {
        let old = &mut self.probabilities;
        let first = self.first as f64;
        // Backwards, so that each place is read before it is written.
        old.push(0.0);
        for at in (0..old.len()).rev() {
            let hit = first + at as f64;
            let from_below = if at > 0 { old[at - 1] * (m - hit + 1.0) / m } else { 0.0 };
            old[at] = old[at] * hit / m + from_below;
        }
        // What is too small for a full number would only slow the rest down.
        while old.last().is_some_and(|&p| p < f64::MIN_POSITIVE) {
            old.pop();
        }
        let gone = old.iter().take_while(|&&p| p < f64::MIN_POSITIVE).count();
        old.drain(..gone);
        self.first += gone as u64;
    }

    /// P(Ω = `hit`).
    #[must_use]
    pub fn exactly(&self, hit: u64) -> f64 {
        let at = hit.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.probabilities.get(at)).copied().unwrap_or(0.0)
    }

    /// P(Ω ≥ `hit`).
    #[must_use]
    pub fn at_least(&self, hit: u64) -> f64 {
        let skip = usize::try_from(hit.saturating_sub(self.first)).unwrap_or(usize::MAX);
        if skip == 0 {
            return 1.0;
        }
        // From the small terms to the large.
        self.probabilities.iter().skip(skip).rev().sum::<f64>().min(1.0)
    }
}

/// The bound of CCF Theorem 5 on the probability that `keys` keys can all be stored: that their
/// candidates are at least ⌈n/b⌉ buckets (Eq. 10, with the limits that its example uses).
///
/// More buckets than min(nk, m) cannot be hit, so there the sum ends. See [`Occupancy`] for the
/// time that it takes.
///
/// The bound asks Hall's condition of all keys at once and of no subset. For large filters it says
/// little: it falls from one to zero at T = b·(1 − e^(−kT)) keys per bucket, which is the T̂ of
/// [`upper_threshold`](super::upper_threshold) for one slot and more for several, both above where
/// storing begins to fail.
#[must_use]
pub fn success_bound(buckets: u32, slots_per_bucket: u32, candidates: u32, keys: u32) -> f64 {
    let needed = match slots_per_bucket {
        0 if keys > 0 => return 0.0,
        0 => 0,
        slots => keys.div_ceil(slots),
    };
    let throws = u64::from(keys) * u64::from(candidates);
    if u64::from(needed) > throws.min(u64::from(buckets)) {
        return 0.0;
    }
    Occupancy::of(buckets, throws).at_least(u64::from(needed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C(m, j)·S(t, j): of the m^t maps of t throws to m buckets, those that hit exactly j.
    fn maps(m: u32, t: u32, j: u32) -> i128 {
        let choose =
            |n: u32, k: u32| (0..k).fold(1, |c, i| c * i128::from(n - i) / i128::from(i + 1));
        let onto: i128 = (0..=j)
            .map(|left_out| {
                let sign = if left_out % 2 == 0 { 1 } else { -1 };
                sign * choose(j, left_out) * i128::from(j - left_out).pow(t)
            })
            .sum();
        if j > m { 0 } else { choose(m, j) * onto }
    }

    #[test]
    fn the_example_of_the_paper_comes_out() {
        let counts = [0, 5, 620, 5400, 7800, 1800];
        let hit = Occupancy::of(5, 6);
        for (j, (count, printed)) in
            (0..).zip(counts.into_iter().zip([0.0, 0.00032, 0.03968, 0.3456, 0.4992, 0.1152]))
        {
            assert_eq!(maps(5, 6, j), count);
            assert!((hit.exactly(u64::from(j)) - count as f64 / 15_625.0).abs() < 1e-15);
            assert!((hit.exactly(u64::from(j)) - printed).abs() < 1e-15);
        }
        assert_eq!(counts.iter().sum::<i128>(), 15_625);
        assert!((success_bound(5, 2, 2, 3) - 15_620.0 / 15_625.0).abs() < 1e-15);
        assert!((success_bound(5, 2, 2, 3) - 0.99968).abs() < 1e-15);
    }

    #[test]
    fn occupancies_equal_the_closed_form() {
        for m in 1..=9 {
            for t in 0..=12 {
                let hit = Occupancy::of(m, u64::from(t));
                let all = i128::from(m).pow(t);
                assert_eq!((0..=t.max(m)).map(|j| maps(m, t, j)).sum::<i128>(), all);
                for j in 0..=t.max(m) {
                    let want = maps(m, t, j) as f64 / all as f64;
                    let got = hit.exactly(u64::from(j));
                    assert!((got - want).abs() <= 1e-14 * want, "{m} {t} {j}: {got} {want}");
                }
            }
        }
    }

    /// Mean and variance are known for any size; where each throw hits a new bucket, so is the
    /// probability: m·(m − 1)·…/m^t.
    #[test]
    fn large_occupancies_keep_their_digits() {
        for (m, t) in [(1000, 2000), (3000, 3000), (1000, 20_000), (10, 5000)] {
            let hit = Occupancy::of(m, t);
            let mean_of = |f: &dyn Fn(f64) -> f64| -> f64 {
                (0..=u64::from(m)).map(|j| hit.exactly(j) * f(j as f64)).sum()
            };
            let (n, t) = (f64::from(m), t as f64);
            let (missed, both) = ((1.0 - 1.0 / n).powf(t), (1.0 - 2.0 / n).powf(t));
            let mean = n * (1.0 - missed);
            let variance = n * missed + n * (n - 1.0) * both - (n * missed).powi(2);
            assert!((mean_of(&|_| 1.0) - 1.0).abs() < 1e-11);
            assert!((mean_of(&|j| j) / mean - 1.0).abs() < 1e-11);
            let got = mean_of(&|j| (j - mean).powi(2));
            assert!((got - variance).abs() < 1e-8 * n, "{m}: {got} {variance}");
        }
        let all_new: f64 = (0..40).map(|i| 1.0 - f64::from(i) / 40.0).product();
        assert!((Occupancy::of(40, 40).exactly(40) / all_new - 1.0).abs() < 1e-13);
    }

    /// Whether keys with these candidates can all be stored, by trying everything.
    fn fits(candidates: &[&[usize]], room: &mut [u32]) -> bool {
        let Some((key, others)) = candidates.split_first() else { return true };
        key.iter().any(|&bucket| {
            let has_room = room[bucket] > 0;
            room[bucket] -= u32::from(has_room);
            let fit = has_room && fits(others, room);
            room[bucket] += u32::from(has_room);
            fit
        })
    }

    /// All maps of all keys' candidates to buckets, for every small filter: the bound is above the
    /// truth, and not always equal to it.
    #[test]
    fn the_bound_is_above_the_truth() {
        let mut strictly_above = 0;
        let sizes = (1..=4u32).flat_map(|m| (1..=4u32).map(move |n| (m, n)));
        for (m, n, k) in sizes.flat_map(|(m, n)| (1..=3u32).map(move |k| (m, n, k))) {
            let maps = u64::from(m).pow(n * k);
            for slots in (1..=3).filter(|_| maps <= 70_000) {
                let stored = (0..maps).filter(|map| {
                    let digit = |place| (map / u64::from(m).pow(place) % u64::from(m)) as usize;
                    let all: Vec<usize> = (0..n * k).map(digit).collect();
                    let keys: Vec<&[usize]> = all.chunks(k as usize).collect();
                    fits(&keys, &mut vec![slots; m as usize])
                });
                let truth = stored.count() as f64 / maps as f64;
                let bound = success_bound(m, slots, k, n);
                assert!(bound >= truth - 1e-14, "{m} {slots} {k} {n}: {bound} {truth}");
                strictly_above += u32::from(bound > truth + 1e-9);
            }
        }
        assert!(strictly_above > 10, "{strictly_above}");
    }

    /// Where the bound gives way, T = b·(1 − e^(−kT)).
    #[test]
    fn the_bound_gives_way_above_the_true_threshold() {
        for (slots, at) in [(1, 0.797), (2, 1.960)] {
            let bound = |keys_per_bucket: f64| {
                success_bound(2000, slots, 2, (2000.0 * keys_per_bucket) as u32)
            };
            assert!(bound(at - 0.04) > 0.999 && bound(at + 0.04) < 0.001);
            assert!(at / f64::from(slots) > super::super::orientability_threshold(2, slots));
        }
    }

    #[test]
    fn every_argument_has_an_answer() {
        let few = [0, 1, 2, 5];
        for m in few {
            for (b, k) in few.into_iter().flat_map(|b| few.map(|k| (b, k))) {
                for n in [0, 1, 3, 100] {
                    let bound = success_bound(m, b, k, n);
                    assert!((0.0..=1.0).contains(&bound), "{m} {b} {k} {n}: {bound}");
                    if n > m * b {
                        assert_eq!(success_bound(m, b, k, n), 0.0);
                    }
                }
            }
        }
        // Ends when every bucket is hit, as good as certainly.
        assert!((Occupancy::of(5, u64::MAX).exactly(5) - 1.0).abs() < 1e-12);
        assert_eq!(Occupancy::of(0, 9).exactly(0), 1.0);
        assert_eq!(success_bound(u32::MAX, u32::MAX, 0, u32::MAX), 0.0);
        assert_eq!(success_bound(5, u32::MAX, u32::MAX, u32::MAX), 1.0);
    }
}
