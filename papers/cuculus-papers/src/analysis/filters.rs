//! Into how many filters to divide a dynamic cuckoo filter, if the sizes of the set are known as
//! a distribution (DCF §V.B).

use cuculus::analysis::real_fingerprint_bits;

use super::rates::rate_per_filter;
use cuculus::KeyHasher;

/// The share of its slots that a filter fills; without influence on s and on the share saved.
const LOAD: f64 = 0.95;

/// How likely each size of a set is, from one key up to a largest number.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSizes {
    /// `up_to[j]` is the probability of at most j keys.
    up_to: Vec<f64>,
}

/// Which sizes a Zipf distribution makes likely. The words are those of the DCF paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZipfOrder {
    /// "Minimum Zipf": the smaller a set, the likelier.
    SmallLikely,
    /// "Maximum Zipf": the larger a set, the likelier.
    LargeLikely,
    /// "Random Zipf": the probabilities are dealt out to the sizes at random, by this seed.
    Shuffled(u64),
}

impl SetSizes {
    /// Sizes 1, 2, 3 … with probabilities in proportion to the weights.
    ///
    /// `None` if there are none, if one is negative or not a finite number, if all are zero, or if
    /// they do not fit into memory.
    #[must_use]
    pub fn from_weights(weights: impl IntoIterator<Item = f64>) -> Option<Self> {
        let weights = weights.into_iter();
        let mut up_to = Vec::new();
        up_to.try_reserve_exact(weights.size_hint().0.checked_add(1)?).ok()?;
        let mut sum = 0.0;
        up_to.push(sum);
        for weight in weights {
            if weight.is_nan() || weight < 0.0 {
                return None;
            }
            sum += weight;
            up_to.try_reserve(1).ok()?;
            up_to.push(sum);
        }
        if !(sum > 0.0 && sum.is_finite()) {
            return None;
        }
        for probability in &mut up_to {
            *probability /= sum;
        }
        Some(Self { up_to })
    }

    /// All sizes up to the largest alike.
    #[must_use]
    pub fn uniform(largest: usize) -> Option<Self> {
        Self::from_weights((0..largest).map(|_| 1.0))
    }

    /// A normal distribution, cut off below one and above the largest.
    ///
    /// The paper does not say which it took. A mean of half the largest is what it can mean by
    /// normal, and the standard deviation hardly matters: from an eighth of the largest to a third
    /// the share saved stays between 26.64 and 26.68 %.
    #[must_use]
    pub fn normal(largest: usize, mean: f64, standard_deviation: f64) -> Option<Self> {
        Self::from_weights((1..=largest).map(|size| {
            let off = (size as f64 - mean) / standard_deviation;
            f64::exp(-off * off / 2.0)
        }))
    }

    /// Probabilities in proportion to rank^−exponent.
    ///
    /// The paper gives no exponent. Its 40 % for small sets need one of .35, its 15 % for large ones
    /// of .32; with the classical exponent of one it would have been 78 % and nothing.
    #[must_use]
    pub fn zipf(largest: usize, exponent: f64, order: ZipfOrder) -> Option<Self> {
        let weight = |rank: usize| (rank as f64).powf(-exponent);
        match order {
            ZipfOrder::SmallLikely => Self::from_weights((1..=largest).map(weight)),
            ZipfOrder::LargeLikely => Self::from_weights((1..=largest).rev().map(weight)),
            ZipfOrder::Shuffled(seed) => {
                let hasher = KeyHasher::xxh3(seed);
                let mut ranks = Vec::new();
                ranks.try_reserve_exact(largest).ok()?;
                ranks.extend(1..=largest);
                ranks.sort_unstable_by_key(|&rank| hasher.hash(&(rank as u64)).get());
                Self::from_weights(ranks.into_iter().map(weight))
            }
        }
    }

    /// The largest size that was given a weight.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.up_to.len() - 1
    }

    /// The probability of a size in the range, which may reach beyond the sizes there are.
    #[must_use]
    pub fn probability(&self, sizes: core::ops::RangeInclusive<usize>) -> f64 {
        let up_to = |size: usize| self.up_to[size.min(self.largest())];
        (up_to(*sizes.end()) - up_to(sizes.start().saturating_sub(1))).max(0.0)
    }
}

