//! Parameters: what cannot be satisfied is refused in words, and what can keeps its promises.

use cuculus::lab::{PlacementKind, Search};
use cuculus::{
    BuildError, CuckooFilter, CuckooFilterBuilder, CuckooMaplet, ElasticFilter, Filter, FullCause,
    Insert, KeyHasher, Remove,
};

fn error(builder: &CuckooFilterBuilder) -> BuildError {
    builder.build().expect_err("must be refused")
}

#[test]
fn absurd_parameters_are_refused_without_an_allocation() {
    let some = || CuckooFilter::builder().capacity(100);
    assert_eq!(error(&CuckooFilter::builder()), BuildError::MissingCapacity);
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
        let got = error(&some().false_positive_rate(rate));
        assert!(matches!(got, BuildError::RateOutOfRange { .. }), "{rate}: {got}");
    }
    for rate in [f64::MIN_POSITIVE, 1e-300, 1e-10] {
        let got = error(&some().false_positive_rate(rate));
        assert!(matches!(got, BuildError::RateTooSmall { smallest, .. } if smallest < 1e-8));
    }
    for bits in [0, 1, 3, 33, 64, u32::MAX] {
        let got = error(&some().fingerprint_bits(bits));
        assert!(matches!(got, BuildError::OutOfRange { min: 4, max: 32, .. }), "{got}");
    }
    let got = error(&some().fingerprint_bits(4).semi_sorted(true));
    assert!(matches!(got, BuildError::OutOfRange { min: 5, max: 32, .. }), "{got}");
    for slots in [0, 9, 16, u32::MAX] {
        let got = error(&some().slots_per_bucket(slots));
        assert!(matches!(got, BuildError::SlotsPerBucket { .. }), "{got}");
    }
    for slots in [1, 2, 3, 8] {
        let got = error(&some().slots_per_bucket(slots).semi_sorted(true));
        assert!(matches!(got, BuildError::SlotsPerBucket { .. }), "{got}");
    }
    let got = error(&some().max_kicks(u32::MAX));
    assert!(matches!(got, BuildError::OutOfRange { parameter: "max_kicks", .. }), "{got}");
    // A length that cannot keep the rate given with it.
    let got = error(&some().fingerprint_bits(8).false_positive_rate(0.001));
    assert!(matches!(got, BuildError::RateTooSmall { .. }), "{got}");
}

/// Each of these builders differs from the first in one parameter, and most from each other in two.
#[test]
fn a_builder_describes_what_it_builds_and_nothing_else() {
    let ours = CuckooFilter::builder().capacity(1000).fingerprint_bits(12).seed(7);
    let builders = [
        ours.clone(),
        ours.clone().seed(8),
        ours.clone().hasher(KeyHasher::xxh3(7)),
        ours.clone().capacity(999),
        ours.clone().fingerprint_bits(13),
        ours.clone().slots_per_bucket(8),
        ours.clone().semi_sorted(true),
        ours.clone().max_kicks(501),
        ours.clone().search(Search::RandomWalk),
        ours.clone().buckets(512).placement(PlacementKind::AnySize),
        ours.clone().buckets(512).placement(PlacementKind::Xor),
    ];
    let filters = builders.each_ref().map(|builder| builder.build().expect("valid"));
    assert_eq!(filters[0].slots(), filters[3].slots());
    assert_eq!(filters[9].slots(), filters[10].slots());
    for (i, builder) in builders.iter().enumerate() {
        for (j, filter) in filters.iter().enumerate() {
            assert_eq!(builder.describes(filter), i == j, "{i} {j}");
        }
    }
    let unseeded = CuckooFilter::builder().capacity(1000).fingerprint_bits(12);
    assert!(!unseeded.describes(&unseeded.build().expect("valid")));
}

#[test]
fn an_elastic_builder_describes_what_it_builds_and_nothing_else() {
    let ours = ElasticFilter::builder().seed(7);
    let builders = [
        ours.clone(),
        ours.clone().seed(8),
        ours.clone().hasher(KeyHasher::xxh3(7)),
        ours.clone().false_positive_rate(0.02),
        ours.clone().expected_items(1_000_000),
        ours.clone().spare_bytes(0),
    ];
    let filters = builders.each_ref().map(|builder| builder.build().expect("valid"));
    for (i, builder) in builders.iter().enumerate() {
        for (j, filter) in filters.iter().enumerate() {
            assert_eq!(builder.describes(filter), i == j, "{i} {j}");
        }
    }
    // Releases have chosen another load.
    assert!(ours.describes(&ours.clone().target_load(0.9).build().expect("valid")));
}

