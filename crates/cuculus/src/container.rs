//! The file: a header, parameters, payload and two checksums around whatever a filter consists
//! of. Knows the kinds of filters and their hash functions, nothing of what is in a filter.
//! FORMAT.md is its specification.

use std::io::{Read, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::{DecodeError, KeyHasher, Note, Partition};

/// Saving and loading. The bytes are the same on every platform, carry the hash function and its
/// seed, and are checked in full before a filter is made of them.
///
/// ```
/// use cuculus::{CuckooFilter, Filter, Insert, Persist};
///
/// let mut filter = CuckooFilter::builder().capacity(1000).build()?;
/// filter.insert("key")?;
/// let again = CuckooFilter::from_bytes(&filter.to_bytes())?;
/// assert!(again.contains("key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Persist: Sized {
    /// The filter as bytes.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes).expect("writing to a vector does not fail");
        bytes
    }

    /// The filter that these bytes hold, from the first to the last; a [`Note`](crate::Note) that
    /// follows it is left out.
    ///
    /// # Errors
    /// [`DecodeError`] if they are anything else. Memory grows with the bytes that are there,
    /// whatever the header promises.
    fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut rest = bytes;
        let filter = Self::read_from(&mut rest)?;
        if !rest.is_empty() {
            Note::read_from(&mut rest)?;
        }
        match rest.len() {
            0 => Ok(filter),
            extra => Err(DecodeError::TrailingBytes { extra: extra as u64 }),
        }
    }

    /// Writes the same bytes to a file or socket. Not buffered: it writes few and large pieces.
    ///
    /// # Errors
    /// Those of the writer.
    fn write_to<W: Write>(&self, writer: W) -> std::io::Result<()>;

    /// Reads a filter, up to its last byte and no further.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are no such filter or end too early. Memory grows with the
    /// bytes that have arrived, whatever the header promises.
    fn read_from<R: Read>(reader: R) -> Result<Self, DecodeError>;
}

/// The kinds of filter that a file can hold. A number is never used again; 4 to 6 are those of the
/// papers' filters, which are in a crate of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// [`CuckooFilter`](crate::CuckooFilter)
    Cuckoo = 1,
    /// [`CuckooMaplet`](crate::CuckooMaplet)
    Maplet = 2,
    /// [`ElasticFilter`](crate::ElasticFilter)
    Elastic = 3,
}

impl Kind {
    /// All kinds.
    pub const ALL: &'static [Self] = &[Self::Cuckoo, Self::Maplet, Self::Elastic];

    /// How every saved filter begins.
    pub const MAGIC: [u8; 8] = MAGIC;

    /// Bytes at the beginning of a saved filter that tell its kind.
    pub const PREFIX: usize = MAGIC.len() + 4;

    /// The kind of filter that begins with these bytes, to know which type to load. Nothing else is
    /// checked yet.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Kind, Persist};
    ///
    /// let bytes = ElasticFilter::builder().build()?.to_bytes();
    /// assert_eq!(Kind::of_prefix(&bytes[..Kind::PREFIX])?, Kind::Elastic);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DecodeError`] if they do not begin a filter, or one that this release does not know.
    pub fn of_prefix(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields(check_magic(bytes)?);
        if fields.0.len() < Self::PREFIX - MAGIC.len() {
            let (needed, got) = (HEADER as u64, bytes.len() as u64);
            return Err(DecodeError::Truncated { needed, got });
        }
        check_version(&mut fields)?;
        let got = fields.u16()?;
        let kind = Self::ALL.iter().find(|&&kind| kind as u16 == got);
        let expected = "one of 1 to 3; a newer release may know it";
        kind.copied().ok_or(DecodeError::invalid("kind of filter", got.into(), expected))
    }
}

impl From<Kind> for u16 {
    fn from(kind: Kind) -> Self {
        kind as Self
    }
}

const MAGIC: [u8; 8] = *b"\x89CUCULUS";
/// The version that is written, and the newest that is read.
const VERSION: u16 = 1;
const HEADER: usize = 48;
/// More than any kind needs; a bound on what is read before the first checksum.
const MAX_PARAMETERS: u32 = 4096;
/// Smaller pieces are collected until they are this many bytes.
const COLLECTED: usize = 1 << 15;
/// The payload is taken in pieces of this size at least.
const PIECE: usize = 1 << 20;

/// The parameters of a filter on their way to a file. They are few, and take no memory of their own:
/// a filter can be saved when there is none left.
pub struct Parameters {
    bytes: [u8; Self::MOST],
    len: usize,
}

impl Parameters {
    /// More than any kind writes.
    const MOST: usize = 256;

