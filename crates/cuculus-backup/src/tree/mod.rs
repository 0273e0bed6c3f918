//! Trees: what a directory holds, as bytes that are chunked and stored like those of files. Knows
//! names, kinds and metadata; nothing of file systems or of where chunks are.

mod encoding; // a directory as bytes
mod node; // one file, directory, link or device
mod visit; // every node below a directory

pub(crate) use encoding::{decode_ids, encode, encode_ids};
pub(crate) use node::{DirRef, Meta, Node, Piece, What};
pub(crate) use visit::{list, read_dir, resolve};