/// What counts as the memory of one of the filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counting {
    /// (N/s)·f bits with fractions of keys and of bits, as printed in Eq. 12: less than a filter
    /// of ⌈N/s⌉ keys, the size that the paper's text and its probabilities suppose, can have.
    Printed,
    /// ⌈N/s⌉·⌈f⌉: what can be built.
    #[default]
    WholeBits,
}

/// The problem of DCF Eq. 12: the number of equal filters, s, with the least memory on average.
///
/// The paper calls it a linear program for the simplex method. It is none: ε, r and N/s depend on
/// s as a power, in steps and inversely, and s is whole. [`best`](Self::best) tries all.
///
/// For up to 1,330 keys at a rate of 9.8·10^-3 the paper's figures come out with four slots in a
/// bucket, as printed: eight filters and 26.6 % saved for uniform sizes, 26.7 % for normal ones
/// ("25 %"). With filters of whole keys and bits ten are best and save 28.5 %, because a single filter pays for most of a bit that it does not need.
///
/// ```
/// use cuculus_papers::analysis::{Counting, DynamicSizing, SetSizes};
///
/// let sizes = SetSizes::uniform(1330).expect("sizes");
/// let printed = DynamicSizing { counting: Counting::Printed, ..DynamicSizing::new(0.0098) };
/// let plan = printed.best(&sizes, 64);
/// assert_eq!(plan.filters, 8);
/// assert!((plan.saved() - 0.266).abs() < 0.0005);
///
/// let plan = DynamicSizing::new(0.0098).best(&sizes, 64);
/// assert_eq!((plan.filters, plan.keys_per_filter, plan.fingerprint_bits), (10, 133, 13.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicSizing {
    /// The false positive rate of all filters together.
    pub rate: f64,
    /// The slots in a bucket.
    pub slots_per_bucket: u32,
    /// What counts as memory.
    pub counting: Counting,
}

/// A number of filters, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DynamicPlan {
    /// s, the number of filters that the largest set needs.
    pub filters: u32,
    /// c = ⌈N/s⌉, the keys that each must hold.
    pub keys_per_filter: usize,
    /// The false positive rate that each may have.
    pub rate_per_filter: f64,
    /// f, with its fraction unless whole bits are counted.
    pub fingerprint_bits: f64,
    /// The filters in use on average over the sizes of the set.
    pub expected_filters: f64,
    /// Their memory.
    pub expected_bits: f64,
    /// The memory of a single filter for the largest set (s = 1).
    pub plain_bits: f64,
}

impl DynamicPlan {
    /// The share of the memory of a single filter that is saved; negative if more is needed.
    #[must_use]
    pub fn saved(&self) -> f64 {
        if self.plain_bits > 0.0 && self.plain_bits.is_finite() {
            1.0 - self.expected_bits / self.plain_bits
        } else {
            0.0
        }
    }
}

