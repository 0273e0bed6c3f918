//! What once did not hold, each as it was found. Uses nothing but the public interface.

use cuculus::papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter};
use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, Persist, Remove, SharedFilter, lab};
use xxhash_rust::xxh3::xxh3_64;

use crate::inverse::Chooser;

const HEADER: usize = 48;

/// A saved filter with other parameters, and checksums that match.
fn forged(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let parameters = bytes[32..40].try_into().map_or(0, u64::from_le_bytes) as usize;
    change(&mut bytes[HEADER..HEADER + parameters]);
    let end = HEADER + parameters;
    let sum = xxh3_64(&bytes[..end]);
    bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn loads<F: Filter + Persist>(filter: &F) -> F {
    let bytes = filter.to_bytes();
    let loaded = F::from_bytes(&bytes).expect("its own bytes");
    assert!(loaded.to_bytes() == bytes);
    loaded
}

/// Keys of one place with equal path bits opened a level for every eight of them, without end;
/// and no more than forty were read.
#[test]
fn chosen_keys_make_no_file_that_nobody_can_load() {
    let chooser = Chooser::new(9);
    // By the high bits only, by the middle bits, and by bits of both: whatever a version reads.
    let patterns: [fn(u64) -> u64; 3] =
        [|i| i << 44 | 5, |i| i << 33 | 5, |i| (i & 63) << 48 | i >> 6 << 40 | 5];
    for hashes in patterns {
        for others in [0, 100_000u64] {
            let mut filter = ElasticFilter::builder()
                .hasher(cuculus::KeyHasher::fold_xxh3(9))
                .build()
                .expect("valid");
            (0..others).for_each(|key| filter.insert(&key).expect("grows"));
            let chosen = (0..1032u64).map(|i| chooser.key(hashes(i)));
            let stored: Vec<u128> = chosen.filter(|key| filter.insert(key).is_ok()).collect();
            let loaded = loads(&filter);
            assert!(stored.iter().all(|key| loaded.contains(key)));
            assert!((0..others).all(|key| loaded.contains(&key)));
        }
    }
}

/// A hint of 8·10^10 keys made the first insert create all segments: a gigabyte.
#[test]
fn a_hint_in_a_file_of_128_bytes_costs_nothing() {
    let small = ElasticFilter::builder().expected_items(5).seed(1).build().expect("valid");
    let file = forged(&small.to_bytes(), |it| {
        it[16..24].copy_from_slice(&80_000_000_000u64.to_le_bytes());
    });
    assert!(file.len() <= 160, "{}", file.len());
    let mut filter = ElasticFilter::from_bytes(&file).expect("a hint is a hint");
    filter.insert("first").expect("room");
    assert!(filter.size_in_bytes() < 10_000, "{} bytes", filter.size_in_bytes());
    loads(&filter);
}

/// By the public interface alone: merged with itself again and again, a filter with a large rate
/// passed the limit that its own file is held to.
#[test]
fn a_filter_that_was_merged_with_itself_loads() {
    for rate in [0.9, 0.5, 0.2, 0.19, 0.01] {
        for keys in [5, 100, 3000, 20_000u64] {
            let mut filter = ElasticFilter::builder().false_positive_rate(rate).seed(3);
            filter = filter.spare_bytes(0);
            let mut filter = filter.build().expect("valid");
            filter.extend(0..keys);
            for round in 0..12 {
                let other = filter.clone();
                let merged = filter.merge(&other).is_ok();
                loads(&filter);
                filter.extend(keys + round * 50..keys + round * 50 + 50);
                filter.shrink_to_fit();
                loads(&filter);
                if !merged || filter.len() > 200_000 {
                    break;
                }
            }
        }
    }
}

/// A file whose rate is larger than that of its keys: they were shortened while the filter was divided,
/// until they did not tell their part, and pushed from level to level to the last one. That was called a
/// lack of memory, for which loading a shared filter fails and `From` aborts.
#[test]
fn a_filter_that_is_shortened_by_dividing_it_is_shared_in_fewer_parts() {
    let filter = ElasticFilter::builder().false_positive_rate(0.1).seed(3);
    let mut filter = filter.build().expect("valid");
    filter.extend(0..41u64);
    let file = forged(&filter.to_bytes(), |it| {
        it[..8].copy_from_slice(&0.93f64.to_le_bytes());
        it[16..24].copy_from_slice(&102u64.to_le_bytes());
    });
    let filter = ElasticFilter::from_bytes(&file).expect("a rate and a hint like any other");
    for parts in [1, 2, 8, 64] {
        let shared = SharedFilter::from_filter(filter.clone(), parts).expect("memory");
        assert!(shared.len() == 41 && (0..41u64).all(|key| shared.contains(&key)), "{parts}");
        loads(&shared.snapshot());
    }
    loads(&SharedFilter::from_bytes(&file).expect("memory").snapshot());
}

/// 352 bytes whose inserts took 61 ms each: files had a limit of kicks of their own.
#[test]
fn files_have_no_more_kicks_than_builders_allow() {
    let most = (0..70_000).rev().find(|&kicks| {
        CuckooFilter::builder().buckets(64).max_kicks(kicks).seed(1).build().is_ok()
    });
    let most = most.expect("some");
    assert!(most <= 5000, "{most} kicks for one key");
    let filter = CuckooFilter::builder().buckets(64).seed(1).build().expect("valid").to_bytes();
    let ring = IndexIndependentCuckooFilter::builder().buckets(8).fingerprint_bits(20);
    let ring = ring.seed(1).build().expect("valid").to_bytes();
    let rings = ConsistentCuckooFilter::builder().seed(1).build().expect("valid").to_bytes();
    for (kicks, is_read) in [(most, true), (most + 1, false), (65_535, false)] {
        let kicks = |it: &mut [u8]| it[8..12].copy_from_slice(&kicks.to_le_bytes());
        assert_eq!(CuckooFilter::from_bytes(&forged(&filter, kicks)).is_ok(), is_read);
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

/// A file of 6,216,836 bytes became 8,389,120 bytes in memory.
#[test]
fn a_loaded_filter_takes_the_memory_that_it_had() {
    for semi_sorted in [false, true] {
        let builder = CuckooFilter::builder().capacity(4_740_000).semi_sorted(semi_sorted).seed(1);
        let filter = builder.build().expect("valid");
        let loaded = loads(&filter);
        assert_eq!(loaded.size_in_bytes(), filter.size_in_bytes());
    }
}
