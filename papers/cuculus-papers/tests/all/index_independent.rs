//! The index-independent cuckoo filter where it can go wrong: buckets that come and go in any
//! order, full filters, copies of a key, and what its capacity promises.

use crate::common::{Odds, SEARCHES, any_order, both, refused, rings_refuse};
use cuculus::conformance::Random;
use cuculus::{BuildError, Filter, FullCause, Insert, Persist, Remove};
use cuculus_papers::{IndexIndependentCuckooFilter, IndexIndependentCuckooFilterBuilder};

type Single = IndexIndependentCuckooFilter;

fn builder(bits: u32, buckets: u64) -> IndexIndependentCuckooFilterBuilder {
    IndexIndependentCuckooFilter::builder().fingerprint_bits(bits).buckets(buckets).seed(1)
}

fn build(builder: &IndexIndependentCuckooFilterBuilder) -> IndexIndependentCuckooFilter {
    builder.build().expect("valid")
}

/// Any shape, with so few buckets that much is refused.
fn any_builder(random: &mut Random) -> IndexIndependentCuckooFilterBuilder {
    let bits = [4, 6, 8, 12, 30][random.below(5)];
    builder(bits, [1, 2, 8, 40][random.below(4)])
        .candidates(1 + random.below(16) as u32 * random.below(2) as u32)
        .slots_per_bucket(1 + random.below(8) as u32)
        .virtual_nodes([1, 10, 10, 3, 64][random.below(5)])
        .search(SEARCHES[random.below(3)])
        .max_kicks([0, 1, 5, 500][random.below(4)])
}

#[test]
fn any_order_of_operations_keeps_keys_and_bytes() {
    for case in 0..300 {
        let mut random = Random::new(case);
        let builder = any_builder(&mut random);
        let odds = Odds { steps: 1000, period: 250, all: 40, own: 8, insert: 32, keys: 300 };
        let resize = |filters: &mut [Single; 2], random: &mut Random, which| match which {
            0..4 => {
                let added = both(filters, Result::is_err, Single::add_bucket);
                assert!(added.is_ok_and(|added| added >= 1) || added.is_err());
            }
            4..7 => _ = both(filters, |done| !done, Single::remove_bucket),
            _ => {
                let at = random.below(filters[0].buckets() + 1);
                let buckets = filters[0].buckets();
                let done = both(filters, |done| !done, |filter| filter.remove_bucket_at(at));
                assert!(!done || at < buckets && buckets > 1);
                assert_eq!(filters[0].buckets(), buckets - usize::from(done));
            }
        };
        any_order(&builder, || build(&builder), odds, &mut random, resize, |_, _, _| ());
    }
}

/// A filter from which buckets are removed until none can go, and to which they come back.
#[test]
fn buckets_go_and_come_with_every_key_kept() {
    for nodes in [1, 10] {
        for search in SEARCHES {
            let shape = builder(24, 400).virtual_nodes(nodes).search(search);
            let mut filter = build(&shape);
            filter.extend(0..600u64);
            assert_eq!(filter.refused(), 0);
            while filter.remove_bucket() {
                assert!((0..600u64).all(|key| filter.contains(&key)));
            }
            let (buckets, load) = (filter.buckets(), filter.utilization());
            // The emptiest bucket cannot go; another one may.
            assert!(load > if nodes == 10 { 0.9 } else { 0.6 }, "{load} with {nodes} nodes");
            let mut added = 0;
            while filter.buckets() < 400 {
                added += filter.add_bucket().expect("there is no limit near");
                assert!((0..600u64).all(|key| filter.contains(&key)));
            }
            assert_eq!(filter.buckets(), buckets + added);
            let again = IndexIndependentCuckooFilter::from_bytes(&filter.to_bytes());
            assert_eq!(again.expect("own bytes").len(), 600);
            assert!((0..600u64).all(|key| filter.remove(&key)) && filter.is_empty());
        }
    }
}

/// The only bucket stays, and a number that no bucket has removes none.
#[test]
fn the_last_bucket_stays() {
    let mut filter = build(&builder(16, 3));
    let before = filter.to_bytes();
    for absent in [3, 4, usize::MAX, u32::MAX as usize, 1 << 32] {
        assert!(!filter.remove_bucket_at(absent));
    }
    assert!(filter.to_bytes() == before);
    assert!(filter.remove_bucket() && filter.remove_bucket_at(1));
    assert!(!filter.remove_bucket() && !filter.remove_bucket_at(0));
    assert_eq!(filter.buckets(), 1);
    filter.insert("key").expect("an empty bucket");
    assert!(filter.contains("key"));
}

