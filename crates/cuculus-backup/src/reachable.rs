//! Every chunk that a snapshot needs. Knows trees; nothing of what the caller does with the chunks.

use std::collections::HashSet;

use crate::chunks::Chunks;
use crate::error::{Damage, Error, Result};
use crate::id::ChunkId;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Node, NodeKind, Piece};

/// Walks snapshots; what several of them share is visited once.
#[derive(Default)]
pub(crate) struct Reachable {
    dirs: HashSet<DirRef>,
    /// Directories whose files have been visited, by the chunks of their contents: directories that
    /// differ only in metadata have the same files.
    contents: HashSet<Vec<ChunkId>>,
}

/// What a walk comes across.
#[derive(Clone, Copy)]
pub(crate) enum Visited<'a> {
    /// A chunk of a tree.
    Tree(&'a ChunkId),
    /// A file.
    File(&'a Node, &'a [Piece]),
}

impl Reachable {
    /// Passes every chunk of a tree and every file to `each`; stops at the first directory that
    /// cannot be read.
    pub(crate) fn visit(
        &mut self,
        chunks: &mut Chunks,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(Visited<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut waiting = vec![snapshot.root.clone()];
        while let Some(dir) = waiting.pop() {
            if !self.dirs.insert(dir.clone()) {
                continue;
            }
            let ids = dir.contents.iter().chain(&dir.metadata);
            ids.into_iter().try_for_each(|id| each(Visited::Tree(id)))?;
            let nodes = tree::read_dir(chunks, &dir).map_err(|error| match error {
                Error::Damaged(damage) => {
                    Error::Damaged(Damage { snapshot: Some(snapshot.name), ..damage })
                }
                other => other,
            })?;
            let new = self.contents.insert(dir.contents);
            for node in nodes {
                match &node.kind {
                    NodeKind::Dir(below) => waiting.push(below.clone()),
                    NodeKind::File { pieces, .. } if new => each(Visited::File(&node, pieces))?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
