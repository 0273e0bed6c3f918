//! `size_in_bytes` is what the allocator gave, and nothing is allocated on a header's word.

use cuculus::{
    CuckooFilter, CuckooMaplet, DecodeError, ElasticFilter, Filter, Insert, Persist, Remove,
};
use testkit::Heap;
use testkit::files::forged;
use testkit::heap::{allocated, live};

#[global_allocator]
static ALLOCATOR: Heap = Heap;

/// An elastic filter on its way up and down.
fn elastic_memory_reported_is_memory_held() {
    const SIZES: [u64; 5] = [0, 1, 100, 10_000, 300_000];
    let value = size_of::<ElasticFilter>();
    for (rate, spare, expected) in
        [(0.01, 512 << 10, 0), (0.05, 0, 0), (0.001, 0, 5000), (0.01, 512 << 10, 300_000)]
    {
        let builder = ElasticFilter::builder().false_positive_rate(rate).seed(1);
        let builder = builder.spare_bytes(spare).expected_items(expected);
        let before = live();
        let mut filter = builder.build().expect("valid");
        let held = || live() - before;
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
            let before = live() - held;
            again.shrink_to_fit();
            let held = live() - before;
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
    for (levels_or_segments, payload) in [(96, 0u64), (104, 0), (104, 1 << 45), (104, u64::MAX)] {
        let huge = forged(&small, |huge| {
            huge[40..48].copy_from_slice(&payload.to_le_bytes());
            huge[levels_or_segments..levels_or_segments + 8].fill(0x3f);
        });
        let (error, _, peak) = allocated(|| ElasticFilter::from_bytes(&huge).expect_err("forged"));
        assert!(peak < 3 << 20, "{peak} bytes allocated for a promise: {error}");
    }
}

#[test]
fn memory_reported_is_memory_held() {
    elastic_memory_reported_is_memory_held();
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
    let payload = (u64::from(u32::MAX) * 40).div_ceil(8); // ten bits, four slots
    let huge = forged(&small, |huge| {
        huge[60..64].copy_from_slice(&u32::MAX.to_le_bytes()); // buckets
        huge[40..48].copy_from_slice(&payload.to_le_bytes());
    });
    let (error, _, peak) = allocated(|| CuckooFilter::from_bytes(&huge).expect_err("no payload"));
    assert!(matches!(error, DecodeError::Truncated { .. }), "{error}");
    assert!(peak < 3 << 20, "{peak} bytes allocated for a promise");
}
