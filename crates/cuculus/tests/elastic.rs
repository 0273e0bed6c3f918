//! The elastic filter where it can go wrong: entries of many lengths, overflow, copies of a key,
//! thresholds of growth, limits of widths, and the promises about rate and memory.

use cuculus::conformance::Random;
use cuculus::lab::{Instructions, take_work};
use cuculus::{
    BuildError, ElasticFilter, ElasticFilterBuilder, Filter, Insert, KeyHash, KeyHasher,
    MergeError, Persist, Remove,
};

/// One operation writes no more entries than this.
const MOST_ENTRIES_WRITTEN: u32 = 4096;

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

/// The rate is kept after every single key, on the way up and down, not only when a set is complete.
#[test]
fn the_rate_is_kept_at_every_number_of_keys() {
    for (rate, expected, spare) in [
        (0.4, 0, None),
        (0.01, 0, Some(0)),
        (0.01, 3000, Some(0)),
        (0.001, 0, None),
        (1e-6, 0, Some(0)),
    ] {
        let mut builder = builder(rate).expected_items(expected);
        if let Some(bytes) = spare {
            builder = builder.spare_bytes(bytes);
        }
        let mut filter = build(&builder);
        for key in 0..9000u64 {
            insert_all(&mut filter, key..key + 1);
            keeps_its_rate(&filter);
        }
        for key in 0..8900u64 {
            remove_all(&mut filter, key..key + 1);
            keeps_its_rate(&filter);
        }
    }
}

/// Of the rate that is asked for nearly all is used, as soon as a set has grown a little: longer entries
/// would be wasted memory.
#[test]
fn the_rate_is_used_on_the_way_up() {
    for (rate, least, mean) in
        [(0.3, 0.5, 0.6..0.65), (0.01, 0.85, 0.94..0.98), (0.0001, 0.8, 0.93..0.965)]
    {
        let mut filter = build(&builder(rate).spare_bytes(0));
        let (mut used, mut lowest) = (Vec::new(), 1f64);
        for key in 0..200_000u64 {
            insert_all(&mut filter, key..key + 1);
            if key >= 20_000 && key % 1000 == 0 {
                let share = filter.expected_false_positive_rate() / rate;
                used.push(share);
                lowest = lowest.min(share);
            }
        }
        let average = used.iter().sum::<f64>() / used.len() as f64;
        assert!(lowest > least && mean.contains(&average), "{rate}: {lowest} {average}");
    }
}

/// A quarter of the homes of a segment lose their keys: the places of its groups are far from a line then.
#[test]
fn homes_that_are_next_to_each_other_can_lose_their_keys() {
    let mut random = Random::new(3);
    let mut filter = build(&builder(0.01));
    let hashes: Vec<KeyHash> = (0..1400).map(|_| KeyHash::new(random.bits())).collect();
    filter.insert_batch(&hashes).expect("room");
    take_work();
    let (gone, rest): (Vec<_>, Vec<_>) = hashes.iter().partition(|hash| hash.get() >> 62 == 0);
    for &hash in gone {
        let before = filter.len() as u64;
        assert!(filter.remove_hash(hash));
        let work = take_work();
        assert!(work <= before, "{work} of {before}");
    }
    assert!(rest.iter().all(|&&hash| filter.contains_hash(hash)));
    assert!(rest.iter().all(|&&hash| filter.remove_hash(hash)) && filter.is_empty());
}

