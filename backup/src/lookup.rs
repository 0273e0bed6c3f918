//! Where a chunk is, if it is stored: asks the cache, the filters of the runs and the runs, in this
//! order. Knows how far to trust each: only a run and the footer of a pack prove that a chunk is
//! stored; of a filter only "no" counts.

use std::sync::Arc;

use crate::error::Result;
use crate::id::{ChunkId, Name};
use crate::index::Index;
use crate::locality::{self, Locality};
use crate::pack::{Location, read_footer};
use crate::seal::Keys;
use crate::store::Store;

/// How the look-ups of a backup were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lookups {
    /// All look-ups, except of chunks that are new in the same backup.
    pub total: u64,
    /// Answered by the locality cache.
    pub from_cache: u64,
    /// The filters of all runs said "no": the chunk is new.
    pub from_filters: u64,
    /// Answered by the index.
    pub from_index: u64,
    /// Of those, chunks that are stored nowhere although a filter said "maybe".
    pub false_positives: u64,
    /// Blocks of the index read.
    pub index_reads: u64,
    /// Footers of packs read for the cache.
    pub footer_reads: u64,
}

/// How a backup looks chunks up. Anything but the default is for measurements and tests; no setting
/// loses data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookupSettings {
    pub(crate) filters: Filters,
    /// How many chunk locations the locality cache holds, about 104 bytes each; 0 turns it off.
    pub(crate) cached_chunks: usize,
    pub(crate) trace: bool,
}

/// Whether the filters of the runs are asked before the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filters {
    On,
    /// The index decides alone, as if a filter said "maybe" to every chunk.
    #[cfg(any(test, feature = "lab"))]
    Off,
    /// Filters that wrongly say "no" to every second chunk.
    #[cfg(test)]
    Spoiled,
}

impl Default for LookupSettings {
    fn default() -> Self {
        Self { filters: Filters::On, cached_chunks: locality::DEFAULT_CHUNKS, trace: false }
    }
}

pub(crate) struct Lookup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) index: Index,
    pub(crate) cache: Locality,
    /// Every chunk that was looked up, in order, if requested.
    pub(crate) trace: Option<Vec<ChunkId>>,
    counts: Lookups,
}

impl Lookup {
    pub(crate) fn new(store: &Arc<dyn Store>, keys: &Arc<Keys>, index: Index, room: usize) -> Self {
        let (store, keys, cache) = (Arc::clone(store), Arc::clone(keys), Locality::new(room));
        Self { store, keys, index, cache, trace: None, counts: Lookups::default() }
    }

    pub(crate) fn counts(&self) -> Lookups {
        Lookups { index_reads: self.index.reads(), ..self.counts }
    }

    /// Where a chunk is stored; `None` if it is not, or only in a pack that is about to be removed.
    pub(crate) fn locate(&mut self, id: &ChunkId) -> Result<Option<Location>> {
        self.counts.total += 1;
        if let Some(trace) = &mut self.trace {
            trace.push(*id);
        }
        if let Some(location) = self.cache.get(id) {
            self.counts.from_cache += 1;
            return Ok(Some(location));
        }
        if !self.index.may_have(id)? {
            self.counts.from_filters += 1;
            return Ok(None);
        }
        self.counts.from_index += 1;
        if let Some(found) = self.index.find(id)? {
            self.remember_neighbours(&found.location.pack);
            return Ok(Some(found.location));
        }
        self.counts.false_positives += 1;
        Ok(None)
    }

    /// Loads the chunks of a pack into the cache. A footer that cannot be read is no error: the
    /// index has answered already.
    fn remember_neighbours(&mut self, pack: &Name) {
        if self.cache.room == 0 || self.cache.has_pack(pack) {
            return;
        }
        self.counts.footer_reads += 1;
        let info = self.index.pack(pack);
        if let Ok((footer, _)) = read_footer(&*self.store, &self.keys, pack, info) {
            self.cache.add(*pack, &footer);
        }
    }
}
