//! The value of a key, and its bytes. Knows filters; knows nothing of servers or commands.

mod header; // the header of a dump
mod loading; // a filter that is being loaded
mod parameters; // the parameters of a filter
mod pieces; // writers that split a long byte sequence
mod stored; // a filter in use

use std::io::{self, Read, Write};

pub use header::Header;
pub use loading::{ChunkError, Loading};
pub use parameters::{DEFAULT_CAPACITY, MAX_CAPACITY, Parameters, SMALLEST_RATE};
pub use pieces::{Pieces, Range};
pub use stored::{CreateError, LoadError, Stored};

/// The value of a key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all values are filters in use")]
pub enum Value {
    /// A filter in use.
    Ready(Stored),
    /// A filter of which some bytes are missing; it cannot answer queries.
    Loading(Loading),
}

impl Value {
    /// The memory held, in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Ready(stored) => stored.size_in_bytes(),
            Self::Loading(loading) => size_of::<Loading>() + loading.held_bytes(),
        }
    }

    /// The header of its dump.
    #[must_use]
    pub fn header(&self) -> Header {
        match self {
            Self::Ready(stored) => stored.header(),
            Self::Loading(loading) => loading.header(),
        }
    }

    /// The number of bytes present: all that the header announces, or fewer while loading.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        match self {
            Self::Ready(stored) => stored.body_len(),
            Self::Loading(loading) => loading.received().len() as u64,
        }
    }

    /// Writes the bytes that are present.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_body<W: Write>(&self, mut writer: W) -> io::Result<()> {
        match self {
            Self::Ready(stored) => stored.write_body(writer),
            Self::Loading(loading) => writer.write_all(loading.received()),
        }
    }

    /// Reads a value: `len` bytes that follow the header.
    ///
    /// # Errors
    /// [`LoadError`] if the bytes are not a value. Memory grows with the bytes read, not with the
    /// length in the header.
    pub fn read<R: Read>(header: Header, len: u64, reader: R) -> Result<Self, LoadError> {
        let mut body = reader.take(len);
        if len < header.body_len {
            return Loading::read(header, len, body).map(Self::Loading);
        }
        let stored = Stored::read(header, &mut body)?;
        match body.limit() {
            0 => Ok(Self::Ready(stored)),
            _ => Err(LoadError::WrongLength),
        }
    }

    /// A copy, or `None` if memory is short.
    #[must_use]
    pub fn duplicate(&self) -> Option<Self> {
        // A clone cannot report that memory is short, so this tries to allocate as much first.
        let mut probe: Vec<u8> = Vec::new();
        probe.try_reserve_exact(self.size_in_bytes()).ok()?;
        drop(probe);
        Some(match self {
            Self::Ready(stored) => Self::Ready(stored.clone()),
            Self::Loading(loading) => Self::Loading(loading.clone()),
        })
    }
}
