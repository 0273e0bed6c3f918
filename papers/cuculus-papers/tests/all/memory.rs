//! `size_in_bytes` is what the allocator gave, and nothing is allocated on a header's word.

use cuculus::{BuildError, DecodeError, Filter, Insert, Persist, Remove};
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooTable,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};
use cuculus_papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};
use testkit::heap::{allocated, given, live, peak, reset_peak};

/// Empty, full, cleared and cloned, a filter holds what it says.
fn check<F: Insert + Clone>(name: &str, keys: u64, make: impl Fn() -> Result<F, BuildError>) {
    let before = live();
    let held = || live() - before + size_of::<F>();
    let mut filter = make().unwrap_or_else(|error| panic!("{name}: {error}"));
    let empty = held();
    assert_eq!(filter.size_in_bytes(), empty, "{name}: empty");
    for key in 0..keys {
        let _ = filter.insert(&key);
    }
    assert_eq!(filter.size_in_bytes(), held(), "{name}: full");
    let full = held();
    let copy = filter.clone();
    assert_eq!(copy.size_in_bytes(), held() - full + size_of::<F>(), "{name}: a clone");
    drop(copy);
    filter.clear();
    assert_eq!((filter.size_in_bytes(), held()), (empty, empty), "{name}: cleared");
}

/// What is refused is refused before anything is allocated.
fn refused_for_nothing<F>(name: &str, build: impl Fn() -> Result<F, BuildError>) {
    let before = given();
    assert!(build().is_err(), "{name}");
    assert_eq!(given(), before, "{name}");
}

#[test]
fn memory_reported_by_baselines_is_memory_held() {
    for keys in [0, 1, 100, 20_000] {
        let n = keys as u64;
        check("Bloom", n, || BloomFilter::builder().capacity(keys).build());
        check("blocked", n, || BlockedBloomFilter::builder().capacity(keys).build());
        check("counting", n, || CountingBloomFilter::builder().capacity(keys).build());
        check("d-left", n, || DleftCountingBloomFilter::builder().capacity(keys).build());
        check("quotient", n, || QuotientFilter::builder().capacity(keys).build());
        check("dynamic", 3 * n, || DynamicBloomFilter::builder().capacity(keys).build());
        check("adaptive", n, || AdaptiveCuckooFilter::builder().capacity(keys).build());

        let before = live();
        let mut table = CuckooTable::builder().build().expect("valid");
        for key in 0..n {
            table.insert(key, key).expect("memory");
        }
        assert_eq!(table.size_in_bytes(), live() - before + size_of_val(&table));
    }

    for keys in [usize::MAX, 1 << 50] {
        refused_for_nothing("Bloom", || BloomFilter::builder().capacity(keys).build());
        refused_for_nothing("counting", || CountingBloomFilter::builder().capacity(keys).build());
        refused_for_nothing("d-left", || {
            DleftCountingBloomFilter::builder().capacity(keys).build()
        });
        refused_for_nothing("quotient", || QuotientFilter::builder().capacity(keys).build());
        refused_for_nothing("adaptive", || AdaptiveCuckooFilter::builder().capacity(keys).build());
        refused_for_nothing("dynamic", || {
            DynamicBloomFilter::builder().capacity_per_filter(keys).build()
        });
        refused_for_nothing("table", || CuckooTable::builder().capacity(keys).build::<u64, u64>());
        // Its plan is a table of rates.
        assert!(BlockedBloomFilter::builder().capacity(keys).build().is_err());
    }

    // A removal holds nothing either.
    let mut filter = CountingBloomFilter::builder().capacity(10).build().expect("valid");
    let held = live();
    assert!(filter.insert("key").is_ok() && filter.remove("key"));
    assert_eq!(live(), held);
}

