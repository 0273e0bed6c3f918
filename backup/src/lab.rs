//! What only measurements need of the inside: look-ups with other settings, and the filter of a run.

use crate::backup::{BackupOptions, BackupReport};
use crate::error::Result;
use crate::id::ChunkId;
use crate::index;
use crate::lookup::{Filters, LookupSettings};
use crate::repository::Repository;

/// Takes a snapshot with or without the filters of the index, and with a locality cache of this many
/// chunks. Also returns the chunks that were looked up, in order.
///
/// # Errors
/// Those of [`Repository::backup`].
pub fn backup(
    repository: &Repository,
    options: &BackupOptions,
    filters: bool,
    cached_chunks: usize,
) -> Result<(BackupReport, Vec<ChunkId>)> {
    let filters = if filters { Filters::On } else { Filters::Off };
    let settings = LookupSettings { filters, cached_chunks, trace: true };
    repository.backup_with(options, &settings, &())
}

/// The bytes of an id.
#[must_use]
pub fn bytes(id: &ChunkId) -> &[u8] {
    &id.0
}

/// The filter of one run of the index.
pub struct RunFilter(index::RunFilter);

impl RunFilter {
    /// The filter of these ids, which must be sorted.
    #[must_use]
    pub fn of(ids: &[ChunkId]) -> Self {
        Self(index::RunFilter::of(ids))
    }

    /// Whether the run may have this id. If not, it does not have it.
    #[must_use]
    pub fn may_have(&self, id: &ChunkId) -> bool {
        self.0.may_have(id)
    }

    /// Memory of the filter.
    #[must_use]
    pub fn size_in_bytes(&self) -> u64 {
        self.0.size_in_bytes()
    }
}
