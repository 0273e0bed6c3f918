//! One name in a directory and what is behind it.

use crate::id::ChunkId;

/// A stored directory. Its contents are written in two parts: names and what files hold, and
/// metadata. A new version of a tree often changes the times of every file and the contents of
/// few; then only the second part is new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DirRef {
    pub(crate) contents: Vec<ChunkId>,
    pub(crate) metadata: Vec<ChunkId>,
}

/// A stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Chunk(ChunkId),
    /// So many bytes that were never written.
    Hole(u64),
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    File {
        size: u64,
        pieces: Vec<Piece>,
    },
    Dir(DirRef),
    Symlink(Vec<u8>),
    Fifo,
    /// Devices, with their number.
    Char(u64),
    Block(u64),
}

/// What is known about it besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Permissions with the bits for set-user-id, set-group-id and sticky.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Seconds and nanoseconds.
    pub(crate) modified: (i64, u32),
    /// A hash of the change time and the inode: whether a file may be taken as unchanged without
    /// being read. Four bytes, since they differ between all versions of all files; it is asked
    /// only if size and time are the same, and errs once in four thousand million.
    pub(crate) stamp: u32,
    /// Device and inode, if there are other names for the same file.
    pub(crate) link: Option<(u64, u64)>,
    /// Extended attributes, by name.
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: Vec<u8>,
    pub(crate) what: What,
    pub(crate) meta: Meta,
}

impl Node {
    /// The node's own bytes, if it is a file.
    pub(crate) fn size(&self) -> u64 {
        match &self.what {
            What::File { size, .. } => *size,
            _ => 0,
        }
    }
}
