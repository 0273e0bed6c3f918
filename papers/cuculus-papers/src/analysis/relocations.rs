//! What a cuckoo filter of a dynamic filter holds before an insert gives up, and how much it
//! moves until then, in the model of the Dynamic Cuckoo Filter paper.

/// The model of DCF §V.A: a cuckoo filter in which an insert may find fewer than `max_kicks`
/// buckets full (the paper's MNK), one after the other.
///
/// The model is kinder than the filter. It takes the entries to be spread over all slots at random
/// and every bucket on the way to be a new one, drawn from all. A walk is sent to buckets that are
/// fuller than most, and returns to those it knows. For eight buckets of four and five kicks the
/// model fills .952 of the slots, the paper's "95 %", and a filter as the papers describe it less:
/// the laboratory's `dcf-relocations` measures that.
///
/// Keys are counted from one: `n` is the n-th key that is inserted, and zero means the first, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelocationModel {
    /// The buckets, l.
    pub buckets: u32,
    /// The slots in a bucket, b.
    pub slots_per_bucket: u32,
    /// The relocations after which an insert gives up, MNK.
    pub max_kicks: u32,
}

impl RelocationModel {
    /// All slots, lb.
    #[must_use]
    pub fn slots(&self) -> u64 {
        u64::from(self.buckets) * u64::from(self.slots_per_bucket)
    }

    /// ρ(n): the probability that a given bucket is full when `keys` keys are stored (Eq. 5).
    ///
    /// The quotient of permutations in the paper is the chance to draw b taken slots out of all in
    /// a row: Π (n − i)/(lb − i) over i < b. One for more keys than slots.
    #[must_use]
    pub fn bucket_is_full(&self, keys: u64) -> f64 {
        let slots = self.slots();
        if keys >= slots {
            return 1.0;
        }
        if keys < u64::from(self.slots_per_bucket) {
            return 0.0;
        }
        (0..u64::from(self.slots_per_bucket))
            .map(|i| (keys - i) as f64 / (slots - i) as f64)
            .product()
    }

    /// The probability that the `n`-th key finds a place, meeting τ < MNK full buckets with
    /// ρ^τ·(1 − ρ) each (Eq. 6): 1 − ρ(n − 1)^MNK (Eq. 7).
    #[must_use]
    pub fn insert_succeeds(&self, n: u64) -> f64 {
        1.0 - power(self.bucket_is_full(n.saturating_sub(1)), self.max_kicks)
    }

    /// E\[N\]: the keys stored before the first refusal, on average (Eq. 9). Looks at every slot
    /// once.
    #[must_use]
    pub fn expected_keys(&self) -> f64 {
        // The mean of a count is the sum of the chances to reach one, two, three …
        self.reached().map(|(_, stored)| stored).sum()
    }

    /// E\[N\]/lb: the share of the slots that is filled at the first refusal.
    #[must_use]
    pub fn expected_utilization(&self) -> f64 {
        self.expected_keys() / self.slots().max(1) as f64
    }

    /// The relocations of the `n`-th key as printed: Σ τ·P(T = τ) over τ < MNK (Eq. 10).
    ///
    /// It is called an expectation, but the probabilities do not add up to one: the inserts that
    /// fail are left out without dividing by the share of the others. See
    /// [`expected_relocations`](Self::expected_relocations).
    #[must_use]
    pub fn expected_relocations_as_printed(&self, n: u64) -> f64 {
        let full = self.bucket_is_full(n.saturating_sub(1));
        let (weighted, _) = self.powers(full);
        weighted * (1.0 - full)
    }

    /// The relocations of the `n`-th key, given that it finds a place: Eq. 10 divided by Eq. 7.
    ///
    /// Zero where no insert succeeds.
    #[must_use]
    pub fn expected_relocations(&self, n: u64) -> f64 {
        let full = self.bucket_is_full(n.saturating_sub(1));
        let (weighted, sum) = self.powers(full);
        // The factor 1 − ρ of both equations cancels, and with it the digits that it lacks.
        if full < 1.0 && sum > 0.0 { weighted / sum } else { 0.0 }
    }

