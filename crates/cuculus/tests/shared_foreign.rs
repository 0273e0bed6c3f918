//! A shared filter beside other users of `crossbeam`'s epochs, whose deferred destructors do what they
//! like: panic, or change the filter. None of them may run inside a call of the filter.
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crossbeam_skiplist::SkipMap;
use cuculus::SharedFilter;

thread_local! {
    /// Whether this thread is in a call of the filter.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

fn inside<T>(call: impl FnOnce() -> T) -> T {
    INSIDE.set(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(false);
    result.expect("a destructor of somebody else ran inside a call of the filter")
}

/// Between two steps of a change a panic could leave memory in two lists, which free it twice.
#[test]
fn destructors_of_others_do_not_run_in_a_call() {
    let filter = SharedFilter::builder().parts(1).seed(1).build().expect("valid");
    for key in 0..60_000u64 {
        if key % 100 == 0 {
            crossbeam_epoch::pin().defer(|| assert!(!INSIDE.get(), "in the middle of a change"));
        }
        inside(|| filter.insert(&key)).expect("room");
    }
    (0..60_000u64).for_each(|key| assert!(inside(|| filter.contains(&key)), "{key} is lost"));
    (0..60_000u64).for_each(|key| assert!(inside(|| filter.remove(&key)), "{key} is lost"));
    assert!(filter.is_empty() && filter.poisoned_parts() == 0);
}

/// A value that takes its key out of the filter when it is dropped.
struct Held(SharedFilter, u64);

impl Drop for Held {
    fn drop(&mut self) {
        assert!(self.0.remove(&self.1), "{} is lost", self.1);
    }
}

/// Such a destructor would wait for a lock that its own thread holds. A busy machine only takes its time.
#[test]
fn a_map_whose_values_change_the_filter_does_not_hang() {
    let (done, is_working) = mpsc::channel();
    let working = thread::spawn(move || {
        let filter = SharedFilter::builder().parts(1).seed(2).build().expect("valid");
        let map = SkipMap::new();
        for key in 0..200_000u64 {
            filter.insert(&key).expect("room");
            map.insert(key % 8192, Held(filter.clone(), key));
            if key % 1000 == 0 {
                done.send(key).expect("somebody waits");
            }
        }
    });
    let patience = Duration::from_secs(60);
    let stopped = loop {
        match is_working.recv_timeout(patience) {
            Ok(_) => {}
            Err(stopped) => break stopped,
        }
    };
    assert_eq!(stopped, RecvTimeoutError::Disconnected, "a thread waits for itself");
    working.join().expect("no panic");
}
