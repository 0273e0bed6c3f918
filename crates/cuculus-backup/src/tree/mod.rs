//! Trees: what a directory holds, as bytes that are chunked and stored like those of files. Knows
//! names, kinds and metadata; nothing of file systems or of where chunks are.

mod encoding; // a directory as bytes
mod node; // one file, directory, link or device
mod visit; // every node below a directory

/// Longer than any path that the system lets a backup read: a tree that goes deeper was made up.
pub(crate) const MOST_PATH: usize = 8192;

#[cfg(feature = "fuzz")]
pub(crate) use encoding::decode;
pub(crate) use encoding::{decode_ids, encode, encode_ids};
pub(crate) use node::{DirRef, Meta, Node, Piece, What};
pub(crate) use visit::{list, read_dir, resolve};
