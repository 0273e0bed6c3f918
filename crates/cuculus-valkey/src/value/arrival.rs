//! A filter whose bytes come chunk by chunk. It is a value of its own, so that a half-loaded
//! filter is never taken for an empty or a whole one: not here, not on a replica, not after a
//! restart.

use core::fmt;
use std::io::Read;

use super::{Header, LoadError, Stored};

/// The bytes so far.
#[derive(Clone)]
pub struct Arrival {
    header: Header,
    received: Vec<u8>,
}

/// A chunk cannot be taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// It does not begin where the last one ended.
    Position,
    /// With it there are more bytes than the header says, or all bytes together are no filter.
    Content,
    /// There is no memory for it.
    OutOfMemory,
}

impl Arrival {
    /// Waits for what the header promises.
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
            Err(LoadError::OtherLength)
        }
    }

    /// The header that all began with.
    #[must_use]
    pub fn header(&self) -> Header {
        self.header
    }

    /// What has come so far.
    #[must_use]
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.received.capacity()
    }

    /// Takes the chunk that ends at `end`; with the last one the filter is there.
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

impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("header", &self.header)
            .field("received", &self.received.len())
            .finish()
    }
}
