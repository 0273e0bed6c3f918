//! Who reads memory that may be given back, and when nobody does any more. Knows nothing of what the
//! memory holds.
//!
//! **Rules.** A thread calls [`Reader::begin`] before it loads the first pointer, and [`Reader::end`] when
//! it uses nothing any more that it got by one. A writer first stores what makes the memory impossible to
//! find, then calls [`fence_of_writers`], then asks every reader ([`Reader::state`]). The memory may be
//! given back when each that was reading has another state ([`Reader::is_past`]).
//!
//! **Why this is right.** Both fences are as if sequentially consistent, so one is before the other.
//! * The reader's is first: then its store of an odd state, which comes before its fence, is seen by the
//!   writer's load, which comes after the writer's; or a later state is. If the state is odd, the writer
//!   waits for another one.
//! * The writer's is first: then the reader's loads, which come after its fence, see what the writer has
//!   stored before its own, and so do not find the memory.
//!
//! All states are stored by `Release` and loaded by `Acquire`, so a state that the writer has seen comes
//! after everything that the reader did before it stored that state, and with it after all that it read
//! then. States have 64 bits, and only grow.
//!
//! The model in `tests/shared_model.rs` runs this file. How the fences are made is said in fences.rs.

use super::atomics::{AtomicU64, Ordering, fence_of_readers};

/// Even, or odd while its thread reads.
pub(super) struct Reader(AtomicU64);

impl Reader {
    pub(super) const fn new(state: AtomicU64) -> Self {
        Self(state)
    }

    /// The thread begins to read. Says no if it does already; only its own thread may ask.
    #[inline(always)]
    pub(super) fn begin(&self) -> bool {
        let state = self.0.load(Ordering::Relaxed);
        if state & 1 == 1 {
            return false;
        }
        self.0.store(state + 1, Ordering::Release);
        fence_of_readers();
        true
    }

    /// The thread, which has begun, reads no more.
    #[inline(always)]
    pub(super) fn end(&self) {
        let state = self.0.load(Ordering::Relaxed);
        self.0.store(state + 1, Ordering::Release);
    }

    /// The state, if the thread reads.
    pub(super) fn state(&self) -> Option<u64> {
        let state = self.0.load(Ordering::Acquire);
        (state & 1 == 1).then_some(state)
    }

    /// Whether the thread has ended what it read in a state.
    pub(super) fn is_past(&self, state: u64) -> bool {
        self.0.load(Ordering::Acquire) != state
    }
}
