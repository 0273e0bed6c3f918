//! The value of a key, and its bytes. Knows filters; knows nothing of servers or commands.

mod assembly; // a filter that is being put together from sections
mod header; // the header of a dump
mod loading; // a filter that is being loaded
mod parameters; // the parameters of a filter
mod pieces; // writers that split a long byte sequence
mod stored; // a filter in use

use std::io::{self, Read, Write};

pub use assembly::{Assembly, chunk_of, position_of, sections_at};
pub use header::Header;
pub use loading::{ChunkError, Loading};
pub use parameters::{DEFAULT_CAPACITY, MAX_CAPACITY, Parameters, SMALLEST_RATE};
pub use pieces::{Pieces, Range};
pub use stored::{CreateError, LoadError, Stored};

/// The value of a key.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all values are filters in use")]
pub enum Value {
    /// A filter in use.
    Ready(Stored),
    /// A filter of which some bytes are missing; it cannot answer queries.
    Loading(Loading),
    /// A filter of which some sections are missing; it cannot answer queries either.
    Assembling(Assembly),
}

impl Value {
    /// The memory held, in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Ready(stored) => stored.size_in_bytes(),
            Self::Loading(loading) => size_of::<Loading>() + loading.held_bytes(),
            Self::Assembling(assembly) => assembly.size_in_bytes(),
        }
    }

    /// The header of its dump.
    #[must_use]
    pub fn header(&self) -> Header {
        match self {
            Self::Ready(stored) => stored.header(),
            Self::Loading(loading) => loading.header(),
            Self::Assembling(assembly) => assembly.header(),
        }
    }

    /// The number of bytes present: all that the header announces, or fewer while loading.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        match self {
            Self::Ready(stored) => stored.body_len(),
            Self::Loading(loading) => loading.received().len() as u64,
            Self::Assembling(assembly) => {
                assembly.state().map_or(0, |(_, state)| state.len() as u64)
            }
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
            Self::Assembling(assembly) => match assembly.state() {
                Some((_, state)) => writer.write_all(&state),
                None => Ok(()),
            },
        }
    }

    /// Calls `emit` for each of the chunks that LOADCHUNK takes to make the same value: positions and
    /// bytes, the header first.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn each_chunk(
        &self,
        size: usize,
        mut emit: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut position = 1;
        emit(position, &self.header().to_bytes())?;
        if let Self::Assembling(assembly) = self {
            return assembly.state().map_or(Ok(()), |(position, state)| emit(position, &state));
        }
        let mut chunks = Pieces::new(size, |chunk: &[u8]| {
            position += chunk.len() as u64;
            emit(position, chunk)
        });
        self.write_body(&mut chunks)?;
        chunks.finish()
    }

    /// Reads a value: `len` bytes that follow the header.
    ///
    /// # Errors
    /// [`LoadError`] if the bytes are not a value. Memory grows with the bytes read, not with the
    /// length in the header.
    pub fn read<R: Read>(header: Header, len: u64, reader: R) -> Result<Self, LoadError> {
        let mut body = reader.take(len);
        if header.is_in_sections() {
            return Assembly::read(header, len, body).map(Self::Assembling);
        }
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
            Self::Assembling(assembly) => Self::Assembling(assembly.clone()),
        })
    }
}
