//! A version for memory that one thread changes while others read it without a lock. Knows nothing
//! of what the memory holds. Everything there is read and stored in aligned words, by atomic
//! operations, so there is no data race whatever the order.
//!
//! **Rules.** One thread at a time calls [`Version::change`], and all stores happen within it: the
//! caller holds a lock. A reader calls [`Version::begin`], loads words, and uses nothing of them
//! unless [`Version::is_still`] says so afterwards.
//!
//! **Why this is right.** Let a reader have begun at the even version v, and found v again.
//! * It saw everything of change v and those before: the load of v acquires what the store of v has
//!   released.
//! * It saw nothing of a later change: had one of its loads returned a word of the change from v to
//!   v + 2, then the writer's release fence, which comes after its store of v + 1 and before that
//!   word's store, would synchronise with the reader's acquire fence, which comes after that load
//!   and before the last load of the version: that load could not return v any more. The version
//!   does not come back to v: it has 64 bits, and only grows as long as there are readers.
//!
//! So what the reader has loaded was all there at the moment of its first load. The model in
//! `tests/shared_model.rs` runs this file.

use super::atomics::{AtomicU64, Ordering, fence};

/// Even, or odd while the memory is changed.
pub(super) struct Version(AtomicU64);

impl Version {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The version; `None` while the memory is changed.
    #[inline(always)]
    pub(super) fn begin(&self) -> Option<u64> {
        let version = self.0.load(Ordering::Acquire);
        (version & 1 == 0).then_some(version)
    }

    /// Whether all that was loaded since [`begin`](Self::begin) is of that version.
    #[inline(always)]
    pub(super) fn is_still(&self, version: u64) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == version
    }

    /// Runs `stores`, which must not panic: readers would wait for its end for ever.
    #[inline(always)]
    pub(super) fn change(&self, stores: impl FnOnce()) {
        let version = self.0.load(Ordering::Relaxed);
        self.0.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        stores();
        self.0.store(version.wrapping_add(2), Ordering::Release);
    }
}
