//! `size_in_bytes` is what the allocator gave, and nothing is allocated on a header's word.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cuculus::analysis::{RingCost, ring_bits_per_key};
use cuculus::papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};
use cuculus::{
    CuckooFilter, CuckooMaplet, DecodeError, ElasticFilter, Filter, Insert, Persist, Remove,
};

struct Counting;

// Of each thread its own: the harness has one beside the test's, and it allocates too. A thread may
// free what another allocated, so the count does not begin at zero.
thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(1 << 40) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size());
        PEAK.set(PEAK.get().max(LIVE.get()));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a call leaves allocated, and the most it had allocated at a time.
fn allocated<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let value = f();
    (value, LIVE.get() - before, PEAK.get() - before)
}

/// An elastic filter on its way up and down.
fn elastic_memory_reported_is_memory_held() {
    const SIZES: [u64; 5] = [0, 1, 100, 10_000, 300_000];
    let value = size_of::<ElasticFilter>();
    for (rate, spare, expected) in
        [(0.01, 512 << 10, 0), (0.05, 0, 0), (0.001, 0, 5000), (0.01, 512 << 10, 300_000)]
    {
        let builder = ElasticFilter::builder().false_positive_rate(rate).seed(1);
        let builder = builder.spare_bytes(spare).expected_items(expected);
        let before = LIVE.get();
        let mut filter = builder.build().expect("valid");
        let held = || LIVE.get() - before;
        // The keys in the filter; the oldest go first.
        let mut keys = 0..0;
        for size in SIZES.into_iter().chain(SIZES.into_iter().rev()) {
            // A key that is refused leaves nothing behind either.
            while keys.end - keys.start < size {
                let _ = filter.insert(&keys.end);
                keys.end += 1;
            }
            while keys.end - keys.start > size {
                filter.remove(&keys.start);
                keys.start += 1;
            }
            assert_eq!(filter.size_in_bytes(), held() + value, "{rate} {expected}: {size} keys");
            let (copy, held, _) = allocated(|| filter.clone());
            assert_eq!(copy.size_in_bytes(), held + value, "{rate} {expected}: {size}, a clone");
            drop(copy);
            let bytes = filter.to_bytes();
            let (again, held, peak) = allocated(|| ElasticFilter::from_bytes(&bytes));
            let mut again = again.expect("own bytes");
            assert_eq!(again.size_in_bytes(), held + value, "{rate} {expected}: {size}, loaded");
            assert!(peak <= 4 * bytes.len() + 8192, "{peak} for {}", bytes.len());
            let before = LIVE.get() - held;
            again.shrink_to_fit();
            let held = LIVE.get() - before;
            assert_eq!(again.size_in_bytes(), held + value, "{rate} {expected}: {size}, shrunk");
        }
        filter.clear();
        assert_eq!((filter.size_in_bytes(), held()), (value, 0));
    }
    // What is refused is refused before anything is allocated.
    let builder = ElasticFilter::builder().expected_items(usize::MAX);
    let (refused, held, peak) = allocated(|| builder.build().is_err());
    assert!(refused && held == 0 && peak == 0);
    // A hint is no reason to allocate.
    let builder = ElasticFilter::builder().expected_items(1 << 38);
    let (filter, held, peak) = allocated(|| builder.build().expect("valid"));
    assert!(held == 0 && peak == 0 && filter.is_empty());

    // Headers that promise what is not there.
    let small = ElasticFilter::builder().seed(1).build().expect("valid").to_bytes();
    for (levels_or_segments, payload) in [(104, 0u64), (112, 0), (112, 1 << 45), (112, u64::MAX)] {
        let mut huge = small.clone();
        huge[40..48].copy_from_slice(&payload.to_le_bytes());
        huge[levels_or_segments..levels_or_segments + 8].fill(0x3f);
        let header = 48 + 72;
        let sum = xxhash_rust::xxh3::xxh3_64(&huge[..header]);
        huge[header..header + 8].copy_from_slice(&sum.to_le_bytes());
        let (error, _, peak) = allocated(|| ElasticFilter::from_bytes(&huge).expect_err("forged"));
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise: {error}");
    }
}

