//! What once did not hold, each as it was found. Uses nothing but the public interface.

use cuculus::{Filter, Insert, Persist, Remove, lab};
use cuculus_papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter};
use testkit::files::{forged_parameters as forged, loads};

/// 352 bytes whose inserts took 61 ms each: files had a limit of kicks of their own.
#[test]
fn files_have_no_more_kicks_than_builders_allow() {
    let builder = || IndexIndependentCuckooFilter::builder().buckets(8).fingerprint_bits(20);
    let is_built = |&kicks: &u32| builder().max_kicks(kicks).seed(1).build().is_ok();
    let most = (0..70_000).rev().find(is_built).expect("some");
    assert!(most <= 5000, "{most} kicks for one key");
    let ring = builder().seed(1).build().expect("valid").to_bytes();
    let rings = ConsistentCuckooFilter::builder().seed(1).build().expect("valid").to_bytes();
    for (kicks, is_read) in [(most, true), (most + 1, false), (65_535, false)] {
        let kicks = |it: &mut [u8]| it[8..12].copy_from_slice(&kicks.to_le_bytes());
        assert_eq!(
            IndexIndependentCuckooFilter::from_bytes(&forged(&ring, kicks)).is_ok(),
            is_read
        );
        assert_eq!(ConsistentCuckooFilter::from_bytes(&forged(&rings, kicks)).is_ok(), is_read);
    }
}

/// A forged ring that is full, with the kicks of its file, took 11 s for 200 operations. Work is counted:
/// buckets opened, entries moved, names tried.
#[test]
fn operations_on_a_full_ring_from_a_file_are_bounded() {
    const MOST_WORK: u64 = 16_384;
    let ring = IndexIndependentCuckooFilter::builder().buckets(2000).virtual_nodes(64).seed(1);
    let mut ring = ring.fingerprint_bits(32).max_kicks(500).build().expect("valid");
    let mut keys = 0u64..;
    let refused = keys.find(|key| ring.insert(key).is_err()).expect("it fills");
    let bytes = ring.to_bytes();
    let most = [65_535, 10_000, 5000, 2000, 1000, 500u32].into_iter().find_map(|kicks| {
        let file = forged(&bytes, |it| it[8..12].copy_from_slice(&kicks.to_le_bytes()));
        IndexIndependentCuckooFilter::from_bytes(&file).ok()
    });
    let mut ring = most.expect("with some kicks");
    let work = |ring: &mut IndexIndependentCuckooFilter, insert: bool, key: u64| {
        lab::take_work();
        if insert {
            let _ = ring.insert(&key);
        } else {
            ring.remove(&key);
        }
        let work = lab::take_work();
        assert!(work <= MOST_WORK, "{work} for key {key}");
        work
    };
    let most = (0..100).map(|key| work(&mut ring, true, refused + key)).max();
    assert!(most > Some(1000), "nothing was searched: {most:?}");
    for key in 0..100 {
        work(&mut ring, false, key);
    }
    loads(&ring);
}

/// 129 bytes whose `clear` built a ring of 65,536 buckets with 64 nodes each.
#[test]
fn clearing_builds_no_larger_ring_than_there_was() {
    let small = IndexIndependentCuckooFilter::builder().buckets(1).virtual_nodes(64).seed(1);
    let small = small.fingerprint_bits(8).build().expect("valid").to_bytes();
    let file = forged(&small, |it| it[40..48].copy_from_slice(&(1u64 << 25).to_le_bytes()));
    let mut filter = IndexIndependentCuckooFilter::from_bytes(&file).expect("it may have shrunk");
    filter.clear();
    assert!(filter.size_in_bytes() < 200_000, "{} bytes", filter.size_in_bytes());
    loads(&filter);
    // The same for the size of a new filter, which a consistent one needs sooner or later.
    let small = ConsistentCuckooFilter::builder().buckets_per_filter(1).virtual_nodes(64).seed(1);
    let small = small.build().expect("valid").to_bytes();
    let file = forged(&small, |it| it[12..16].copy_from_slice(&(1u32 << 20).to_le_bytes()));
    let mut filter = ConsistentCuckooFilter::from_bytes(&file).expect("it may have shrunk");
    for key in 0..100u64 {
        filter.insert(&key).expect("grows");
    }
    filter.scale_out().expect("another");
    assert!(filter.size_in_bytes() < 500_000, "{} bytes", filter.size_in_bytes());
    filter.clear();
    assert!(filter.size_in_bytes() < 500_000, "{} bytes", filter.size_in_bytes());
}
