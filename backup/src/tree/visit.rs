//! Walks stored directories. Knows nothing of file systems.

use super::dir::DirReader;
use super::node::{DirRef, Node, NodeKind};
use super::{MAX_PATH_LEN, PATH_TOO_LONG};
use crate::chunks::Chunks;
use crate::error::{DamagedPart, Error, Result};

pub(crate) type Each<'a> = &'a mut dyn FnMut(&[u8], &Node) -> Result<()>;

/// Passes every node below `dir`, which is at `path`, to `each`, each directory before its contents.
pub(crate) fn list(chunks: &mut Chunks, dir: &DirRef, path: &[u8], each: Each<'_>) -> Result<()> {
    if path.len() > MAX_PATH_LEN {
        return Err(Error::damage(DamagedPart::Directory, PATH_TOO_LONG));
    }
    let mut directories = 0u64;
    let mut nodes = DirReader::new(dir);
    while let Some(node) = nodes.next(chunks)? {
        each(&[path, b"/", &node.name].concat(), &node)?;
        directories += u64::from(matches!(node.kind, NodeKind::Dir(_)));
    }
    // Read again rather than kept: a directory may have millions of directories.
    let mut nodes = DirReader::new(dir);
    while directories > 0 {
        let Some(node) = nodes.next(chunks)? else { break };
        if let NodeKind::Dir(below) = &node.kind {
            directories -= 1;
            list(chunks, below, &[path, b"/", &node.name].concat(), each)?;
        }
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
        found = find(chunks, &dir, name)?;
        if found.is_none() {
            return Ok(None);
        }
    }
    Ok(found)
}

pub(crate) fn find(chunks: &mut Chunks, dir: &DirRef, name: &[u8]) -> Result<Option<Node>> {
    let mut nodes = DirReader::new(dir);
    while let Some(node) = nodes.next(chunks)? {
        if node.name.as_slice() >= name {
            return Ok(Some(node).filter(|node| node.name == name));
        }
    }
    Ok(None)
}
