//! A readers-writer lock whose readers need not write where others read. Knows threads, nothing of what is
//! locked.
//!
//! The word of a lock travels between the processors of its readers, which takes longer than a lookup. So a
//! gate that was only read for a while is *open*: a reader announces, in a line of memory of its thread, that it
//! enters, and enters without the lock. A writer takes the lock, shuts the gate, and waits until no line names
//! it. Then readers take the lock, until [`SHUT_FOR`] of them came with no writer between them. A gate to
//! which writers come all the time is the lock and nothing else.
//!
//! **Why no reader meets a writer.** A reader without the lock stores its line, then loads `readers`. A writer
//! stores `readers`, then loads the lines. All four are `SeqCst`, so they have one order. If the reader's store
//! is before the writer's, the writer sees the line and waits; otherwise the reader sees the gate shut and turns
//! back. (A writer loads only the lines that threads have. A thread gets its line before it stores there, also
//! `SeqCst`.) What the reader read is before its line was cleared (Release), which the writer saw (Acquire). A
//! gate is opened by a reader that has the lock (Release), so after all that writers wrote; a reader that sees it
//! open (Acquire) sees that.
//!
//! More threads than there are lines share them, and a thread may enter a second gate. So a line is taken by
//! compare-and-exchange, and a reader that finds it taken takes the lock.
#![allow(unsafe_code, reason = "a lock lends what it locks")]

use core::cell::{Cell, UnsafeCell};
use core::ops::{Deref, DerefMut};

use sync::{
    AtomicU32, AtomicUsize, Ordering, RwLock, RwLockReadGuard, RwLockWriteGuard, in_order,
    yield_now,
};

/// Threads that read without one waiting for another. Their lines take eight kilobytes of a process.
const LINES: usize = if cfg!(cuculus_loom) { 2 } else { 64 };
/// Looks at a line before the processor goes to another thread.
const LOOKS: usize = if cfg!(cuculus_loom) { 1 } else { 128 };
/// Readers that take the lock before the gate is open. Shutting it takes as long as they would have saved.
const SHUT_FOR: u32 = if cfg!(cuculus_loom) { 1 } else { 8 };

/// What the threads of a process announce.
struct Lines {
    lines: [Line; LINES],
    /// Threads that have a line.
    threads: AtomicUsize,
}

/// The address of the gate that a thread has entered, or zero. As long as two cache lines, since processors
/// fetch them in pairs.
#[repr(align(128))]
struct Line(AtomicUsize);

impl Lines {
    /// The line of this thread.
    #[inline]
    fn mine(&self) -> &Line {
        let number = MINE.with(Cell::get);
        self.lines.get(number).unwrap_or_else(|| self.first_of_thread())
    }

    #[cold]
    fn first_of_thread(&self) -> &Line {
        let number = self.threads.fetch_add(1, Ordering::SeqCst) % LINES;
        MINE.with(|mine| mine.set(number));
        &self.lines[number]
    }

    /// Waits until no thread is in a gate, which is shut.
    fn wait_for(&self, gate: usize) {
        let used = self.threads.load(Ordering::SeqCst).min(LINES);
        for line in &self.lines[..used] {
            let mut looks = 0;
            while line.0.load(Ordering::SeqCst) == gate {
                looks += 1;
                if looks % LOOKS == 0 { yield_now() } else { core::hint::spin_loop() }
            }
        }
    }
}

/// Any number of threads read a value, or one changes it.
#[derive(Default)]
pub(super) struct Gate<T> {
    /// Readers that took the lock since a writer did, or nearly as many. From [`SHUT_FOR`] on it is open.
    readers: AtomicU32,
    lock: RwLock<()>,
    value: UnsafeCell<T>,
}

// SAFETY: a gate owns its value, and lends it to many threads for reading or to one for changing.
unsafe impl<T: Send + Sync> Sync for Gate<T> {}

/// Lends a value for reading.
pub(super) struct Reading<'a, T> {
    value: &'a T,
    /// Dropped after the last reading.
    #[cfg_attr(any(not(test), cuculus_loom), expect(dead_code, reason = "it keeps writers out"))]
    entered: Entered<'a>,
}

/// What keeps writers out.
enum Entered<'a> {
    Line(&'a AtomicUsize),
    Locked { _lock: RwLockReadGuard<'a, ()> },
}

/// Lends a value for changing.
pub(super) struct Writing<'a, T> {
    value: &'a UnsafeCell<T>,
    _lock: RwLockWriteGuard<'a, ()>,
}

/// A thread has panicked while it changed the value.
pub(super) struct Poisoned<T>(pub(super) T);

impl<T> Gate<T> {
    pub(super) fn new(value: T) -> Self {
        Self { readers: AtomicU32::new(0), lock: RwLock::new(()), value: UnsafeCell::new(value) }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.lock.is_poisoned()
    }

