//! Reads trees and files of a repository while others may change it: a prune may move chunks after
//! the index was read; then the index is read again. Knows contents; nothing of file systems.

use crate::chunks::Chunks;
use crate::error::{DamagedPart, Error, Result};
use crate::id::ChunkId;
use crate::repository::Repository;
use crate::tree::{self, Content, DirReader, Node, Piece, Pieces};

const READ_SIZE: usize = 1 << 20;

pub(crate) struct Source<'a> {
    repository: &'a Repository,
    pub(crate) chunks: Chunks,
    /// How many share the memory of the caches.
    readers: usize,
}

pub(crate) enum Part<'a> {
    Bytes(&'a [u8]),
    Hole(u64),
}

impl<'a> Source<'a> {
    pub(crate) fn new(repository: &'a Repository) -> Result<Self> {
        Self::one_of(repository, 1)
    }

    pub(crate) fn one_of(repository: &'a Repository, readers: usize) -> Result<Self> {
        Ok(Self { repository, chunks: repository.chunks()?.one_of(readers), readers })
    }

    /// Reads; if something is missing, again with the index as it is now.
    fn retry<T>(&mut self, mut read: impl FnMut(&mut Chunks) -> Result<T>) -> Result<T> {
        match read(&mut self.chunks) {
            Err(error) if error.is_missing() => {
                self.chunks = self.repository.chunks_of_present_packs()?.one_of(self.readers);
                read(&mut self.chunks)
            }
            outcome => outcome,
        }
    }

    pub(crate) fn next_node(&mut self, nodes: &mut DirReader) -> Result<Option<Node>> {
        self.retry(|chunks| nodes.next(chunks))
    }

    pub(crate) fn next_piece(&mut self, pieces: &mut Pieces) -> Result<Option<Piece>> {
        self.retry(|chunks| pieces.next(chunks))
    }

    pub(crate) fn read_list(&mut self, id: &ChunkId, len: u64) -> Result<Vec<Piece>> {
        self.retry(|chunks| tree::read_list(chunks, id, len))
    }

    pub(crate) fn read_chunk(&mut self, id: &ChunkId, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        self.retry(|chunks| {
            out.truncate(before);
            chunks.read(id, out)
        })
    }

    /// Passes the bytes of a file of this size on, in order.
    pub(crate) fn read(
        &mut self,
        content: &Content,
        size: u64,
        each: &mut dyn FnMut(Part<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut pieces = Pieces::new(content);
        let (mut buffer, mut position) = (Vec::new(), 0u64);
        while let Some(piece) = self.next_piece(&mut pieces)? {
            match piece {
                Piece::Chunk { id, .. } => {
                    let before = buffer.len();
                    self.read_chunk(&id, &mut buffer)?;
                    position = position.saturating_add((buffer.len() - before) as u64);
                    if buffer.len() >= READ_SIZE {
                        each(Part::Bytes(&buffer))?;
                        buffer.clear();
                    }
                }
                Piece::Hole(len) => {
                    position = position.saturating_add(len);
                    each(Part::Bytes(&buffer))?;
                    buffer.clear();
                    each(Part::Hole(len))?;
                }
            }
        }
        each(Part::Bytes(&buffer))?;
        if position == size {
            return Ok(());
        }
        Err(Error::damage(DamagedPart::ChunkList, format!("{position} of {size} bytes")))
    }
}
