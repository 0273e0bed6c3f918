//! A filter that is being loaded chunk by chunk. It is a separate kind of value, so that a filter
//! with missing bytes is never used as an empty or a complete one: not on this server, not on a
//! replica, not after a restart.

use core::fmt;
use std::io::Read;

use super::{Header, LoadError, Stored};

/// The chunks received so far.
#[derive(Clone)]
pub struct Loading {
    header: Header,
    received: Vec<u8>,
}

/// Why a chunk is refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// It does not start where the previous chunk ended.
    Position,
    /// The bytes are more than the header announces, or together they are not a filter.
    Content,
    /// The filter changed so much while it was copied that its sections do not fit together.
    Changed,
    /// Memory is short.
    OutOfMemory,
}

impl Loading {
    /// A filter of which only the header has arrived.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self { header, received: Vec::new() }
    }

    pub(super) fn read(header: Header, len: u64, mut body: impl Read) -> Result<Self, LoadError> {
        let mut received = Vec::new();
        body.read_to_end(&mut received).map_err(|_| LoadError::Io)?;
        if received.len() as u64 == len {
            Ok(Self { header, received })
        } else {
            Err(LoadError::WrongLength)
        }
    }

    /// The header, which came first.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// The bytes received so far.
    #[must_use]
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.received.capacity()
    }

    /// Appends the chunk that ends at position `end`. The last chunk returns the filter.
    ///
    /// # Errors
    /// [`ChunkError`]; nothing has changed then.
    pub fn take(&mut self, end: u64, chunk: &[u8]) -> Result<Option<Stored>, ChunkError> {
        let before = self.received.len();
        if end.checked_sub(chunk.len() as u64) != Some(before as u64) {
            return Err(ChunkError::Position);
        }
        if chunk.is_empty() || end > self.header.body_len {
            return Err(ChunkError::Content);
        }
        self.received.try_reserve(chunk.len()).map_err(|_| ChunkError::OutOfMemory)?;
        self.received.extend_from_slice(chunk);
        if end < self.header.body_len {
            return Ok(None);
        }
        let mut body = self.received.as_slice();
        match Stored::read(self.header, &mut body) {
            Ok(stored) if body.is_empty() => Ok(Some(stored)),
            _ => {
                self.received.truncate(before);
                Err(ChunkError::Content)
            }
        }
    }
}

impl fmt::Debug for Loading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loading")
            .field("header", &self.header)
            .field("received", &self.received.len())
            .finish()
    }
}
