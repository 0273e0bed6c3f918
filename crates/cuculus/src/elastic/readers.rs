//! All threads that read, and which of them did at some moment (reading.rs). Knows nothing of what they
//! read.
//!
//! A thread that reads for the first time gets an entry of a list, and leaves it to another when it ends.
//! Entries are never freed: there are as many as there were threads at once.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::fences;
use super::reading::Reader;

/// A thread that reads, on cache lines of its own.
#[repr(align(128))]
struct Entry {
    reader: Reader,
    is_taken: AtomicBool,
    next: Option<&'static Entry>,
}

/// The newest entry.
static FIRST: AtomicPtr<Entry> = AtomicPtr::new(null_mut());

thread_local! {
    /// Without a destructor, so that it can be had at any time, and fast.
    static MINE: Cell<Option<&'static Entry>> = const { Cell::new(None) };
    static LEAVING: Leaving = const { Leaving };
}

/// Leaves the thread's entry to others.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(entry) = MINE.take() {
            entry.is_taken.store(false, Ordering::Release);
        }
    }
}

/// The first entry; the others follow.
#[allow(unsafe_code, reason = "a list that only grows")]
fn first() -> Option<&'static Entry> {
    // SAFETY: null, or leaked by `take_entry`; what it wrote was released with the pointer.
    unsafe { FIRST.load(Ordering::Acquire).as_ref() }
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    core::iter::successors(first(), |entry| entry.next)
}

/// An entry that nobody else has.
fn take_entry() -> &'static Entry {
    let is_free = |entry: &&Entry| {
        let (order, failed) = (Ordering::Acquire, Ordering::Relaxed);
        entry.is_taken.compare_exchange(false, true, order, failed).is_ok()
    };
    if let Some(entry) = entries().find(is_free) {
        return entry;
    }
    let reader = Reader::new(AtomicU64::new(0));
    let entry = Box::leak(Box::new(Entry { reader, is_taken: AtomicBool::new(true), next: None }));
    loop {
        let newest = first();
        entry.next = newest;
        let newest = newest.map_or(null_mut(), |newest| core::ptr::from_ref(newest).cast_mut());
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        if FIRST.compare_exchange(newest, entry, order, failed).is_ok() {
            return entry;
        }
    }
}

/// As long as it lives, its thread may read what others replace.
pub(crate) struct Reading {
    /// `None` within another of the same thread.
    entry: Option<&'static Entry>,
    /// The thread is ending, and has no entry of its own any more.
    is_borrowed: bool,
    of_one_thread: PhantomData<*const ()>,
}

/// Begins to read.
#[inline(always)]
pub(crate) fn read() -> Reading {
    match MINE.get() {
        Some(entry) => Reading {
            entry: entry.reader.begin().then_some(entry),
            is_borrowed: false,
            of_one_thread: PhantomData,
        },
        None => read_first(),
    }
}

#[cold]
#[inline(never)]
fn read_first() -> Reading {
    fences::decide();
    let entry = take_entry();
    let is_borrowed = LEAVING.try_with(|_| ()).is_err();
    if !is_borrowed {
        MINE.set(Some(entry));
    }
    entry.reader.begin();
    Reading { entry: Some(entry), is_borrowed, of_one_thread: PhantomData }
}

impl Drop for Reading {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            entry.reader.end();
            if self.is_borrowed {
                entry.is_taken.store(false, Ordering::Release);
            }
        }
    }
}

/// Threads that may still read what was replaced before they were looked for.
#[derive(Default)]
pub(super) struct Readers(Vec<(&'static Entry, u64)>);

impl Readers {
    /// Those that read now; `None` if it cannot be said.
    pub(super) fn now() -> Option<Self> {
        if !fences::fence_of_writers() {
            return None;
        }
        let mut readers = Vec::new();
        for entry in entries() {
            if let Some(state) = entry.reader.state() {
                readers.try_reserve(1).ok()?;
                readers.push((entry, state));
            }
        }
        Some(Self(readers))
    }

    /// Whether all of them have gone on.
    pub(super) fn are_gone(&mut self) -> bool {
        self.0.retain(|(entry, state)| !entry.reader.is_past(*state));
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Whoever reads when something is replaced is waited for; who begins later is not.
    #[test]
    fn readers_are_waited_for() {
        let (begun, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        let reader = thread::spawn(move || {
            let reading = read();
            drop(read());
            begun.send(()).expect("asked");
            may_end.recv().expect("told");
            drop(reading);
            let _later = read();
            begun.send(()).expect("asked");
            may_end.recv().expect("told");
        });
        has_begun.recv().expect("a thread");
        let mut readers = Readers::now().expect("a fence");
        // Other tests read, too, and come to an end.
        while readers.0.len() > 1 {
            readers.are_gone();
        }
        assert!(!readers.are_gone());
        end.send(()).expect("a thread");
        has_begun.recv().expect("a thread");
        assert!(readers.are_gone());
        end.send(()).expect("a thread");
        reader.join().expect("no panic");
    }

    /// A thread's entry is another's when it has ended, and what reads while a thread ends has one.
    #[test]
    fn entries_are_used_again() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                drop(read());
            }
        }
        thread_local!(static LAST: Last = const { Last });
        for _ in 0..200 {
            let thread = thread::spawn(|| {
                LAST.with(|_| ());
                drop(read());
            });
            thread.join().expect("no panic");
        }
        assert!(entries().count() < 100, "{} entries", entries().count());
    }
}