/// Makes the checksum of a header with `parameters` bytes of parameters right again.
fn seal(file: &mut [u8], parameters: usize) {
    let header = 48 + parameters;
    let sum = xxhash_rust::xxh3::xxh3_64(&file[..header]);
    file[header..header + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Tables on a ring that get larger and smaller, and the ring with them.
fn ring_memory_reported_is_memory_held() {
    let value = size_of::<ConsistentCuckooFilter>();
    for nodes in [1, 10, 64] {
        for (resizing, keys) in [(Resizing::Adaptive, 3000), (Resizing::Buckets, 2000)] {
            let builder = ConsistentCuckooFilter::builder().virtual_nodes(nodes).seed(1);
            let builder = builder.resizing(resizing).buckets_per_filter(20);
            let before = LIVE.get();
            let mut filter = builder.build().expect("valid");
            let held = || LIVE.get() - before;
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
        // What analysis says of some thousand buckets, full or grown.
        let builder = IndexIndependentCuckooFilter::builder().buckets(3000).slots_per_bucket(3);
        let builder = builder.fingerprint_bits(30).virtual_nodes(nodes).seed(1);
        let (mut filter, held, _) = allocated(|| builder.build().expect("valid"));
        assert_eq!(filter.size_in_bytes(), held + size_of::<IndexIndependentCuckooFilter>());
        filter.extend(0..4000u64);
        for _ in 0..3 {
            let load = filter.utilization();
            let expected = ring_bits_per_key(30, 3, nodes, load, RingCost::CELLS);
            let bits = 8.0 * filter.size_in_bytes() as f64 / 4000.0;
            assert!((bits / expected - 1.0).abs() < 0.1, "{nodes}: {bits} {expected}");
            for _ in 0..700 {
                filter.add_bucket().expect("room");
            }
        }
    }
    // What is refused is refused before anything is allocated.
    for builder in [
        IndexIndependentCuckooFilter::builder().capacity(usize::MAX),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).virtual_nodes(65),
        IndexIndependentCuckooFilter::builder().buckets(1 << 30).virtual_nodes(64),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).candidates(17),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).slots_per_bucket(9),
        IndexIndependentCuckooFilter::builder().buckets(1 << 25).false_positive_rate(1e-9),
    ] {
        let (refused, held, peak) = allocated(|| builder.build().is_err());
        assert!(refused && held == 0 && peak == 0, "{builder:?}");
    }
    for builder in [
        ConsistentCuckooFilter::builder().buckets_per_filter((1 << 20) + 1),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).max_filters(0),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).sparse_below(5),
        ConsistentCuckooFilter::builder().buckets_per_filter(1 << 20).fingerprint_bits(99),
    ] {
        let (refused, held, peak) = allocated(|| builder.build().is_err());
        assert!(refused && held == 0 && peak == 0, "{builder:?}");
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
fn dynamic_memory_reported_is_memory_held() {
    let value = size_of::<DynamicCuckooFilter>();
    for (buckets, keys) in [(1, 100u64), (16, 1000), (1000, 30_000)] {
        let builder = DynamicCuckooFilter::builder().buckets_per_filter(buckets);
        let builder = builder.fingerprint_bits(13).seed(1);
        let before = LIVE.get();
        let mut filter = builder.build().expect("valid");
        let held = || LIVE.get() - before;
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
            PEAK.set(LIVE.get());
            filter.shrink_to_fit();
            assert_eq!(filter.size_in_bytes(), held() + value, "{left} keys, shrunk");
            // As much again as the list, and what the searches for room need.
            assert!(PEAK.get() - before <= 2 * most + 65_536);
            let bytes = filter.to_bytes();
            let (again, held, peak) =
                allocated(|| DynamicCuckooFilter::from_bytes(&bytes).expect("own bytes"));
            assert_eq!(again.size_in_bytes(), held + value, "{left} keys, loaded");
            assert!(peak <= 3 * bytes.len() + 600 * again.filters() + 2048, "{peak}");
        }
        filter.clear();
        assert_eq!((filter.size_in_bytes(), held() + value), (new, new));
    }
    // What is refused is refused before anything is allocated.
    for builder in [
        DynamicCuckooFilter::builder().capacity(usize::MAX),
        DynamicCuckooFilter::builder().capacity(1 << 30).false_positive_rate(f64::NAN),
        DynamicCuckooFilter::builder().buckets_per_filter(1 << 30).capacity_per_filter(0),
    ] {
        let (refused, held, peak) = allocated(|| builder.build().is_err());
        assert!(refused && held == 0 && peak == 0, "{builder:?}");
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
        let header = 48 + 80;
        let sum = xxhash_rust::xxh3::xxh3_64(&huge[..header]);
        huge[header..header + 8].copy_from_slice(&sum.to_le_bytes());
        let (error, _, peak) =
            allocated(|| DynamicCuckooFilter::from_bytes(&huge).expect_err("no payload"));
        assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise");
    }
}

