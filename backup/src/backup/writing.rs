//! Writes trees: directories as streams of nodes, files as pieces, which are chunks of data and holes.
//! What a backup and a copy have in common. Knows nothing of where nodes and bytes come from.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{SeekFrom, seek};

use super::saver::Saver;
use crate::chunker::Chunker;
use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::sink::ChunkKind;
use crate::tree::{Content, ContentBuilder, DirRef, DirWriter, Node, Piece};

/// Why saving a file stopped: the file cannot be read, which is reported, or the repository cannot
/// be written, which ends the backup.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) enum SaveError {
    File(#[from] io::Error),
    Repository(#[from] Error),
}

pub(crate) type Saved<T> = std::result::Result<T, SaveError>;

pub(crate) struct TreeWriter {
    pub(super) saver: Saver,
    chunker: Chunker,
    parameters: Parameters,
}

impl TreeWriter {
    pub(super) fn new(repository: &Repository, saver: Saver) -> Self {
        let chunker = Chunker::new(&repository.parameters, &repository.keys.gear);
        Self { saver, chunker, parameters: repository.parameters }
    }

    pub(crate) fn dir_writer(&self) -> DirWriter {
        DirWriter::new(&self.parameters)
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

    /// Saves the content of a file, of which `write` writes the pieces and returns the size.
    pub(crate) fn save_file(
        &mut self,
        write: impl FnOnce(&mut FileWriter<'_>) -> Saved<u64>,
    ) -> Saved<(u64, Content)> {
        let Self { saver, chunker, parameters } = self;
        let mut file = FileWriter { chunker, saver, list: ContentBuilder::new(parameters) };
        let saved = write(&mut file).and_then(|size| Ok((size, file.finish()?)));
        self.saver.end_stream();
        saved
    }
}

pub(crate) struct FileWriter<'a> {
    chunker: &'a mut Chunker,
    saver: &'a mut Saver,
    list: ContentBuilder,
}

impl FileWriter<'_> {
    /// Writes a file with its holes; returns its size.
    pub(super) fn file(&mut self, file: &mut File) -> Saved<u64> {
        let metadata = file.metadata()?;
        if metadata.blocks() * 512 >= metadata.len() {
            return self.bytes(file);
        }
        let mut position = 0;
        loop {
            let data = match seek(&*file, SeekFrom::Data(position)) {
                Ok(data) => data,
                // Only a hole up to the end.
                Err(rustix::io::Errno::NXIO) => file.metadata()?.len().max(position),
                // The file system does not report holes: treat everything as data.
                Err(_) => position,
            };
            if data > position {
                self.hole(data - position)?;
            }
            let end = seek(&*file, SeekFrom::Hole(data)).unwrap_or(u64::MAX);
            if end <= data || seek(&*file, SeekFrom::Start(data)).is_err() {
                return Ok(data);
            }
            let wanted = end - data;
            let read = self.bytes(&mut (&mut *file).take(wanted))?;
            position = data + read;
            if read < wanted {
                return Ok(position);
            }
            file.seek(io::SeekFrom::Start(position))?;
        }
    }

    pub(crate) fn hole(&mut self, len: u64) -> Saved<()> {
        let saver = &mut *self.saver;
        Ok(self.list.push(Piece::Hole(len), &mut |list| saver.save(ChunkKind::Tree, list))?)
    }

    /// Writes what can be read from `source`, to its end; returns the number of bytes.
    pub(crate) fn bytes(&mut self, source: &mut dyn Read) -> Saved<u64> {
        let Self { chunker, saver, list } = self;
        chunker.chunks(source, |chunk| {
            let piece =
                Piece::Chunk { id: saver.save(ChunkKind::Data, chunk)?, len: chunk.len() as u64 };
            Ok(list.push(piece, &mut |list| saver.save(ChunkKind::Tree, list))?)
        })
    }

    fn finish(self) -> Result<Content> {
        let Self { saver, list, .. } = self;
        list.finish(&mut |list| saver.save(ChunkKind::Tree, list))
    }
}
