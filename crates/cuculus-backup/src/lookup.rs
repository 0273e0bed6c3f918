//! Where a chunk is, or that it is nowhere: the cache, the digest and the index in this order.
//! Knows what each may be believed. Only the index and a pack's own footer prove that a chunk is
//! stored; the digest is believed only when it says no.

use std::sync::Arc;

use crate::digest::Digest;
use crate::error::Result;
use crate::id::{ChunkId, Name};
use crate::index::Index;
use crate::locality::Locality;
use crate::pack::{Location, read_footer};
use crate::seal::Keys;
use crate::store::Store;

/// How the questions of a backup were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Lookups {
    /// Chunks looked for, but for those new in the same run.
    pub asked: u64,
    /// Answered by the locality cache.
    pub from_cache: u64,
    /// Known to be new by the digest.
    pub from_digest: u64,
    /// Answered by the index.
    pub from_index: u64,
    /// Of these, new in spite of the digest's "maybe".
    pub false_maybes: u64,
    /// Blocks of the index that were read.
    pub index_reads: u64,
    /// Footers of packs that were read for the cache.
    pub footer_reads: u64,
}

/// What is known about a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is stored here.
    At(Location),
    /// It is nowhere.
    New,
    /// It is stored, but only in a pack that is about to go: store it again. The digest has it.
    Again,
}

/// What stands in for the digest's answers.
pub(crate) enum Oracle {
    Digest(Digest),
    /// Says "maybe" to everything: the index decides alone.
    Maybe,
    /// Answers wrongly half of the time, in both directions.
    Erring(Digest, u64),
}

impl Oracle {
    fn may_have(&mut self, id: &ChunkId) -> bool {
        match self {
            Self::Digest(digest) => digest.contains(id),
            Self::Maybe => true,
            Self::Erring(digest, state) => {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                digest.contains(id) ^ (*state >> 63 == 1)
            }
        }
    }

    pub(crate) fn insert(&mut self, id: &ChunkId) {
        match self {
            Self::Digest(digest) | Self::Erring(digest, _) => digest.insert(id),
            Self::Maybe => {}
        }
    }
}

pub(crate) struct Lookup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) index: Index,
    pub(crate) oracle: Oracle,
    pub(crate) cache: Locality,
    /// Every chunk that was looked for, if somebody wants to know.
    pub(crate) trace: Option<Vec<ChunkId>>,
    counts: Lookups,
}

impl Lookup {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        keys: &Arc<Keys>,
        index: Index,
        oracle: Oracle,
        cache: Locality,
    ) -> Self {
        let (store, keys) = (Arc::clone(store), Arc::clone(keys));
        Self { store, keys, index, oracle, cache, trace: None, counts: Lookups::default() }
    }

    pub(crate) fn counts(&self) -> Lookups {
        Lookups { index_reads: self.index.reads(), ..self.counts }
    }

    /// Where a chunk is, if it is anywhere.
    pub(crate) fn locate(&mut self, id: &ChunkId) -> Result<Answer> {
        self.counts.asked += 1;
        if let Some(trace) = &mut self.trace {
            trace.push(*id);
        }
        if let Some(location) = self.cache.get(id) {
            self.counts.from_cache += 1;
            return Ok(Answer::At(location));
        }
        if !self.oracle.may_have(id) {
            self.counts.from_digest += 1;
            return Ok(Answer::New);
        }
        self.counts.from_index += 1;
        if let Some(found) = self.index.find(id)? {
            self.remember_neighbours(&found.location.pack);
            return Ok(Answer::At(found.location));
        }
        if self.index.hides_some() && self.index.find_where(id, |_| true)?.is_some() {
            return Ok(Answer::Again);
        }
        self.counts.false_maybes += 1;
        Ok(Answer::New)
    }

    /// Loads a pack's chunks into the cache. A footer that cannot be read costs the help that it
    /// would have been, not the backup: the index has answered already.
    fn remember_neighbours(&mut self, pack: &Name) {
        if !self.cache.is_on() || self.cache.has_pack(pack) {
            return;
        }
        self.counts.footer_reads += 1;
        let info = self.index.pack(pack);
        if let Ok((footer, _)) = read_footer(&*self.store, &self.keys, pack, info) {
            self.cache.add(*pack, &footer);
        }
    }
}