/// Makes the checksum of a header with `parameters` bytes of parameters right again.
fn seal(file: &mut [u8], parameters: usize) {
    let header = 48 + parameters;
    let sum = xxhash_rust::xxh3::xxh3_64(&file[..header]);
    file[header..header + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Tables on a ring that get larger and smaller, and the ring with them.
#[test]
fn ring_memory_reported_is_memory_held() {
    let value = size_of::<ConsistentCuckooFilter>();
    for nodes in [1, 10, 64] {
        for (resizing, keys) in [(Resizing::Adaptive, 3000), (Resizing::Buckets, 2000)] {
            let builder = ConsistentCuckooFilter::builder().virtual_nodes(nodes).seed(1);
            let builder = builder.resizing(resizing).buckets_per_filter(20);
            let before = live();
            let mut filter = builder.build().expect("valid");
            let held = || live() - before;
            let new = filter.size_in_bytes();
            for key in 0..keys {
                filter.insert(&key).expect("grows");
                assert_eq!(filter.size_in_bytes(), held() + value, "{key} keys, {nodes} nodes");
            }
            let (copy, copied, _) = allocated(|| filter.clone());
            assert_eq!(copy.size_in_bytes(), copied + value, "a clone");
            drop(copy);
            let bytes = filter.to_bytes();
            let (again, loaded, peak) =
                allocated(|| ConsistentCuckooFilter::from_bytes(&bytes).expect("own bytes"));
            assert_eq!(again.size_in_bytes(), loaded + value, "loaded");
            assert!(peak <= 3 * bytes.len() + 2 * loaded + 2048, "{peak} for {}", bytes.len());
            drop((again, bytes));
            for key in 0..keys {
                filter.remove(&key);
                assert_eq!(filter.size_in_bytes(), held() + value, "{key} removed, {nodes} nodes");
            }
            filter.scale_out().expect("another");
            filter.scale_up(100).expect("more buckets");
            assert_eq!(filter.size_in_bytes(), held() + value);
            while filter.scale_down() {}
            assert_eq!(filter.size_in_bytes(), held() + value);
            filter.clear();
            assert_eq!((filter.size_in_bytes(), held() + value), (new, new), "cleared");
        }
        // A bucket of three slots of 30 bits has ten bytes for its name, and 32 bits for each node with
        // about half a bit for the cells of the ring: full or grown. (The CCF paper counts the slots.)
        let builder = IndexIndependentCuckooFilter::builder().buckets(3000).slots_per_bucket(3);
        let builder = builder.fingerprint_bits(30).virtual_nodes(nodes).seed(1);
        let (mut filter, held, _) = allocated(|| builder.build().expect("valid"));
        assert_eq!(filter.size_in_bytes(), held + size_of::<IndexIndependentCuckooFilter>());
        filter.extend(0..4000u64);
        for _ in 0..3 {
            let slot = 30.0 + (f64::from(nodes) * 32.5 + 80.0) / 3.0;
            let expected = slot / filter.utilization();
            let bits = 8.0 * filter.size_in_bytes() as f64 / 4000.0;
            assert!((bits / expected - 1.0).abs() < 0.1, "{nodes}: {bits} {expected}");
            for _ in 0..700 {
                filter.add_bucket().expect("room");
            }
        }
    }
    for builder in [
        IndexIndependentCuckooFilter::builder().capacity(usize::MAX),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).virtual_nodes(65),
        IndexIndependentCuckooFilter::builder().buckets(1 << 30).virtual_nodes(64),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).candidates(17),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).slots_per_bucket(9),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).false_positive_rate(1e-9),
    ] {
        refused_for_nothing("ring", || builder.build());
    }
    for builder in [
        ConsistentCuckooFilter::builder().buckets_per_filter((1 << 20) + 1),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).max_filters(0),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).sparse_below(5),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).fingerprint_bits(99),
    ] {
        refused_for_nothing("ring", || builder.build());
    }
    let mut filter = ConsistentCuckooFilter::builder().seed(1).build().expect("valid");
    let (refused, _, peak) = allocated(|| filter.scale_up(usize::MAX).is_err());
    assert!(refused && peak == 0);

    // Headers that promise buckets, filters or bytes that are not there.
    let small = IndexIndependentCuckooFilter::builder().buckets(1).seed(1).fingerprint_bits(8);
    let small = small.build().expect("valid").to_bytes();
    for (buckets, first, payload) in [(1 << 26, 1u64, 8u64 << 26), (1, 1 << 26, 8)] {
        let mut huge = small.clone();
        huge[48 + 12..48 + 16].copy_from_slice(&u32::to_le_bytes(buckets));
        huge[48 + 40..48 + 48].copy_from_slice(&first.to_le_bytes());
        huge[40..48].copy_from_slice(&payload.to_le_bytes());
        seal(&mut huge, 56);
        let (loaded, _, peak) = allocated(|| IndexIndependentCuckooFilter::from_bytes(&huge));
        assert_eq!(loaded.is_ok(), buckets == 1);
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise");
        if let Ok(mut filter) = loaded {
            // It was built with many buckets, it says.
            let ((), _, peak) = allocated(|| filter.clear());
            assert!(filter.buckets() <= 1 << 16 && peak < 10 << 20, "{peak}");
        }
    }
    let small = ConsistentCuckooFilter::builder().buckets_per_filter(1).max_filters(1024).seed(1);
    let small = small.build().expect("valid").to_bytes();
    for (filters, payload) in [(1024u64, 20u64), (1024, 1 << 40), (1, 1 << 40), (1, u64::MAX)] {
        let mut huge = small.clone();
        huge[48 + 80..48 + 88].copy_from_slice(&filters.to_le_bytes());
        huge[40..48].copy_from_slice(&payload.to_le_bytes());
        seal(&mut huge, 88);
        let (error, _, peak) =
            allocated(|| ConsistentCuckooFilter::from_bytes(&huge).expect_err("forged"));
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise: {error}");
    }
}

