//! The elastic filter where it can go wrong: entries of many lengths, elders, copies of a key,
//! thresholds of growth, limits of widths, and the promises about rate and memory.

use cuculus::conformance::Random;
use cuculus::{
    BuildError, ElasticFilter, ElasticFilterBuilder, Filter, FullCause, Insert, MergeError,
    Persist, Remove,
};

/// One operation writes no more entries than this.
const MOST_ENTRIES_WRITTEN: u32 = 8192;

fn builder(rate: f64) -> ElasticFilterBuilder {
    ElasticFilter::builder().false_positive_rate(rate).seed(1)
}

fn build(builder: &ElasticFilterBuilder) -> ElasticFilter {
    builder.build().expect("valid")
}

fn insert_all(filter: &mut ElasticFilter, keys: impl Iterator<Item = u64>) {
    for key in keys {
        if let Err(full) = filter.insert(&key) {
            panic!("{key} was refused: {full}\n{filter:?}");
        }
    }
}

fn remove_all(filter: &mut ElasticFilter, keys: impl Iterator<Item = u64>) {
    for key in keys {
        assert!(filter.remove(&key), "{key} is lost");
    }
}

fn has_all(filter: &ElasticFilter, mut keys: impl Iterator<Item = u64>) {
    assert_eq!(keys.find(|key| !filter.contains(key)), None, "a false negative");
}

fn keeps_its_rate(filter: &ElasticFilter) {
    let stats = filter.stats();
    assert!(filter.expected_false_positive_rate() <= filter.false_positive_rate(), "{stats}");
}

fn no_operation_was_long(filter: &ElasticFilter) {
    let stats = filter.stats();
    assert!(stats.most_entries_written <= MOST_ENTRIES_WRITTEN, "{stats:?}");
}

/// Keys that the tests never insert.
fn absent_keys(count: u64) -> impl Iterator<Item = u64> {
    1 << 50..(1 << 50) + count
}

/// Old keys have short entries, and some of them are elders; fresh keys that look the same have
/// long ones, on either level. Removing an old key must not take the only entry that a fresh one
/// has, whichever level it is on.
#[test]
fn removing_old_keys_after_a_tide_loses_none_of_the_fresh_ones() {
    const MOST: u64 = 1_000_000;
    // The larger the rate, the shorter entries are and the more look the same.
    for rate in [0.5, 0.05] {
        let mut grown = build(&builder(rate).spare_bytes(0));
        insert_all(&mut grown, 0..MOST);
        assert!(grown.stats().elders > 0, "{}", grown.stats());
        keeps_its_rate(&grown);
        for old in [MOST / 64, MOST / 512] {
            let mut filter = grown.clone();
            remove_all(&mut filter, (old..MOST).rev());
            assert!(filter.stats().elders > 0, "{}", filter.stats());
            let mut fresh: Vec<u64> = (1 << 40..(1 << 40) + 60_000).collect();
            // Whether all of them are taken is a matter of its own.
            fresh.retain(|key| filter.insert(key).is_ok());
            has_all(&filter, (0..old).chain(fresh.iter().copied()));
            remove_all(&mut filter, 0..old);
            has_all(&filter, fresh.iter().copied());
            assert_eq!(filter.len(), fresh.len());
            remove_all(&mut filter, fresh.into_iter());
            assert!(filter.is_empty());
            keeps_its_rate(&filter);
        }
    }
}

/// After a tide the entries that come back from the elders leave room for fresh keys everywhere.
#[test]
fn every_fresh_key_is_taken_after_a_tide() {
    let mut filter = build(&builder(0.5).spare_bytes(0));
    insert_all(&mut filter, 0..1_000_000);
    remove_all(&mut filter, (15_625..1_000_000).rev());
    insert_all(&mut filter, 1 << 40..(1 << 40) + 60_000);
}

/// Among entries that match, the longest goes: a shorter one may be all that another key has.
#[test]
fn removal_takes_the_longest_match() {
    for rate in [0.05, 0.01] {
        let mut filter = build(&builder(rate).spare_bytes(0));
        // Nine generations, each as large as all before: as many lengths.
        let born = |generation: u32| if generation == 0 { 0 } else { 500u64 << (generation - 1) };
        insert_all(&mut filter, 0..born(10));
        assert!(filter.stats().entry_lengths.len() > 4, "{}", filter.stats());
        // The old ones of each generation go first, then the rest, oldest first.
        for part in [0, 1] {
            for generation in 0..10 {
                let keys = (born(generation)..born(generation + 1)).filter(|key| key % 2 == part);
                remove_all(&mut filter, keys);
            }
            if part == 0 {
                has_all(&filter, (0..born(10)).filter(|key| key % 2 == 1));
            }
        }
        assert!(filter.is_empty());
    }
}