    /// Σ τ·ρ^τ and Σ ρ^τ over τ < MNK.
    fn powers(&self, full: f64) -> (f64, f64) {
        let (mut weighted, mut sum, mut power) = (0.0, 0.0, 1.0);
        for relocations in 0..self.max_kicks {
            if power == 0.0 {
                break;
            }
            weighted += f64::from(relocations) * power;
            sum += power;
            power *= full;
        }
        (weighted, sum)
    }

    /// The relocations of all keys as printed: Eq. 10 summed over the first E\[N\] keys (Eq. 11),
    /// rounded down, since the paper does not say what a sum up to a fraction is.
    #[must_use]
    pub fn total_relocations_as_printed(&self) -> f64 {
        let keys = self.expected_keys() as u64;
        (1..=keys).map(|n| self.expected_relocations_as_printed(n)).sum()
    }

    /// The relocations of all keys stored before the first refusal, on average: each key's
    /// relocations given that it finds a place, times the chance that the filter gets so far.
    ///
    /// A sum up to the mean (Eq. 11) is not the mean of the sum: the filters that hold more than
    /// others are those with the dear inserts. With eight buckets of four and five kicks it is
    /// 6.92, for 5.76 as printed. The kicks of the insert that is refused are not counted; they come
    /// to `max_kicks`.
    #[must_use]
    pub fn total_relocations(&self) -> f64 {
        self.reached().map(|(n, stored)| stored * self.expected_relocations(n)).sum()
    }

    /// Every n with the chance that n keys are stored, while it is above zero.
    fn reached(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let mut stored = 1.0;
        (1..=self.slots())
            .map(move |n| {
                stored *= self.insert_succeeds(n);
                (n, stored)
            })
            .take_while(|&(_, stored)| stored > 0.0)
    }
}

