//! What is particular to this filter: removals that never take another key's cell, and its load.

use std::collections::HashMap;

use cuculus::conformance::Random;
use cuculus::{Filter, Insert, Remove};

use super::DleftCountingBloomFilter;

/// A million operations with so short remainders that buckets are full of equal ones: no key that is
/// in is ever missing, and every removal of one succeeds.
#[test]
fn no_removal_takes_another_key() {
    let mut random = Random::new(1);
    let mut filter = DleftCountingBloomFilter::builder()
        .buckets(4 * 61)
        .remainder_bits(5)
        .seed(1)
        .build()
        .expect("valid");
    let mut present: Vec<u64> = Vec::new();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for step in 0..1_000_000 {
        if present.len() < 1300 && (random.below(2) == 0 || present.is_empty()) {
            let key = random.bits() % 5000;
            if filter.insert(&key).is_ok() {
                present.push(key);
                *counts.entry(key).or_default() += 1;
            }
        } else {
            let key = present.swap_remove(random.below(present.len()));
            assert!(filter.remove(&key), "{key} at step {step}");
            *counts.entry(key).or_default() -= 1;
        }
        assert_eq!(filter.len(), present.len());
        if step % 1000 == 0 {
            for (key, &count) in &counts {
                assert!(filter.count(key) >= count, "{key} at step {step}");
            }
        }
    }
    for key in present.drain(..) {
        assert!(filter.remove(&key));
    }
    assert_eq!((filter.len(), filter.stats().used), (0, 0));
}

/// The load at the first refusal: .78 for buckets of four in the CF paper (§7.1), with 2^25 buckets.
#[test]
fn loads_are_those_of_the_paper() {
    for (slots, least, most) in [(4, 0.78, 0.84), (8, 0.89, 0.93)] {
        let builder = DleftCountingBloomFilter::builder().buckets(1 << 16).slots_per_bucket(slots);
        let mut filter = builder.remainder_bits(20).seed(1).build().expect("valid");
        let stored = (0..).take_while(|key: &u64| filter.insert(key).is_ok()).count();
        let load = stored as f64 / filter.slots() as f64;
        assert!(load > least && load < most, "{slots}: {load}");
        assert!(stored > filter.capacity(), "{slots}: {stored}");
    }
}