/// Elders of elders: the set grows so far, from so short a start, that what was kept aside becomes
/// too short again.
#[test]
fn entries_that_run_out_of_bits_again_and_again_are_kept() {
    let builder = builder(0.05).spare_bytes(0);
    let mut filter = build(&builder);
    insert_all(&mut filter, 0..2_000_000);
    let stats = filter.stats();
    assert!(stats.elders > 1000, "{stats}");
    keeps_its_rate(&filter);
    has_all(&filter, 0..2_000_000);
    // What was saved is as good.
    let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
    assert_eq!(again.stats().elders, stats.elders);
    // Only the oldest stay, most of them elders.
    for filter in [&mut filter, &mut again] {
        remove_all(filter, (1000..2_000_000).rev());
        has_all(filter, 0..1000);
        assert_eq!(filter.len(), 1000);
    }
    assert!(filter.to_bytes() == again.to_bytes(), "another future after loading");
    remove_all(&mut filter, 0..1000);
    assert!(filter.is_empty());
}

/// A filter whose elders are all that is left can be saved, loaded and emptied like any other.
#[test]
fn a_filter_of_elders_alone_is_a_filter() {
    for rate in [0.05, 0.01] {
        let mut filter = build(&builder(rate).spare_bytes(0));
        insert_all(&mut filter, 0..1_000_000);
        let mut most_elders = 0;
        for left in (0..1000u64).rev().step_by(50) {
            // Newest first: what is left are the oldest.
            let newest = filter.len() as u64;
            remove_all(&mut filter, (left + 1..newest).rev());
            most_elders = most_elders.max(filter.stats().elders);
            let mut again = ElasticFilter::from_bytes(&filter.to_bytes())
                .unwrap_or_else(|e| panic!("{} keys: {e}\n{}", left + 1, filter.stats()));
            has_all(&again, 0..=left);
            remove_all(&mut again, 0..=left);
            assert!(again.is_empty());
        }
        assert!(most_elders > 0, "rate {rate}: there were no elders to test");
    }
}

/// One key fits eight times. More are refused, byte for byte without effect, however often.
#[test]
fn one_key_a_hundred_thousand_times_changes_nothing_after_the_eighth() {
    for others in [0, 100, 20_000u64] {
        let mut filter = build(&builder(0.01));
        insert_all(&mut filter, 1..=others);
        for _ in 0..8 {
            filter.insert(&0u64).expect("eight fit");
        }
        let (bytes, size) = (filter.to_bytes(), filter.size_in_bytes());
        for _ in 8..100_000 {
            let full = filter.insert(&0u64).expect_err("a ninth");
            assert_eq!(full.cause, FullCause::EqualEntries { held: 8 });
        }
        assert!(filter.to_bytes() == bytes && filter.size_in_bytes() == size);
        has_all(&filter, 0..=others);
        assert_eq!(filter.len() as u64, others + 8);
        for _ in 0..8 {
            assert!(filter.remove(&0u64));
        }
        has_all(&filter, 1..=others);
        keeps_its_rate(&filter);
        no_operation_was_long(&filter);
    }
}

/// Copies of a few keys do not keep other keys out.
#[test]
fn copies_of_a_few_keys_leave_room_for_others() {
    for seed in 0..20 {
        for (keys, copies) in [(2u64, 8), (20, 4)] {
            let mut filter = build(&builder(0.01).seed(seed));
            for _ in 0..copies {
                insert_all(&mut filter, 0..keys);
            }
            insert_all(&mut filter, 1000..2000);
            has_all(&filter, (0..keys).chain(1000..2000));
        }
    }
}

