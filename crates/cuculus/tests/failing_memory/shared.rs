//! The filter for threads.

use std::thread;

use cuculus::conformance::Random;
use cuculus::{ElasticFilter, FullCause, Insert, KeyHash, SharedFilter};

use testkit::failing::{Outcome, Tally, done, each_failure, of_cause, try_all};
use testkit::filled;
use testkit::heap::{self, failing, with_a_tenth_refused};

fn shared(keys: u64, parts: usize) -> impl Fn() -> SharedFilter {
    let elastic = filled(ElasticFilter::builder().seed(1).build().expect("valid"), keys);
    move || SharedFilter::from_filter(elastic.clone(), parts).expect("memory")
}

#[test]
fn shared_filters() {
    // The last one has two segments in each part, about to be four.
    for (keys, parts) in [(0, 4), (1, 4), (6300, 4), (6300, 1)] {
        let copy = shared(keys, parts);
        let mut tally = Tally::default();
        for key in keys.saturating_sub(20)..keys + 120 {
            try_all(&format!("shared insert {key}"), &mut tally, &copy, |filter| {
                of_cause(&filter.insert(&key).map_err(|full| full.cause))
            });
            try_all(&format!("shared insert_absent {key}"), &mut tally, &copy, |filter| {
                let absent = filter.insert_absent(&key).map_err(|full| full.cause);
                // One that is contained is not inserted, and changes nothing.
                if absent == Ok(false) { Outcome::NotDone } else { of_cause(&absent) }
            });
            try_all(&format!("shared remove {key}"), &mut tally, &copy, |filter| {
                done(filter.remove(&key))
            });
        }
        try_all("shared clear", &mut tally, &copy, |filter| {
            filter.clear();
            Outcome::Done
        });
        let other = filled(ElasticFilter::builder().seed(1).build().expect("valid"), 3000);
        try_all("shared merge", &mut tally, &copy, |filter| done(filter.merge(&other).is_ok()));
        tally.print(&format!("shared of {keys} in {parts} parts"));
    }
}

/// A batch keeps what went in before it was refused, and says how many. Without memory for its own lists
/// it goes key by key.
#[test]
fn batches_of_shared_filters() {
    let copy = shared(6300, 4);
    let hash = |key: u64| copy().hasher().hash(&key);
    let hashes: Vec<KeyHash> = (6250..6700).map(hash).collect();
    let mut tally = Tally { operations: 3, ..Tally::default() };
    each_failure("batch", |n| {
        let (filter, mut answers) = (copy(), Vec::new());
        let len = filter.len();
        let (result, failed) = failing(n, || filter.insert_batch(&hashes));
        tally.count(failed, result.is_err() && failed);
        let inserted = result.map_or_else(|full| full.inserted, |()| hashes.len());
        assert_eq!(filter.len(), len + inserted, "batch, {n}");
        drop(filter);
        let filter = copy();
        let (result, failed_too) = failing(n, || filter.insert_absent_batch(&hashes, &mut answers));
        tally.count(failed_too, result.is_err() && failed_too);
        let inserted = answers.iter().filter(|&&absent| absent).count();
        assert_eq!(filter.len(), len + inserted, "absent batch, {n}");
        assert!(
            result.is_ok_and(|()| inserted > 300)
                || result.is_err_and(|full| full.inserted == inserted)
        );
        drop(filter);
        let filter = copy();
        // The caller's, which no error can refuse.
        answers.reserve(hashes.len());
        let ((), failed_to_remove) =
            failing(n, || filter.remove_batch(&hashes[..50], &mut answers));
        let removed = answers.iter().filter(|&&removed| removed).count();
        tally.count(failed_to_remove, failed_to_remove && removed < 50);
        assert_eq!(filter.len(), len - removed, "removal, {n}");
        assert!(failed_to_remove || removed == 50);
        failed || failed_too || failed_to_remove
    });
    tally.print("shared, batches");
}

/// Saving needs memory for a snapshot, and fails without.
#[test]
fn saving_a_shared_filter() {
    let filter = shared(6300, 4)();
    let bytes = cuculus::Persist::to_bytes(&filter);
    let mut tally = Tally { operations: 1, ..Tally::default() };
    each_failure("saving", |n| {
        let mut file = Vec::with_capacity(bytes.len());
        let (saved, failed) = failing(n, || cuculus::Persist::write_to(&filter, &mut file));
        assert_eq!(saved.is_err(), failed);
        assert!(failed || file == bytes);
        tally.count(failed, failed);
        failed
    });
    tally.print("shared, saving");
}

/// The first look-up of a thread, and every later one, does without memory.
#[test]
fn a_first_look_up_needs_no_memory() {
    let filter = shared(6300, 4)();
    thread::scope(|scope| {
        let looking = scope.spawn(|| failing(0, || (filter.contains(&1u64), filter.count(&1u64))));
        assert_eq!(looking.join().expect("no panic"), ((true, 1), false));
    });
}

/// Somebody who stays pinned in the epochs that many crates share keeps none of the filter's memory.
#[test]
fn guards_of_others_hold_nothing_back() {
    let empty = shared(0, 64);
    let (filter, guard) = (empty(), crossbeam_epoch::pin());
    let live = heap::live();
    for round in 0..3u64 {
        (0..100_000u64).for_each(|key| filter.insert(&(round << 32 | key)).expect("room"));
        (0..100_000u64).for_each(|key| assert!(filter.remove(&(round << 32 | key))));
    }
    let left = heap::live() - live;
    drop(guard);
    assert!(filter.is_empty() && left < 64 << 10, "{left} bytes for no keys");
}

/// A tenth of all allocations is refused. A key is inserted or refused, and one that is there is
/// removed, whatever else would have been done with more memory.
#[test]
fn what_is_there_is_removed_without_memory() {
    for (rate, spare, parts) in [(0.001, None, 1), (0.001, None, 4), (0.2, Some(0), 1)] {
        let mut builder = ElasticFilter::builder().false_positive_rate(rate).seed(5);
        if let Some(bytes) = spare {
            builder = builder.spare_bytes(bytes);
        }
        let plain = builder.build().expect("valid");
        let filter = SharedFilter::from_filter(plain, parts).expect("memory");
        let (mut keys, mut refused, mut random) = (Vec::new(), 0u32, Random::new(7));
        for tide in 0..6 {
            for _ in 0..60_000 {
                // Mostly up, then mostly down.
                if keys.is_empty() || (random.below(8) < 5) == (tide % 2 == 0) {
                    let key = random.bits();
                    match with_a_tenth_refused(random.bits(), || filter.insert(&key)) {
                        Ok(()) => keys.push(key),
                        Err(full) => {
                            assert_eq!(full.cause, FullCause::OutOfMemory);
                            refused += 1;
                        }
                    }
                } else {
                    let key = keys.swap_remove(random.below(keys.len()));
                    assert!(with_a_tenth_refused(random.bits(), || filter.remove(&key)));
                }
                assert_eq!(filter.len(), keys.len());
            }
            assert!(keys.iter().all(|key| filter.contains(key)), "{rate}: a key is lost");
        }
        assert!(refused > 0, "{rate}: nothing was refused");
        assert!(keys.iter().all(|key| filter.remove(key)) && filter.is_empty());
    }
}
