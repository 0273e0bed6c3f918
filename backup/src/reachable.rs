//! Every chunk that a snapshot needs. Knows trees; nothing of what the caller does with the chunks.

use std::collections::{HashMap, HashSet};

use crate::chunks::Chunks;
use crate::codec::Writer;
use crate::error::{Damage, DamagedPart, Error, Result};
use crate::id::{ChunkId, IdMap, Name};
use crate::snapshot::Snapshot;
use crate::tree::{self, Content, DirReader, DirRef, Node, NodeKind, Piece};

/// Walks snapshots; what several of them share is visited once.
#[derive(Default)]
pub(crate) struct Reachable {
    dirs: HashSet<Name>,
    /// Directories whose files have been visited, by their contents: directories that differ only in
    /// metadata have the same files.
    contents: HashSet<Name>,
    /// Lists of chunks that have been visited, and the bytes that they stand for. The most recent
    /// ones: large files share lists with their older versions.
    lists: IdMap<u64>,
}

/// More lists than this are visited again: 8 MiB.
const MAX_LISTS: usize = 1 << 17;

pub(crate) enum Visited<'a> {
    /// A chunk of a tree: part of a directory, or a list of chunks.
    Tree(&'a ChunkId),
    /// A chunk of the file that follows.
    Data { id: &'a ChunkId, len: u64 },
    /// A file, after its chunks, and the bytes that they stand for.
    File { node: &'a Node, bytes: u64 },
    /// A list of chunks of the file that follows cannot be read.
    Unreadable(Error),
}

pub(crate) type Each<'a> = &'a mut dyn FnMut(Visited<'_>) -> Result<()>;

/// Stands for some content in sets: sixteen bytes instead of a list.
pub(crate) fn key_of(contents: &[&Content]) -> Name {
    let mut writer = Writer::default();
    contents.iter().for_each(|c| tree::encode_content(&mut writer, c));
    Name::of(&writer.0)
}

impl Reachable {
    /// Passes every chunk of a tree and every file to `each`; stops at the first directory that
    /// cannot be read.
    pub(crate) fn visit(
        &mut self,
        chunks: &mut Chunks,
        snapshot: &Snapshot,
        each: Each<'_>,
    ) -> Result<()> {
        let mut visit = Visit { seen: self, chunks, each };
        visit.dir(&snapshot.root, 0).map_err(|error| match error {
            Error::Damaged(damage) => {
                Error::Damaged(Damage { snapshot: Some(snapshot.name), ..damage })
            }
            other => other,
        })
    }
}

struct Visit<'a> {
    seen: &'a mut Reachable,
    chunks: &'a mut Chunks,
    each: Each<'a>,
}

impl Visit<'_> {
    fn dir(&mut self, dir: &DirRef, depth: usize) -> Result<()> {
        if !self.seen.dirs.insert(key_of(&[&dir.contents, &dir.metadata])) {
            return Ok(());
        }
        if depth > tree::MAX_PATH_LEN / 2 {
            return Err(Error::damage(DamagedPart::Directory, tree::PATH_TOO_LONG));
        }
        for half in [&dir.contents, &dir.metadata] {
            self.content(half, true)?;
        }
        let new = self.seen.contents.insert(key_of(&[&dir.contents]));
        let mut nodes = DirReader::new(dir);
        while let Some(node) = nodes.next(self.chunks)? {
            match &node.kind {
                NodeKind::Dir(below) => self.dir(below, depth + 1)?,
                NodeKind::File { content, .. } if new => {
                    let bytes = match self.content(content, false) {
                        Ok(bytes) => bytes,
                        Err(error @ Error::Damaged(_)) => {
                            (self.each)(Visited::Unreadable(error))?;
                            0
                        }
                        Err(error) => return Err(error),
                    };
                    (self.each)(Visited::File { node: &node, bytes })?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Passes the chunks of some content on; returns the bytes that they stand for.
    fn content(&mut self, content: &Content, is_tree: bool) -> Result<u64> {
        let mut bytes = 0u64;
        for piece in &content.pieces {
            bytes = bytes.saturating_add(piece.len());
            match piece {
                Piece::Chunk { id, len } if content.levels > 0 => {
                    self.list(id, *len, content.levels - 1, is_tree)?;
                }
                Piece::Chunk { id, .. } if is_tree => (self.each)(Visited::Tree(id))?,
                Piece::Chunk { id, len } => (self.each)(Visited::Data { id, len: *len })?,
                Piece::Hole(_) => {}
            }
        }
        Ok(bytes)
    }

    fn list(&mut self, id: &ChunkId, len: u64, levels: u8, is_tree: bool) -> Result<()> {
        match self.seen.lists.get(id) {
            Some(known) if *known == len => return Ok(()),
            Some(_) => {
                let detail = "its lengths do not add up";
                return Err(Error::damage(DamagedPart::ChunkList, detail));
            }
            None => {}
        }
        (self.each)(Visited::Tree(id))?;
        let pieces = tree::read_list(self.chunks, id, len)?;
        self.content(&Content { levels, pieces }, is_tree)?;
        if self.seen.lists.len() >= MAX_LISTS {
            self.seen.lists = HashMap::default();
        }
        self.seen.lists.insert(*id, len);
        Ok(())
    }
}
