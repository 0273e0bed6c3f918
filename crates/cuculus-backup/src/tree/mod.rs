//! Trees: directories as bytes that are chunked and stored like those of files. Knows names, types
//! and metadata; nothing of file systems or of where chunks are.

mod encoding; // a directory as bytes
mod node; // one file, directory, link or device
mod visit; // read directories and walk them

/// Longer than any path that a backup can read: a deeper tree is forged.
pub(crate) const MAX_PATH_LEN: usize = 8192;
pub(crate) const PATH_TOO_LONG: &str = "its path is too long";

#[cfg(feature = "fuzz")]
pub(crate) use encoding::decode;
pub(crate) use encoding::{decode_ids, encode, encode_ids};
pub(crate) use node::{DirRef, Meta, Node, NodeKind, Piece};
pub(crate) use visit::{list, read_dir, resolve};