/// Many keys, each as often as it is taken: nothing grows without end, nothing is lost.
#[test]
fn many_keys_many_times_stay_bounded() {
    for keys in [2, 30, 500u64] {
        let mut filter = build(&builder(0.01));
        let mut counts = vec![0; keys as usize];
        for _ in 0..40 {
            for key in 0..keys {
                match filter.insert(&key) {
                    Ok(()) => counts[key as usize] += 1,
                    Err(full) => assert!(
                        matches!(
                            full.cause,
                            FullCause::EqualEntries { held: 8 } | FullCause::Crowded
                        ),
                        "{full}"
                    ),
                }
            }
        }
        assert!(counts.iter().all(|&count| count <= 8), "{counts:?}");
        assert!(filter.utilization() >= 0.2, "{keys} keys: {}", filter.stats());
        assert!((0..keys).zip(&counts).all(|(key, &count)| filter.count(&key) >= count));
        let others: Vec<u64> = (1000..2000).filter(|key| filter.insert(key).is_ok()).collect();
        for (key, &count) in (0..keys).zip(&counts) {
            for _ in 0..count {
                assert!(filter.remove(&key));
            }
        }
        has_all(&filter, others.iter().copied());
        assert_eq!(filter.len(), others.len());
        keeps_its_rate(&filter);
        no_operation_was_long(&filter);
    }
}

/// Growth and shrinking write few entries at a time, with elders and without.
#[test]
fn no_operation_writes_many_entries() {
    for (rate, spare) in [(0.5, 0), (0.05, 0), (0.01, 0), (0.01, 512 << 10)] {
        let mut filter = build(&builder(rate).spare_bytes(spare));
        insert_all(&mut filter, 0..300_000);
        no_operation_was_long(&filter);
        remove_all(&mut filter, (100..300_000).rev());
        no_operation_was_long(&filter);
    }
}

/// Inserts or removes keys one by one and adds up how many entries were rewritten: about those
/// of a segment whenever the slots are not as many as before.
fn written_by(
    filter: &mut ElasticFilter,
    keys: impl Iterator<Item = u64>,
    operation: impl Fn(&mut ElasticFilter, std::iter::Once<u64>),
) -> usize {
    let mut written = 0;
    for key in keys {
        let before = filter.slots();
        operation(filter, std::iter::once(key));
        if filter.slots() != before {
            written += filter.len() / filter.stats().segments.max(1);
        }
    }
    written
}

/// Back and forth over whatever threshold there is near a size: no operation is long, and the
/// filter comes back to where it was.
#[test]
fn oscillation_around_any_size_is_bounded() {
    for load in [0.5, 0.915, 0.96] {
        for spare in [0, 512 << 10] {
            let mut filter = build(&builder(0.01).target_load(load).spare_bytes(spare));
            let mut size = 0u64;
            let mut random = Random::new(1);
            while size < 30_000 {
                let next = size + 1 + random.below(1 + size as usize / 6) as u64;
                insert_all(&mut filter, size..next);
                size = next;
                let before = filter.size_in_bytes();
                for swing in [1, 2, 17, 150] {
                    let swing = swing.min(size);
                    for _ in 0..12 {
                        insert_all(&mut filter, size..size + swing);
                        remove_all(&mut filter, (size..size + swing).rev());
                        remove_all(&mut filter, size - swing..size);
                        insert_all(&mut filter, size - swing..size);
                    }
                }
                let after = filter.size_in_bytes();
                assert!(after <= before * 2 + 4096, "{before} bytes became {after}");
                keeps_its_rate(&filter);
                no_operation_was_long(&filter);
                assert_eq!(filter.len() as u64, size);
            }
            has_all(&filter, 0..size);
        }
    }
}

/// Exactly where a segment has just grown or been split, one key to and fro does not make it
/// shrink or merge, and grow or split, each time.
#[test]
fn oscillation_at_a_threshold_is_cheap() {
    const ROUNDS: usize = 6;
    for load in [0.5, 0.915, 0.96] {
        for spare in [0, 512 << 10] {
            let mut filter = build(&builder(0.01).target_load(load).spare_bytes(spare));
            let (mut written, mut operations, mut merges) = (0, 0, 0);
            for key in 0..20_000 {
                let (before, segments) = (filter.slots(), filter.stats().segments);
                insert_all(&mut filter, key..=key);
                if filter.slots() == before || key < 100 {
                    continue;
                }
                let split = filter.stats().segments > segments;
                for swing in [1, 3].into_iter().cycle().take(2 * ROUNDS) {
                    let keys = key + 1 - swing..key + 1;
                    written += written_by(&mut filter, keys.clone().rev(), remove_all);
                    merges += usize::from(split && filter.stats().segments <= segments);
                    written += written_by(&mut filter, keys, insert_all);
                    operations += 2 * swing as usize;
                }
            }
            assert!(written <= 3 * operations, "{written} entries in {operations} operations");
            assert_eq!(merges, 0, "merged as soon as split");
            has_all(&filter, 0..20_000);
        }
    }
}

