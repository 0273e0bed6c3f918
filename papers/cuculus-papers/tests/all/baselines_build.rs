//! What builders refuse, and that what they promise is kept: rates at the capacity, measured.

use crate::common::refused;
use cuculus::{BuildError, Filter, Insert};
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooTable,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};

const KEYS: u64 = 50_000;
const SAMPLE: u64 = 1_000_000;

/// With as many keys as planned, the rate is the expected one within five standard deviations, and the
/// expected one is not above the one that it was built for. (It may be above by chance, where the filter goes by
/// the bits that happen to be set.)
fn rate_is_kept<F: Insert>(name: &str, asked: f64, make: Result<F, BuildError>) {
    let mut filter = make.unwrap_or_else(|error| panic!("{name} {asked}: {error}"));
    for key in 0..KEYS {
        filter.insert(&key).unwrap_or_else(|full| panic!("{name} {asked}: {full}"));
    }
    let expected = filter.expected_false_positive_rate();
    let chance = 1.0 + 5.0 / (KEYS as f64).sqrt();
    assert!(expected <= asked * chance, "{name} {asked}: {expected} expected");
    let found = (KEYS..KEYS + SAMPLE).filter(|key| filter.contains(key)).count() as f64;
    let mean = SAMPLE as f64 * expected;
    let sigma = (mean * (1.0 - expected)).sqrt();
    assert!(
        (found - mean).abs() <= 5.0 * sigma + 1.0,
        "{name} {asked}: {found}, not {mean:.0} ± {sigma:.0}"
    );
}

#[test]
fn rates_are_kept_at_the_capacity() {
    macro_rules! kept {
        ($($filter:ident)+) => {
            for rate in [0.1, 0.01, 0.0005] {
                $(
                    let builder = $filter::builder().capacity(KEYS as usize).seed(1);
                    let built = builder.false_positive_rate(rate).build();
                    rate_is_kept(stringify!($filter), rate, built);
                )+
            }
        };
    }
    kept!(BloomFilter BlockedBloomFilter CountingBloomFilter DleftCountingBloomFilter);
    kept!(QuotientFilter DynamicBloomFilter AdaptiveCuckooFilter);
}

/// The formula that plans a blocked filter, against the blocks that come about.
#[test]
fn the_mixture_of_blocks_is_as_planned() {
    for (bits_per_key, hashes) in [(8, 5), (13, 9), (13, 7), (20, 8), (30, 14)] {
        let builder = BlockedBloomFilter::builder().capacity(KEYS as usize).hashes(hashes);
        let mut filter = builder.bits(KEYS * bits_per_key).seed(1).build().expect("valid");
        let plan = |keys: u64| filter.planned_false_positive_rate(keys as usize);
        let planned = [plan(KEYS / 2), plan(KEYS)];
        for (half, planned) in planned.into_iter().enumerate() {
            for key in half as u64 * KEYS / 2..(half as u64 + 1) * KEYS / 2 {
                filter.insert(&key).expect("never refused");
            }
            // One filter is one sample of the mixture, and the rate is decided by few full blocks.
            let found = filter.expected_false_positive_rate();
            assert!(
                (found / planned - 1.0).abs() < 0.12,
                "{bits_per_key} {hashes}: {found} {planned}"
            );
        }
    }
}

#[test]
fn what_cannot_be_built_is_refused() {
    use BuildError::{MissingCapacity, OutOfRange, RateOutOfRange, RateTooSmall, SlotsPerBucket};
    refused!(
        BloomFilter::builder() => MissingCapacity,
        BloomFilter::builder().bits(100) => MissingCapacity,
        BloomFilter::builder().capacity(5).false_positive_rate(0.0) => RateOutOfRange { .. },
        BloomFilter::builder().capacity(5).false_positive_rate(f64::NAN) => RateOutOfRange { .. },
        BloomFilter::builder().capacity(5).hashes(0) => OutOfRange { parameter: "hashes", .. },
        BloomFilter::builder().capacity(5).hashes(33) => OutOfRange { parameter: "hashes", .. },
        BloomFilter::builder().capacity(5).bits(0) => OutOfRange { parameter: "bits", .. },
        BloomFilter::builder().capacity(50).bits(100).false_positive_rate(0.1) => RateTooSmall { .. },
        BlockedBloomFilter::builder() => MissingCapacity,
        BlockedBloomFilter::builder().capacity(5).hashes(15) => OutOfRange { .. },
        BlockedBloomFilter::builder().capacity(5).false_positive_rate(1.0) => RateOutOfRange { .. },
        BlockedBloomFilter::builder().capacity(5).false_positive_rate(1e-30) => RateTooSmall { .. },
        CountingBloomFilter::builder() => MissingCapacity,
        CountingBloomFilter::builder().capacity(9).counters(1 << 60) => OutOfRange { .. },
        DleftCountingBloomFilter::builder() => MissingCapacity,
        DleftCountingBloomFilter::builder().capacity(9).slots_per_bucket(9) => SlotsPerBucket { .. },
        DleftCountingBloomFilter::builder().capacity(9).counter_bits(0) => OutOfRange { .. },
        DleftCountingBloomFilter::builder().capacity(9).remainder_bits(29) => OutOfRange { .. },
        DleftCountingBloomFilter::builder().capacity(9).false_positive_rate(1e-12) => RateTooSmall { .. },
        QuotientFilter::builder() => MissingCapacity,
        QuotientFilter::builder().capacity(9).remainder_bits(0) => OutOfRange { .. },
        QuotientFilter::builder().capacity(9).slots(0) => OutOfRange { .. },
        QuotientFilter::builder().capacity(9).false_positive_rate(1e-12) => RateTooSmall { .. },
        QuotientFilter::builder().capacity(9).remainder_bits(2).false_positive_rate(0.01)
            => RateTooSmall { .. },
        DynamicBloomFilter::builder() => MissingCapacity,
        DynamicBloomFilter::builder().capacity_per_filter(0) => OutOfRange { .. },
        DynamicBloomFilter::builder().capacity(1 << 30).capacity_per_filter(1) => OutOfRange { .. },
        AdaptiveCuckooFilter::builder() => MissingCapacity,
        AdaptiveCuckooFilter::builder().capacity(9).fingerprint_bits(3) => OutOfRange { .. },
        AdaptiveCuckooFilter::builder().capacity(9).max_kicks(65_536) => OutOfRange { .. },
        AdaptiveCuckooFilter::builder().capacity(9).false_positive_rate(1e-12) => RateTooSmall { .. },
    );
    let error = CuckooTable::builder().slots_per_bucket(0).build::<u64, ()>().expect_err("none");
    assert!(matches!(error, SlotsPerBucket { got: 0, .. }));
    assert!(CuckooTable::builder().tables(3).build::<u64, ()>().is_err());
}
