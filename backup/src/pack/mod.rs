//! Packs: files of groups of chunks, with a footer that lists them. Knows how chunks are laid out,
//! compressed and sealed; nothing of files, trees or the index.

mod footer; // the list of a pack's chunks
mod group; // chunks compressed and sealed together
mod writer; // writes a pack group by group

pub(crate) use footer::{Footer, FooterGroup, read_footer};
pub(crate) use group::{Compressor, Decompressor, Group, SealedGroup, SealedGroups, is_sound};
pub(crate) use writer::{MAGIC, PackWriter};
#[cfg(feature = "fuzz")]
pub(crate) use {
    footer::TRAILER_MAGIC, footer::place as footer_place, group::PLACE as GROUP_PLACE,
};

use crate::id::Name;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    pub(crate) pack: Name,
    /// Offset of the sealed group in the pack, and its length.
    pub(crate) group: u32,
    pub(crate) group_len: u32,
    /// Offset of the chunk in the opened group, and its length.
    pub(crate) offset: u32,
    pub(crate) len: u32,
}

/// What the index knows of a pack: enough to read its footer with one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackInfo {
    pub(crate) name: Name,
    pub(crate) size: u64,
    pub(crate) footer_len: u32,
}
