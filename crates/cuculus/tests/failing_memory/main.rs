//! Memory that is refused: every operation of every filter with its first allocation failing, its
//! second, and so on until it needs no more. Each time an error, or an operation that did without;
//! nothing changed by an error, nothing leaked, no abort.
#![allow(unsafe_code, reason = "an allocator that fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Once;

use cuculus::lab::Search;
use cuculus::papers::{
    ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter, Resizing,
};
use cuculus::{
    CuckooFilter, CuckooMaplet, ElasticFilter, Filter, FullCause, Insert, KeyHash, Note, Persist,
    Remove,
};

mod bulk;
mod shared;

struct Failing;

// Of each thread its own: the harness allocates too.
thread_local! {
    /// Allocations that succeed before one fails; none fails if this is negative.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
    static FAILED: Cell<bool> = const { Cell::new(false) };
    /// If not zero, one allocation in ten fails, as this generator says.
    static REFUSING: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

impl Failing {
    fn count(layout: Layout, sign: i64) {
        LIVE.set(LIVE.get() + sign * layout.size() as i64);
    }

    fn fails() -> bool {
        let state = REFUSING.get();
        if state != 0 {
            // Marsaglia's xorshift, never zero.
            let state = state ^ state << 13;
            let state = state ^ state >> 7;
            REFUSING.set(state ^ state << 17);
            return state.is_multiple_of(10);
        }
        let left = LEFT.get();
        if left >= 0 {
            LEFT.set(left - 1);
        }
        FAILED.set(FAILED.get() | (left == 0));
        left == 0
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged, or fails as it may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::fails() {
            return std::ptr::null_mut();
        }
        Self::count(layout, 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        Self::count(layout, -1);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Runs with allocation `n` failing, counted from 0. Says whether one failed.
fn failing<T>(n: i64, f: impl FnOnce() -> T) -> (T, bool) {
    FAILED.set(false);
    LEFT.set(n);
    let outcome = f();
    LEFT.set(-1);
    (outcome, FAILED.get())
}

/// What an operation did: nothing after an error, anything after success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    /// An error that says that memory was refused.
    Refused,
    /// Another error or a `false`, which the same operation may return with memory too.
    NotDone,
}

fn of_cause<T>(result: &Result<T, FullCause>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(FullCause::OutOfMemory) => Outcome::Refused,
        Err(_) => Outcome::NotDone,
    }
}

fn done(is_done: bool) -> Outcome {
    if is_done { Outcome::Done } else { Outcome::NotDone }
}

/// The failures of operations: a row of the table.
#[derive(Default, Debug)]
struct Tally {
    operations: usize,
    failures: usize,
    refused: usize,
}

impl Tally {
    /// What was not refused was done without the memory. An abort would end the test, and whatever is
    /// changed or leaked fails it.
    fn print(&self, name: &str) {
        let Self { operations, failures, refused } = self;
        static HEADER: Once = Once::new();
        HEADER.call_once(|| {
            println!("\n| filter | operations | failures | errors | done without |\n|---|---|---|---|---|");
        });
        let without = failures - refused;
        println!("| {name} | {operations} | {failures} | {refused} | {without} |");
        assert!(*failures > 0, "{name}: nothing was tried");
    }
}

/// Does an operation with each allocation failing in turn, on a fresh copy each time.
fn try_all<F: Filter + Persist>(
    name: &str,
    tally: &mut Tally,
    copy: impl Fn() -> F,
    operation: impl Fn(&mut F) -> Outcome,
) {
    tally.operations += 1;
    let reference = copy();
    let (before, len) = (reference.to_bytes(), reference.len());
    let mut with_memory = copy();
    let expected = operation(&mut with_memory);
    assert_ne!(expected, Outcome::Refused, "{name}: refused with memory");
    drop(reference);
    for n in 0.. {
        let live = LIVE.get();
        let mut filter = copy();
        let (outcome, failed) = failing(n, || operation(&mut filter));
        match outcome {
            Outcome::Done => {
                assert!(F::from_bytes(&filter.to_bytes()).is_ok(), "{name}: {n}");
            }
            Outcome::Refused | Outcome::NotDone => {
                assert!(filter.to_bytes() == before, "{name}: changed by failure {n}");
                assert_eq!(filter.len(), len, "{name}: {n}");
            }
        }
        if failed {
            tally.failures += 1;
            tally.refused += usize::from(outcome != Outcome::Done);
        } else {
            assert_eq!(outcome, expected, "{name}: {n}");
            assert!(filter.to_bytes() == with_memory.to_bytes(), "{name}: {n}");
        }
        drop(filter);
        assert_eq!(LIVE.get(), live, "{name}: failure {n} leaked");
        if !failed {
            break;
        }
        assert!(n < 100_000, "{name}: no end");
    }
}

/// Saving and loading of a filter: an error or the filter.
fn try_files<F: Filter + Persist>(name: &str, tally: &mut Tally, filter: &F) {
    tally.operations += 1;
    let bytes = filter.to_bytes();
    for n in 0.. {
        let live = LIVE.get();
        let (loaded, failed) = failing(n, || F::from_bytes(&bytes));
        match &loaded {
            Ok(loaded) => assert!(loaded.to_bytes() == bytes, "{name}"),
            Err(error) => assert!(failed, "{name}: {error}"),
        }
        tally.failures += usize::from(failed);
        tally.refused += usize::from(loaded.is_err());
        drop(loaded);
        assert_eq!(LIVE.get(), live, "{name}: loading leaked at {n}");
        if !failed {
            break;
        }
    }
    // Into memory that is there already: saving needs none.
    let mut file = Vec::with_capacity(bytes.len());
    let (saved, failed) = failing(0, || filter.write_to(&mut file));
    assert!(saved.is_ok() && !failed && file == bytes, "{name}: saving took memory");
}

/// Operations that every filter has, on the filter that `copy` makes, for some keys. Removals do not
/// report missing memory: they succeed, or the key stays.
fn try_common<F: Insert + Remove + Persist>(name: &str, copy: &dyn Fn() -> F, keys: &[u64]) {
    let mut tally = Tally::default();
    for &key in keys {
        try_all(&format!("{name} insert {key}"), &mut tally, copy, |filter| {
            of_cause(&filter.insert(&key).map_err(|full| full.cause))
        });
        try_all(&format!("{name} remove {key}"), &mut tally, copy, |filter| {
            done(filter.remove(&key))
        });
    }
    try_all(&format!("{name} clear"), &mut tally, copy, |filter| {
        filter.clear();
        assert!(filter.is_empty());
        Outcome::Done
    });
    let hashes: Vec<KeyHash> = keys.iter().map(|key| copy().hasher().hash(key)).collect();
    // A batch keeps the keys before the one that was refused, so its error is checked by itself.
    tally.operations += 2;
    for n in 0.. {
        let (mut filter, mut absent) = (copy(), Vec::new());
        let len = filter.len();
        let (result, failed) = failing(n, || filter.insert_absent_batch(&hashes, &mut absent));
        tally.refused += usize::from(result.is_err() && failed);
        let inserted = result.map_or_else(|full| full.inserted, |()| filter.len() - len);
        assert_eq!(filter.len(), len + inserted, "{name}: absent batch, {n}");
        let (mut filter, len) = (copy(), copy().len());
        let (result, failed_too) = failing(n, || filter.insert_batch(&hashes));
        tally.refused += usize::from(result.is_err() && failed_too);
        let inserted = result.map_or_else(|full| full.inserted, |()| hashes.len());
        assert!(filter.len() <= len + inserted, "{name}: batch, {n}");
        tally.failures += usize::from(failed) + usize::from(failed_too);
        if !failed && !failed_too {
            break;
        }
    }
    // Vectors of the caller that have room: lookups need no memory.
    let filter = copy();
    let mut hits = Vec::with_capacity(keys.len());
    let ((), failed) = failing(0, || {
        for key in keys {
            let _ = (filter.contains(key), filter.count(key));
        }
        filter.contains_batch(&hashes, &mut hits);
        filter.contains_keys(keys, &mut hits);
        let _ = (filter.len(), filter.slots(), filter.size_in_bytes(), filter.utilization());
        let _ = filter.expected_false_positive_rate();
    });
    assert!(!failed, "{name}: a lookup took memory");
    try_files(name, &mut tally, &filter);
    tally.print(name);
}

/// Building fails with an error.
fn try_build<F, E: Debug>(name: &str, build: impl Fn() -> Result<F, E>) {
    for n in 0.. {
        let live = LIVE.get();
        let (built, failed) = failing(n, &build);
        assert!(built.is_ok() || failed, "{name}: {:?}", built.err());
        drop(built);
        assert_eq!(LIVE.get(), live, "{name}: leaked at {n}");
        if !failed {
            break;
        }
    }
}

fn filled<F: Insert>(mut filter: F, keys: u64) -> F {
    (0..keys).for_each(|key| {
        let _ = filter.insert(&key);
    });
    filter
}

#[test]
fn cuckoo_filters_and_maplets() {
    for search in [Search::BreadthFirst, Search::RandomWalk] {
        for semi_sorted in [false, true] {
            let builder = CuckooFilter::builder().buckets(200).semi_sorted(semi_sorted).seed(1);
            let builder = builder.fingerprint_bits(12).search(search);
            try_build("cuckoo", || builder.build());
            // So full that keys need long searches, or are refused.
            let full = filled(builder.build().expect("valid"), 798);
            let keys: Vec<u64> = (790..830).collect();
            try_common(&format!("cuckoo {search:?} {semi_sorted}"), &|| full.clone(), &keys);
        }
    }
    let builder = CuckooMaplet::builder().capacity(500).value_bits(9).seed(1);
    try_build("maplet", || builder.build());
    let mut full = builder.build().expect("valid");
    while full.insert(&(full.len() as u64), 5).is_ok() {}
    let mut tally = Tally::default();
    for key in 0..40u64 {
        try_all(
            "maplet insert",
            &mut tally,
            || full.clone(),
            |maplet| done(maplet.insert(&(1000 + key), 5).is_ok()),
        );
        try_all(
            "maplet remove",
            &mut tally,
            || full.clone(),
            |maplet| done(maplet.remove(&key, 5)),
        );
    }
    try_files("maplet", &mut tally, &full);
    tally.print("maplet");
}

#[test]
fn elastic_filters() {
    for (keys, expected) in [(0, 0), (1, 0), (1600, 0), (5000, 0), (5000, 5000)] {
        let builder = ElasticFilter::builder().expected_items(expected).seed(1);
        try_build("elastic", || builder.build());
        let filter = filled(builder.build().expect("valid"), keys);
        let name = format!("elastic of {keys}, {expected} expected");
        let tried: Vec<u64> = (keys.saturating_sub(40)..keys + 120).collect();
        try_common(&name, &|| filter.clone(), &tried);
        let mut tally = Tally::default();
        // Shrinking has no error: it does what it can.
        tally.operations += 1;
        for n in 0.. {
            let mut shrunk = filter.clone();
            let ((), failed) = failing(n, || shrunk.shrink_to_fit());
            assert!(shrunk.len() == filter.len() && (0..keys).all(|key| shrunk.contains(&key)));
            assert!(ElasticFilter::from_bytes(&shrunk.to_bytes()).is_ok());
            tally.failures += usize::from(failed);
            if !failed {
                break;
            }
        }
        let other = filled(builder.build().expect("valid"), 300);
        try_all(
            &format!("{name} merge"),
            &mut tally,
            || filter.clone(),
            |filter| done(filter.merge(&other).is_ok()),
        );
        tally.print(&format!("{name}, shrinking and merging"));
    }
    // Copies that are counted, and what has become too short for its level.
    let filter = ElasticFilter::builder().seed(1).false_positive_rate(0.2).spare_bytes(0);
    let mut filter = filter.build().expect("valid");
    for key in 0..60u64 {
        (0..key % 9).for_each(|_| filter.insert(&key).expect("counted"));
    }
    let tried: Vec<u64> = (0..70).collect();
    try_common("elastic with copies", &|| filter.clone(), &tried);
    let small = ElasticFilter::builder().seed(1).false_positive_rate(0.2).spare_bytes(0);
    let mut small = filled(small.build().expect("valid"), 30_000);
    (0..29_000u64).for_each(|key| assert!(small.remove(&key)));
    let tried: Vec<u64> = (28_990..29_100).collect();
    try_common("elastic on its way down", &|| small.clone(), &tried);
    assert!(small.remove(&29_999u64));
}

#[test]
fn dynamic_filters() {
    for reuse_holes in [false, true] {
        let builder = DynamicCuckooFilter::builder().buckets_per_filter(16).fingerprint_bits(16);
        let builder = builder.reuse_holes(reuse_holes).seed(1);
        try_build("dynamic", || builder.build());
        let mut filter = filled(builder.build().expect("valid"), 300);
        let keys: Vec<u64> = (290..330).collect();
        try_common(&format!("dynamic {reuse_holes}"), &|| filter.clone(), &keys);
        (0..300u64).filter(|key| key % 3 > 0).for_each(|key| assert!(filter.remove(&key)));
        let left = |filter: &DynamicCuckooFilter| {
            (0..300u64).filter(|key| key % 3 == 0).all(|key| filter.contains(&key))
        };
        // They free what they can with the memory that there is.
        let mut tally = Tally { operations: 2, ..Tally::default() };
        for free in [DynamicCuckooFilter::compact, DynamicCuckooFilter::shrink_to_fit] {
            for n in 0.. {
                let (live, mut filter) = (LIVE.get(), filter.clone());
                let (_, failed) = failing(n, || free(&mut filter));
                assert!(
                    left(&filter) && DynamicCuckooFilter::from_bytes(&filter.to_bytes()).is_ok()
                );
                drop(filter);
                assert_eq!(LIVE.get(), live, "leaked at {n}");
                tally.failures += usize::from(failed);
                if !failed {
                    break;
                }
            }
        }
        tally.print(&format!("dynamic {reuse_holes}, compacting and shrinking"));
    }
}

#[test]
fn filters_on_rings() {
    for search in [Search::BreadthFirst, Search::RandomWalk] {
        let builder = IndexIndependentCuckooFilter::builder().buckets(100).search(search).seed(1);
        let builder = builder.fingerprint_bits(24);
        try_build("index-independent", || builder.build());
        let filter = filled(builder.build().expect("valid"), 390);
        let keys: Vec<u64> = (380..410).collect();
        let name = format!("index-independent {search:?}");
        try_common(&name, &|| filter.clone(), &keys);
        let mut tally = Tally::default();
        try_all(
            &format!("{name} add_bucket"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.add_bucket().map_err(|full| full.cause)),
        );
        let half = filled(builder.build().expect("valid"), 200);
        for bucket in 0..20 {
            try_all(
                &format!("{name} remove_bucket"),
                &mut tally,
                || half.clone(),
                |filter| done(filter.remove_bucket_at(bucket)),
            );
        }
        tally.print(&format!("{name}, buckets"));
    }
    for (resizing, max_filters) in [
        (Resizing::Adaptive, 4),
        (Resizing::Buckets, 1),
        (Resizing::Filters, 6),
        (Resizing::FiltersActiveOnly, 6),
    ] {
        let builder = ConsistentCuckooFilter::builder().resizing(resizing).seed(1);
        let builder = builder.buckets_per_filter(8).max_filters(max_filters);
        try_build("consistent", || builder.build());
        let filter = filled(builder.build().expect("valid"), 160);
        let name = format!("consistent {resizing:?}");
        let keys: Vec<u64> = (100..190).collect();
        try_common(&name, &|| filter.clone(), &keys);
        let mut tally = Tally::default();
        try_all(
            &format!("{name} scale_up"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.scale_up(5).map_err(|full| full.cause)),
        );
        try_all(
            &format!("{name} scale_out"),
            &mut tally,
            || filter.clone(),
            |filter| of_cause(&filter.scale_out().map_err(|full| full.cause)),
        );
        let part = IndexIndependentCuckooFilter::builder().buckets(30);
        try_all(
            &format!("{name} scale_out_with"),
            &mut tally,
            || filter.clone(),
            |filter| done(filter.scale_out_with(&part).is_ok()),
        );
        let mut sparse = filter.clone();
        (0..100u64).for_each(|key| assert!(sparse.remove(&key)));
        let _ = sparse.scale_out();
        tally.operations += 2;
        for operation in [ConsistentCuckooFilter::scale_down, |filter: &mut _| {
            ConsistentCuckooFilter::compact(filter) > 0
        }] {
            for n in 0.. {
                let (live, mut filter) = (LIVE.get(), sparse.clone());
                let (_, failed) = failing(n, || operation(&mut filter));
                assert!((100..160u64).all(|key| filter.contains(&key)), "{name} at {n}");
                assert!(ConsistentCuckooFilter::from_bytes(&filter.to_bytes()).is_ok());
                drop(filter);
                assert_eq!(LIVE.get(), live, "{name} leaked at {n}");
                tally.failures += usize::from(failed);
                if !failed {
                    break;
                }
            }
        }
        tally.print(&format!("{name}, resizing"));
    }
}

/// A note is written after a filter that may have taken the last memory.
#[test]
fn notes() {
    let note = Note::new(vec![7; 100_000]);
    let mut file = Vec::with_capacity(200_000);
    let (saved, failed) = failing(0, || note.write_to(&mut file));
    assert!(saved.is_ok() && !failed);
    for n in 0.. {
        let live = LIVE.get();
        let (loaded, failed) = failing(n, || Note::read_from(&file[..]));
        assert_eq!(loaded.is_err(), failed, "{n}");
        assert!(failed || loaded.as_ref().is_ok_and(|loaded| loaded.as_ref() == Some(&note)));
        drop(loaded);
        assert_eq!(LIVE.get(), live, "leaked at {n}");
        if !failed {
            break;
        }
    }
}

/// A piece that is refused leaves the keys that were there; segments may have been split for it.
#[test]
fn pieces_of_filters() {
    let builder = ElasticFilter::builder().seed(1);
    let mut set = filled(builder.build().expect("valid"), 5000);
    (0..9).for_each(|_| set.insert(&7u64).expect("counted"));
    let from = set.sections();
    let (piece, to) = set.copy_sections(from, u64::MAX, usize::MAX).expect("memory");
    let mut tally = Tally { operations: 1, ..Tally::default() };
    for n in 0.. {
        let live = LIVE.get();
        let (copied, failed) = failing(n, || set.copy_sections(from, u64::MAX, usize::MAX));
        assert_eq!(copied.is_err(), failed, "{n}");
        assert!(failed || copied.is_ok_and(|copied| copied == (piece.clone(), to)));
        assert_eq!(LIVE.get(), live, "leaked at {n}");
        tally.failures += usize::from(failed);
        tally.refused += usize::from(failed);
        if !failed {
            break;
        }
    }
    for keys in [0, 1500, 5000u64] {
        tally.operations += 1;
        let before = filled(builder.build().expect("valid"), keys);
        for n in 0.. {
            let live = LIVE.get();
            let mut copy = before.clone();
            let (added, failed) = failing(n, || copy.add_sections(from, to, &piece));
            let len = before.len() + if added.is_ok() { set.len() } else { 0 };
            assert_eq!(copy.len(), len, "{keys} keys: {n}, {added:?}");
            assert!(failed || added.is_ok(), "{keys} keys: {added:?}");
            assert!((0..keys).all(|key| copy.contains(&key)), "{keys} keys: {n}");
            assert!(ElasticFilter::from_bytes(&copy.to_bytes()).is_ok(), "{keys} keys: {n}");
            drop(copy);
            assert_eq!(LIVE.get(), live, "{keys} keys: leaked at {n}");
            tally.failures += usize::from(failed);
            tally.refused += usize::from(added.is_err());
            if !failed {
                break;
            }
        }
    }
    tally.print("elastic, in pieces");
}
