//! Stores a chunk unless it is stored already. Knows ids; nothing of files.

use crate::config::Parameters;
use crate::error::Result;
use crate::id::{ChunkId, IdSet};
use crate::lookup::Lookup;
use crate::sink::{ChunkKind, Sink, Written, WrittenRun};

pub(super) struct Saver {
    lookup: Lookup,
    /// `None` in a dry run.
    sink: Option<Sink>,
    /// Chunks that are being written and that no index run has yet.
    pending: IdSet,
    max_chunk_size: usize,
    pub(super) new_chunks: u64,
    pub(super) new_bytes: u64,
}

impl Saver {
    pub(super) fn new(lookup: Lookup, sink: Option<Sink>, parameters: &Parameters) -> Self {
        let max_chunk_size = parameters.max_chunk_size as usize;
        let pending = IdSet::default();
        Self { lookup, sink, pending, max_chunk_size, new_chunks: 0, new_bytes: 0 }
    }

    pub(super) fn save(&mut self, kind: ChunkKind, bytes: &[u8]) -> Result<ChunkId> {
        debug_assert!(bytes.len() <= self.max_chunk_size);
        let id = self.lookup.keys.chunk_id(bytes);
        if self.has(&id)? {
            return Ok(id);
        }
        self.pending.insert(id);
        self.new_chunks += 1;
        self.new_bytes += bytes.len() as u64;
        if let Some(sink) = &mut self.sink {
            sink.put(kind, id, bytes)?;
            self.take_written_runs();
        }
        Ok(id)
    }

    /// What follows is of another file or directory, and is compressed apart.
    pub(super) fn end_stream(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink.end_stream(ChunkKind::Data);
            sink.end_stream(ChunkKind::Tree);
        }
    }

    pub(super) fn has(&mut self, id: &ChunkId) -> Result<bool> {
        Ok(self.pending.contains(id) || self.lookup.locate(id)?.is_some())
    }

    /// Chunks of finished runs are found in the index from now on. Those of a run that another
    /// process has merged stay pending. That they are in some run is confirmed at the end.
    fn take_written_runs(&mut self) {
        for WrittenRun { run, ids } in self.sink.iter_mut().flat_map(Sink::written_runs) {
            if let Ok(run) = run {
                ids.iter().for_each(|id| _ = self.pending.remove(id));
                self.lookup.index.add(run);
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<(Lookup, Written)> {
        let mut stored = Written::default();
        if let Some(sink) = &mut self.sink {
            stored = sink.finish()?;
            self.take_written_runs();
        }
        Ok((self.lookup, stored))
    }
}