    pub fn new() -> Self {
        Self { bytes: [0; Self::MOST], len: 0 }
    }

    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Writes a container.
pub fn write<W: Write>(
    mut writer: W,
    kind: impl Into<u16>,
    hasher: &KeyHasher,
    parameters: &Parameters,
    payload: &[&[u8]],
) -> std::io::Result<()> {
    let payload_len: u64 = payload.iter().map(|piece| piece.len() as u64).sum();
    write_pieces(&mut writer, kind, hasher, parameters, payload_len, |put| {
        payload.iter().try_for_each(|piece| put(piece))
    })
}

/// Takes a piece of a payload.
pub type Put<'a> = dyn FnMut(&[u8]) -> std::io::Result<()> + 'a;

/// Small pieces on their way to a writer, collected without memory from the allocator.
struct Collected<W> {
    writer: W,
    bytes: [u8; COLLECTED],
    len: usize,
}

impl<W: Write> Collected<W> {
    fn put(&mut self, piece: &[u8]) -> std::io::Result<()> {
        if self.len + piece.len() > COLLECTED {
            self.write_out()?;
        }
        if piece.len() >= COLLECTED {
            return self.writer.write_all(piece);
        }
        self.bytes[self.len..self.len + piece.len()].copy_from_slice(piece);
        self.len += piece.len();
        Ok(())
    }