    #[inline]
    fn is_open(&self, order: Ordering) -> bool {
        self.readers.load(order) >= SHUT_FOR
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    #[inline]
    pub(super) fn read(&self) -> Result<Reading<'_, T>, Poisoned<Reading<'_, T>>> {
        if self.is_open(Ordering::Relaxed) {
            let line = &PROCESS.mine().0;
            let (taken, not) = (Ordering::SeqCst, Ordering::Relaxed);
            if line.compare_exchange(0, self.address(), taken, not).is_ok() {
                let entered = Entered::Line(line);
                in_order();
                if self.is_open(Ordering::SeqCst) {
                    // SAFETY: writers wait until the line is cleared (see above).
                    return Ok(Reading { value: unsafe { &*self.value.get() }, entered });
                }
            }
        }
        self.read_locked()
    }

    fn read_locked(&self) -> Result<Reading<'_, T>, Poisoned<Reading<'_, T>>> {
        let (lock, is_whole) = match self.lock.read() {
            Ok(lock) => (lock, true),
            Err(poisoned) => (poisoned.into_inner(), false),
        };
        if is_whole && !self.is_open(Ordering::Relaxed) {
            let readers = self.readers.load(Ordering::Relaxed);
            self.readers.store(readers + 1, Ordering::Release);
        }
        // SAFETY: writers wait for the lock.
        let value = unsafe { &*self.value.get() };
        let reading = Reading { value, entered: Entered::Locked { _lock: lock } };
        if is_whole { Ok(reading) } else { Err(Poisoned(reading)) }
    }

    // Out of line it took 15 ns more.
    #[inline(always)]
    pub(super) fn write(&self) -> Result<Writing<'_, T>, Poisoned<()>> {
        let lock = self.lock.write().map_err(|_| Poisoned(()))?;
        if self.readers.load(Ordering::Relaxed) > 0 {
            self.shut();
        }
        Ok(Writing { value: &self.value, _lock: lock })
    }

    #[inline(never)]
    fn shut(&self) {
        let was_open = self.is_open(Ordering::Relaxed);
        self.readers.store(0, Ordering::SeqCst);
        in_order();
        if was_open {
            PROCESS.wait_for(self.address());
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Self::Line(line) = self {
            line.store(0, Ordering::Release);
        }
    }
}

impl<T> Deref for Reading<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Deref for Writing<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the gate is shut and nobody is in it; the lock keeps all others out.
        unsafe { &*self.value.get() }
    }
}

impl<T> DerefMut for Writing<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for reading, and this guard is borrowed exclusively.
        unsafe { &mut *self.value.get() }
    }
}

#[cfg(not(cuculus_loom))]
static PROCESS: Lines =
    Lines { lines: [const { Line(AtomicUsize::new(0)) }; LINES], threads: AtomicUsize::new(0) };

#[cfg(not(cuculus_loom))]
std::thread_local! {
    /// The number of the thread's line. Without a destructor, so that it needs no memory.
    static MINE: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[cfg(not(cuculus_loom))]
mod sync {
    pub(super) use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
    pub(super) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(super) use std::thread::yield_now;

    /// The accesses themselves are in one order.
    #[inline]
    pub(super) fn in_order() {}
}

// What the model checker has its own of.

#[cfg(cuculus_loom)]
loom::lazy_static! {
    static ref PROCESS: Lines = Lines {
        lines: [Line(AtomicUsize::new(0)), Line(AtomicUsize::new(0))],
        threads: AtomicUsize::new(0),
    };
}

#[cfg(cuculus_loom)]
loom::thread_local! {
    static MINE: Cell<usize> = Cell::new(usize::MAX);
}

#[cfg(cuculus_loom)]
mod sync {
    pub(super) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};
    pub(super) use loom::thread::yield_now;
    pub(super) use std::sync::PoisonError;

    /// Loom takes `SeqCst` accesses for weaker ones, and has one order of fences only.
    pub(super) fn in_order() {
        fence(Ordering::SeqCst);
    }

    /// Loom's locks are never poisoned.
    #[derive(Default)]
    pub(super) struct RwLock<T>(loom::sync::RwLock<T>);
    pub(super) type RwLockReadGuard<'a, T> = loom::sync::RwLockReadGuard<'a, T>;
    pub(super) type RwLockWriteGuard<'a, T> = loom::sync::RwLockWriteGuard<'a, T>;

    impl<T> RwLock<T> {
        pub(super) fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        pub(super) fn read(
            &self,
        ) -> Result<RwLockReadGuard<'_, T>, PoisonError<RwLockReadGuard<'_, T>>> {
            self.0.read()
        }

        pub(super) fn write(
            &self,
        ) -> Result<RwLockWriteGuard<'_, T>, PoisonError<RwLockWriteGuard<'_, T>>> {
            self.0.write()
        }

        pub(super) fn is_poisoned(&self) -> bool {
            false
        }
    }
}

