//! What is stored under a key, and its bytes. Knows filters, nothing of servers or commands.

mod arrival; // a filter whose bytes are still coming
mod header; // what stands before a filter's bytes
mod parameters; // what a filter was asked for
mod pieces; // long bytes in bounded pieces
mod stored; // a filter in use

use std::io::{self, Read, Write};

pub use arrival::{Arrival, ChunkError};
pub use header::Header;
pub use parameters::{DEFAULT_CAPACITY, MAX_CAPACITY, Parameters, SMALLEST_RATE};
pub use pieces::{Pieces, Range};
pub use stored::{CreateError, LoadError, Stored};

/// The value of a key.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all values are filters in use")]
pub enum Value {
    /// A filter in use.
    Ready(Stored),
    /// A filter of which some bytes are still missing; no question about it can be answered.
    Arriving(Arrival),
}

impl Value {
    /// All memory held.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Ready(stored) => stored.size_in_bytes(),
            Self::Arriving(arrival) => size_of::<Arrival>() + arrival.held_bytes(),
        }
    }

    /// What stands before the bytes.
    #[must_use]
    pub fn header(&self) -> Header {
        match self {
            Self::Ready(stored) => stored.header(),
            Self::Arriving(arrival) => arrival.header(),
        }
    }

    /// The bytes that are there: all that the header promises, or fewer if some are missing.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        match self {
            Self::Ready(stored) => stored.body_len(),
            Self::Arriving(arrival) => arrival.received().len() as u64,
        }
    }

    /// Writes them.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_body<W: Write>(&self, mut writer: W) -> io::Result<()> {
        match self {
            Self::Ready(stored) => stored.write_body(writer),
            Self::Arriving(arrival) => writer.write_all(arrival.received()),
        }
    }

    /// Reads a value back: `len` bytes after their header.
    ///
    /// # Errors
    /// [`LoadError`] if they are anything else. Memory grows with what the reader gives, not with
    /// what the header says.
    pub fn read<R: Read>(header: Header, len: u64, reader: R) -> Result<Self, LoadError> {
        let mut body = reader.take(len);
        if len < header.body_len {
            return Arrival::read(header, len, body).map(Self::Arriving);
        }
        let stored = Stored::read(header, &mut body)?;
        match body.limit() {
            0 => Ok(Self::Ready(stored)),
            _ => Err(LoadError::OtherLength),
        }
    }

    /// The same once more, or nothing if there is no memory for it.
    #[must_use]
    pub fn duplicate(&self) -> Option<Self> {
        // A clone has no way to report that memory is short, so it is asked for beforehand.
        let mut probe: Vec<u8> = Vec::new();
        probe.try_reserve_exact(self.size_in_bytes()).ok()?;
        drop(probe);
        Some(match self {
            Self::Ready(stored) => Self::Ready(stored.clone()),
            Self::Arriving(arrival) => Self::Arriving(arrival.clone()),
        })
    }
}
