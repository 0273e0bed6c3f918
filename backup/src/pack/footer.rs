//! The list of a pack's chunks, at its end. The locality cache loads it, `check` compares it with
//! the index, and `repair` rebuilds a lost index from it.

use super::{Location, PackInfo};
use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::seal::Keys;
use crate::store::{ObjectKind, Store};

/// After the sealed footer: its length in four bytes, then this.
pub(crate) const TRAILER_MAGIC: [u8; 4] = *b"PEND";
pub(super) const TRAILER_LEN: u64 = 8;

pub(crate) struct FooterGroup {
    pub(crate) offset: u32,
    pub(crate) len: u32,
    pub(crate) chunks: Vec<(ChunkId, u32)>,
}

impl FooterGroup {
    /// Every chunk with its location.
    pub(crate) fn locations(&self, pack: Name) -> impl Iterator<Item = (ChunkId, Location)> {
        let mut next = 0;
        self.chunks.iter().map(move |&(id, len)| {
            let offset = next;
            next += len;
            (id, Location { pack, group: self.offset, group_len: self.len, offset, len })
        })
    }
}

#[derive(Default)]
pub(crate) struct Footer {
    pub(crate) groups: Vec<FooterGroup>,
}

impl Footer {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.list(&self.groups, |writer, group| {
            writer.varint(group.offset.into());
            writer.varint(group.len.into());
            writer.list(&group.chunks, |writer, (id, len)| {
                writer.raw(&id.0);
                writer.varint((*len).into());
            });
        });
        writer.0
    }

    fn decode(bytes: &[u8]) -> Decoded<Self> {
        let group = |reader: &mut Reader<'_>| {
            let (offset, len) = (reader.number()?, reader.number()?);
            let chunks = reader.list(ChunkId::LEN + 1, |reader| {
                Ok((ChunkId(reader.array()?), reader.number()?))
            })?;
            // Offsets within the group are sums of lengths, and must fit.
            let total: u64 = chunks.iter().map(|&(_, len): &(ChunkId, u32)| u64::from(len)).sum();
            if u32::try_from(total).is_err() {
                return Err(Malformed);
            }
            Ok(FooterGroup { offset, len, chunks })
        };
        Ok(Self { groups: Reader::whole(bytes, |reader| reader.list(3, group))? })
    }

    /// Whether magic, groups, footer and trailer fill the pack without gaps.
    pub(crate) fn covers(&self, info: &PackInfo) -> bool {
        let mut end = super::MAGIC.len() as u64;
        let follow = self.groups.iter().all(|group| {
            let follows = u64::from(group.offset) == end;
            end += u64::from(group.len);
            follows
        });
        follow && end + u64::from(info.footer_len) + TRAILER_LEN == info.size
    }

    /// Every chunk with its location.
    pub(crate) fn locations(&self, pack: Name) -> impl Iterator<Item = (ChunkId, Location)> {
        self.groups.iter().flat_map(move |group| group.locations(pack))
    }
}

pub(crate) fn place(pack: &Name) -> Vec<u8> {
    [b"footer".as_slice(), &pack.0].concat()
}

/// Reads the footer of a pack; without `info`, finds it through the trailer.
pub(crate) fn read_footer(
    store: &dyn Store,
    keys: &Keys,
    pack: &Name,
    info: Option<&PackInfo>,
) -> Result<(Footer, PackInfo)> {
    let damaged = || Error::damaged(ObjectKind::Pack, pack);
    let object = match info {
        Some(info) => store.open_sized(ObjectKind::Pack, pack, info.size)?,
        None => store.open(ObjectKind::Pack, pack)?,
    };
    let size = object.len();
    let footer_len = match info {
        Some(info) => info.footer_len,
        None => {
            let start = size.checked_sub(TRAILER_LEN).ok_or_else(damaged)?;
            let trailer = object.read_at(start, TRAILER_LEN)?;
            let mut reader = Reader(&trailer);
            let len = reader.u32().map_err(|Malformed| damaged())?;
            if reader.0 != TRAILER_MAGIC {
                return Err(damaged());
            }
            len
        }
    };
    let start = size.checked_sub(TRAILER_LEN + u64::from(footer_len)).ok_or_else(damaged)?;
    let sealed = object.read_at(start, footer_len.into())?;
    let plain = keys.seal.open(&place(pack), sealed).map_err(|Malformed| damaged())?;
    let footer = Footer::decode(&plain).map_err(|Malformed| damaged())?;
    Ok((footer, PackInfo { name: *pack, size, footer_len }))
}