/// Every order of steps that the memory model allows.
#[cfg(all(test, cuculus_loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// Loom reports a cell that is read and written by threads neither of which is known to be the first.
    type Shared = Arc<Gate<UnsafeCell<u32>>>;

    fn read(gate: &Shared) -> u32 {
        let Ok(value) = gate.read() else { panic!("nobody panics") };
        // SAFETY: nobody writes while it is lent.
        value.with(|value| unsafe { *value })
    }

    fn write(gate: &Shared) {
        let Ok(value) = gate.write() else { panic!("nobody panics") };
        // SAFETY: nobody else has it.
        value.with_mut(|value| unsafe { *value += 1 });
    }

    fn open() -> Shared {
        let gate = Arc::new(Gate::new(UnsafeCell::new(0)));
        (0..SHUT_FOR).for_each(|_| _ = read(&gate));
        assert!(gate.is_open(Ordering::Relaxed));
        gate
    }

    fn beside(gate: &Shared, what: fn(&Shared)) -> thread::JoinHandle<()> {
        let gate = Arc::clone(gate);
        thread::spawn(move || what(&gate))
    }

    #[test]
    fn a_reader_of_an_open_gate_meets_no_writer() {
        loom::model(|| {
            let gate = open();
            let writer = beside(&gate, write);
            assert!(read(&gate) <= 1);
            writer.join().expect("it ends");
            assert_eq!(read(&gate), 1);
        });
    }

    #[test]
    fn a_gate_is_opened_and_shut_again() {
        loom::model(|| {
            let gate = Arc::new(Gate::new(UnsafeCell::new(0)));
            let writer = beside(&gate, |gate| {
                write(gate);
                write(gate);
            });
            let (first, second) = (read(&gate), read(&gate));
            assert!(first <= second && second <= 2);
            writer.join().expect("it ends");
        });
    }

    /// Two lines, three threads.
    #[test]
    fn threads_that_share_a_line_meet_no_writer() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let gate = open();
            let others = [beside(&gate, |gate| _ = read(gate)), beside(&gate, write)];
            assert!(read(&gate) <= 1);
            others.into_iter().for_each(|other| other.join().expect("it ends"));
        });
    }
}

#[cfg(all(test, not(cuculus_loom)))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    impl<T> Gate<T> {
        fn read_whole(&self) -> Reading<'_, T> {
            self.read().unwrap_or_else(|_| panic!("poisoned"))
        }

        fn write_whole(&self) -> Writing<'_, T> {
            self.write().unwrap_or_else(|_| panic!("poisoned"))
        }
    }

    impl<T> Reading<'_, T> {
        fn has_lock(&self) -> bool {
            matches!(self.entered, Entered::Locked { .. })
        }
    }

    #[test]
    fn a_gate_that_is_only_read_needs_no_lock() {
        let gate = Gate::new(7);
        for reader in 0..3 * SHUT_FOR {
            let reading = gate.read_whole();
            assert_eq!((*reading, reading.has_lock()), (7, reader < SHUT_FOR));
        }
        *gate.write_whole() = 8;
        let reading = gate.read_whole();
        assert!(*reading == 8 && reading.has_lock());
    }

    /// The thread's line is taken by the first.
    #[test]
    fn a_thread_in_two_gates_has_the_lock_of_the_second() {
        let gates = [Gate::new(1), Gate::new(2)];
        for _ in 0..=SHUT_FOR {
            gates.iter().for_each(|gate| drop(gate.read_whole()));
        }
        let (first, second) = (gates[0].read_whole(), gates[1].read_whole());
        assert!(!first.has_lock() && second.has_lock());
        assert!(gates[1].lock.try_write().is_err());
    }

    #[test]
    fn a_reader_sees_all_of_a_change_or_nothing() {
        let turns: u64 = if cfg!(miri) { 300 } else { 50_000 };
        let (gate, is_done) = (Gate::new([0u64; 4]), AtomicBool::new(false));
        let without_lock = thread::scope(|scope| {
            let reader = || {
                let (mut last, mut without_lock) = (0, 0u64);
                while !is_done.load(Ordering::Relaxed) {
                    let reading = gate.read_whole();
                    assert!(*reading == [reading[0]; 4] && reading[0] >= last);
                    last = reading[0];
                    without_lock += u64::from(!reading.has_lock());
                }
                without_lock
            };
            let readers = [scope.spawn(reader), scope.spawn(reader)];
            for turn in 1..=turns {
                gate.write_whole().iter_mut().for_each(|part| *part += 1);
                // So that readers find it open.
                if turn % 16 == 0 {
                    yield_now();
                }
            }
            is_done.store(true, Ordering::Relaxed);
            readers.map(|reader| reader.join().expect("no panic")).iter().sum::<u64>()
        });
        assert_eq!(*gate.read_whole(), [turns; 4]);
        assert!(without_lock > 0, "nobody entered an open gate");
    }

    #[test]
    fn a_writer_that_panics_poisons_the_gate() {
        let gate = Gate::new(0);
        (0..2 * SHUT_FOR).for_each(|_| drop(gate.read_whole()));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            *gate.write_whole() = 2;
            let _writing = gate.write_whole();
            panic!("in the middle of a change");
        }));
        assert!(panicked.is_err() && gate.is_poisoned() && gate.write().is_err());
        for _ in 0..2 * SHUT_FOR {
            let Err(Poisoned(reading)) = gate.read() else { panic!("it is poisoned") };
            assert!(*reading == 2 && reading.has_lock());
        }
    }
}
