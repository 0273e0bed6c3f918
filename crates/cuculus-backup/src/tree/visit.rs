//! Directories read back.

use super::encoding::decode;
use super::node::{DirRef, Node, What};
use crate::chunks::Chunks;
use crate::codec::Malformed;
use crate::error::{Error, Result};

/// The nodes of a stored directory.
pub(crate) fn read_dir(chunks: &mut Chunks, dir: &DirRef) -> Result<Vec<Node>> {
    let contents = chunks.read_all(&dir.contents)?;
    let metadata = chunks.read_all(&dir.metadata)?;
    decode(&contents, &metadata).map_err(|Malformed| Error::damaged("a stored directory"))
}

/// Hands every node below `dir` to `each`, with its path, a directory before what it holds.
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
            if let What::Dir(dir) = node.what {
                below.push((path, dir));
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    Ok(())
}

/// The node at a path, `None` if there is none. The root itself has no node.
pub(crate) fn resolve(chunks: &mut Chunks, root: &DirRef, path: &[u8]) -> Result<Option<Node>> {
    let mut dir = root.clone();
    let mut found = None;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        if let Some(Node { what: What::Dir(below), .. }) = found {
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