#[test]
fn memory_reported_is_memory_held() {
    elastic_memory_reported_is_memory_held();
    dynamic_memory_reported_is_memory_held();
    ring_memory_reported_is_memory_held();
    for capacity in [0, 1, 100, 10_000, 300_000] {
        for semi_sorted in [false, true] {
            let builder = CuckooFilter::builder().capacity(capacity).semi_sorted(semi_sorted);
            let (mut filter, held, _) = allocated(|| builder.build().expect("valid"));
            assert_eq!(filter.size_in_bytes(), held + size_of::<CuckooFilter>());
            // Filling, to refusal and beyond, holds no more.
            let ((), kept, _) = allocated(|| filter.extend(0..capacity as u64 * 21 / 20));
            assert_eq!(kept, 0, "{capacity}");
            let bytes = filter.to_bytes();
            let (again, held, peak) =
                allocated(|| CuckooFilter::from_bytes(&bytes).expect("own bytes"));
            assert_eq!(again.size_in_bytes(), held + size_of::<CuckooFilter>());
            assert!(peak <= 3 * bytes.len() + 2048, "{peak} for {}", bytes.len());
        }
        let builder = CuckooMaplet::builder().capacity(capacity).value_bits(13);
        let (maplet, held, _) = allocated(|| builder.build().expect("valid"));
        assert_eq!(maplet.size_in_bytes(), held + size_of::<CuckooMaplet>());
        let again = CuckooMaplet::from_bytes(&maplet.to_bytes()).expect("own bytes");
        assert!(again.size_in_bytes() <= maplet.size_in_bytes() + 64, "loaded");
    }

    // What is refused is refused before anything is allocated.
    let absurd = [
        CuckooFilter::builder().capacity(usize::MAX),
        CuckooFilter::builder().capacity(1 << 40),
        CuckooFilter::builder().capacity(1 << 30).false_positive_rate(f64::NAN),
        CuckooFilter::builder().capacity(1 << 30).slots_per_bucket(9),
        CuckooFilter::builder().capacity(1 << 30).fingerprint_bits(99),
    ];
    for builder in absurd {
        let (refused, held, peak) = allocated(|| builder.build().is_err());
        assert!(refused && held == 0 && peak == 0, "{builder:?}");
    }

    // A header that promises four billion buckets, with its checksum right: no memory before the
    // payload is there.
    let small = CuckooFilter::builder().buckets(2).seed(1).build().expect("valid").to_bytes();
    let mut huge = small.clone();
    huge[60..64].copy_from_slice(&u32::MAX.to_le_bytes()); // buckets
    let payload = (u64::from(u32::MAX) * 40).div_ceil(8); // ten bits, four slots
    huge[40..48].copy_from_slice(&payload.to_le_bytes());
    let header = 48 + 40;
    let sum = xxhash_rust::xxh3::xxh3_64(&huge[..header]);
    huge[header..header + 8].copy_from_slice(&sum.to_le_bytes());
    let (error, _, peak) = allocated(|| CuckooFilter::from_bytes(&huge).expect_err("no payload"));
    assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
    assert!(peak < 3 << 20, "{peak} bytes allocated for a promise");
}
