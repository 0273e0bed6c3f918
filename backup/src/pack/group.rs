//! A group: chunks that are compressed and sealed together. A single chunk of 8 KiB compresses
//! badly, and each seal costs a nonce and a tag.

use zstd::bulk;

use crate::codec::{Decoded, Malformed};
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

/// Groups as they are stored in a pack, in order.
#[derive(Default)]
pub(crate) struct SealedGroups {
    /// There may be other bytes between them.
    pub(crate) bytes: Vec<u8>,
    pub(crate) groups: Vec<SealedGroup>,
}

pub(crate) struct SealedGroup {
    /// Where it begins in the bytes.
    pub(crate) start: usize,
    pub(crate) len: u32,
    pub(crate) chunks: Vec<(ChunkId, u32)>,
}

impl SealedGroups {
    fn add(&mut self, keys: &Keys, plain: &[u8], chunks: Vec<(ChunkId, u32)>) -> Result<()> {
        let start = self.bytes.len();
        keys.seal.seal(PLACE, plain, &mut self.bytes)?;
        let len = u32::try_from(self.bytes.len() - start).map_err(|_| too_large())?;
        self.groups.push(SealedGroup { start, len, chunks });
        Ok(())
    }
}

/// Whether the bytes of a group are those that were sealed. Nothing is decrypted or decompressed,
/// which is most of the work of opening it.
pub(crate) fn is_sound(keys: &Keys, sealed: &[u8]) -> bool {
    keys.seal.is_sound(PLACE, sealed)
}

/// Lengths have four bytes; no valid parameters lead here.
fn too_large() -> Error {
    Error::io("cannot write a group")(std::io::ErrorKind::FileTooLarge.into())
}

/// What a group adds to the footer of its pack: where it begins, its length, its number of chunks.
const FOOTER_LEN: usize = 8;

/// Chunks are groups of their own if that takes at most a 128th more.
const ALONE_SLACK: usize = 128;

/// Compresses and seals. One per thread, since creating one takes longer than using it.
pub(crate) struct Compressor {
    zstd: bulk::Compressor<'static>,
    /// A whole group, compressed.
    whole: Vec<u8>,
    /// Its chunks, each compressed alone, and where each ends.
    alone: Vec<u8>,
    ends: Vec<usize>,
}