/// Parameters at the ends of their ranges work at every size.
#[test]
fn parameters_at_their_limits_work() {
    const MANY: usize = 1 << 30;
    for rate in [0.999, 0.05, 1e-5] {
        for expected in [0, 7, 100_000, MANY] {
            for load in [0.5, 0.96] {
                for spare in [0, 1, 1 << 40] {
                    let builder = builder(rate).expected_items(expected).target_load(load);
                    let mut filter = build(&builder.spare_bytes(spare));
                    for (from, to) in [(0, 1), (1, 10), (10, 3000), (3000, 12_000)] {
                        insert_all(&mut filter, from..to);
                        keeps_its_rate(&filter);
                    }
                    has_all(&filter, 0..12_000);
                    remove_all(&mut filter, (20..12_000).rev());
                    has_all(&filter, 0..20);
                    keeps_its_rate(&filter);
                }
            }
        }
    }
}

/// What cannot be kept is refused when the filter is built, in one line.
#[test]
fn impossible_parameters_are_refused_in_one_line() {
    fn refused(builder: &ElasticFilterBuilder) -> BuildError {
        let error = builder.build().err().unwrap_or_else(|| panic!("{builder:?} was built"));
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() > 20, "{text}");
        error
    }
    for rate in [0.0, -0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = refused(&builder(rate));
        assert!(matches!(error, BuildError::RateOutOfRange { .. }), "{error:?}");
    }
    for rate in [1e-300, f64::MIN_POSITIVE, 9.99e-6] {
        let error = refused(&builder(rate));
        assert!(matches!(error, BuildError::RateTooSmall { .. }), "{error:?}");
    }
    for load in [0.0, 0.49, 0.97, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = refused(&builder(0.01).target_load(load));
        assert!(matches!(error, BuildError::LoadOutOfRange { .. }), "{error:?}");
    }
    for builder in [
        builder(0.01).expected_items(usize::MAX),
        builder(0.01).spare_bytes(u64::MAX),
        builder(0.01).spare_bytes((1 << 40) + 1),
    ] {
        let error = refused(&builder);
        assert!(matches!(error, BuildError::OutOfRange { .. }), "{error:?}");
    }
}

/// Up to the number of keys that was expected, all entries have the same length: the rate is
/// proportional to the keys. Beyond it the filter goes on growing, and keeps its rate.
#[test]
fn the_rate_is_proportional_to_the_keys_up_to_the_expected_number() {
    for rate in [0.05, 0.01, 0.001, 1e-5] {
        for expected in [100, 1000, 20_000u64] {
            let mut filter = build(&builder(rate).expected_items(expected as usize));
            insert_all(&mut filter, 0..1);
            let of_one = filter.expected_false_positive_rate();
            for key in 1..expected {
                filter.insert(&key).expect("fits");
                let now = filter.expected_false_positive_rate() / of_one;
                assert!((now / (key + 1) as f64 - 1.0).abs() < 1e-9, "{now} after {key}");
            }
            // Not a bit longer than the rate needs, less what is kept for more keys.
            let full = filter.expected_false_positive_rate();
            // At large rates the bits that choose a segment are more than the rate needs.
            assert!(full <= rate && (full > rate * 0.24 || rate > 0.01), "{full} for {rate}");
            insert_all(&mut filter, expected..4 * expected);
            keeps_its_rate(&filter);
            has_all(&filter, 0..4 * expected);
            remove_all(&mut filter, expected..4 * expected);
            keeps_its_rate(&filter);
            has_all(&filter, 0..expected);
            remove_all(&mut filter, 0..expected);
            assert!(filter.is_empty());
        }
    }
}

