//! Stores a chunk unless it is stored already. Knows ids; nothing of files.

use crate::config::Parameters;
use crate::error::Result;
use crate::id::{ChunkId, IdSet};
use crate::lookup::{Answer, Lookup};
use crate::sink::{Sink, Sort};

pub(super) struct Saver {
    lookup: Lookup,
    /// None in a dry run.
    sink: Option<Sink>,
    /// Chunks that are on their way: no index has them yet.
    pending: IdSet,
    most_chunk: usize,
    pub(super) new_chunks: u64,
    pub(super) new_bytes: u64,
}

impl Saver {
    pub(super) fn new(lookup: Lookup, sink: Option<Sink>, parameters: &Parameters) -> Self {
        let most_chunk = parameters.most_chunk as usize;
        let pending = IdSet::default();
        Self { lookup, sink, pending, most_chunk, new_chunks: 0, new_bytes: 0 }
    }

    pub(super) fn save(&mut self, sort: Sort, bytes: &[u8]) -> Result<ChunkId> {
        debug_assert!(bytes.len() <= self.most_chunk);
        let id = self.lookup.keys.chunk_id(bytes);
        if self.pending.contains(&id) {
            return Ok(id);
        }
        match self.lookup.locate(&id)? {
            Answer::At(_) => return Ok(id),
            // The digest gains an id together with the index, and only once.
            Answer::New => self.lookup.oracle.insert(&id),
            Answer::Again => {}
        }
        self.pending.insert(id);
        self.new_chunks += 1;
        self.new_bytes += bytes.len() as u64;
        if let Some(sink) = &mut self.sink {
            sink.put(sort, id, bytes)?;
            self.enter();
        }
        Ok(id)
    }

    /// Whether a chunk is stored, or will be.
    pub(super) fn has(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(self.pending.contains(id) || matches!(self.lookup.locate(id)?, Answer::At(_)))
    }

    /// Chunks that were entered in the index are found there from now on.
    fn enter(&mut self) {
        for entered in self.sink.iter_mut().flat_map(Sink::entered) {
            entered.ids.iter().for_each(|id| _ = self.pending.remove(id));
            self.lookup.index.add(entered.run);
        }
    }

    /// Writes what is open; returns the bytes written.
    pub(super) fn finish(mut self) -> Result<(Lookup, u64)> {
        let mut stored = 0;
        if let Some(sink) = &mut self.sink {
            stored = sink.finish()?;
            self.enter();
        }
        Ok((self.lookup, stored))
    }
}
