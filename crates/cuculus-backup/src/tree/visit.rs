//! Reads stored directories and walks them. Knows nothing of file systems.

use super::encoding::decode;
use super::node::{DirRef, Node, NodeKind};
use crate::chunks::Chunks;
use crate::codec::Malformed;
use crate::error::{DamagedPart, Error, Result};

/// The nodes of a stored directory.
pub(crate) fn read_dir(chunks: &mut Chunks, dir: &DirRef) -> Result<Vec<Node>> {
    let contents = chunks.read_all(&dir.contents)?;
    let metadata = chunks.read_all(&dir.metadata)?;
    decode(&contents, &metadata).map_err(|Malformed| Error::damage(DamagedPart::Directory, ""))
}

/// Passes every node below `dir` to `each`, with its path, each directory before its contents.
pub(crate) fn list(
    chunks: &mut Chunks,
    dir: &DirRef,
    each: &mut dyn FnMut(&[u8], &Node) -> Result<()>,
) -> Result<()> {
    let mut waiting = vec![(Vec::new(), dir.clone())];
    while let Some((path, dir)) = waiting.pop() {
        let mut below = Vec::new();
        for node in read_dir(chunks, &dir)? {
            let path = [&path[..], b"/", &node.name].concat();
            each(&path, &node)?;
            if let NodeKind::Dir(dir) = node.kind {
                below.push((path, dir));
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    Ok(())
}

/// The node at a path, if there is one. The root itself has no node.
pub(crate) fn resolve(chunks: &mut Chunks, root: &DirRef, path: &[u8]) -> Result<Option<Node>> {
    let mut dir = root.clone();
    let mut found = None;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        if let Some(Node { kind: NodeKind::Dir(below), .. }) = found {
            dir = below;
        } else if found.is_some() {
            return Ok(None);
        }
        let nodes = read_dir(chunks, &dir)?;
        let Some(node) = nodes.into_iter().find(|node| node.name == name) else {
            return Ok(None);
        };
        found = Some(node);
    }
    Ok(found)
}