/// The first key beyond the expected number is as welcome as the last within, however much of the
/// rate is used up.
#[test]
fn one_key_more_than_expected_is_taken() {
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5] {
        for expected in 1..=200 {
            let mut filter = build(&builder(rate).expected_items(expected as usize));
            insert_all(&mut filter, 0..3 * expected);
            has_all(&filter, 0..3 * expected);
            keeps_its_rate(&filter);
        }
    }
}

/// Where many times more keys come than were expected, all entries of the first ones become too
/// short at about the same time.
#[test]
fn many_more_keys_than_expected_are_taken() {
    for (rate, expected) in [(0.05, 1000), (0.05, 30_000), (0.001, 3000)] {
        let mut filter = build(&builder(rate).expected_items(expected));
        insert_all(&mut filter, 0..300_000);
        has_all(&filter, 0..300_000);
        keeps_its_rate(&filter);
        remove_all(&mut filter, 1000..300_000);
        has_all(&filter, 0..1000);
    }
}

/// Small filters are small.
#[test]
fn an_empty_filter_takes_less_than_256_bytes() {
    let filter = build(&builder(0.01));
    assert!(filter.size_in_bytes() < 256, "{} bytes", filter.size_in_bytes());
}

#[test]
fn a_hundred_keys_take_less_than_a_kilobyte() {
    let mut filter = build(&builder(0.01));
    insert_all(&mut filter, 0..100);
    assert!(filter.size_in_bytes() < 1024, "{} bytes", filter.size_in_bytes());
}

/// Memory comes back as keys go.
#[test]
fn a_filter_that_was_large_is_small_again() {
    for newest_first in [false, true] {
        let mut filter = build(&builder(0.01));
        insert_all(&mut filter, 0..200_000);
        if newest_first {
            remove_all(&mut filter, (1000..200_000).rev());
        } else {
            remove_all(&mut filter, 0..199_000);
        }
        assert_eq!(filter.len(), 1000);
        assert!(filter.size_in_bytes() < 16 << 10, "{}", filter.stats());
        filter.shrink_to_fit();
        assert!(filter.size_in_bytes() < 8 << 10, "{}", filter.stats());
    }
}

/// Slots are in use, on the way up and on the way down.
#[test]
fn utilization_is_high_on_the_way_up_and_down() {
    const MOST: u64 = 300_000;
    let mut filter = build(&builder(0.01));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for key in 0..MOST {
        insert_all(&mut filter, key..=key);
        if filter.len() > 4096 && key % 50 == 0 {
            up.push(filter.utilization());
        }
    }
    for key in 0..MOST {
        remove_all(&mut filter, key..=key);
        if filter.len() > 4096 && key % 50 == 0 {
            down.push(filter.utilization());
        }
    }
    let mean = |samples: &[f64]| samples.iter().sum::<f64>() / samples.len() as f64;
    assert!(mean(&up) >= 0.90, "growing: {:.4}", mean(&up));
    assert!(mean(&down) >= 0.90, "shrinking: {:.4}", mean(&down));
}

/// Merged filters have the keys of both, as often as both together. A large filter is merged into
/// a small one as well as the other way round.
#[test]
fn merging_gives_all_keys_of_both() {
    for (a, b) in [(0, 0), (0, 500), (500, 0), (10, 2000), (2000, 10), (6000, 50_000)] {
        let mut into = build(&builder(0.01));
        let mut from = build(&builder(0.01));
        insert_all(&mut into, 0..a);
        insert_all(&mut from, a..a + b);
        // One that both have.
        insert_all(&mut into, u64::MAX..=u64::MAX);
        insert_all(&mut from, u64::MAX..=u64::MAX);
        into.merge(&from).unwrap_or_else(|error| panic!("{b} keys into {a}: {error}"));
        assert_eq!(into.len() as u64, a + b + 2);
        assert!(into.count(&u64::MAX) >= 2);
        has_all(&into, 0..a + b);
        keeps_its_rate(&into);
        remove_all(&mut into, (0..a + b).chain([u64::MAX, u64::MAX]));
        assert!(into.is_empty());
    }
}

