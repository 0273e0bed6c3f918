//! Memory that is refused: an operation with its first allocation failing, its second, and so on
//! until it needs no more. Each time an error, or an operation that did without; nothing changed by an
//! error, nothing leaked, no abort. The binary's allocator must be [`Heap`](crate::Heap).

use std::fmt::Debug;
use std::sync::Once;

use cuculus::{Filter, FullCause, Insert, KeyHash, Persist, Remove};

use crate::heap::{self, failing};

/// What an operation did: nothing after an error, anything after success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done.
    Done,
    /// An error that says that memory was refused.
    Refused,
    /// Another error or a `false`, which the same operation may return with memory too.
    NotDone,
}

/// What an insert did.
pub fn of_cause<T>(result: &Result<T, FullCause>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(FullCause::OutOfMemory) => Outcome::Refused,
        Err(_) => Outcome::NotDone,
    }
}

/// What an operation did that returns whether it did.
#[must_use]
pub fn done(is_done: bool) -> Outcome {
    if is_done { Outcome::Done } else { Outcome::NotDone }
}

/// The failures of operations: a row of the table.
#[derive(Default, Debug)]
pub struct Tally {
    /// Operations tried.
    pub operations: usize,
    /// Allocations that failed.
    pub failures: usize,
    /// Operations that returned an error for it.
    pub refused: usize,
}

impl Tally {
    /// Counts an attempt: whether an allocation failed, and whether it was refused for that.
    pub fn count(&mut self, failed: bool, refused: bool) {
        self.failures += usize::from(failed);
        self.refused += usize::from(refused);
    }

    /// What was not refused was done without the memory. An abort would end the test, and whatever is
    /// changed or leaked fails it.
    pub fn print(&self, name: &str) {
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

/// Attempts something with each of its allocations failing in turn, until it says that none failed.
/// Whatever an attempt holds is given back when it returns.
pub fn each_failure(name: &str, mut attempt: impl FnMut(i64) -> bool) {
    for n in 0.. {
        let live = heap::live();
        let failed = attempt(n);
        assert_eq!(heap::live(), live, "{name}: failure {n} leaked");
        if !failed {
            break;
        }
        assert!(n < 100_000, "{name}: no end");
    }
}

/// Does an operation with each allocation failing in turn, on a fresh copy each time.
pub fn try_all<F: Filter + Persist>(
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
    each_failure(name, |n| {
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
        tally.count(failed, failed && outcome != Outcome::Done);
        if !failed {
            assert_eq!(outcome, expected, "{name}: {n}");
            assert!(filter.to_bytes() == with_memory.to_bytes(), "{name}: {n}");
        }
        failed
    });
}

/// Saving and loading of a filter: an error or the filter.
pub fn try_files<F: Filter + Persist>(name: &str, tally: &mut Tally, filter: &F) {
    tally.operations += 1;
    let bytes = filter.to_bytes();
    each_failure(&format!("{name}, loading"), |n| {
        let (loaded, failed) = failing(n, || F::from_bytes(&bytes));
        match &loaded {
            Ok(loaded) => assert!(loaded.to_bytes() == bytes, "{name}"),
            Err(error) => assert!(failed, "{name}: {error}"),
        }
        tally.count(failed, loaded.is_err());
        failed
    });
    // Into memory that is there already: saving needs none.
    let mut file = Vec::with_capacity(bytes.len());
    let (saved, failed) = failing(0, || filter.write_to(&mut file));
    assert!(saved.is_ok() && !failed && file == bytes, "{name}: saving took memory");
}

/// Operations that every filter has, on the filter that `copy` makes, for some keys. Removals do not
/// report missing memory: they succeed, or the key stays.
pub fn try_common<F: Insert + Remove + Persist>(name: &str, copy: &dyn Fn() -> F, keys: &[u64]) {
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
    each_failure(name, |n| {
        let (mut filter, mut absent) = (copy(), Vec::new());
        let len = filter.len();
        let (result, failed) = failing(n, || filter.insert_absent_batch(&hashes, &mut absent));
        tally.count(failed, result.is_err() && failed);
        let inserted = result.map_or_else(|full| full.inserted, |()| filter.len() - len);
        assert_eq!(filter.len(), len + inserted, "{name}: absent batch, {n}");
        let (mut filter, len) = (copy(), copy().len());
        let (result, failed_too) = failing(n, || filter.insert_batch(&hashes));
        tally.count(failed_too, result.is_err() && failed_too);
        let inserted = result.map_or_else(|full| full.inserted, |()| hashes.len());
        assert!(filter.len() <= len + inserted, "{name}: batch, {n}");
        failed || failed_too
    });
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
pub fn try_build<F, E: Debug>(name: &str, build: impl Fn() -> Result<F, E>) {
    each_failure(name, |n| {
        let (built, failed) = failing(n, &build);
        assert!(built.is_ok() || failed, "{name}: {:?}", built.err());
        failed
    });
}
