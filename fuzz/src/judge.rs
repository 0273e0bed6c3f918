//! What an operation may cost on any filter that can exist: counted work, memory in proportion to the
//! keys, and a file that loads in the same memory.

use std::cell::Cell;

use cuculus::{Filter, Persist, conformance, lab};

/// Buckets opened and entries moved by one operation on one key.
pub(crate) const MOST_WORK: u64 = 16_384;
/// Work that a removal may do besides, for each key: it may merge two parts of a filter.
const WORK_PER_KEY: u64 = 64;
/// Memory that keys may need in the worst case, and what any filter may hold.
const BYTES_PER_KEY: usize = 4096;
const BYTES: usize = 512 << 10;

/// The worst of all operations of this thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst {
    /// Work of one operation.
    pub work: u64,
    /// Bytes in memory.
    pub bytes: usize,
    /// Filters that were saved and loaded.
    pub loads: u64,
}

thread_local! {
    static WORST: Cell<Worst> = const { Cell::new(Worst { work: 0, bytes: 0, loads: 0 }) };
}

/// The worst since the last call.
pub(crate) fn take_worst() -> Worst {
    WORST.take()
}

fn note(change: impl FnOnce(&mut Worst)) {
    let mut worst = WORST.get();
    change(&mut worst);
    WORST.set(worst);
}

/// Runs an operation on one key of a filter.
pub(crate) fn operation<F: Filter, T>(filter: &mut F, run: impl FnOnce(&mut F) -> T) -> T {
    let (len, before) = (filter.len(), filter.size_in_bytes());
    lab::take_work();
    let outcome = run(filter);
    let work = lab::take_work();
    let most = MOST_WORK + if filter.len() < len { WORK_PER_KEY * len as u64 } else { 0 };
    assert!(work <= most, "{work} for one key of {len}");
    let bytes = filter.size_in_bytes();
    let explained = 2 * before + BYTES_PER_KEY * filter.len() + BYTES;
    assert!(bytes <= explained, "{bytes} bytes with {} keys, {before} before", filter.len());
    note(|worst| {
        worst.work = worst.work.max(work);
        worst.bytes = worst.bytes.max(bytes);
    });
    outcome
}

/// The law of files.
pub(crate) fn saved<F: Filter + Persist>(filter: &F) -> F {
    note(|worst| worst.loads += 1);
    conformance::loads_as_it_is("a filter in memory", filter)
}