/// More than k·b equal entries never fit: an error of its own kind, and nothing changes. Buckets that
/// are added do not help, and never have to: they come one at a time.
#[test]
fn equal_entries_fill_the_candidates_and_no_more() {
    for (candidates, slots) in [(1, 1), (1, 4), (2, 1), (2, 3), (4, 2), (16, 8)] {
        let shape = builder(16, 300).candidates(candidates).slots_per_bucket(slots);
        let mut filter = build(&shape);
        let most = (candidates * slots) as usize;
        let mut held = 0;
        while filter.insert("same").is_ok() {
            held += 1;
        }
        // Fewer if two of its candidates are one bucket.
        assert!(held <= most && held + 2 * slots as usize >= most, "{held} of {most}");
        let before = filter.to_bytes();
        let full = filter.insert("same").expect_err("full");
        assert_eq!(full.cause, FullCause::EqualEntries { held });
        assert!(filter.to_bytes() == before);
        assert_eq!(filter.count("same"), held);
        for _ in 0..20 {
            let buckets = filter.buckets();
            let added = filter.add_bucket().expect("copies of one key only");
            assert!(added < 10 && filter.buckets() == buckets + added);
            assert_eq!(filter.count("same"), held);
        }
    }
}

/// Other keys are refused for want of room, and the words differ.
#[test]
fn a_full_filter_says_so() {
    let mut filter = build(&builder(30, 1).max_kicks(7));
    filter.extend(0..4u64);
    assert_eq!(filter.len(), 4);
    let full = filter.insert("another").expect_err("full");
    assert_eq!(full.cause, FullCause::NoRoom { max_kicks: 7 });
    assert_eq!((full.len, full.slots), (4, 4));
}

/// Candidates, slots and nodes.
const SHAPES: [(u32, u32, u32); 5] = [(2, 4, 10), (2, 2, 1), (2, 1, 10), (2, 1, 1), (4, 4, 1)];

/// The capacity is a promise, kept by nearly all filters that choose their size and length: of
/// those here, all but one in two hundred.
#[test]
fn filters_hold_their_capacity() {
    let (mut filters, mut refusing) = (0, 0);
    for capacity in [0, 1, 10, 40, 100, 300, 1000] {
        for (candidates, slots, nodes) in SHAPES {
            for seed in 0..if capacity == 1000 { 40 } else { 200 } {
                let shape = IndexIndependentCuckooFilter::builder().capacity(capacity).seed(seed);
                let shape = shape.candidates(candidates).slots_per_bucket(slots);
                let mut filter = shape.virtual_nodes(nodes).build().expect("valid");
                filter.extend(0..capacity as u64);
                assert_eq!(filter.capacity(), capacity);
                assert!(filter.expected_false_positive_rate() <= 0.01);
                filters += 1;
                refusing += u32::from(filter.refused() > 0);
            }
        }
    }
    assert!(refusing * 200 <= filters, "{refusing} of {filters} refused a key");
}

#[test]
fn absurd_parameters_are_refused() {
    use BuildError::{MissingCapacity, RateOutOfRange, RateTooSmall, TooLarge};
    let some = || IndexIndependentCuckooFilter::builder().capacity(100);
    for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
        refused!(some().false_positive_rate(rate) => RateOutOfRange { .. });
    }
    rings_refuse!(some);
    const MOST: u64 = (u32::MAX / 64) as u64;
    let long = some().fingerprint_bits(32);
    refused!(
        IndexIndependentCuckooFilter::builder() => MissingCapacity,
        some().false_positive_rate(1e-9) => RateTooSmall { smallest: 1.1e-9.., .. },
        some().false_positive_rate(0.001).fingerprint_bits(16) => RateTooSmall { .. },
        long.clone().capacity(usize::MAX) => TooLarge { .. },
        long.clone().buckets(u64::MAX) => TooLarge { .. },
        long.buckets(1 << 32) => TooLarge { .. },
        // A ring has fewer buckets, the more nodes each of them has.
        some().buckets(MOST + 1).virtual_nodes(64) => TooLarge { max: MOST, .. },
    );
}

/// No buckets are one bucket, and a filter of none is one that works.
#[test]
fn the_smallest_filters_work() {
    for shape in [builder(8, 0), IndexIndependentCuckooFilter::builder().capacity(0).seed(1)] {
        let mut filter = build(&shape);
        assert!(filter.buckets() >= 1 && filter.is_empty() && !filter.contains("key"));
        assert!(!filter.remove("key"));
        filter.insert("key").expect("room");
        assert!(filter.contains("key") && filter.remove("key") && filter.is_empty());
        let text = filter.stats().to_string();
        assert!(text.contains("ring") && !text.contains("NaN"), "{text}");
    }
}
