//! The filter for threads. Memory that is replaced is given back by crossbeam-epoch, later, and lists of
//! what waits are allocated there: these allocations are spared.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuculus::{ElasticFilter, Insert, KeyHash, SharedFilter};

use super::{LARGEST, LIVE, Outcome, SPARED, Tally, done, failing, filled, of_cause, try_all};

thread_local! {
    static HAS_SHARED: Cell<bool> = const { Cell::new(false) };
}

/// Frees what waits for nobody: epochs go on only as long as somebody pins.
pub(crate) fn settle() {
    if HAS_SHARED.get() {
        // An empty list is not handed over, so nothing is allocated by the last of these.
        (0..64).for_each(|_| crossbeam_epoch::pin().flush());
    }
}

/// What one thread has replaced another may give back: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Finds out what crossbeam-epoch allocates for each list of what waits.
fn spare_epochs() -> MutexGuard<'static, ()> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    drop(crossbeam_epoch::pin());
    LARGEST.set(None);
    for _ in 0..1000 {
        crossbeam_epoch::pin().defer(|| ());
    }
    let list = LARGEST.get().expect("some lists");
    assert!(list.size() > 1024 && list.align() == 8, "{list:?}");
    SPARED.set(Some(list));
    HAS_SHARED.set(true);
    alone
}

fn shared(keys: u64, parts: usize) -> impl Fn() -> SharedFilter {
    let elastic = filled(ElasticFilter::builder().seed(1).build().expect("valid"), keys);
    move || SharedFilter::from_filter(elastic.clone(), parts).expect("memory")
}

#[test]
fn shared_filters() {
    let _alone = spare_epochs();
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
    let _alone = spare_epochs();
    let copy = shared(6300, 4);
    let hash = |key: u64| copy().hasher().hash(&key);
    let hashes: Vec<KeyHash> = (6250..6700).map(hash).collect();
    let mut tally = Tally { operations: 3, ..Tally::default() };
    for n in 0.. {
        settle();
        let live = LIVE.get();
        let (filter, mut answers) = (copy(), Vec::new());
        let len = filter.len();
        let (result, failed) = failing(n, || filter.insert_batch(&hashes));
        tally.refused += usize::from(result.is_err() && failed);
        let inserted = result.map_or_else(|full| full.inserted, |()| hashes.len());
        assert_eq!(filter.len(), len + inserted, "batch, {n}");
        drop(filter);
        let filter = copy();
        let (result, failed_too) = failing(n, || filter.insert_absent_batch(&hashes, &mut answers));
        tally.refused += usize::from(result.is_err() && failed_too);
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
        tally.refused += usize::from(failed_to_remove && removed < 50);
        assert_eq!(filter.len(), len - removed, "removal, {n}");
        assert!(failed_to_remove || removed == 50);
        let failures = [failed, failed_too, failed_to_remove];
        tally.failures += failures.iter().filter(|&&failed| failed).count();
        drop((filter, answers));
        settle();
        assert_eq!(LIVE.get(), live, "leaked at {n}");
        if failures == [false; 3] {
            break;
        }
    }
    tally.print("shared, batches");
}

/// Saving needs memory for a snapshot, and fails without.
#[test]
fn saving_a_shared_filter() {
    let _alone = spare_epochs();
    let filter = shared(6300, 4)();
    let bytes = cuculus::Persist::to_bytes(&filter);
    let mut tally = Tally { operations: 1, ..Tally::default() };
    for n in 0.. {
        let mut file = Vec::with_capacity(bytes.len());
        let live = LIVE.get();
        let (saved, failed) = failing(n, || cuculus::Persist::write_to(&filter, &mut file));
        assert_eq!(saved.is_err(), failed);
        assert!(failed || file == bytes);
        assert_eq!(LIVE.get(), live, "leaked at {n}");
        tally.failures += usize::from(failed);
        tally.refused += usize::from(failed);
        if !failed {
            break;
        }
    }
    tally.print("shared, saving");
}
