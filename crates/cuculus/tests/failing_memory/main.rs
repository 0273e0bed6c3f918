//! Memory that is refused: every operation of every filter with each of its allocations failing in
//! turn.

use cuculus::lab::Search;
use cuculus::{CuckooFilter, CuckooMaplet, ElasticFilter, Filter, Insert, Note, Persist, Remove};
use testkit::failing::{Tally, done, each_failure, try_all, try_build, try_common, try_files};
use testkit::heap::failing;
use testkit::{Heap, filled};

mod bulk;
mod shared;

#[global_allocator]
static ALLOCATOR: Heap = Heap;

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
        let copy = || full.clone();
        try_all("maplet insert", &mut tally, copy, |maplet: &mut CuckooMaplet| {
            done(maplet.insert(&(1000 + key), 5).is_ok())
        });
        try_all("maplet remove", &mut tally, copy, |maplet| done(maplet.remove(&key, 5)));
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
        each_failure(&name, |n| {
            let mut shrunk = filter.clone();
            let ((), failed) = failing(n, || shrunk.shrink_to_fit());
            assert!(shrunk.len() == filter.len() && (0..keys).all(|key| shrunk.contains(&key)));
            assert!(ElasticFilter::from_bytes(&shrunk.to_bytes()).is_ok());
            tally.count(failed, false);
            failed
        });
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

/// A note is written after a filter that may have taken the last memory.
#[test]
fn notes() {
    let note = Note::new(vec![7; 100_000]);
    let mut file = Vec::with_capacity(200_000);
    let (saved, failed) = failing(0, || note.write_to(&mut file));
    assert!(saved.is_ok() && !failed);
    each_failure("note", |n| {
        let (loaded, failed) = failing(n, || Note::read_from(&file[..]));
        assert_eq!(loaded.is_err(), failed, "{n}");
        assert!(failed || loaded.as_ref().is_ok_and(|loaded| loaded.as_ref() == Some(&note)));
        failed
    });
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
    each_failure("copying", |n| {
        let (copied, failed) = failing(n, || set.copy_sections(from, u64::MAX, usize::MAX));
        assert_eq!(copied.is_err(), failed, "{n}");
        assert!(failed || copied.is_ok_and(|copied| copied == (piece.clone(), to)));
        tally.count(failed, failed);
        failed
    });
    for keys in [0, 1500, 5000u64] {
        tally.operations += 1;
        let before = filled(builder.build().expect("valid"), keys);
        each_failure(&format!("{keys} keys"), |n| {
            let mut copy = before.clone();
            let (added, failed) = failing(n, || copy.add_sections(from, to, &piece));
            let len = before.len() + if added.is_ok() { set.len() } else { 0 };
            assert_eq!(copy.len(), len, "{keys} keys: {n}, {added:?}");
            assert!(failed || added.is_ok(), "{keys} keys: {added:?}");
            assert!((0..keys).all(|key| copy.contains(&key)), "{keys} keys: {n}");
            assert!(ElasticFilter::from_bytes(&copy.to_bytes()).is_ok(), "{keys} keys: {n}");
            tally.count(failed, added.is_err());
            failed
        });
    }
    tally.print("elastic, in pieces");
}
