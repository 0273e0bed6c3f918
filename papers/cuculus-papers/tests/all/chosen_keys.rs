//! Keys chosen to fall together, beside honest ones.

use cuculus::conformance::Random;
use cuculus::{Filter, Insert, KeyHasher, lab};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};
use testkit::attack::{
    CHOSEN, Hashes, MOST_WORK, SEED, Victim, attack, chosen_count, honest_count, of_one_bucket,
};
use testkit::chooser::Chooser;

#[test]
fn dynamic_filters_keep_their_promises() {
    let victim = Victim { parts: DynamicCuckooFilter::filters, ..Victim::set() };
    for (attack_name, hashes) in of_one_bucket() {
        for reuse_holes in [false, true] {
            let builder = DynamicCuckooFilter::builder()
                .capacity(2 * honest_count() as usize)
                .hasher(KeyHasher::fold_xxh3(SEED));
            let builder = builder.reuse_holes(reuse_holes);
            let make = || builder.build().expect("valid");
            attack(&format!("dynamic, {reuse_holes}, {attack_name}"), &victim, make, &hashes);
        }
    }
}

/// FORMAT.md, tables on a ring: point `i` of a fingerprint.
fn point(fingerprint: u32, i: u64) -> u32 {
    let y = (i << 32 | u64::from(fingerprint)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let y = (y ^ (y >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let y = (y ^ (y >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((y ^ (y >> 31)) >> 32) as u32
}

/// Hashes of fingerprints of which some points are in a part of the ring.
fn near(points: u64, part: u32, random: &mut Random) -> Box<Hashes> {
    let is_near = |&fingerprint: &u32| (0..points).all(|i| point(fingerprint, i) < u32::MAX / part);
    let count = chosen_count() as usize;
    let near: Vec<u32> = (1..u32::MAX).filter(is_near).take(count).collect();
    let high: Vec<u64> = (0..count).map(|_| random.bits() << 32).collect();
    Box::new(move |i| u64::from(near[i as usize % near.len()]) | high[i as usize])
}

#[test]
fn filters_on_rings_keep_their_promises() {
    let mut random = Random::new(1);
    let rings = Victim { parts: ConsistentCuckooFilter::filters, ..Victim::set() };
    let attacks: [(&str, Box<Hashes>); 3] = [
        ("one part of the ring", near(2, 64, &mut random)),
        ("one small part of the ring", near(1, 4096, &mut random)),
        ("one fingerprint", Box::new(|i| i << 32 | 77)),
    ];
    for (attack_name, hashes) in attacks {
        let keys = (honest_count() + chosen_count()) as usize;
        let builder = IndexIndependentCuckooFilter::builder()
            .fingerprint_bits(32)
            .hasher(KeyHasher::fold_xxh3(SEED));
        let builder = builder.buckets(keys as u64 * 2 / 7);
        let make = || builder.build().expect("valid");
        attack(&format!("index-independent, {attack_name}"), &Victim::set(), make, &hashes);
        // As many filters for any number of keys: with 500 buckets each, a million keys make 500 of
        // them, and every lookup looks at all.
        let builder = ConsistentCuckooFilter::builder()
            .buckets_per_filter((keys as u64 / 50).max(500))
            .hasher(KeyHasher::fold_xxh3(SEED));
        let make = || builder.build().expect("valid");
        attack(&format!("consistent, {attack_name}"), &rings, make, &hashes);
    }
}

/// Every entry that lost its place to a new bucket was searched a place for, and each search cleared notes of
/// 65,536 buckets: 11,370 for one key here, and 35,788 with a million chosen keys.
#[test]
fn large_rings_grow_with_little_work() {
    const MOST: u64 = MOST_WORK / 2;
    let hashes = near(2, 64, &mut Random::new(2));
    let builder = ConsistentCuckooFilter::builder().buckets_per_filter(66_000);
    let mut filter = builder.hasher(KeyHasher::fold_xxh3(SEED)).build().expect("valid");
    let mut most_work = 0;
    let mut put = |key: &dyn Fn(&mut ConsistentCuckooFilter) -> bool| {
        lab::take_work();
        assert!(key(&mut filter));
        most_work = most_work.max(lab::take_work());
    };
    (0..290_000u64).for_each(|key| put(&|filter| filter.insert(&key).is_ok()));
    let chooser = Chooser::new(SEED);
    (0..CHOSEN).for_each(|i| put(&|filter| filter.insert(&chooser.key(hashes(i))).is_ok()));
    assert!(most_work <= MOST, "{most_work} for one key");
    assert!(filter.utilization() > 0.9);
}
