//! Many keys at once: the same keys as one by one, in no more memory, at no higher rate.

use std::collections::BTreeMap;

use cuculus::conformance::{self, Random};
use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, KeyHash, Persist, Remove};

fn hashes(filter: &ElasticFilter, keys: impl Iterator<Item = u64>) -> Vec<KeyHash> {
    keys.map(|key| filter.hasher().hash(&key)).collect()
}

/// Bulks of all sizes, with copies, between removals and single inserts, against exact counts.
#[test]
fn bulks_follow_an_exact_multiset() {
    for (rate, hint) in [(0.01, 0), (0.2, 0), (0.001, 60_000), (1e-5, 0)] {
        let builder = ElasticFilter::builder().false_positive_rate(rate).expected_items(hint);
        let mut filter = builder.seed(1).build().expect("valid");
        let mut exact: BTreeMap<u64, usize> = BTreeMap::new();
        let mut random = Random::new(7);
        for round in 0..14 {
            let size = [10, 1100, 3000, 20_000, 5000, 40_000][round % 6];
            // Of every third round most keys are copies.
            let range = if round % 3 == 2 { size / 8 } else { 1 << 40 };
            let keys: Vec<u64> = (0..size).map(|_| random.below(range) as u64).collect();
            filter.insert_bulk(&hashes(&filter, keys.iter().copied())).expect("memory");
            keys.into_iter().for_each(|key| *exact.entry(key).or_default() += 1);
            if round % 4 == 3 {
                let mut gone = Vec::new();
                for (&key, count) in exact.iter_mut().filter(|(key, _)| **key % 5 > 1) {
                    gone.extend(std::iter::repeat_n(filter.hasher().hash(&key), *count));
                    *count = 0;
                }
                let mut removed = Vec::new();
                filter.remove_batch(&gone, &mut removed);
                assert!(removed.iter().all(|&removed| removed), "a key is lost");
                exact.retain(|_, count| *count > 0);
            }
            assert_eq!(filter.len(), exact.values().sum::<usize>());
            for (key, &count) in &exact {
                assert!(filter.count(key) >= count, "{rate}: {key}");
            }
            assert!(filter.expected_false_positive_rate() <= filter.false_positive_rate());
            conformance::loads_as_it_is("after a bulk", &filter);
        }
        for (key, count) in exact {
            (0..count).for_each(|_| assert!(filter.remove(&key), "{key} is lost"));
        }
        assert!(filter.is_empty());
    }
}

#[test]
fn a_bulk_is_no_larger_and_no_less_exact_than_single_inserts() {
    for rate in [0.01, 0.001] {
        for keys in [2000u64, 30_000, 400_000] {
            let build = || ElasticFilter::builder().false_positive_rate(rate).seed(3).build();
            let (mut bulk, mut single) = (build().expect("valid"), build().expect("valid"));
            bulk.insert_bulk(&hashes(&bulk, 0..keys)).expect("memory");
            single.extend(0..keys);
            let (is, was) = (bulk.size_in_bytes() as f64, single.size_in_bytes() as f64);
            assert!(is < was * 1.02, "{keys}: {is} bytes, {was} one by one");
            let [is, was] = [&bulk, &single].map(Filter::expected_false_positive_rate);
            assert!(is < was * 1.1, "{keys}: {is:e}, {was:e} one by one");
            let absent = 400_000u64;
            let found = (0..absent).filter(|key| bulk.contains(&(key | 1 << 50))).count() as f64;
            let expected = is * absent as f64;
            assert!(found < expected + 6.0 * expected.sqrt() + 3.0, "{found}, not {expected}");
        }
    }
}

/// A set that came in one bulk grows like any other.
#[test]
fn a_filter_grows_after_a_bulk() {
    let mut filter = ElasticFilter::builder().seed(1).build().expect("valid");
    filter.insert_bulk(&hashes(&filter, 0..5000)).expect("memory");
    filter.extend(5000..200_000u64);
    assert!((0..200_000u64).all(|key| filter.contains(&key)));
    assert!(filter.expected_false_positive_rate() <= 0.01);
    assert_eq!(filter.refused(), 0);
    let loaded = ElasticFilter::from_bytes(&filter.to_bytes()).expect("own bytes");
    assert_eq!(loaded.len(), 200_000);
}

/// A million copies of a key do not fit the slots of a segment.
#[test]
fn copies_of_one_key_are_counted() {
    let mut filter = ElasticFilter::builder().seed(1).build().expect("valid");
    let hash = filter.hasher().hash("key");
    let mut many = vec![hash; 300_000];
    many.extend(hashes(&filter, 0..5000));
    filter.insert_bulk(&many).expect("memory");
    assert_eq!((filter.count("key"), filter.len()), (300_000, 305_000));
    filter.insert_bulk(&vec![hash; 100_000]).expect("memory");
    assert_eq!(filter.count("key"), 400_000);
    assert!((0..5000u64).all(|key| filter.contains(&key)));
}

/// In a table that is large enough for keys to be put in order.
#[test]
fn a_bulk_in_a_fixed_filter_is_all_or_nothing() {
    for semi_sorted in [false, true] {
        let builder = CuckooFilter::builder().capacity(1_000_000).semi_sorted(semi_sorted).seed(4);
        let mut filter = builder.build().expect("valid");
        let hash = |key: u64| filter.hasher().hash(&key);
        let all: Vec<KeyHash> = (0..1_000_000).map(hash).collect();
        let many: Vec<KeyHash> = (1_000_000..1_400_000).map(hash).collect();
        filter.insert_bulk(&all[..200_000]).expect("room");
        let full = filter.insert_bulk(&[&all[200_000..], &many[..]].concat()).expect_err("full");
        assert_eq!((filter.len(), full.inserted), (200_000, 0));
        assert!(all[..200_000].iter().all(|&hash| filter.contains_hash(hash)));
        filter.insert_bulk(&all[200_000..]).expect("room");
        assert!(all.iter().all(|&hash| filter.contains_hash(hash)));
        conformance::loads_as_it_is("after a bulk", &filter);
        assert!(all[300_000..].iter().all(|&hash| filter.remove_hash(hash)));
        assert!(all[..300_000].iter().all(|&hash| filter.contains_hash(hash)));
        assert!(all[..300_000].iter().all(|&hash| filter.remove_hash(hash)));
        assert!(filter.is_empty());
        filter.insert(&1u64).expect("room");
    }
}