    fn write_out(&mut self) -> std::io::Result<()> {
        let len = core::mem::take(&mut self.len);
        self.writer.write_all(&self.bytes[..len])
    }
}

/// Writes a container whose payload comes in small pieces, which are collected.
pub fn write_pieces<W: Write>(
    writer: W,
    kind: impl Into<u16>,
    hasher: &KeyHasher,
    parameters: &Parameters,
    payload_len: u64,
    payload: impl FnOnce(&mut Put<'_>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut writer = Collected { writer, bytes: [0; COLLECTED], len: 0 };
    let (kind, (hash_id, seed)) = (kind.into(), hasher.to_parts());
    let parameters = parameters.as_slice();
    let mut header = [0; HEADER];
    let mut rest = &mut header[..];
    for field in [
        &MAGIC[..],
        &VERSION.to_le_bytes(),
        &kind.to_le_bytes(),
        &[hash_id, 0, 0, 0],
        &seed.to_le_bytes(),
        &(parameters.len() as u64).to_le_bytes(),
        &payload_len.to_le_bytes(),
    ] {
        rest.write_all(field)?;
    }
    debug_assert!(rest.is_empty());
    let mut digest = Xxh3::new();
    for piece in [&header[..], parameters] {
        digest.update(piece);
        writer.put(piece)?;
    }
    writer.put(&digest.digest().to_le_bytes())?;
    digest.reset();
    let mut written = 0;
    payload(&mut |piece| {
        digest.update(piece);
        written += piece.len() as u64;
        writer.put(piece)
    })?;
    debug_assert_eq!(written, payload_len);
    writer.put(&digest.digest().to_le_bytes())?;
    writer.write_out()?;
    writer.writer.flush()
}

/// A container whose header is whole and whose payload is still to be read.
pub struct Incoming<R> {
    reader: R,
    pub hasher: KeyHasher,
    pub parameters: Vec<u8>,
    pub payload_len: u64,
}

impl<R: Read> Incoming<R> {
    /// Reads and checks everything before the payload.
    pub fn open(mut reader: R, kind: impl Into<u16>) -> Result<Self, DecodeError> {
        let (kind, mut header) = (kind.into(), [0; HEADER]);
        let got = read_some(&mut reader, &mut header)?;
        check_magic(&header[..got])?;
        if got < HEADER {
            return Err(DecodeError::Truncated { needed: HEADER as u64, got: got as u64 });
        }
        let mut fields = Fields(&header[MAGIC.len()..]);
        check_version(&mut fields)?;
        let got = fields.u16()?;
        let hash_id = fields.u8()?;
        fields.zeros(3)?;
        let seed = fields.u128()?;
        let parameters_len = fields.u64()?;
        let payload_len = fields.u64()?;
        if parameters_len > u64::from(MAX_PARAMETERS) {
            let field = "length of the parameters";
            return Err(DecodeError::invalid(field, parameters_len, "at most 4096"));
        }
        let mut parameters = Vec::new();
        read_up_to(&mut reader, &mut parameters, parameters_len as usize, 0)?;
        let mut sum = [0; 8];
        let rest = parameters.len() + read_some(&mut reader, &mut sum)?;
        let (needed, there) = (HEADER as u64 + parameters_len + 8, (HEADER + rest) as u64);
        if there < needed {
            return Err(DecodeError::Truncated { needed, got: there });
        }
        let mut digest = Xxh3::new();
        digest.update(&header);
        digest.update(&parameters);
        if sum != digest.digest().to_le_bytes() {
            return Err(DecodeError::Checksum { part: "header" });
        }
        if got != kind {
            return Err(DecodeError::Kind { got, expected: kind });
        }
        let expected = "1 to 3 (xxh3-64 and fold-xxh3 with a seed of 64 bits)";
        let hasher = KeyHasher::from_parts(hash_id, seed).ok_or(DecodeError::invalid(
            "hash function",
            hash_id.into(),
            expected,
        ))?;
        Ok(Self { reader, hasher, parameters, payload_len })
    }

    /// Reads the payload, which must be `expected` bytes long, and checks it. The vector has room for
    /// the payload and `room` bytes more, and for nothing else.
    pub fn payload(mut self, expected: u64, room: usize) -> Result<Vec<u8>, DecodeError> {
        if self.payload_len != expected {
            let (field, expected) =
                ("length of the payload", "the length that the parameters give");
            return Err(DecodeError::invalid(field, self.payload_len, expected));
        }
        let len = usize::try_from(expected)
            .ok()
            .filter(|len| len.checked_add(room.max(8)).is_some())
            .ok_or(DecodeError::OutOfMemory { bytes: expected })?;
        let mut payload = Vec::new();
        read_up_to(&mut self.reader, &mut payload, len, room)?;
        let mut sum = [0; 8];
        let got = (payload.len() + read_some(&mut self.reader, &mut sum)?) as u64;
        if got < expected + 8 {
            return Err(DecodeError::Truncated { needed: expected + 8, got });
        }
        if sum != xxh3_64(&payload).to_le_bytes() {
            return Err(DecodeError::Checksum { part: "payload" });
        }
        Ok(payload)
    }
}

/// What follows the magic bytes. A part of them is a truncated filter; other bytes are no filter,
/// and that is the more useful error: a short text file is not a truncated filter.
fn check_magic(head: &[u8]) -> Result<&[u8], DecodeError> {
    let (magic, rest) = head.split_at(head.len().min(MAGIC.len()));
    match magic {
        _ if MAGIC.starts_with(magic) => Ok(rest),
        _ if magic == Partition::MAGIC => Err(DecodeError::SetInParts),
        _ => Err(DecodeError::NotAFilter),
    }
}

fn check_version(fields: &mut Fields<'_>) -> Result<(), DecodeError> {
    match fields.u16()? {
        VERSION => Ok(()),
        got => Err(DecodeError::Version { got, newest: VERSION }),
    }
}

/// Reads until `buffer` is full or the reader ends, and says how many bytes there are.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match reader.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// Reads until `buffer` is `len` bytes long or the reader ends. Memory is taken for as many bytes as
/// have arrived already, or for a piece, and never for more than `len` bytes and `room` after them: so
/// a false length costs nothing, and a true one is met exactly.
pub(crate) fn read_up_to(
    reader: &mut impl Read,
    buffer: &mut Vec<u8>,
    len: usize,
    room: usize,
) -> Result<(), DecodeError> {
    while buffer.len() < len {
        let piece = (len - buffer.len()).min(buffer.len().max(PIECE));
        let last = if buffer.len() + piece == len { room } else { 0 };
        buffer
            .try_reserve_exact(piece + last)
            .map_err(|_| DecodeError::OutOfMemory { bytes: (buffer.len() + piece) as u64 })?;
        let read = reader.by_ref().take(piece as u64).read_to_end(buffer)?;
        if read < piece {
            break;
        }
    }
    Ok(())
}

/// Little-endian fields, one after the other.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (name, expected) = ("length of the parameters", "all fields of this kind of filter");
        let short = DecodeError::invalid(name, self.0.len() as u64, expected);
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or(short)?;
        self.0 = rest;
        Ok(*field)
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.take()?))
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn u128(&mut self) -> Result<u128, DecodeError> {
        Ok(u128::from_le_bytes(self.take()?))
    }

    /// Reserved bytes, so that a later version can give them a meaning.
    pub fn zeros(&mut self, count: usize) -> Result<(), DecodeError> {
        for _ in 0..count {
            let got = u64::from(self.u8()?);
            if got != 0 {
                return Err(DecodeError::invalid("reserved byte", got, "0"));
            }
        }
        Ok(())
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), DecodeError> {
        match self.0.len() as u64 {
            0 => Ok(()),
            got => Err(DecodeError::invalid("bytes after the last parameter", got, "0")),
        }
    }
}
