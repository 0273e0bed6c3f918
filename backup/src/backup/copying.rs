//! A backup of what another repository holds: the writing half of a copy. Knows how a backup begins
//! and ends; nothing of where the bytes come from.

use std::io::Read;

use super::files::{SaveError, save_parts};
use super::saver::Saver;
use crate::chunker::Chunker;
use crate::config::{Parameters, Version};
use crate::error::Result;
use crate::intent::{Announcement, Work};
use crate::progress::Progress;
use crate::repository::Repository;
use crate::sink::{ChunkKind, Purpose};
use crate::snapshot::Snapshot;
use crate::tree::{Content, ContentBuilder, DirRef, DirWriter, Node};

pub(crate) struct Copying {
    announcement: Announcement,
    saver: Saver,
    chunker: Chunker,
    version: Version,
    parameters: Parameters,
}

impl Repository {
    pub(crate) fn begin_copy(&self, progress: &dyn Progress) -> Result<Copying> {
        let announcement = Announcement::new(&self.store, &self.keys, Work::Backup)?;
        let (lookup, _) = self.begin_lookups(&super::LookupOptions::default(), progress)?;
        Ok(Copying {
            announcement,
            saver: Saver::new(lookup, Some(self.sink(Purpose::NewChunks)?), &self.parameters),
            chunker: Chunker::new(&self.parameters, &self.keys.cuts),
            version: self.version,
            parameters: self.parameters,
        })
    }
}

impl Copying {
    pub(crate) fn dir_writer(&self) -> DirWriter {
        DirWriter::new(self.version, &self.parameters)
    }

    pub(crate) fn add_node(&mut self, dir: &mut DirWriter, node: Node) -> Result<()> {
        dir.add(node, &self.chunker, &mut |chunk| self.saver.save(ChunkKind::Tree, chunk))?;
        self.saver.end_stream();
        Ok(())
    }

    pub(crate) fn end_dir(&mut self, dir: DirWriter) -> Result<DirRef> {
        let dir = dir.finish(&self.chunker, &mut |chunk| self.saver.save(ChunkKind::Tree, chunk));
        self.saver.end_stream();
        dir
    }

    /// Saves a file that comes in stretches with holes between them.
    pub(crate) fn save_file<R: Read>(
        &mut self,
        source: &mut R,
        hole: impl FnMut(&mut R) -> Option<u64>,
    ) -> std::result::Result<Content, SaveError> {
        let list = ContentBuilder::new(self.version, &self.parameters);
        let saved = save_parts(source, hole, &mut self.chunker, &mut self.saver, list);
        self.saver.end_stream();
        saved
    }

    /// Ends as a backup does; returns the size of new chunks, and what was written for them.
    pub(crate) fn commit(self, repository: &Repository, snapshot: &Snapshot) -> Result<(u64, u64)> {
        let new = self.saver.new_bytes;
        let (lookup, written) = self.saver.finish()?;
        repository.confirm_packs(&written.packs)?;
        repository.commit(snapshot, &self.announcement)?;
        drop(self.announcement);
        repository.tidy(lookup)?;
        Ok((new, written.bytes))
    }
}
