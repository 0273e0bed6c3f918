//! The content of one file as pieces: chunks of data, and holes. Knows nothing of directories.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;

use super::saver::Saver;
use crate::chunker::Chunker;
use crate::error::Error;
use crate::sink::ChunkKind;
use crate::tree::Piece;

/// Why saving a file stopped: the file cannot be read, which is reported, or the repository cannot
/// be written, which ends the backup.
pub(super) enum SaveError {
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
) -> Result<(u64, Vec<Piece>), SaveError> {
    let metadata = file.metadata()?;
    let mut pieces = Vec::new();
    if metadata.blocks() * 512 >= metadata.len() {
        let size = save_stretch(file, chunker, saver, &mut pieces)?;
        return Ok((size, pieces));
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
            pieces.push(Piece::Hole(data - position));
        }
        let end = rustix::fs::seek(&*file, rustix::fs::SeekFrom::Hole(data)).unwrap_or(u64::MAX);
        if end <= data || rustix::fs::seek(&*file, rustix::fs::SeekFrom::Start(data)).is_err() {
            return Ok((data, pieces));
        }
        let wanted = end - data;
        let read = save_stretch(&mut file.take(wanted), chunker, saver, &mut pieces)?;
        position = data + read;
        if read < wanted {
            return Ok((position, pieces));
        }
        file.seek(io::SeekFrom::Start(position))?;
    }
}

fn save_stretch(
    source: &mut impl Read,
    chunker: &mut Chunker,
    saver: &mut Saver,
    pieces: &mut Vec<Piece>,
) -> Result<u64, SaveError> {
    chunker.chunks(source, |chunk| {
        pieces.push(Piece::Chunk(saver.save(ChunkKind::Data, chunk)?));
        Ok(())
    })
}