/// Old keys have short entries, and some of them are in overflow; fresh keys that look the same have
/// long ones, on either level. Removing an old key must not take the only entry that a fresh one
/// has, whichever level it is on.
#[test]
fn removing_old_keys_after_a_tide_loses_none_of_the_fresh_ones() {
    const MOST: u64 = 1_000_000;
    // The larger the rate, the shorter entries are and the more look the same.
    for rate in [0.5, 0.05] {
        let mut grown = build(&builder(rate).spare_bytes(0));
        insert_all(&mut grown, 0..MOST);
        assert!(grown.stats().overflow > 0, "{}", grown.stats());
        keeps_its_rate(&grown);
        for old in [MOST / 64, MOST / 512] {
            let mut filter = grown.clone();
            remove_all(&mut filter, (old..MOST).rev());
            assert!(filter.stats().overflow > 0, "{}", filter.stats());
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

/// After a tide the entries that come back from overflow leave room for fresh keys everywhere.
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

/// Overflow of overflow: the set grows so far, from so short a start, that what was kept apart
/// becomes too short again.
#[test]
fn entries_that_run_out_of_bits_again_and_again_are_kept() {
    let builder = builder(0.05).spare_bytes(0);
    let mut filter = build(&builder);
    insert_all(&mut filter, 0..2_000_000);
    let stats = filter.stats();
    assert!(stats.overflow > 1000, "{stats}");
    keeps_its_rate(&filter);
    has_all(&filter, 0..2_000_000);
    // What was saved is as good.
    let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
    assert_eq!(again.stats().overflow, stats.overflow);
    // Only the oldest stay, most of them in overflow.
    for filter in [&mut filter, &mut again] {
        remove_all(filter, (1000..2_000_000).rev());
        has_all(filter, 0..1000);
        assert_eq!(filter.len(), 1000);
    }
    assert!(filter.to_bytes() == again.to_bytes(), "another future after loading");
    remove_all(&mut filter, 0..1000);
    assert!(filter.is_empty());
}

/// A filter of which only overflow is left can be saved, loaded and emptied like any other.
#[test]
fn a_filter_of_overflow_alone_is_a_filter() {
    for rate in [0.5, 0.05] {
        let mut filter = build(&builder(rate).spare_bytes(0));
        insert_all(&mut filter, 0..1_000_000);
        let mut most_overflow = 0;
        for left in (0..1000u64).rev().step_by(50) {
            // Newest first: what is left are the oldest.
            let newest = filter.len() as u64;
            remove_all(&mut filter, (left + 1..newest).rev());
            most_overflow = most_overflow.max(filter.stats().overflow);
            let mut again = ElasticFilter::from_bytes(&filter.to_bytes())
                .unwrap_or_else(|e| panic!("{} keys: {e}\n{}", left + 1, filter.stats()));
            has_all(&again, 0..=left);
            remove_all(&mut again, 0..=left);
            assert!(again.is_empty());
        }
        assert!(most_overflow > 0, "rate {rate}: there was no overflow to test");
    }
}

/// One key a million times, beside others: every copy is counted, memory does not grow after the
/// first copies, every copy can be removed, and nothing else is lost.
#[test]
fn one_key_a_million_times_is_counted_and_removed() {
    const COPIES: usize = 1_000_000;
    for others in [0, 100, 20_000u64] {
        let mut filter = build(&builder(0.01));
        insert_all(&mut filter, 1..=others);
        let found_by_chance = filter.count(&0u64);
        let mut size = 0;
        for copy in 1..=COPIES {
            insert_all(&mut filter, 0..=0);
            if copy.is_power_of_two() || copy == COPIES {
                assert_eq!(filter.count(&0u64), copy + found_by_chance);
                assert_eq!(filter.len(), others as usize + copy);
            }
            if copy == 8 {
                size = filter.size_in_bytes();
            }
        }
        assert_eq!(filter.size_in_bytes(), size);
        has_all(&filter, 0..=others);
        // What was saved goes on counting.
        let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
        assert_eq!(again.count(&0u64), COPIES + found_by_chance);
        for left in (0..COPIES).rev() {
            assert!(filter.remove(&0u64) && again.remove(&0u64));
            if left.is_power_of_two() || left == 0 {
                assert_eq!(filter.count(&0u64), left + found_by_chance);
            }
        }
        assert!(filter.to_bytes() == again.to_bytes(), "another future after loading");
        has_all(&filter, 1..=others);
        assert_eq!(filter.len() as u64, others);
        keeps_its_rate(&filter);
        no_operation_was_long(&filter);
        remove_all(&mut filter, 1..=others);
        assert!(filter.is_empty());
    }
}

/// Every key of a set as often as the others: each is counted at least as often as it was inserted,
/// and all can be removed, in the order in which they came or mixed.
#[test]
fn every_key_many_times_is_counted_and_removed() {
    for (keys, copies) in
        [(20_000, 1), (20_000, 2), (20_000, 3), (20_000, 8), (5000, 64), (500, 1000), (2000, 300)]
    {
        for rate in [0.05, 0.001] {
            let mut filter = build(&builder(rate));
            // Half of the keys copy after copy, half of them key after key.
            for _ in 0..copies {
                insert_all(&mut filter, 0..keys / 2);
            }
            let size_of_half = filter.size_in_bytes();
            (keys / 2..keys)
                .for_each(|key| (0..copies).for_each(|_| insert_all(&mut filter, key..=key)));
            let case = format!("{keys} keys {copies} times, rate {rate}");
            assert_eq!(filter.len(), (keys * copies) as usize, "{case}");
            // At most a counted code for each key, beside its slots, and half as much again: some keys
            // have copies of two lengths, and segments have headers.
            let slots = 4 * copies.min(3);
            let most = 1024 + (keys as usize * 3 / 2) * (12 + slots as usize);
            assert!(filter.size_in_bytes() <= most, "{case}: {}", filter.stats());
            assert!(size_of_half <= most * 3 / 5 + 1024, "{case}: {size_of_half}");
            let counts: Vec<usize> = (0..keys).map(|key| filter.count(&key)).collect();
            assert!(counts.iter().all(|&count| count as u64 >= copies), "{case}");
            let exact = counts.iter().filter(|&&count| count as u64 == copies).count();
            assert!(exact as f64 >= keys as f64 * (1.0 - 3.0 * rate), "{case}: {exact} exact");
            keeps_its_rate(&filter);
            no_operation_was_long(&filter);
            let mut again = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
            for copy in 0..copies {
                let order = |key: u64| (key * 7919 + copy) % keys;
                for key in 0..keys {
                    assert!(filter.remove(&order(key)), "{case}: copy {copy} of {key}");
                }
                if copy % 16 == 0 {
                    assert!(
                        copy + 1 == copies || (0..keys).all(|key| filter.contains(&key)),
                        "{case}"
                    );
                }
            }
            assert!(filter.is_empty(), "{case}");
            for key in 0..keys {
                (0..copies).for_each(|_| assert!(again.remove(&key), "{case}: {key}"));
            }
            assert!(again.is_empty(), "{case}");
        }
    }
}

/// Keys of which there are many copies are split, merged, shortened, kept apart and merged with
/// another filter like any other.
#[test]
fn copies_survive_growth_and_shrinking() {
    for (rate, spare) in [(0.5, 0), (0.05, 0), (0.01, 192 << 10)] {
        let mut filter = build(&builder(rate).spare_bytes(spare));
        let copies = |key: u64| [1, 4, 70, 1000][key as usize % 4];
        for key in 0..400u64 {
            (0..copies(key)).for_each(|_| insert_all(&mut filter, key..=key));
        }
        let counted = |filter: &ElasticFilter, from: u64| {
            for key in from..400 {
                let count = filter.count(&key);
                assert!(count >= copies(key), "rate {rate}: {key} is counted {count} times");
            }
        };
        insert_all(&mut filter, 1000..400_000);
        counted(&filter, 0);
        keeps_its_rate(&filter);
        let mut other = build(&builder(rate / 100.0));
        insert_all(&mut other, 1 << 40..(1 << 40) + 100);
        match other.merge(&filter) {
            Ok(()) => counted(&other, 0),
            Err(error) => assert!(matches!(error, MergeError::Rate { .. }), "{error}"),
        }
        for key in 0..200u64 {
            (0..copies(key)).for_each(|_| remove_all(&mut filter, key..=key));
        }
        remove_all(&mut filter, (1000..400_000).rev());
        counted(&filter, 200);
        for key in 200..400u64 {
            (0..copies(key)).for_each(|_| remove_all(&mut filter, key..=key));
        }
        assert!(filter.is_empty(), "{}", filter.stats());
        no_operation_was_long(&filter);
    }
}

/// Copies of a few keys do not keep other keys out.
#[test]
fn copies_of_a_few_keys_leave_room_for_others() {
    for seed in 0..20 {
        for (keys, copies) in [(2u64, 8), (20, 4), (5, 1000)] {
            let mut filter = build(&builder(0.01).seed(seed));
            for _ in 0..copies {
                insert_all(&mut filter, 0..keys);
            }
            insert_all(&mut filter, 1000..2000);
            has_all(&filter, (0..keys).chain(1000..2000));
        }
    }
}

/// Growth and shrinking write few entries at a time, with overflow and without.
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
    for load in [0.5, 0.915, 0.98] {
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
    for load in [0.5, 0.915, 0.98] {
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
            for load in [0.5, 0.98] {
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
    for rate in [1e-300, f64::MIN_POSITIVE, 9.99e-9] {
        let error = refused(&builder(rate));
        assert!(matches!(error, BuildError::RateTooSmall { .. }), "{error:?}");
    }
    for load in [0.0, 0.49, 0.99, 1.0, -1.0, f64::NAN, f64::INFINITY] {
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
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5, 1e-8] {
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

/// With all spare bytes entries are as long as can be: 39 bits beyond those that choose the segment,
/// and never more than the path has.
#[test]
fn entries_are_as_long_as_can_be_on_request() {
    let mut filter = build(&builder(1e-8).spare_bytes(1 << 40));
    insert_all(&mut filter, 0..200_000);
    has_all(&filter, 0..200_000);
    keeps_its_rate(&filter);
    // As if all of them had come when there were two segments, and when there were 256.
    let rate = |bits: i32| 200_000.0 * 0.5f64.powi(bits) / 768.0;
    let kept = filter.expected_false_positive_rate();
    assert!(kept > rate(39 + 8) && kept < rate(39 + 1), "{kept:e}");
    let bits = filter.size_in_bytes() as f64 * 8.0 / 200_000.0;
    assert!((40.0..56.0).contains(&bits), "{bits} bits per key");
}

/// Small filters are small.
#[test]
fn no_keys_take_less_than_512_bytes_and_a_hundred_less_than_a_kilobyte() {
    let mut filter = build(&builder(0.01));
    assert!(filter.size_in_bytes() < 512, "{} bytes", filter.size_in_bytes());
    insert_all(&mut filter, 0..100);
    assert!(filter.size_in_bytes() < 1024, "{} bytes", filter.size_in_bytes());
}

/// Some 12 bits per key more than a large set takes at the same rate with a thousand keys, 8 bits
/// from ten thousand on.
#[test]
fn small_sets_take_memory_for_the_rate_asked() {
    // The bits at 16 million keys, measured.
    for (rate, large) in [(0.2, 8.7), (0.01, 13.2), (0.001, 16.7), (0.00001, 24.0)] {
        let mut filter = build(&builder(rate));
        let mut keys = 0;
        for (count, more) in [(1_000, 12.1), (10_000, 8.0), (100_000, 8.0), (200_000, 8.0)] {
            insert_all(&mut filter, keys..count);
            keys = count;
            let bits = filter.size_in_bytes() as f64 * 8.0 / count as f64;
            assert!(bits <= large + more, "{bits:.1} bits for {count} keys at {rate}");
        }
    }
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
        assert!(filter.size_in_bytes() < 3 << 10, "{}", filter.stats());
    }
}

/// A set that rests takes what it would take if its size had been said; then it goes on.
#[test]
fn a_filter_that_rests_is_as_small_as_one_whose_size_was_declared() {
    for (rate, keys, most) in
        [(0.01, 20_000, 1.02), (0.01, 300_000, 1.03), (0.001, 100_000, 1.02), (0.2, 50_000, 1.05)]
    {
        let mut declared = build(&builder(rate).expected_items(keys as usize));
        let mut filter = build(&builder(rate));
        insert_all(&mut declared, 0..keys);
        insert_all(&mut filter, 0..keys);
        let before = filter.size_in_bytes();
        filter.shrink_to_fit();
        let (size, of_declared) = (filter.size_in_bytes() as f64, declared.size_in_bytes() as f64);
        assert!(size < 0.9 * before as f64 && size <= most * of_declared, "{rate} {keys}: {size}");
        assert!(filter.to_bytes().len() as f64 <= 1.01 * declared.to_bytes().len() as f64);
        assert!((0..keys).all(|key| filter.contains(&key)), "{rate} {keys}");
        assert!(filter.expected_false_positive_rate() <= rate);
        // Again changes nothing, and a copy from the bytes is the same filter.
        let bytes = filter.to_bytes();
        filter.shrink_to_fit();
        assert!(filter.to_bytes() == bytes);
        let mut copy = ElasticFilter::from_bytes(&bytes).expect("own bytes");
        for filter in [&mut filter, &mut copy] {
            remove_all(filter, 0..keys / 2);
            insert_all(filter, keys..3 * keys);
        }
        assert!(filter.to_bytes() == copy.to_bytes());
        assert!((keys / 2..3 * keys).all(|key| filter.contains(&key)), "{rate} {keys}");
        assert!(filter.expected_false_positive_rate() <= rate);
        assert!(filter.stats().most_entries_written <= 4096, "{}", filter.stats());
        remove_all(&mut filter, keys / 2..3 * keys);
        assert!(filter.is_empty());
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

/// A filter with overflow is merged, and merged into.
#[test]
fn merging_keeps_overflow() {
    const KEYS: u64 = 1_000_000;
    let mut old = build(&builder(0.05).spare_bytes(0));
    insert_all(&mut old, 0..KEYS);
    assert!(old.stats().overflow > 0, "{}", old.stats());
    let mut wide = build(&builder(0.5));
    insert_all(&mut wide, 1 << 40..(1 << 40) + 3000);
    for (mut into, from) in [(wide.clone(), old.clone()), (old.clone(), wide.clone())] {
        into.merge(&from).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(into.len() as u64, KEYS + 3000);
        has_all(&into, (0..KEYS).chain(1 << 40..(1 << 40) + 3000));
        remove_all(&mut into, 0..KEYS);
        has_all(&into, 1 << 40..(1 << 40) + 3000);
        keeps_its_rate(&into);
    }
}

/// Copies of one key in both are added up.
#[test]
fn merging_adds_copies() {
    for (a, b) in [(1usize, 1), (3, 3), (5, 5), (2, 1000), (1000, 2), (100_000, 100_000)] {
        for expected in [0, 1000] {
            let build = || build(&builder(0.01).expected_items(expected));
            let (mut into, mut from) = (build(), build());
            (0..a).for_each(|_| insert_all(&mut into, 7..=7));
            (0..b).for_each(|_| insert_all(&mut from, 7..=7));
            into.merge(&from).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((into.count(&7u64), into.len()), (a + b, a + b));
            (0..a + b).for_each(|_| remove_all(&mut into, 7..=7));
            assert!(into.is_empty());
        }
    }
}

/// Filters whose rates together are allowed are merged, however little is left of the rate: what is
/// shortened on the way takes no room of keys that are still to come.
#[test]
fn what_the_rate_allows_is_merged() {
    let mut closest: f64 = 0.0;
    for (rate, expected) in [(1e-5, 2000), (0.01, 2000), (0.001, 0)] {
        let of = |keys: core::ops::Range<u64>| {
            let mut filter = build(&builder(rate).expected_items(expected).spare_bytes(0));
            insert_all(&mut filter, keys);
            filter
        };
        for a in (200..6000).step_by(290) {
            for b in (200..6000).step_by(310) {
                let (mut into, from) = (of(0..a), of(a..a + b));
                let sum = into.expected_false_positive_rate() + from.expected_false_positive_rate();
                if sum <= rate {
                    closest = closest.max(sum / rate);
                    into.merge(&from).unwrap_or_else(|error| {
                        panic!("{a} and {b} keys at {rate}, {sum} together: {error}")
                    });
                    has_all(&into, 0..a + b);
                    assert!(into.expected_false_positive_rate() <= rate);
                }
            }
        }
    }
    assert!(closest > 0.99, "never close to the rate: {closest}");
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
                        let hits = SAMPLE as f64 * 2.0_f64.powi(-(length as i32)) / 768.0;
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

/// A few entries that are shorter than plain codes are merged into a filter that goes on with plain ones.
#[test]
fn a_few_short_entries_are_merged_into_plain_ones() {
    let mut into = build(&builder(0.01).expected_items(30_000));
    insert_all(&mut into, 0..10_000);
    let mut from = build(&builder(0.2).spare_bytes(0));
    insert_all(&mut from, 10_000..10_005);
    into.merge(&from).unwrap_or_else(|error| panic!("{error}"));
    has_all(&into, 0..10_005);
    remove_all(&mut into, 0..10_005);
}

/// Wide instructions and plain ones do the same: bytes, counts and answers, of even keys, of copies
/// and of keys that crowd a few homes.
#[test]
fn plain_and_wide_instructions_agree() {
    for (rate, expected) in [(0.05, 0), (0.01, 0), (0.001, 20_000), (1e-5, 0)] {
        let run = |instructions| {
            let builder = builder(rate).expected_items(expected).instructions(instructions);
            let mut filter = build(&builder);
            let mut random = Random::new(5);
            let mut stored = Vec::new();
            let mut states = Vec::new();
            for step in 0..60_000u64 {
                let hash = match random.below(10) {
                    0 if !stored.is_empty() => stored[random.below(stored.len().min(50))],
                    // Every hash with the same upper half has the same home.
                    1 => KeyHash::new(7 << 60 | random.bits() >> 20),
                    _ => filter.hasher().hash(&step),
                };
                if step % 20_000 < 15_000 {
                    if filter.insert_hash(hash).is_ok() {
                        stored.push(hash);
                    }
                } else if let Some(last) = stored.len().checked_sub(1) {
                    let hash = stored.swap_remove(random.below(last + 1));
                    assert!(filter.remove_hash(hash), "a key is lost");
                }
                if step % 5000 == 4999 {
                    states.push(filter.to_bytes());
                }
            }
            let absent = absent_keys(20_000).map(|key| filter.hasher().hash(&key));
            let asked: Vec<KeyHash> = stored.iter().copied().chain(absent).collect();
            let mut hits = Vec::new();
            filter.contains_batch(&asked, &mut hits);
            let one_by_one: Vec<bool> = asked.iter().map(|&h| filter.contains_hash(h)).collect();
            assert_eq!(hits, one_by_one);
            assert!(hits[..stored.len()].iter().all(|&hit| hit), "a false negative");
            let counts: Vec<usize> = asked.iter().map(|&hash| filter.count_hash(hash)).collect();
            assert!(hits.iter().zip(&counts).all(|(&hit, &count)| hit == (count > 0)));
            (states, hits, counts)
        };
        let (plain, wide) = (run(Instructions::Baseline), run(Instructions::Detected));
        assert!(plain.0 == wide.0, "rate {rate}: bytes differ");
        assert!(plain.1 == wide.1 && plain.2 == wide.2, "rate {rate}: answers differ");
    }
}

/// Hashes that somebody chose: all of one home, of one group, of one segment, or of both. What is
/// taken is kept, what is refused leaves no trace, keys of other homes are taken, and no operation is
/// long.
#[test]
fn chosen_keys_are_kept_or_refused_without_a_trace() {
    type Choose = fn(u64) -> u64;
    let choices: [(&str, Choose); 5] = [
        ("one home", |bits| 5 << 48 | bits & ((1 << 48) - 1)),
        ("one group", |bits| (bits & (15 << 60 | ((1 << 56) - 1))) >> 6 & ((1 << 54) - 1)),
        ("one path", |bits| bits & !0xffff),
        ("one home of one path", |bits| 5 << 48 | bits & 0xffff_ffff_0000),
        ("one place", |_| 0x1234_5678_9abc_def0),
    ];
    for (name, choose) in choices {
        for (rate, before) in [(0.01, 0), (0.01, 20_000), (0.2, 3000), (1e-4, 3000)] {
            let mut filter = build(&builder(rate));
            insert_all(&mut filter, 0..before);
            let mut random = Random::new(9);
            let (mut taken, mut refused) = (Vec::new(), 0);
            for _ in 0..6000 {
                let hash = KeyHash::new(choose(random.bits()));
                let watched = refused > 0 && refused < 50;
                let state = watched.then(|| (filter.to_bytes(), filter.size_in_bytes()));
                match filter.insert_hash(hash) {
                    Ok(()) => taken.push(hash),
                    Err(full) => {
                        refused += 1;
                        assert!(!full.to_string().contains('\n'));
                        let same = state.is_none_or(|(bytes, size)| {
                            bytes == filter.to_bytes() && size == filter.size_in_bytes()
                        });
                        assert!(same, "{name}, rate {rate}: a refused key left a trace: {full}");
                    }
                }
            }
            let case = format!("{name}, rate {rate}, {before} keys, {refused} refused");
            assert!(taken.len() >= 1000, "{case}");
            assert_eq!(filter.len() as u64, before + taken.len() as u64, "{case}");
            assert!(taken.iter().all(|&hash| filter.contains_hash(hash)), "{case}");
            has_all(&filter, 0..before);
            keeps_its_rate(&filter);
            no_operation_was_long(&filter);
            let again = ElasticFilter::from_bytes(&filter.to_bytes());
            let again = again.unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(again.to_bytes() == filter.to_bytes(), "{case}");
            for &hash in &taken {
                assert!(filter.remove_hash(hash), "{case}: a key is lost");
            }
            remove_all(&mut filter, 0..before);
            assert!(filter.is_empty(), "{case}");
        }
    }
}

/// A segment that is due to be split holds 1,600 entries on average, with a deviation of 40. It must
/// take what chance can bring, here 7.5 deviations more.
#[test]
fn a_segment_takes_what_chance_can_bring() {
    for rate in [0.2, 0.01, 1e-8] {
        let mut filter = ElasticFilter::builder().false_positive_rate(rate).build().expect("valid");
        let mut random = Random::new(3);
        // All of one segment, of at most 256, at random homes; their codes differ.
        let hash = |bits: u64| KeyHash::new(bits & !0xff);
        let stored = (0..4000).take_while(|_| filter.insert_hash(hash(random.bits())).is_ok());
        let stored = stored.count();
        assert!((1900..2100).contains(&stored), "{rate}: {stored}");
    }
}

/// Merged filters have the keys of both, as often as both together: segment by segment, or in turn if
/// one of the two is small, whichever it is.
#[test]
fn merging_follows_an_exact_multiset() {
    let small =
        [(0, 0), (0, 500), (500, 0), (0, 3000), (3000, 0), (10, 2000), (2000, 10), (300, 300)];
    let large =
        [(40_000, 40_000), (9_000, 60_000), (60_000, 9_000), (50_000, 1_000), (6000, 50_000)];
    for (few, many) in small.into_iter().chain(large) {
        for expected in [0, 80_000] {
            let builder = ElasticFilter::builder().false_positive_rate(0.02).seed(few ^ many);
            let build = || builder.clone().expected_items(expected).build().expect("valid");
            let (mut a, mut b) = (build(), build());
            // The first keys are in both, and every ninth has six copies.
            let copies = |key: u64| if key.is_multiple_of(9) { 6 } else { 1 };
            let keys = [(&mut a, 0..few), (&mut b, 0..many)].map(|(filter, keys)| {
                for key in keys.clone() {
                    (0..copies(key)).for_each(|_| filter.insert(&key).expect("memory"));
                }
                keys
            });
            a.merge(&b).expect("rates that fit");
            let all = keys.into_iter().flatten();
            let len: usize = all.clone().map(copies).sum();
            assert_eq!(a.len(), len, "{few} {many}");
            assert!(a.expected_false_positive_rate() <= 0.02, "{few} {many}");
            assert_eq!(ElasticFilter::from_bytes(&a.to_bytes()).expect("valid").len(), len);
            for key in all {
                for _ in 0..copies(key) {
                    assert!(a.contains(&key) && a.remove(&key), "{key} of {few} and {many}");
                }
            }
            assert!(a.is_empty());
        }
    }
}

/// Entries that come back from the overflow level are on one level only: each removal takes exactly one
/// key, until none is left.
#[test]
fn entries_that_come_back_leave_nothing_behind() {
    for (seed, rate, most, kept) in
        [(42, 0.5, 200_000u64, 10_000), (1, 0.5, 60_000, 3000), (2, 0.3, 200_000, 8000)]
    {
        let builder = ElasticFilter::builder().false_positive_rate(rate).spare_bytes(0);
        let mut filter = builder.hasher(KeyHasher::xxh3(seed)).build().expect("valid");
        (0..most).for_each(|key| filter.insert(&format!("key {key}")).expect("room"));
        (kept..most).rev().for_each(|key| assert!(filter.remove(&format!("key {key}"))));
        assert!(filter.stats().overflow > 1000, "{seed}: {}", filter.stats());
        for key in 0..kept {
            assert!(filter.remove(&format!("key {key}")), "{seed}: {key}");
            assert_eq!(filter.len() as u64, kept - key - 1, "{seed}: {key}");
            assert!(filter.expected_false_positive_rate() <= rate);
        }
        assert!(filter.is_empty());
    }
}
