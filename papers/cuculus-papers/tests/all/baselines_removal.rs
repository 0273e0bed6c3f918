//! What removal does in the filters where it is not simple: counters that stick, filters of a list that
//! cannot be told apart, and entries that were given other fingerprints.

use cuculus::conformance::Random;
use cuculus::{Filter, Insert, Remove};
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, CountingBloomFilter, DynamicBloomFilter, Removal,
};

/// A counter at fifteen has lost count: it stays, whatever is removed, and no other key suffers.
#[test]
fn a_saturated_counter_sticks() {
    let mut filter = CountingBloomFilter::builder().capacity(100).seed(1).build().expect("valid");
    for key in 0..50u64 {
        filter.insert(&key).expect("never refused");
    }
    for copies in 1..=20 {
        filter.insert("often").expect("never refused");
        assert!(filter.count("often") >= copies.min(15));
    }
    let stuck = filter.stats().saturated;
    assert!(stuck > 0 && stuck <= u64::from(filter.hashes()));
    for _ in 0..20 {
        assert!(filter.remove("often"));
    }
    // Found for ever, though the last copy is gone.
    assert_eq!((filter.len(), filter.stats().saturated), (50, stuck));
    assert!(filter.contains("often") && filter.count("often") == 15);
    for key in 0..50u64 {
        assert!(filter.contains(&key) && filter.remove(&key));
    }
    // What nobody is known to have inserted cannot be removed any more.
    assert_eq!((filter.len(), filter.remove("often"), filter.remove("often")), (0, false, false));
    filter.clear();
    assert!(!filter.contains("often") && filter.stats().saturated == 0);
}

/// DCF paper, Fig. 1: seven hashes, filters of 40,960 bits (10,240 counters) for 1,024 keys each, one to
/// ten of them.
fn as_in_figure_1(filters: u64) -> DynamicBloomFilter {
    let builder = DynamicBloomFilter::builder().capacity_per_filter(1024).hashes(7).seed(1);
    let mut set = builder.counters_per_filter(10_240).build().expect("valid");
    for key in 0..1024 * filters {
        set.insert(&key).expect("grows");
    }
    assert_eq!(set.filters() as u64, filters);
    set
}

/// What does not hold: a removal may be refused, and a key that was removed is then found for ever.
/// What does: all others are found.
#[test]
fn removals_that_are_given_up_leave_keys_behind() {
    let mut set = as_in_figure_1(10);
    let given_up: Vec<u64> = (0..5000u64).filter(|key| !set.remove(key)).collect();
    assert!(given_up.len() > 100, "{}", given_up.len());
    assert_eq!(set.stats().given_up, given_up.len() as u64);
    assert_eq!(set.len(), 10_240 - 5000 + given_up.len());
    assert!(given_up.iter().all(|key| set.contains(key)));
    assert!((5000..10_240u64).all(|key| set.contains(&key)));
    // The room of what was removed is used again before the list gets longer.
    for key in 20_000..20_000 + (5000 - given_up.len() as u64) {
        set.insert(&key).expect("grows");
    }
    assert_eq!(set.filters(), 10);
    set.insert(&1_000_000u64).expect("grows");
    assert_eq!(set.filters(), 11);
    let absent = (1u64 << 40..).find(|key| !set.contains(key)).expect("most are");
    assert_eq!(set.try_remove(&absent), Removal::Absent);
}

/// Absent keys that are looked up again and again, each false positive reported: the rate falls, and no
/// key is lost on the way, with inserts and removals in between.
#[test]
fn reported_false_positives_go_away() {
    const KEYS: u64 = 10_000;
    const ABSENT: std::ops::Range<u64> = 1 << 40..(1 << 40) + 100_000;
    let builder = AdaptiveCuckooFilter::builder().capacity(KEYS as usize).fingerprint_bits(8);
    let mut filter = builder.seed(1).build().expect("valid");
    for key in 0..KEYS {
        filter.insert(&key).expect("fits");
    }
    let mut rounds = Vec::new();
    for _ in 0..10 {
        let mut found = 0u32;
        for key in ABSENT {
            if filter.contains(&key) {
                found += 1;
                assert!(filter.report_false_positive(&key) > 0);
                assert!(!filter.contains(&key), "{key} right after its report");
            }
        }
        assert!((0..KEYS).all(|key| filter.contains(&key)), "a key was lost");
        rounds.push(found);
    }
    let first = 100_000.0 * filter.expected_false_positive_rate();
    assert!((f64::from(rounds[0]) - first).abs() < 6.0 * first.sqrt(), "{rounds:?}");
    // Some twenty absent keys are looked up in each bucket again and again, and repairing one may bring
    // back another: what is left is well below, not zero.
    assert!(rounds[9] * 3 < rounds[0], "{rounds:?}");
    let stats = filter.stats();
    assert!(stats.moved >= stats.reported && stats.reported > 0);

    // A report of a key that is there is no mistake.
    let before = filter.clone();
    assert!((0..KEYS).all(|key| filter.report_false_positive(&key) == 0) && filter == before);

    // Removal is exact: what only looks like a key is refused.
    let mistaken: Vec<u64> = ABSENT.filter(|key| filter.contains(key)).collect();
    assert!(!mistaken.is_empty() && mistaken.iter().all(|key| !filter.remove(key)));
    let mut random = Random::new(1);
    let mut present: Vec<u64> = (0..KEYS).collect();
    for step in 0..20_000u64 {
        let absent = (2 << 40) + random.bits() % 100_000;
        if filter.contains(&absent) {
            filter.report_false_positive(&absent);
        }
        let gone = present.swap_remove(random.below(present.len()));
        assert!(filter.remove(&gone), "{gone}");
        let key = KEYS + step;
        filter.insert(&key).expect("fits");
        present.push(key);
    }
    assert!(present.iter().all(|key| filter.contains(key)));
    assert!(present.iter().all(|key| filter.remove(key)) && filter.is_empty());
}
