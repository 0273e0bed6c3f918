//! Trees: directories as bytes that are chunked and stored like those of files. Knows names, types
//! and metadata; nothing of file systems or of where chunks are.

mod content; // bytes as a tree of chunks
mod dir; // a directory as a stream of nodes
mod encoding; // nodes as bytes
mod node; // one file, directory, link or device
mod visit; // walk directories

/// Longer than any path that a backup can read: a deeper tree is forged.
pub(crate) const MAX_PATH_LEN: usize = 8192;
pub(crate) const PATH_TOO_LONG: &str = "its path is too long";

pub(crate) use content::{Content, ContentBuilder, Piece, Pieces, read_list};
pub(crate) use dir::{DirReader, DirWriter};
#[cfg(feature = "fuzz")]
pub(crate) use encoding::{decode, encode};
pub(crate) use encoding::{decode_content, encode_content};
pub(crate) use node::{DirRef, Meta, Node, NodeKind};
#[cfg(feature = "mount")]
pub(crate) use visit::find;
pub(crate) use visit::{list, resolve};