/// Sizes from too large to address to too large for any machine.
#[test]
fn huge_capacities_are_refused() {
    for capacity in [usize::MAX, usize::MAX / 2, 1 << 60, 1 << 40] {
        for slots in 1..=8 {
            let got = error(&CuckooFilter::builder().capacity(capacity).slots_per_bucket(slots));
            assert!(matches!(got, BuildError::TooLarge { .. }), "{capacity}: {got}");
        }
    }
    for placement in [PlacementKind::AnySize, PlacementKind::Xor, PlacementKind::Simplified] {
        let got = error(&CuckooFilter::builder().buckets(u64::MAX).placement(placement));
        assert!(matches!(got, BuildError::TooLarge { .. }), "{got}");
    }
    // More buckets than a power of two below the limit has room for.
    let got = error(&CuckooFilter::builder().buckets((1 << 31) + 1).placement(PlacementKind::Xor));
    assert!(matches!(got, BuildError::TooLarge { .. }), "{got}");
    let got = CuckooMaplet::builder().capacity(usize::MAX).build().expect_err("huge");
    assert!(matches!(got, BuildError::TooLarge { .. }), "{got}");
}

#[test]
fn zero_capacity_is_an_empty_filter_that_works() {
    let mut filter = CuckooFilter::builder().capacity(0).seed(1).build().expect("valid");
    assert!(filter.is_empty() && !filter.contains("key") && !filter.remove("key"));
    assert_eq!(filter.utilization(), 0.0);
    filter.insert("key").expect("a few keys fit");
    assert!(filter.contains("key") && filter.remove("key"));
    // One bucket alone, too: it is its own alternate.
    let mut one = CuckooFilter::builder().buckets(1).seed(1).build().expect("valid");
    for key in 0..4u8 {
        one.insert(&key).expect("four slots");
    }
    assert!(matches!(one.insert(&4u8).expect_err("full").cause, FullCause::NoRoom { .. }));
    assert!((0..4u8).all(|key| one.contains(&key)));
    one.clear();
    for _ in 0..4 {
        one.insert("same").expect("four slots");
    }
    assert_eq!(one.count("same"), 4);
    let full = one.insert("same").expect_err("full");
    assert_eq!(full.cause, FullCause::EqualEntries { held: 4 });
}

/// One key needs no more than its two buckets, at any number of slots: 2b equal entries, and an
/// error of its own kind for the next.
#[test]
fn equal_keys_fill_two_buckets_and_no_more() {
    for slots in 1..=8 {
        let mut filter =
            CuckooFilter::builder().buckets(64).slots_per_bucket(slots).build().expect("valid");
        for _ in 0..2 * slots {
            filter.insert("same").expect("2b fit");
        }
        let full = filter.insert("same").expect_err("2b + 1 do not");
        assert_eq!(full.cause, FullCause::EqualEntries { held: 2 * slots as usize });
        assert_eq!(filter.len(), 2 * slots as usize);
    }
}

/// The capacity is a promise: thirty filters of each size take all their keys. (The expected
/// number of refusals among these 10,800 filters is below one; the seeds are fixed.)
#[test]
fn filters_hold_their_capacity() {
    for slots in 1..=8 {
        for capacity in (0..40).chain([50, 64, 100, 150, 1000]) {
            for seed in 0..30 {
                let builder = CuckooFilter::builder().capacity(capacity).slots_per_bucket(slots);
                let mut filter = builder.seed(seed).build().expect("valid");
                for key in 0..capacity as u64 {
                    if let Err(full) = filter.insert(&key) {
                        panic!("capacity {capacity}, {slots} slots, seed {seed}: {full}");
                    }
                }
            }
        }
    }
}

/// Tables are as large as the keys need, with no rounding to powers of two.
#[test]
fn bits_per_key_do_not_depend_on_the_number_of_keys() {
    for capacity in [100_000, 131_072, 140_000, 200_000, 262_145] {
        let mut filter =
            CuckooFilter::builder().capacity(capacity).fingerprint_bits(12).build().expect("valid");
        filter.extend(0..capacity as u64);
        assert_eq!(filter.refused(), 0);
        let bits = filter.stats().bits_per_key();
        assert!((12.5..12.65).contains(&bits), "{capacity}: {bits}");
    }
}

/// Buckets of four reach 95 % before the first refusal, at any number of buckets. (Up to 2^24 by
/// `cargo xtask bench cf-fill --slots 4 --max-log2 24`.)
#[test]
fn load_at_first_failure_is_above_95_percent() {
    for log2 in 10..18u32 {
        let base = 1u64 << log2;
        for buckets in [base, base + 1, base * 137 / 100, base * 199 / 100] {
            let builder = CuckooFilter::builder().buckets(buckets).fingerprint_bits(12);
            let mut filter = builder.seed(buckets).build().expect("valid");
            let refused = (0u64..).find(|key| filter.insert(key).is_err()).expect("finite");
            assert!(filter.utilization() >= 0.95, "{buckets}: {}", filter.utilization());
            assert!((0..refused).all(|key| filter.contains(&key)), "{buckets}");
        }
    }
}

