//! A file's bytes as pieces: chunks where something was written, holes where not.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;

use super::saver::Saver;
use crate::chunker::Chunker;
use crate::error::Error;
use crate::sink::Sort;
use crate::tree::Piece;

/// What stops the reading of a file: the file, which is reported, or the repository, which ends
/// the backup.
pub(super) enum Stopped {
    File(io::Error),
    Repository(Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Repository(error)
    }
}

/// Saves a file's bytes; returns how many there were, holes included.
pub(super) fn save(
    file: &mut File,
    chunker: &mut Chunker,
    saver: &mut Saver,
) -> Result<(u64, Vec<Piece>), Stopped> {
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
            // Nothing but a hole up to the end.
            Err(rustix::io::Errno::NXIO) => file.metadata()?.len().max(position),
            // A file system that does not tell: all of it is data.
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
) -> Result<u64, Stopped> {
    chunker.chunks(source, |chunk| {
        pieces.push(Piece::Chunk(saver.save(Sort::Data, chunk)?));
        Ok(())
    })
}