/// A list of filters that gets longer and shorter.
#[test]
fn dynamic_memory_reported_is_memory_held() {
    let value = size_of::<DynamicCuckooFilter>();
    for (buckets, keys) in [(1, 100u64), (16, 1000), (1000, 30_000)] {
        let builder = DynamicCuckooFilter::builder().buckets_per_filter(buckets);
        let builder = builder.fingerprint_bits(13).seed(1);
        let before = live();
        let mut filter = builder.build().expect("valid");
        let held = || live() - before;
        let new = filter.size_in_bytes();
        assert_eq!(new, held() + value);
        for left in [keys, keys / 2, keys / 8, 0] {
            for key in 0..keys {
                filter.insert(&key).expect("grows");
            }
            assert_eq!(filter.size_in_bytes(), held() + value, "{keys} keys");
            for key in (left..keys).chain(0..left) {
                filter.remove(&key);
                assert!(key != left || filter.size_in_bytes() == held() + value);
            }
            filter.extend(0..left);
            let most = filter.size_in_bytes();
            filter.compact();
            assert_eq!(filter.size_in_bytes(), held() + value, "{left} keys, compacted");
            let (copy, copied, _) = allocated(|| filter.clone());
            assert_eq!(copy.size_in_bytes(), copied + value, "{left} keys, a clone");
            drop(copy);
            reset_peak();
            filter.shrink_to_fit();
            assert_eq!(filter.size_in_bytes(), held() + value, "{left} keys, shrunk");
            // As much again as the list, and what the searches for room need.
            assert!(peak() - before <= 2 * most + 65_536);
            let bytes = filter.to_bytes();
            let (again, held, peak) =
                allocated(|| DynamicCuckooFilter::from_bytes(&bytes).expect("own bytes"));
            assert_eq!(again.size_in_bytes(), held + value, "{left} keys, loaded");
            assert!(peak <= 3 * bytes.len() + 600 * again.filters() + 2048, "{peak}");
        }
        filter.clear();
        assert_eq!((filter.size_in_bytes(), held() + value), (new, new));
    }
    for builder in [
        DynamicCuckooFilter::builder().capacity(usize::MAX),
        DynamicCuckooFilter::builder().capacity(1 << 30).false_positive_rate(f64::NAN),
        DynamicCuckooFilter::builder().buckets_per_filter(1 << 30).capacity_per_filter(0),
    ] {
        refused_for_nothing("ring", || builder.build());
    }
    // Headers that promise what is not there: filters, and buckets.
    let builder = DynamicCuckooFilter::builder().buckets_per_filter(2).fingerprint_bits(8).seed(1);
    let small = builder.build().expect("valid").to_bytes();
    for (filters, buckets) in [(4096u64, 2u32), (1, u32::MAX), (4096, u32::MAX)] {
        let mut huge = small.clone();
        huge[60..64].copy_from_slice(&buckets.to_le_bytes());
        huge[96..104].copy_from_slice(&filters.to_le_bytes());
        huge[112..120].copy_from_slice(&filters.to_le_bytes()); // appended
        let payload = filters * u64::from(buckets) * 4;
        huge[40..48].copy_from_slice(&payload.to_le_bytes());
        seal(&mut huge, 80);
        let (error, _, peak) =
            allocated(|| DynamicCuckooFilter::from_bytes(&huge).expect_err("no payload"));
        assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise");
    }
}