/// A filter with elders is merged, and merged into.
#[test]
fn merging_keeps_elders() {
    let mut old = build(&builder(0.05).spare_bytes(0));
    insert_all(&mut old, 0..400_000);
    assert!(old.stats().elders > 0, "{}", old.stats());
    let mut wide = build(&builder(0.5));
    insert_all(&mut wide, 1 << 40..(1 << 40) + 3000);
    for (mut into, from) in [(wide.clone(), old.clone()), (old.clone(), wide.clone())] {
        into.merge(&from).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(into.len(), 403_000);
        has_all(&into, (0..400_000).chain(1 << 40..(1 << 40) + 3000));
        remove_all(&mut into, 0..400_000);
        has_all(&into, 1 << 40..(1 << 40) + 3000);
        keeps_its_rate(&into);
    }
}

/// What cannot be merged changes nothing.
#[test]
fn a_refused_merge_changes_nothing() {
    let mut into = build(&builder(0.01).expected_items(30_000));
    insert_all(&mut into, 0..30_000);
    let bytes = into.to_bytes();
    let mut foreign = build(&builder(0.01).seed(2));
    insert_all(&mut foreign, 0..10);
    assert_eq!(into.merge(&foreign), Err(MergeError::OtherHash));
    let mut full = build(&builder(0.01).expected_items(30_000));
    insert_all(&mut full, 30_000..60_000);
    let error = into.merge(&full).expect_err("twice the rate");
    assert!(matches!(error, MergeError::Rate { sum, limit: 0.01 } if sum > 0.01), "{error:?}");
    assert!(into.to_bytes() == bytes);
    let mut copies = build(&builder(0.01).expected_items(1000));
    let mut others = copies.clone();
    for _ in 0..5 {
        copies.insert(&7u64).expect("fits");
        others.insert(&7u64).expect("fits");
    }
    let bytes = copies.to_bytes();
    let error = copies.merge(&others).expect_err("ten copies");
    assert!(
        matches!(error, MergeError::Full(full)
        if full.cause == (FullCause::EqualEntries { held: 8 })),
        "{error:?}"
    );
    assert!(copies.to_bytes() == bytes);
    for error in [MergeError::OtherHash, error] {
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// Absent keys are found as often as the filter says, within five standard deviations, and no more
/// often than the rate that was set.
#[test]
fn the_measured_rate_is_the_expected_one() {
    const SAMPLE: u64 = 200_000;
    for rate in [0.05, 0.01, 0.001] {
        for (spare, expected) in [(512 << 10, 0), (0, 0), (0, 30_000)] {
            let builder = builder(rate).spare_bytes(spare).expected_items(expected);
            let mut filter = build(&builder);
            let mut len = 0;
            let most = if expected > 0 { 60_000 } else { 300_000 };
            for next in [100, 1000, 10_000, 30_000, most] {
                insert_all(&mut filter, len..next);
                len = next;
                let found = absent_keys(SAMPLE).filter(|key| filter.contains(key)).count() as f64;
                let promised = filter.expected_false_positive_rate();
                let expected = promised * SAMPLE as f64;
                // That of the sample, and that of the filter, which is itself one of many; entries
                // are of several lengths, and short ones count for many.
                let of_filter: f64 = filter
                    .stats()
                    .entry_lengths
                    .iter()
                    .map(|&(length, count)| {
                        let hits = SAMPLE as f64 * 2.0_f64.powi(-(length as i32)) / 16128.0;
                        count as f64 * hits * hits
                    })
                    .sum();
                let sigma = (expected + of_filter).sqrt();
                assert!(
                    (found - expected).abs() <= 5.0 * sigma + 1.0,
                    "{len} keys, rate {rate}: {found} found, {expected:.1} ± {sigma:.1} expected"
                );
                assert!(found <= rate * SAMPLE as f64 + 5.0 * (rate * SAMPLE as f64).sqrt() + 1.0);
                keeps_its_rate(&filter);
            }
        }
    }
}

/// A filter that was told to expect many keys has many segments from the first key on; an entry
/// that knows too little for them is found all the same.
#[test]
fn a_short_entry_is_merged_into_a_filter_that_expects_many_keys() {
    let mut from = build(&builder(0.9).spare_bytes(0));
    insert_all(&mut from, 0..1);
    let mut into = build(&builder(0.2).expected_items(1 << 30));
    if into.merge(&from).is_ok() {
        has_all(&into, 0..1);
        remove_all(&mut into, 0..1);
    }
    let mut tiny = build(&builder(1e-5).expected_items(1 << 30));
    if tiny.merge(&from).is_ok() {
        has_all(&tiny, 0..1);
    }
}
