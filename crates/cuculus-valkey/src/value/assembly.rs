//! A filter that is being put together from sections, which another server copied while the filter was
//! in use. Like `loading`, it is a separate kind of value: a filter with missing sections is never used
//! as a complete one.
//!
//! ```text
//!  chunk      what it is (byte: 0 a piece, 1 all that has arrived) | bits (byte) | six zeros
//!             first section (8) | section after the last (8) | content | checksum (8)
//!  position   1 + bits * 2^40 + section after the last
//! ```

use core::fmt;
use std::io::Read;

use cuculus::{FullCause, PieceError, Sections};

use super::header::checksum;
use super::{ChunkError, Header, LoadError, Stored};

const PIECE: u8 = 0;
const STATE: u8 = 1;
/// The bytes before the content.
const PREFIX: usize = 24;
const CHECKSUM: usize = 8;
/// The position of a chunk has the number of bits above these.
const SECTION_BITS: u32 = 40;
/// The longest piece: they are loaded entry by entry, which takes longer than other bytes.
const LONGEST_PIECE: usize = 4 << 20;

/// The sections that have arrived.
#[derive(Clone)]
pub struct Assembly {
    header: Header,
    stored: Stored,
    /// `None` before the first piece, which says how many there are.
    at: Option<Sections>,
}

/// The position of a chunk that ends with this section.
#[must_use]
pub fn position_of(at: Sections) -> u64 {
    1 + (u64::from(at.bits) << SECTION_BITS | at.next)
}

/// The inverse of [`position_of`]; past the end for positions that it never returns.
#[must_use]
pub fn sections_at(position: u64) -> Sections {
    let number = position.saturating_sub(1);
    let bits = u32::try_from(number >> SECTION_BITS).unwrap_or(u32::MAX);
    Sections { bits, next: number & ((1 << SECTION_BITS) - 1) }
}

/// The bytes of a chunk with a piece.
#[must_use]
pub fn chunk_of(from: Sections, to: Sections, piece: &[u8]) -> Option<Vec<u8>> {
    sealed(PIECE, from, to, |chunk| {
        chunk.try_reserve_exact(piece.len() + CHECKSUM).ok()?;
        chunk.extend_from_slice(piece);
        Some(())
    })
}

fn sealed(
    what: u8,
    from: Sections,
    to: Sections,
    content: impl FnOnce(&mut Vec<u8>) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut chunk = vec![what, to.bits as u8, 0, 0, 0, 0, 0, 0];
    chunk.extend_from_slice(&from.next.to_le_bytes());
    chunk.extend_from_slice(&to.next.to_le_bytes());
    content(&mut chunk)?;
    let sum = checksum(&chunk);
    chunk.extend_from_slice(&sum);
    Some(chunk)
}

/// What a chunk says.
struct Chunk<'a> {
    what: u8,
    from: Sections,
    to: Sections,
    content: &'a [u8],
}

impl<'a> Chunk<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.len().checked_sub(CHECKSUM)?;
        let (fields, sum) = bytes.split_at_checked(end)?;
        if sum != checksum(fields) {
            return None;
        }
        let (prefix, content) = fields.split_at_checked(PREFIX)?;
        let (&[what, bits, 0, 0, 0, 0, 0, 0], prefix) = prefix.split_first_chunk()? else {
            return None;
        };
        let (&first, prefix) = prefix.split_first_chunk()?;
        let (&end, _) = prefix.split_first_chunk()?;
        let sections = |next| Sections { bits: bits.into(), next: u64::from_le_bytes(next) };
        Some(Self { what, from: sections(first), to: sections(end), content })
    }
}

impl Assembly {
    /// A filter of which only the header has arrived.
    ///
    /// # Errors
    /// [`ChunkError`] if there is no such filter.
    pub fn new(header: Header) -> Result<Self, ChunkError> {
        let stored = Stored::new(header.parameters).map_err(|_| ChunkError::Content)?;
        Ok(Self { header, stored, at: None })
    }

    pub(super) fn read(header: Header, len: u64, mut body: impl Read) -> Result<Self, LoadError> {
        let mut chunk = Vec::new();
        body.read_to_end(&mut chunk).map_err(|_| LoadError::Io)?;
        if chunk.len() as u64 != len {
            return Err(LoadError::WrongLength);
        }
        let mut assembly = Self::new(header).map_err(|_| LoadError::Invalid)?;
        if !chunk.is_empty() {
            let chunk = Chunk::of(&chunk).filter(|chunk| chunk.what == STATE);
            assembly.take_state(&chunk.ok_or(LoadError::Invalid)?)?;
        }
        Ok(assembly)
    }

    /// The header, which came first.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        self.stored.size_in_bytes()
    }

    /// All that has arrived as one chunk with its position; `None` if that is nothing yet.
    pub(super) fn state(&self) -> Option<(u64, Vec<u8>)> {
        let at = self.at?;
        let chunk = sealed(STATE, Sections { next: 0, ..at }, at, |chunk| {
            let len = usize::try_from(self.stored.body_len()).ok()?;
            chunk.try_reserve_exact(len + CHECKSUM).ok()?;
            self.stored.write_body(chunk).ok()
        })?;
        Some((position_of(at), chunk))
    }

    /// Takes the chunk that ends at this position. The last one returns the filter.
    ///
    /// # Errors
    /// [`ChunkError`]; nothing has changed then.
    pub fn take(&mut self, position: u64, bytes: &[u8]) -> Result<Option<Stored>, ChunkError> {
        let chunk = Chunk::of(bytes).ok_or(ChunkError::Content)?;
        let next = self.at.map_or(0, |at| at.next);
        let is_next = chunk.from.next == next && self.at.is_none_or(|at| at.bits == chunk.to.bits);
        if position != position_of(chunk.to) || !is_next {
            return Err(ChunkError::Position);
        }
        match chunk.what {
            PIECE if bytes.len() <= LONGEST_PIECE => {
                let added = self.stored.add_sections(chunk.from, chunk.to, chunk.content);
                added.map_err(|error| match error {
                    PieceError::Full(full) if full.cause == FullCause::OutOfMemory => {
                        ChunkError::OutOfMemory
                    }
                    PieceError::Rate | PieceError::Full(_) => ChunkError::Changed,
                    _ => ChunkError::Content,
                })?;
                self.at = Some(chunk.to);
            }
            STATE if self.at.is_none() && !chunk.to.is_done() => {
                self.take_state(&chunk).map_err(|_| ChunkError::Content)?;
            }
            _ => return Err(ChunkError::Content),
        }
        if !chunk.to.is_done() {
            return Ok(None);
        }
        let empty = Stored::new(self.header.parameters).map_err(|_| ChunkError::Content)?;
        let whole = core::mem::replace(&mut self.stored, empty);
        Ok(Some(whole.with_deleted(self.header.deleted)))
    }

    fn take_state(&mut self, chunk: &Chunk<'_>) -> Result<(), LoadError> {
        let mut content = chunk.content;
        let stored = Stored::read(self.header, &mut content)?;
        if !content.is_empty() || chunk.to.is_done() {
            return Err(LoadError::WrongLength);
        }
        self.stored = stored;
        self.at = Some(chunk.to);
        Ok(())
    }
}

impl fmt::Debug for Assembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("header", &self.header)
            .field("items", &self.stored.len())
            .field("at", &self.at)
            .finish()
    }
}
