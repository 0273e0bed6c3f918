//! What once did not hold, each as it was found. Uses nothing but the public interface.

use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, Persist, SharedFilter};

use testkit::chooser::Chooser;
use testkit::files::{forged_parameters as forged, loads};

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
    for (kicks, is_read) in [(most, true), (most + 1, false), (65_535, false)] {
        let kicks = |it: &mut [u8]| it[8..12].copy_from_slice(&kicks.to_le_bytes());
        assert_eq!(CuckooFilter::from_bytes(&forged(&filter, kicks)).is_ok(), is_read);
    }
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
