//! One entry of a directory: its name, type and metadata.

use rustix::process::{getgid, getuid};

use super::content::Content;

/// A stored directory, in two parts: names and contents, and metadata. A new version of a tree
/// often changes the times of every file and the contents of few; then only the second part is new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DirRef {
    pub(crate) contents: Content,
    pub(crate) metadata: Content,
}

/// The type of a file, with what only this type has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File {
        size: u64,
        content: Content,
    },
    Dir(DirRef),
    Symlink(Vec<u8>),
    Fifo,
    /// Devices, with their number.
    Char(u64),
    Block(u64),
}

/// The metadata that all types have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Permissions, including set-user-id, set-group-id and sticky.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) modified: (i64, u32),
    /// A hash of the change time and the inode, by which a backup recognises an unchanged file.
    /// Compared only if size and modification time are the same, so four bytes are enough: a
    /// changed file is missed once in four billion times.
    pub(crate) stamp: u32,
    /// Device and inode, if the file has several hard links.
    pub(crate) link: Option<(u64, u64)>,
    /// Extended attributes, sorted by name.
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Meta {
    /// Of something of this process, as of a time in nanoseconds since 1970.
    pub(crate) fn own(mode: u32, time: u64) -> Self {
        let (uid, gid) = (getuid().as_raw(), getgid().as_raw());
        let modified = ((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32);
        Self { mode, uid, gid, modified, ..Self::default() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: NodeKind,
    pub(crate) meta: Meta,
}

impl Node {
    pub(crate) fn size(&self) -> u64 {
        match &self.kind {
            NodeKind::File { size, .. } => *size,
            _ => 0,
        }
    }
}