/// 0^0 is one here, as in the paper: without a kick no insert is allowed.
fn power(base: f64, exponent: u32) -> f64 {
    base.powf(f64::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuculus::conformance::Random;

    /// That of Fig. 6.
    fn model(max_kicks: u32) -> RelocationModel {
        RelocationModel { buckets: 8, slots_per_bucket: 4, max_kicks }
    }

    /// That the `n`-th key meets exactly τ full buckets (Eq. 6).
    fn relocations_are(model: RelocationModel, relocations: u32, n: u64) -> f64 {
        let full = model.bucket_is_full(n.saturating_sub(1));
        power(full, relocations) * (1.0 - full)
    }

    /// Eq. 5 in whole numbers, with the permutations as printed.
    #[test]
    fn a_bucket_is_full_as_often_as_permutations_say() {
        let permutations = |of: u128, n: u128| (0..n).map(|i| of - i).product::<u128>();
        for keys in 0..=32 {
            let want = if keys < 4 {
                0.0
            } else {
                (permutations(keys, 4) * permutations(28, keys - 4)) as f64
                    / permutations(32, keys) as f64
            };
            let got = model(5).bucket_is_full(keys as u64);
            assert!((got - want).abs() <= 1e-14 * want, "{keys}: {got} {want}");
        }
    }

    #[test]
    fn probabilities_add_up() {
        for max_kicks in [0, 1, 3, 5, 500] {
            let model = model(max_kicks);
            // Θ(n), that exactly n keys are stored before the first refusal (Eq. 8).
            let stored = |keys| (1..=keys).map(|n| model.insert_succeeds(n)).product::<f64>();
            let exactly = |keys| stored(keys) * (1.0 - model.insert_succeeds(keys + 1));
            let exactly: Vec<f64> = (0..=32).map(exactly).collect();
            assert!((exactly.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mean: f64 = (0..).zip(&exactly).map(|(keys, p)| f64::from(keys) * p).sum();
            assert!((mean - model.expected_keys()).abs() < 1e-12);
            for n in 0..=33 {
                let fewer: f64 = (0..max_kicks).map(|tau| relocations_are(model, tau, n)).sum();
                assert!((fewer - model.insert_succeeds(n)).abs() < 1e-12, "{max_kicks} {n}");
            }
        }
    }

    #[test]
    fn five_kicks_fill_95_per_cent_in_the_model() {
        for (max_kicks, want) in
            [(0, 0.0), (1, 0.648874), (3, 0.896949), (5, 0.951750), (8, 0.978764)]
        {
            let got = model(max_kicks).expected_utilization();
            assert!((got - want).abs() < 1e-6, "{max_kicks}: {got}");
        }
    }

    #[test]
    fn relocations_as_printed_and_given_success() {
        for max_kicks in [1, 3, 5, 50] {
            let model = model(max_kicks);
            for n in 1..=32 {
                let printed: f64 =
                    (0..max_kicks).map(|tau| f64::from(tau) * relocations_are(model, tau, n)).sum();
                let given = printed / model.insert_succeeds(n);
                assert!((model.expected_relocations_as_printed(n) - printed).abs() < 1e-12);
                assert!((model.expected_relocations(n) - given).abs() < 1e-12);
            }
        }
        // The last key: ρ = 7/8, so that it finds a place in 1 − ρ^5 = .487 of all cases.
        let last =
            [model(5).expected_relocations_as_printed(32), model(5).expected_relocations(32)];
        assert!((last[0] - 0.845093).abs() < 1e-6 && (last[1] - 1.734979).abs() < 1e-6, "{last:?}");
    }

    /// The model played: as many full buckets as the dice say, until five in a row.
    #[test]
    fn the_mean_of_the_sum_is_not_the_sum_up_to_the_mean() {
        let model = model(5);
        let mut random = Random::new(1);
        let rounds = 100_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..rounds {
            let mut moved = 0;
            for keys in 0..32 {
                let full = (model.bucket_is_full(keys) * 2f64.powi(64)) as u64;
                let met = (0..5).take_while(|_| random.bits() < full).count();
                if met == 5 {
                    break;
                }
                moved += met;
            }
            sum += moved as f64;
            squares += (moved * moved) as f64;
        }
        let mean = sum / f64::from(rounds);
        let sigma = f64::sqrt((squares / f64::from(rounds) - mean * mean) / f64::from(rounds));
        let (want, printed) = (model.total_relocations(), model.total_relocations_as_printed());
        assert!((mean - want).abs() < 4.0 * sigma, "{mean} {want} {sigma}");
        assert!((mean - printed).abs() > 10.0 * sigma, "{mean} {printed} {sigma}");
        assert!((printed - 5.758).abs() < 0.001 && (want - 6.921).abs() < 0.001, "{want}");
    }

    #[test]
    fn every_argument_has_an_answer() {
        for buckets in [0, 1, 7] {
            for slots_per_bucket in [0, 1, 4] {
                for max_kicks in [0, 1, 65_535] {
                    let model = RelocationModel { buckets, slots_per_bucket, max_kicks };
                    for n in [0, 1, 5, 28, 29, u64::MAX] {
                        for p in [model.bucket_is_full(n), model.insert_succeeds(n)] {
                            assert!((0.0..=1.0).contains(&p), "{model:?} {n}: {p}");
                        }
                        assert!(model.expected_relocations(n) >= 0.0);
                        assert!(model.expected_relocations_as_printed(n) >= 0.0);
                    }
                    assert!((0.0..=1.0).contains(&model.expected_utilization()));
                    assert!(model.total_relocations() >= 0.0);
                    assert!(model.total_relocations_as_printed() >= 0.0);
                }
            }
        }
        let largest =
            RelocationModel { buckets: u32::MAX, slots_per_bucket: u32::MAX, max_kicks: u32::MAX };
        assert_eq!(largest.bucket_is_full(u64::MAX), 1.0);
    }
}
