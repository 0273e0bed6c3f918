//! The protocol of elastic/published.rs as a model that loom runs in every order, and what it finds
//! if one of its rules is broken. Segments are plain memory, so loom also finds every data race.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering, fence};

/// A key that is always there, one that comes, and memory that was given back.
const OLD: u64 = 7;
const NEW: u64 = 9;
const FREED: u64 = 0xdead;

/// A rule that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// A segment is published by a relaxed store.
    RelaxedStore,
    /// A segment is changed where readers see it.
    InPlace,
    /// A split is published segment by segment, not by a new root.
    SlotBySlot,
    /// What was replaced is given back at once.
    FreedAtOnce,
}

/// Segments, and roots that say where they are: slots 0 and 1, and how many there are.
struct Part {
    segments: [UnsafeCell<[u64; 2]>; 3],
    slots: [[AtomicUsize; 2]; 2],
    counts: [AtomicUsize; 2],
    root: AtomicUsize,
    pinned: AtomicUsize,
}

// SAFETY: what the model is about; loom checks each access.
#[allow(unsafe_code, reason = "loom checks the accesses")]
unsafe impl Sync for Part {}
// SAFETY: as above.
#[allow(unsafe_code, reason = "loom checks the accesses")]
unsafe impl Send for Part {}

impl Part {
    fn new() -> Self {
        let slots = || [AtomicUsize::new(0), AtomicUsize::new(1)];
        Self {
            segments: [[OLD, 0], [0, 0], [0, 0]].map(UnsafeCell::new),
            slots: [slots(), slots()],
            counts: [AtomicUsize::new(1), AtomicUsize::new(2)],
            root: AtomicUsize::new(0),
            pinned: AtomicUsize::new(0),
        }
    }

    #[allow(unsafe_code, reason = "loom checks the accesses")]
    fn read(&self, segment: usize) -> [u64; 2] {
        // SAFETY: loom checks the access.
        self.segments[segment].with(|at| unsafe { *at })
    }

    #[allow(unsafe_code, reason = "loom checks the accesses")]
    fn write(&self, segment: usize, entries: [u64; 2]) {
        // SAFETY: loom checks the access.
        self.segments[segment].with_mut(|at| unsafe { *at = entries });
    }

    /// A lookup of the old key, which belongs to the last segment.
    fn finds_old(&self) -> bool {
        self.pinned.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let root = self.root.load(Ordering::Acquire);
        let last = self.counts[root].load(Ordering::Acquire) - 1;
        let segment = self.slots[root][last].load(Ordering::Acquire);
        let entries = self.read(segment);
        assert!(!entries.contains(&FREED), "freed memory was read");
        self.pinned.store(0, Ordering::Release);
        entries.contains(&OLD)
    }

    /// Gives a segment back if nobody can read it, as epochs do.
    fn give_back(&self, segment: usize, broken: Broken) {
        fence(Ordering::SeqCst);
        if broken == Broken::FreedAtOnce || self.pinned.load(Ordering::Acquire) == 0 {
            self.write(segment, [FREED; 2]);
        }
    }

    /// One key more in the first segment.
    fn insert(&self, broken: Broken) {
        if broken == Broken::InPlace {
            return self.write(0, [OLD, NEW]);
        }
        let mut copy = self.read(0);
        copy[1] = NEW;
        self.write(2, copy);
        let order =
            if broken == Broken::RelaxedStore { Ordering::Relaxed } else { Ordering::Release };
        self.slots[0][0].store(2, order);
        self.give_back(0, broken);
    }

    /// The old key goes from the first segment to the second.
    fn split(&self, broken: Broken) {
        self.write(1, [OLD, 0]);
        self.write(2, [NEW, 0]);
        if broken == Broken::SlotBySlot {
            self.slots[0][0].store(2, Ordering::Release);
            self.slots[0][1].store(1, Ordering::Release);
            self.counts[0].store(2, Ordering::Release);
        } else {
            self.slots[1][0].store(2, Ordering::Relaxed);
            self.root.store(1, Ordering::Release);
        }
        self.give_back(0, broken);
    }
}

fn model(change: fn(&Part, Broken), broken: Broken) {
    loom::model(move || {
        let part = Arc::new(Part::new());
        let writer = Arc::clone(&part);
        let writer = loom::thread::spawn(move || change(&writer, broken));
        assert!(part.finds_old(), "a key that was there was not found");
        writer.join().expect("no panic");
        assert!(part.finds_old(), "a key is lost");
    });
}

fn finds(change: fn(&Part, Broken), broken: Broken) {
    let found = std::panic::catch_unwind(|| model(change, broken));
    assert!(found.is_err(), "{broken:?} goes unnoticed");
}

#[test]
fn a_reader_finds_its_key_while_another_is_inserted() {
    model(Part::insert, Broken::Nothing);
}

#[test]
fn a_reader_finds_its_key_while_its_segment_is_split() {
    model(Part::split, Broken::Nothing);
}

#[test]
fn the_model_notices_every_broken_rule() {
    for broken in [Broken::RelaxedStore, Broken::InPlace, Broken::FreedAtOnce] {
        finds(Part::insert, broken);
    }
    for broken in [Broken::SlotBySlot, Broken::FreedAtOnce] {
        finds(Part::split, broken);
    }
}