impl Compressor {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let mut zstd =
            bulk::Compressor::new(parameters.compression_level).map_err(no_compression)?;
        // The length is needed to open the group; zstd's checksum is not, since groups are sealed.
        let set = zstd.set_parameter(zstd::zstd_safe::CParameter::ContentSizeFlag(true));
        set.map_err(no_compression)?;
        Ok(Self { zstd, whole: Vec::new(), alone: Vec::new(), ends: Vec::new() })
    }

    /// Appends the group as it is stored; or each of its chunks as a group, if that takes hardly
    /// more bytes. Chunks of text lose much alone. Where a file has little in common with itself
    /// they lose nothing, and a prune can take one away without compressing the others again.
    pub(crate) fn seal(&mut self, keys: &Keys, group: Group, out: &mut SealedGroups) -> Result<()> {
        self.whole.clear();
        compress(&mut self.zstd, &group.bytes, &mut self.whole)?;
        let may_be_alone = group.chunks.len() > 1
            && self.whole.first() == Some(&ZSTD)
            && self.whole.len() >= group.bytes.len() / 4 * 3;
        if !may_be_alone || !self.is_as_small_alone(keys, &group)? {
            return out.add(keys, &self.whole, group.chunks);
        }
        let mut start = 0;
        for (chunk, &end) in group.chunks.iter().zip(&self.ends) {
            let plain = self.alone.get(start..end).unwrap_or_default();
            out.add(keys, plain, vec![*chunk])?;
            start = end;
        }
        Ok(())
    }

    /// Compresses each chunk alone, as long as that may be as small as the whole.
    fn is_as_small_alone(&mut self, keys: &Keys, group: &Group) -> Result<bool> {
        let per_group = keys.seal.overhead() + FOOTER_LEN;
        let most = self.whole.len() + self.whole.len() / ALONE_SLACK + per_group;
        let mut rest = &group.bytes[..];
        self.alone.clear();
        self.ends.clear();
        for (_, len) in &group.chunks {
            let (chunk, later) = rest.split_at_checked(*len as usize).unwrap_or((rest, &[]));
            rest = later;
            compress(&mut self.zstd, chunk, &mut self.alone)?;
            self.ends.push(self.alone.len());
            if self.alone.len() + self.ends.len() * per_group > most {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Appends the bytes compressed, or as they are if that is shorter; a byte before them says which.
fn compress(zstd: &mut bulk::Compressor<'static>, bytes: &[u8], plain: &mut Vec<u8>) -> Result<()> {
    let start = plain.len();
    plain.push(ZSTD);
    plain.resize(start + 1 + zstd::zstd_safe::compress_bound(bytes.len()), 0);
    let body = plain.get_mut(start + 1..).unwrap_or_default();
    let len = zstd.compress_to_buffer(bytes, body).map_err(no_compression)?;
    if len < bytes.len() {
        plain.truncate(start + 1 + len);
    } else {
        plain.truncate(start);
        plain.push(RAW);
        plain.extend_from_slice(bytes);
    }
    Ok(())
}

fn no_compression(error: std::io::Error) -> Error {
    Error::io("cannot compress")(error)
}

pub(crate) struct Decompressor {
    zstd: bulk::Decompressor<'static>,
    most: usize,
}

impl Decompressor {
    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let zstd = bulk::Decompressor::new().map_err(Error::io("cannot decompress"))?;
        Ok(Self { zstd, most: parameters.max_group_size() })
    }

    /// The bytes of a group; never more than the largest group of this repository.
    pub(crate) fn open(&mut self, keys: &Keys, mut sealed: Vec<u8>) -> Decoded<Vec<u8>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Master;

    /// A group of these chunks, sealed; every group that comes out opens to what went in.
    fn sealed_groups(chunks: &[Vec<u8>]) -> SealedGroups {
        let keys = Keys::new(&Master([7; 32]), true);
        let parameters = Parameters::default();
        let mut group = Group::default();
        chunks.iter().for_each(|chunk| group.add(keys.chunk_id(chunk), chunk));
        let mut out = SealedGroups::default();
        let mut compressor = Compressor::new(&parameters).expect("a compressor");
        compressor.seal(&keys, group, &mut out).expect("sealed");
        let mut open = Decompressor::new(&parameters).expect("a decompressor");
        let mut opened = Vec::new();
        let mut end = 0;
        for SealedGroup { start, len, chunks } in &out.groups {
            assert_eq!(*start, end);
            end += *len as usize;
            let sealed = &out.bytes[*start..end];
            assert!(is_sound(&keys, sealed));
            let bytes = open.open(&keys, sealed.to_vec()).expect("opened");
            let lengths: u32 = chunks.iter().map(|(_, len)| len).sum();
            assert_eq!(lengths as usize, bytes.len());
            opened.extend(bytes);
        }
        assert_eq!(end, out.bytes.len());
        assert_eq!(opened, chunks.concat());
        let ids = out.groups.iter().flat_map(|group| &group.chunks).map(|chunk| chunk.0);
        assert!(ids.eq(chunks.iter().map(|chunk| keys.chunk_id(chunk))));
        out
    }

    fn noise(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
        (0..len).map(|_| random.u8(..)).collect()
    }

    /// Stretches of noise and of digits, as in the image of a disk: nothing in one chunk tells
    /// anything of another, but each chunk has its own frequencies.
    #[test]
    fn chunks_that_have_nothing_in_common_are_groups_of_their_own() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut image = Vec::new();
        for _ in 0..64 {
            let all = if random.bool() { 16 } else { 255 };
            image.extend((0..4096).map(|_| random.u8(..all)));
        }
        let chunks: Vec<Vec<u8>> = image.chunks(9000).map(<[u8]>::to_vec).collect();
        assert_eq!(sealed_groups(&chunks).groups.len(), chunks.len());
    }

    #[test]
    fn text_and_noise_stay_together() {
        let mut random = fastrand::Rng::with_seed(2);
        let line = |number: u32| format!("the line of number {number} is like the others\n");
        let text = |random: &mut fastrand::Rng| -> Vec<u8> {
            (0..150).flat_map(|_| line(random.u32(..)).into_bytes()).collect()
        };
        let texts: Vec<Vec<u8>> = (0..30).map(|_| text(&mut random)).collect();
        assert_eq!(sealed_groups(&texts).groups.len(), 1);
        // Alone, each chunk of noise would cost a nonce and a tag.
        let noises: Vec<Vec<u8>> = (0..30).map(|_| noise(&mut random, 8000)).collect();
        assert_eq!(sealed_groups(&noises).groups.len(), 1);
        // Copies of one chunk of noise are one match each; alone, nothing.
        let copies = vec![noise(&mut random, 8000); 2];
        assert_eq!(sealed_groups(&copies).groups.len(), 1);
    }

    /// Whatever the chunks are.
    #[test]
    fn a_group_that_is_taken_apart_hardly_grows() {
        let (mut random, mut taken_apart) = (fastrand::Rng::with_seed(3), 0);
        for round in 0..40 {
            let chunks: Vec<Vec<u8>> = (0..random.usize(2..40))
                .map(|_| {
                    let (len, values) = (random.usize(1..9000), random.u8(1..));
                    let base = random.u8(..);
                    (0..len).map(|_| base.wrapping_add(random.u8(..values))).collect()
                })
                .collect();
            let apart = sealed_groups(&chunks);
            if apart.groups.len() == 1 {
                continue;
            }
            let size = apart.bytes.len() + apart.groups.len() * FOOTER_LEN;
            let mut whole = Vec::new();
            let level = Parameters::default().compression_level;
            let mut zstd = bulk::Compressor::new(level).expect("a compressor");
            compress(&mut zstd, &chunks.concat(), &mut whole).expect("compressed");
            let most = whole.len() + whole.len() / ALONE_SLACK + 40 + FOOTER_LEN;
            assert!(size <= most, "{round}: {size} > {most}");
            taken_apart += 1;
        }
        assert!(taken_apart > 0);
    }
}
