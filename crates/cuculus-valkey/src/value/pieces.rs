//! Writers that split a long byte sequence, so that writing a filter needs no second copy of it in
//! memory.

use std::io::{self, Write};

/// A writer that passes its bytes on in pieces of one size; the last one may be shorter.
pub struct Pieces<F> {
    size: usize,
    held: Vec<u8>,
    give: F,
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Pieces<F> {
    /// Calls `give` with pieces of `size` bytes.
    pub fn new(size: usize, give: F) -> Self {
        Self { size, held: Vec::new(), give }
    }

    /// Passes on the last piece.
    ///
    /// # Errors
    /// Those of the receiver.
    pub fn finish(mut self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { (self.give)(&self.held) }
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Write for Pieces<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(self.size - self.held.len())];
        self.held.try_reserve(taken.len())?;
        self.held.extend_from_slice(taken);
        if self.held.len() == self.size {
            (self.give)(&self.held)?;
            self.held.clear();
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that keeps only the bytes of one range, and fails after its end.
pub struct Range {
    skip: u64,
    most: usize,
    kept: Vec<u8>,
}

impl Range {
    /// Keeps at most `most` bytes, starting at position `start`.
    #[must_use]
    pub fn new(start: u64, most: usize) -> Self {
        Self { skip: start, most, kept: Vec::new() }
    }

    /// The bytes that `write` writes in this range, even if it fails; `None` if memory is short.
    pub fn of(mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> Option<Vec<u8>> {
        match write(&mut self) {
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => None,
            _ => Some(self.kept),
        }
    }
}

impl Write for Range {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skipped as u64;
        let wanted = &bytes[skipped..];
        let room = self.most - self.kept.len();
        if room == 0 && !wanted.is_empty() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = &wanted[..wanted.len().min(room)];
        self.kept.try_reserve(taken.len())?;
        self.kept.extend_from_slice(taken);
        Ok(skipped + taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that only counts.
#[derive(Default)]
pub(super) struct Count(pub(super) u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