impl DynamicSizing {
    /// Buckets of four, counted in whole keys and bits.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self { rate, slots_per_bucket: 4, counting: Counting::default() }
    }

    /// What this number of filters would cost. None count as one.
    #[must_use]
    pub fn plan(&self, sizes: &SetSizes, filters: u32) -> DynamicPlan {
        let filters = filters.max(1);
        let keys_per_filter = sizes.largest().div_ceil(filters as usize);
        let rate_per_filter = rate_per_filter(self.rate, filters);
        let (bits, filter_bits) = self.cost(sizes, filters);
        let expected_filters: f64 = (1..=filters as usize)
            .map(|used| (used, keys_per_filter.saturating_mul(used - 1).saturating_add(1)))
            .take_while(|&(_, first)| first <= sizes.largest())
            .map(|(used, first)| {
                let last = keys_per_filter.saturating_mul(used);
                used as f64 * sizes.probability(first..=last)
            })
            .sum();
        DynamicPlan {
            filters,
            keys_per_filter,
            rate_per_filter,
            fingerprint_bits: bits,
            expected_filters,
            expected_bits: expected_filters * filter_bits,
            plain_bits: self.cost(sizes, 1).1,
        }
    }

    /// The number of filters up to `max_filters` that needs the least memory; the smallest of
    /// several. More filters than keys are not tried.
    #[must_use]
    pub fn best(&self, sizes: &SetSizes, max_filters: u32) -> DynamicPlan {
        let max_filters = max_filters.min(u32::try_from(sizes.largest()).unwrap_or(u32::MAX));
        (2..=max_filters).map(|filters| self.plan(sizes, filters)).fold(
            self.plan(sizes, 1),
            |best, plan| {
                if plan.expected_bits < best.expected_bits { plan } else { best }
            },
        )
    }

    /// The bits of a fingerprint and of a filter.
    fn cost(&self, sizes: &SetSizes, filters: u32) -> (f64, f64) {
        let largest = sizes.largest();
        let rate = rate_per_filter(self.rate, filters);
        let bits = real_fingerprint_bits(rate, self.slots_per_bucket);
        let whole_keys = largest.div_ceil(filters as usize) as f64;
        let (keys, bits) = match self.counting {
            Counting::Printed => (largest as f64 / f64::from(filters), bits),
            Counting::WholeBits => (whole_keys, bits.ceil()),
        };
        (bits, keys * bits / LOAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: usize = 1330;
    const RATE: f64 = 0.0098;

    fn printed() -> DynamicSizing {
        DynamicSizing { counting: Counting::Printed, ..DynamicSizing::new(RATE) }
    }

    fn best(sizing: &DynamicSizing, sizes: Option<SetSizes>) -> (u32, f64) {
        let plan = sizing.best(&sizes.expect("sizes"), 64);
        (plan.filters, plan.saved())
    }

    fn normal(share_of_largest: f64) -> Option<SetSizes> {
        let largest = LARGEST as f64;
        SetSizes::normal(LARGEST, largest / 2.0, largest * share_of_largest)
    }

    fn zipf(exponent: f64, order: ZipfOrder) -> Option<SetSizes> {
        SetSizes::zipf(LARGEST, exponent, order)
    }

    fn is(got: f64, want: f64) -> bool {
        (got - want).abs() < 0.0005
    }

    #[test]
    fn uniform_and_normal_sizes_save_what_the_paper_says() {
        let (filters, saved) = best(&printed(), SetSizes::uniform(LARGEST));
        assert!(filters == 8 && is(saved, 0.266), "{filters} {saved}");
        for (deviation, want) in
            [(1.0 / 8.0, 0.26684), (1.0 / 6.0, 0.26681), (1.0 / 4.0, 0.26663), (1.0 / 3.0, 0.26644)]
        {
            let (filters, saved) = best(&printed(), normal(deviation));
            assert!(filters == 8 && (saved - want).abs() < 1e-5, "{deviation}: {filters} {saved}");
        }
    }

    /// Of two, four and eight slots only four give 26.6 %.
    #[test]
    fn the_paper_had_buckets_of_four() {
        for (slots, want) in [(2, 0.246), (4, 0.266), (8, 0.282)] {
            let sizing = DynamicSizing { slots_per_bucket: slots, ..printed() };
            let (filters, saved) = best(&sizing, SetSizes::uniform(LARGEST));
            assert!(filters == 8 && is(saved, want), "{slots}: {filters} {saved}");
        }
    }

    #[test]
    fn zipf_sizes_need_a_small_exponent_for_the_figures_of_the_paper() {
        for (exponent, order, filters, saved) in [
            (0.35, ZipfOrder::SmallLikely, 13, 0.400),
            (0.32, ZipfOrder::LargeLikely, 6, 0.1505),
            (1.0, ZipfOrder::SmallLikely, 63, 0.785),
            (1.0, ZipfOrder::LargeLikely, 1, 0.0),
        ] {
            let got = best(&printed(), zipf(exponent, order));
            assert!(got.0 == filters && is(got.1, saved), "{exponent} {order:?}: {got:?}");
        }
        // Dealt out at random, a flat distribution is as good as uniform.
        for seed in 0..20 {
            let (_, saved) = best(&printed(), zipf(0.33, ZipfOrder::Shuffled(seed)));
            assert!((0.25..0.285).contains(&saved), "{seed}: {saved}");
        }
    }

    #[test]
    fn what_can_be_built_has_another_optimum() {
        for (sizes, want) in [(SetSizes::uniform(LARGEST), 0.285), (normal(1.0 / 6.0), 0.2855)] {
            let (filters, saved) = best(&DynamicSizing::new(RATE), sizes);
            assert!(filters == 10 && is(saved, want), "{filters} {saved}");
        }
    }

    /// The figures of a plan, each by its own definition: size by size instead of filter by
    /// filter.
    #[test]
    fn plans_cost_what_their_filters_cost() {
        let sizes = zipf(0.7, ZipfOrder::Shuffled(3)).expect("sizes");
        for counting in [Counting::Printed, Counting::WholeBits] {
            for filters in [1, 2, 7, 64, 1330] {
                let sizing = DynamicSizing { counting, ..printed() };
                let plan = sizing.plan(&sizes, filters);
                let rate = 1.0 - (1.0 - RATE).powf(1.0 / f64::from(filters));
                let bits = f64::log2(8.0 / rate);
                let capacity = LARGEST.div_ceil(filters as usize);
                let (keys, bits) = match counting {
                    Counting::Printed => (LARGEST as f64 / f64::from(filters), bits),
                    Counting::WholeBits => (capacity as f64, bits.ceil()),
                };
                let expected: f64 = (1..=LARGEST)
                    .map(|size| {
                        let used = size.div_ceil(capacity) as f64;
                        sizes.probability(size..=size) * used * keys * bits / LOAD
                    })
                    .sum();
                assert_eq!(plan.keys_per_filter, capacity);
                assert!((plan.rate_per_filter / rate - 1.0).abs() < 1e-9);
                assert!((plan.fingerprint_bits - bits).abs() < 1e-9);
                assert!((plan.expected_bits / expected - 1.0).abs() < 1e-9, "{plan:?} {expected}");
                let single = sizing.plan(&sizes, 1).expected_bits;
                assert!((plan.plain_bits / single - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn distributions_are_what_they_are_called() {
        let mean = |sizes: Option<SetSizes>| -> f64 {
            let sizes = sizes.expect("sizes");
            // The sum of the chances to have more than zero, one, two … keys.
            sizes.up_to[..sizes.largest()].iter().map(|up_to| 1.0 - up_to).sum()
        };
        assert!((mean(SetSizes::uniform(9)) - 5.0).abs() < 1e-12);
        assert!((mean(SetSizes::normal(99, 50.0, 10.0)) - 50.0).abs() < 1e-9);
        // 1, 1/2, 1/3 of 11/6.
        let small = SetSizes::zipf(3, 1.0, ZipfOrder::SmallLikely);
        assert!((mean(small) - 18.0 / 11.0).abs() < 1e-12);
        let large = SetSizes::zipf(3, 1.0, ZipfOrder::LargeLikely);
        assert!((mean(large) - (4.0 - 18.0 / 11.0)).abs() < 1e-12);
        // The same probabilities, in another order for another seed.
        let all = |order| {
            let sizes = SetSizes::zipf(100, 1.0, order).expect("sizes");
            (1..=100).map(|size| sizes.probability(size..=size)).collect::<Vec<_>>()
        };
        let [a, b] = [1, 2].map(|seed| all(ZipfOrder::Shuffled(seed)));
        assert_ne!(a, b);
        let sum = |weights: &[f64]| weights.iter().map(|p| p * p).sum::<f64>();
        assert!((sum(&a) - sum(&all(ZipfOrder::SmallLikely))).abs() < 1e-12);
    }

    #[test]
    fn absurd_arguments_have_an_answer() {
        for weights in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN], &[f64::INFINITY], &[1e308; 9]] {
            assert_eq!(SetSizes::from_weights(weights.iter().copied()), None, "{weights:?}");
        }
        assert_eq!(SetSizes::uniform(0), None);
        assert_eq!(SetSizes::uniform(usize::MAX), None);
        assert_eq!(SetSizes::normal(9, f64::NAN, 1.0), None);
        assert_eq!(SetSizes::zipf(0, 1.0, ZipfOrder::Shuffled(1)), None);
        let sizes = SetSizes::uniform(3).expect("sizes");
        assert!((sizes.probability(0..=usize::MAX) - 1.0).abs() < 1e-12);
        assert_eq!(sizes.probability(4..=9), 0.0);
        for rate in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, f64::INFINITY] {
            for slots_per_bucket in [0, 1, 4, u32::MAX] {
                for counting in [Counting::Printed, Counting::WholeBits] {
                    let sizing = DynamicSizing { rate, slots_per_bucket, counting };
                    let plan = sizing.best(&sizes, u32::MAX);
                    assert!((1..=3).contains(&plan.filters));
                    let figures = [plan.rate_per_filter, plan.fingerprint_bits, plan.expected_bits];
                    assert!(figures.iter().all(|&figure| figure >= 0.0), "{plan:?}");
                    assert!(plan.saved() <= 1.0, "{plan:?}");
                }
            }
        }
    }
}
