//! The content of one file as pieces: chunks of data, and holes. Knows nothing of directories.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;

use super::saver::Saver;
use crate::chunker::Chunker;
use crate::error::Error;
use crate::sink::ChunkKind;
use crate::tree::{Content, ContentBuilder, Piece};

/// Why saving a file stopped: the file cannot be read, which is reported, or the repository cannot
/// be written, which ends the backup.
pub(crate) enum SaveError {
    File(io::Error),
    Repository(Error),
}

impl From<io::Error> for SaveError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for SaveError {
    fn from(error: Error) -> Self {
        Self::Repository(error)
    }
}

/// Saves the content of a file; returns its size, holes included.
pub(super) fn save(
    file: &mut File,
    chunker: &mut Chunker,
    saver: &mut Saver,
    list: ContentBuilder,
) -> Result<(u64, Content), SaveError> {
    let mut out = Output { chunker, saver, list };
    let size = out.save(file)?;
    Ok((size, out.finish()?))
}

/// Saves what a program writes to its output, to the end; returns its size.
pub(super) fn save_stream(
    source: &mut dyn Read,
    chunker: &mut Chunker,
    saver: &mut Saver,
    list: ContentBuilder,
) -> Result<(u64, Content), SaveError> {
    let mut out = Output { chunker, saver, list };
    let size = out.stretch(source)?;
    Ok((size, out.finish()?))
}

/// Saves what comes in stretches; `hole` is asked at the end of each whether a hole follows.
pub(super) fn save_parts<R: Read>(
    source: &mut R,
    mut hole: impl FnMut(&mut R) -> Option<u64>,
    chunker: &mut Chunker,
    saver: &mut Saver,
    list: ContentBuilder,
) -> Result<Content, SaveError> {
    let mut out = Output { chunker, saver, list };
    loop {
        out.stretch(source)?;
        match hole(source) {
            Some(len) => out.push(Piece::Hole(len))?,
            None => return out.finish(),
        }
    }
}

/// Where the pieces of a file go.
struct Output<'a> {
    chunker: &'a mut Chunker,
    saver: &'a mut Saver,
    list: ContentBuilder,
}

impl Output<'_> {
    fn save(&mut self, file: &mut File) -> Result<u64, SaveError> {
        let metadata = file.metadata()?;
        if metadata.blocks() * 512 >= metadata.len() {
            return self.stretch(file);
        }
        let mut position = 0;
        loop {
            let data = match rustix::fs::seek(&*file, rustix::fs::SeekFrom::Data(position)) {
                Ok(data) => data,
                // Only a hole up to the end.
                Err(rustix::io::Errno::NXIO) => file.metadata()?.len().max(position),
                // The file system does not report holes: treat everything as data.
                Err(_) => position,
            };
            if data > position {
                self.push(Piece::Hole(data - position))?;
            }
            let end =
                rustix::fs::seek(&*file, rustix::fs::SeekFrom::Hole(data)).unwrap_or(u64::MAX);
            if end <= data || rustix::fs::seek(&*file, rustix::fs::SeekFrom::Start(data)).is_err() {
                return Ok(data);
            }
            let wanted = end - data;
            let read = self.stretch(&mut (&mut *file).take(wanted))?;
            position = data + read;
            if read < wanted {
                return Ok(position);
            }
            file.seek(io::SeekFrom::Start(position))?;
        }
    }

    fn push(&mut self, piece: Piece) -> Result<(), SaveError> {
        let saved = self.list.push(piece, |list| self.saver.save(ChunkKind::Tree, list));
        Ok(saved?)
    }

    fn stretch(&mut self, source: &mut dyn Read) -> Result<u64, SaveError> {
        let Self { chunker, saver, list } = self;
        let flat = list.is_flat();
        chunker.chunks(source, |chunk| {
            let id = saver.save(ChunkKind::Data, chunk)?;
            let len = if flat { 0 } else { chunk.len() as u64 };
            list.push(Piece::Chunk { id, len }, |list| saver.save(ChunkKind::Tree, list))?;
            Ok(())
        })
    }

    fn finish(self) -> Result<Content, SaveError> {
        let Self { saver, list, .. } = self;
        Ok(list.finish(|list| saver.save(ChunkKind::Tree, list))?)
    }
}
