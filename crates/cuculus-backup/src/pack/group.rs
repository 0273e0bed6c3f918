//! A group: chunks that are compressed and sealed together. A single chunk of 8 KiB compresses
//! badly, and each seal costs a nonce and a tag.

use crate::codec::Malformed;
use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::seal::Keys;

pub(crate) const PLACE: &[u8] = b"group";

/// The first byte of an opened group says how the rest is stored.
const RAW: u8 = 0;
const ZSTD: u8 = 1;

/// Chunks to be written together.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) bytes: Vec<u8>,
    pub(crate) chunks: Vec<(ChunkId, u32)>,
}

impl Group {
    pub(crate) fn add(&mut self, id: ChunkId, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
        self.chunks.push((id, chunk.len() as u32));
    }
}

/// A group as it is stored in a pack.
pub(crate) struct SealedGroup {
    pub(crate) bytes: Vec<u8>,
    pub(crate) chunks: Vec<(ChunkId, u32)>,
}

impl SealedGroup {
    /// Whether the bytes are those that were sealed. Does not decompress them, which is most of the
    /// work of opening a group.
    pub(crate) fn is_sound(&self, keys: &Keys) -> bool {
        keys.seal.open_in_place(PLACE, &mut self.bytes.clone()).is_ok()
    }
}

/// Compresses and seals. One per thread, since creating one takes longer than using it.
pub(crate) struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
}

impl Compressor {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let mut zstd =
            zstd::bulk::Compressor::new(parameters.compression_level).map_err(no_compression)?;
        // The length is needed to open the group; zstd's checksum is not, since groups are sealed.
        let set = zstd.set_parameter(zstd::zstd_safe::CParameter::ContentSizeFlag(true));
        set.map_err(no_compression)?;
        Ok(Self { zstd, plain: Vec::new() })
    }

    pub(crate) fn seal(&mut self, keys: &Keys, group: Group) -> Result<SealedGroup> {
        let room = zstd::zstd_safe::compress_bound(group.bytes.len());
        self.plain.clear();
        self.plain.resize(1 + room, 0);
        let body = self.plain.get_mut(1..).unwrap_or_default();
        let len = self.zstd.compress_to_buffer(&group.bytes, body).map_err(no_compression)?;
        if len < group.bytes.len() {
            self.plain.truncate(1 + len);
            self.plain[0] = ZSTD;
        } else {
            self.plain.truncate(1);
            self.plain[0] = RAW;
            self.plain.extend_from_slice(&group.bytes);
        }
        let mut bytes = Vec::new();
        keys.seal.seal(PLACE, &self.plain, &mut bytes)?;
        Ok(SealedGroup { bytes, chunks: group.chunks })
    }
}

fn no_compression(error: std::io::Error) -> Error {
    Error::io("cannot compress")(error)
}

/// Opens what [`Compressor`] sealed.
pub(crate) struct Decompressor {
    zstd: zstd::bulk::Decompressor<'static>,
    most: usize,
}

impl Decompressor {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let zstd = zstd::bulk::Decompressor::new().map_err(Error::io("cannot decompress"))?;
        Ok(Self { zstd, most: parameters.max_group_size() })
    }

    /// The bytes of a group; never more than the largest group of this repository.
    pub(crate) fn open(
        &mut self,
        keys: &Keys,
        mut sealed: Vec<u8>,
    ) -> std::result::Result<Vec<u8>, Malformed> {
        let plain = keys.seal.open_in_place(PLACE, &mut sealed)?;
        match sealed.get(plain.clone()).and_then(<[u8]>::split_first).ok_or(Malformed)? {
            (&RAW, body) if body.len() <= self.most => Ok(body.to_vec()),
            (&ZSTD, body) => {
                let len = zstd::zstd_safe::get_frame_content_size(body).ok().flatten();
                let len = len.and_then(|len| usize::try_from(len).ok()).ok_or(Malformed)?;
                if len > self.most {
                    return Err(Malformed);
                }
                self.zstd.decompress(body, len).map_err(|_| Malformed)
            }
            _ => Err(Malformed),
        }
    }
}