/// Table 3 of the Cuckoo Filter paper: 12 bits per slot at 95 % are 12.65 bits per key at most and
/// 0.19 % false positives; semi-sorting buys one bit more for the same memory, and half the rate.
#[test]
fn table_3_of_the_paper_holds() {
    let buckets = 1 << 18;
    let keys = buckets * 4 * 95 / 100;
    for (bits, semi_sorted, limit) in [(12, false, 0.0019), (13, true, 0.0010)] {
        let builder = CuckooFilter::builder().buckets(buckets).fingerprint_bits(bits);
        let mut filter = builder.semi_sorted(semi_sorted).seed(3).build().expect("valid");
        filter.extend(0..keys);
        assert_eq!((filter.len() as u64, filter.refused()), (keys, 0));
        assert!(filter.stats().bits_per_key() <= 12.65, "{}", filter.stats());
        let absent_keys = 2_000_000u64;
        let found = (0..absent_keys).filter(|key| filter.contains(&(key + (1 << 40)))).count();
        let (rate, expected) =
            (found as f64 / absent_keys as f64, filter.expected_false_positive_rate());
        let sigma = (expected / absent_keys as f64).sqrt();
        assert!((rate - expected).abs() < 5.0 * sigma, "{rate} {expected}");
        assert!(rate <= limit && expected <= limit, "{rate} {expected}");
    }
}

#[test]
fn rates_asked_for_are_kept_when_full() {
    for rate in [0.5, 0.1, 0.03, 0.01, 0.001, 0.0001] {
        for semi_sorted in [false, true] {
            let builder = CuckooFilter::builder().capacity(20_000).false_positive_rate(rate);
            let mut filter = builder.semi_sorted(semi_sorted).seed(1).build().expect("valid");
            filter.extend(0..20_000u64);
            assert_eq!((filter.refused(), filter.len()), (0, 20_000));
            let expected = filter.expected_false_positive_rate();
            assert!(expected <= rate && expected > rate / 20.0, "{rate}: {expected}");
            let found = (0..200_000u64).filter(|key| filter.contains(&(key + (1 << 40)))).count();
            assert!(found as f64 <= 200_000.0 * rate * 1.1 + 20.0, "{rate}: {found}");
        }
    }
}

/// Also in the smallest tables, which are filled further than large ones: two buckets to the last
/// slot.
#[test]
fn rates_are_kept_by_small_filters() {
    for slots in 1..=8 {
        for capacity in 1..=40u64 {
            for step in 1..60 {
                let rate = 0.9f64.powi(step);
                let builder = CuckooFilter::builder().capacity(capacity as usize).seed(1);
                let mut filter = builder
                    .slots_per_bucket(slots)
                    .false_positive_rate(rate)
                    .build()
                    .expect("valid");
                filter.extend(0..capacity);
                let expected = filter.expected_false_positive_rate();
                assert!(expected <= rate, "{capacity} keys, {slots} slots: {expected} > {rate}");
            }
        }
    }
}

/// `Extend` cannot return an error, so it counts; nothing that it stored is lost.
#[test]
fn extend_counts_what_does_not_fit() {
    let mut filter = CuckooFilter::builder().buckets(16).seed(1).build().expect("valid");
    filter.extend((0..100u64).map(|key| key.to_string()));
    assert_eq!(filter.len() as u64 + filter.refused(), 100);
    assert!(filter.refused() >= 36);
    let text = filter.stats().to_string();
    assert!(text.contains("refused") && text.contains("bits per key"), "{text}");
    filter.clear();
    assert_eq!(filter.refused(), 0);
}

#[test]
fn a_filter_without_a_seed_draws_one() {
    let build = || CuckooFilter::builder().capacity(10).build().expect("valid");
    assert_ne!(build().hasher(), build().hasher());
    let keyed = CuckooFilter::builder().capacity(10).hasher(KeyHasher::siphash(5)).build();
    assert_eq!(keyed.expect("valid").hasher(), &KeyHasher::siphash(5));
}

#[test]
fn errors_are_one_line_that_says_what_to_do() {
    let mut filter = CuckooFilter::builder().buckets(1).seed(1).build().expect("valid");
    let full = (0u64..).find_map(|key| filter.insert(&key).err()).expect("finite");
    let mut lines = vec![full.to_string()];
    lines.push(error(&CuckooFilter::builder()).to_string());
    lines.push(error(&CuckooFilter::builder().capacity(1).false_positive_rate(2.0)).to_string());
    lines.push(error(&CuckooFilter::builder().capacity(usize::MAX)).to_string());
    lines.push(error(&CuckooFilter::builder().capacity(1).slots_per_bucket(9)).to_string());
    for line in lines {
        assert!(!line.contains('\n') && line.len() > 30, "{line}");
        assert!(line.starts_with(char::is_lowercase), "{line}");
    }
}
