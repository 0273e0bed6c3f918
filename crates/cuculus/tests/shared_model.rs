//! The protocols of elastic/published.rs and elastic/version.rs as models that loom runs in every
//! order, and what it finds if one of their rules is broken. Copies are plain memory, so loom also
//! finds every data race; the version is the file itself.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// What version.rs is made of.
mod atomics {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}

#[path = "../src/elastic/version.rs"]
mod version;

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
    /// A segment is changed where readers see it, without a version.
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

/// A rule of version.rs that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unkept {
    /// A reader does not look at the version again.
    Validation,
    /// A reader begins while the version is odd.
    Evenness,
    /// A reader does not acquire what the version has released.
    Acquire,
    /// A reader's last load of the version is not kept after the others.
    AcquireFence,
    /// A writer's stores are not kept after the odd version.
    ReleaseFence,
    /// A writer's stores are not kept before the even version.
    Release,
}

/// The version as in version.rs, but for one rule.
struct Careless {
    version: AtomicU64,
    unkept: Unkept,
}

impl Careless {
    fn order(&self, rule: Unkept, order: Ordering) -> Ordering {
        if self.unkept == rule { Ordering::Relaxed } else { order }
    }
}

/// What readers and writers do with a version.
trait Versioned: Sized + Send + Sync + 'static {
    fn begin(&self) -> Option<u64>;
    fn is_still(&self, version: u64) -> bool;
    fn change(&self, stores: impl FnOnce());
}

impl Versioned for version::Version {
    fn begin(&self) -> Option<u64> {
        self.begin()
    }
    fn is_still(&self, version: u64) -> bool {
        self.is_still(version)
    }
    fn change(&self, stores: impl FnOnce()) {
        self.change(stores);
    }
}

impl Versioned for Careless {
    fn begin(&self) -> Option<u64> {
        let version = self.version.load(self.order(Unkept::Acquire, Ordering::Acquire));
        (version & 1 == 0 || self.unkept == Unkept::Evenness).then_some(version)
    }
    fn is_still(&self, version: u64) -> bool {
        if self.unkept != Unkept::AcquireFence {
            fence(Ordering::Acquire);
        }
        self.unkept == Unkept::Validation || self.version.load(Ordering::Relaxed) == version
    }
    fn change(&self, stores: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version + 1, Ordering::Relaxed);
        if self.unkept != Unkept::ReleaseFence {
            fence(Ordering::Release);
        }
        stores();
        self.version.store(version + 2, self.order(Unkept::Release, Ordering::Release));
    }
}

/// A segment of two words that is changed in place: where the codes begin, and codes.
struct InPlace<V> {
    version: V,
    words: [AtomicU64; 2],
}

impl<V: Versioned> InPlace<V> {
    fn new(version: V) -> Self {
        Self { version, words: [AtomicU64::new(OLD), AtomicU64::new(0)] }
    }

    /// Whether the old key is there; `None` if the segment was changed meanwhile.
    fn try_find_old(&self) -> Option<bool> {
        let version = self.version.begin()?;
        let words = [&self.words[0], &self.words[1]].map(|word| word.load(Ordering::Relaxed));
        self.version.is_still(version).then(|| words.contains(&OLD))
    }

    /// One key more before the old one, which moves.
    fn insert(&self) {
        self.version.change(|| {
            self.words[0].store(NEW, Ordering::Relaxed);
            self.words[1].store(OLD, Ordering::Relaxed);
        });
    }

    /// And back.
    fn remove(&self) {
        self.version.change(|| {
            self.words[0].store(OLD, Ordering::Relaxed);
            self.words[1].store(0, Ordering::Relaxed);
        });
    }
}

/// A reader beside one change, or two. All orders of the latter take minutes: it is for what is found
/// sooner.
fn model_in_place<V: Versioned>(changes: usize, version: impl Fn() -> V + Send + Sync + 'static) {
    loom::model(move || {
        let segment = Arc::new(InPlace::new(version()));
        let writer = Arc::clone(&segment);
        let writer = loom::thread::spawn(move || {
            writer.insert();
            if changes > 1 {
                writer.remove();
            }
        });
        for _ in 0..changes {
            let found = segment.try_find_old();
            assert_ne!(found, Some(false), "a key that was there was not found");
        }
        writer.join().expect("no panic");
        assert_eq!(segment.try_find_old(), Some(true), "a key is lost, or nobody can read it");
    });
}

#[test]
fn a_reader_finds_its_key_while_it_is_moved() {
    model_in_place(1, version::Version::new);
}

#[test]
fn the_model_notices_every_rule_of_versions_that_is_not_kept() {
    use Unkept::{Acquire, AcquireFence, Evenness, Release, ReleaseFence, Validation};
    for unkept in [Validation, Evenness, Acquire, AcquireFence, ReleaseFence, Release] {
        let careless = move || Careless { version: AtomicU64::new(0), unkept };
        let found = std::panic::catch_unwind(|| model_in_place(2, careless));
        assert!(found.is_err(), "{unkept:?} goes unnoticed");
    }
}
