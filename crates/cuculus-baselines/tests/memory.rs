//! `size_in_bytes` is what the allocator gave.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cuculus::{BuildError, Insert, Remove};
use cuculus_baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooTable,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter, SplitBlockBloomFilter,
};

struct Counting;

// Of each thread its own: the harness has one beside the test's, and it allocates too. A thread may
// free what another allocated, so the count does not begin at zero.
thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(1 << 40) };
    static ALL: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size());
        ALL.set(ALL.get() + layout.size());
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

/// Empty, full, cleared and cloned, a filter holds what it says.
fn check<F: Insert + Clone>(name: &str, keys: u64, make: impl Fn() -> Result<F, BuildError>) {
    let before = LIVE.get();
    let held = || LIVE.get() - before + size_of::<F>();
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

#[test]
fn memory_reported_is_memory_held() {
    for keys in [0, 1, 100, 20_000] {
        let n = keys as u64;
        check("Bloom", n, || BloomFilter::builder().capacity(keys).build());
        check("blocked", n, || BlockedBloomFilter::builder().capacity(keys).build());
        check("split block", n, || SplitBlockBloomFilter::builder().capacity(keys).build());
        check("counting", n, || CountingBloomFilter::builder().capacity(keys).build());
        check("d-left", n, || DleftCountingBloomFilter::builder().capacity(keys).build());
        check("quotient", n, || QuotientFilter::builder().capacity(keys).build());
        check("dynamic", 3 * n, || DynamicBloomFilter::builder().capacity(keys).build());
        check("adaptive", n, || AdaptiveCuckooFilter::builder().capacity(keys).build());

        let before = LIVE.get();
        let mut table = CuckooTable::builder().build().expect("valid");
        for key in 0..n {
            table.insert(key, key).expect("memory");
        }
        assert_eq!(table.size_in_bytes(), LIVE.get() - before + size_of_val(&table));
    }

    // What is refused is refused before anything is allocated.
    fn refused<F>(name: &str, build: impl Fn() -> Result<F, BuildError>) {
        let before = ALL.get();
        assert!(build().is_err(), "{name}");
        assert_eq!(ALL.get(), before, "{name}");
    }
    for keys in [usize::MAX, 1 << 50] {
        refused("Bloom", || BloomFilter::builder().capacity(keys).build());
        refused("counting", || CountingBloomFilter::builder().capacity(keys).build());
        refused("d-left", || DleftCountingBloomFilter::builder().capacity(keys).build());
        refused("quotient", || QuotientFilter::builder().capacity(keys).build());
        refused("adaptive", || AdaptiveCuckooFilter::builder().capacity(keys).build());
        refused("dynamic", || DynamicBloomFilter::builder().capacity_per_filter(keys).build());
        refused("table", || CuckooTable::builder().capacity(keys).build::<u64, u64>());
        // Its plan is a table of rates.
        assert!(BlockedBloomFilter::builder().capacity(keys).build().is_err());
    }

    // A removal holds nothing either.
    let mut filter = CountingBloomFilter::builder().capacity(10).build().expect("valid");
    let held = LIVE.get();
    assert!(filter.insert("key").is_ok() && filter.remove("key"));
    assert_eq!(LIVE.get(), held);
}
