//! Every chunk that a snapshot needs. Knows trees; what is done with the chunks is the caller's.

use std::collections::HashSet;

use crate::chunks::Chunks;
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Node, Piece, What};

/// Walks snapshots; what several of them share is visited once.
#[derive(Default)]
pub(crate) struct Reachable {
    dirs: HashSet<DirRef>,
    /// Directories whose files have been visited, by the first chunk of their contents: equal
    /// contents with other metadata hold the same files.
    contents: HashSet<Vec<ChunkId>>,
}

/// What is met on the way.
#[derive(Clone, Copy)]
pub(crate) enum Met<'a> {
    /// A chunk of a tree.
    Tree(&'a ChunkId),
    /// A file.
    File(&'a Node, &'a [Piece]),
}

impl Reachable {
    /// Hands every chunk to `each`, and says where it stopped if something could not be read.
    pub(crate) fn visit(
        &mut self,
        chunks: &mut Chunks,
        snapshot: &Snapshot,
        each: &mut dyn FnMut(Met<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut waiting = vec![snapshot.root.clone()];
        while let Some(dir) = waiting.pop() {
            if !self.dirs.insert(dir.clone()) {
                continue;
            }
            let ids = dir.contents.iter().chain(&dir.metadata);
            ids.into_iter().try_for_each(|id| each(Met::Tree(id)))?;
            let nodes = tree::read_dir(chunks, &dir).map_err(|error| match error {
                Error::Damaged(what) => {
                    Error::Damaged(format!("{what}: a directory of snapshot {}", snapshot.name))
                }
                other => other,
            })?;
            let new = self.contents.insert(dir.contents);
            for node in nodes {
                match &node.what {
                    What::Dir(below) => waiting.push(below.clone()),
                    What::File { pieces, .. } if new => each(Met::File(&node, pieces))?,
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
