//! All parts together: snapshots, merging, files.

use std::alloc::{Layout, handle_alloc_error};
use std::io::{self, Read, Write};

use super::builder::{DEFAULT_PARTS, shift_of};
use super::filter::{Shared, SharedFilter};
use super::part::SharedPart;
use crate::elastic::join::{divide, join};
use crate::memory::with_room;
use crate::{
    BuildError, DecodeError, ElasticFilter, Filter as _, Full, FullCause, MergeError, Persist,
};

impl SharedFilter {
    /// An ordinary filter with the keys of this one, while others go on to change it. Each part is
    /// copied at a moment of its own: a key is in the snapshot if its insertion had returned before
    /// the call and its removal began after it, and not if it was absent all the time.
    ///
    /// Aborts if there is no memory, as the collections of the standard library do.
    ///
    /// # Panics
    /// If a thread panicked while it changed a part ([`poisoned_parts`](Self::poisoned_parts)): keys
    /// would be missing.
    #[must_use]
    pub fn snapshot(&self) -> ElasticFilter {
        match self.try_snapshot() {
            Ok(filter) => filter,
            Err(FullCause::OutOfMemory) => handle_alloc_error(Layout::new::<ElasticFilter>()),
            Err(cause) => panic!("{}", self.full(cause)),
        }
    }

    fn try_snapshot(&self) -> Result<ElasticFilter, FullCause> {
        let Shared { settings, hasher, parts, .. } = &*self.shared;
        let mut copies = with_room(parts.len()).map_err(|_| FullCause::OutOfMemory)?;
        for part in parts {
            copies.push(part.copy()?);
        }
        join(*settings, hasher.clone(), copies, self.refused())
    }

    /// A shared filter with the keys of an ordinary one, in so many parts, or in fewer if some of
    /// its keys have become so short that they do not tell their part.
    ///
    /// # Errors
    /// [`BuildError`] if the number of parts is none, or there is no memory.
    pub fn from_filter(filter: ElasticFilter, parts: usize) -> Result<Self, BuildError> {
        let shift = shift_of(parts)?;
        let bytes = filter.size_in_bytes() as u64;
        let (hasher, refused) = (filter.hasher().clone(), filter.refused());
        let settings = filter.engine.settings;
        let parts = divide(filter, shift).map_err(|_| BuildError::OutOfMemory { bytes })?;
        let mut shared = with_room(parts.len())?;
        shared.extend(parts.into_iter().map(SharedPart::new));
        Ok(Self::new(settings, hasher, shared.into_boxed_slice(), refused))
    }

    /// Adds all keys of a filter with the same hash function and seed, at the cost of inserting
    /// them. The rates of both must fit into the rate of this one. Others wait meanwhile if they
    /// want to change the filter.
    ///
    /// ```
    /// use cuculus::SharedFilter;
    ///
    /// let build = || SharedFilter::builder().seed(7).build();
    /// let (a, b) = (build()?, build()?);
    /// a.insert("one")?;
    /// b.insert("two")?;
    /// a.merge(&b.snapshot())?;
    /// assert!(a.contains("one") && a.contains("two"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] says why not; nothing has changed then.
    pub fn merge(&self, other: &ElasticFilter) -> Result<(), MergeError> {
        let Shared { hasher, parts, .. } = &*self.shared;
        if hasher != other.hasher() {
            return Err(MergeError::OtherHash);
        }
        let full = |cause| MergeError::Full(self.full(cause));
        let copy = other.try_clone().map_err(|error| full(error.cause))?;
        let others = divide(copy, self.shared.shift()).map_err(full)?;
        if others.len() < parts.len() {
            let sum = self.expected_false_positive_rate() + other.expected_false_positive_rate();
            return Err(MergeError::Rate { sum, limit: self.false_positive_rate() });
        }
        // All of them, always in the same order.
        let fail = |cause| MergeError::Full(Full::new(cause, 0, 0));
        let no_memory = |_| fail(FullCause::OutOfMemory);
        let mut writers = with_room(parts.len()).map_err(no_memory)?;
        for part in parts {
            writers.push(part.write().map_err(fail)?);
        }
        let mut merged = with_room(parts.len()).map_err(no_memory)?;
        for (writer, other) in writers.iter().zip(&others) {
            let mut both = writer.try_clone().map_err(no_memory)?;
            both.merge(other).map_err(fail)?;
            merged.push(both);
        }
        for (writer, merged) in writers.iter_mut().zip(merged) {
            **writer = merged;
        }
        Ok(())
    }
}

/// In 64 parts; see [`SharedFilter::from_filter`]. Aborts if there is no memory.
impl From<ElasticFilter> for SharedFilter {
    fn from(filter: ElasticFilter) -> Self {
        match Self::from_filter(filter, DEFAULT_PARTS) {
            Ok(shared) => shared,
            Err(_) => handle_alloc_error(Layout::new::<ElasticFilter>()),
        }
    }
}

/// The bytes of the [`snapshot`](SharedFilter::snapshot): a file of an elastic filter, which either
/// kind can load. Loaded in 64 parts; for another number, load an [`ElasticFilter`] and use
/// [`from_filter`](SharedFilter::from_filter).
impl Persist for SharedFilter {
    fn write_to<W: Write>(&self, writer: W) -> io::Result<()> {
        let snapshot = self.try_snapshot().map_err(|cause| match cause {
            FullCause::OutOfMemory => io::Error::from(io::ErrorKind::OutOfMemory),
            cause => io::Error::other(self.full(cause)),
        });
        snapshot?.write_to(writer)
    }

    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError> {
        let filter = ElasticFilter::read_from(reader)?;
        let bytes = filter.size_in_bytes() as u64;
        Self::from_filter(filter, DEFAULT_PARTS).map_err(|_| DecodeError::OutOfMemory { bytes })
    }
}
