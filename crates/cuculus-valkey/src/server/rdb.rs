//! A value in the server's dump format: header, length of the body, and the body in pieces, so that
//! no second copy of it is in memory.

use core::slice;
use std::ffi::c_char;
use std::io::{self, Read};

use valkey_module::raw::RedisModuleIO;

use super::engine;
use crate::value::{Header, LoadError, Pieces, Value};

const PIECE: usize = 1 << 20;

/// A dump that is being written or read.
pub(super) struct Dump(*mut RedisModuleIO);

impl Dump {
    /// # Safety
    /// The pointer is that of a save or load callback, and the dump does not outlive the callback.
    pub(super) unsafe fn new(io: *mut RedisModuleIO) -> Self {
        Self(io)
    }

    pub(super) fn save(&self, value: &Value) {
        let header = value.header();
        self.put(&header.to_bytes());
        let len = value.body_len();
        // SAFETY: see `new`.
        unsafe { engine!(RedisModule_SaveUnsigned(self.0, len)) };
        let mut pieces = Pieces::new(PIECE, |piece| {
            self.put(piece);
            Ok(())
        });
        // The server records write errors and fails the dump itself.
        let _ = value.write_body(&mut pieces).and_then(|()| pieces.finish());
    }

    pub(super) fn load(&self) -> Result<Value, LoadError> {
        let header = self.take().ok_or(LoadError::Io)?;
        let header = Header::from_bytes(&header).ok_or(LoadError::Invalid)?;
        // SAFETY: see `new`.
        let len = unsafe { engine!(RedisModule_LoadUnsigned(self.0)) };
        if self.has_failed() {
            return Err(LoadError::Io);
        }
        let mut body = Body { dump: self, piece: Loaded::none(), read: 0 };
        let value = Value::read(header, len, &mut body)?;
        // The last piece ends with the value.
        if body.read == body.piece.len() { Ok(value) } else { Err(LoadError::WrongLength) }
    }

    fn put(&self, bytes: &[u8]) {
        let start = bytes.as_ptr().cast::<c_char>();
        // SAFETY: see `new`; the bytes are copied.
        unsafe { engine!(RedisModule_SaveStringBuffer(self.0, start, bytes.len())) };
    }

    fn take(&self) -> Option<Loaded> {
        let mut len = 0;
        // SAFETY: see `new`; the memory is ours, and `Loaded` frees it.
        let start = unsafe { engine!(RedisModule_LoadStringBuffer(self.0, &raw mut len)) };
        let loaded = Loaded { start, len };
        (!start.is_null() && !self.has_failed()).then_some(loaded)
    }

    fn has_failed(&self) -> bool {
        // SAFETY: see `new`.
        unsafe { engine!(RedisModule_IsIOError(self.0)) != 0 }
    }
}

/// Bytes that the server allocated for us.
struct Loaded {
    start: *mut c_char,
    len: usize,
}

impl Loaded {
    fn none() -> Self {
        Self { start: core::ptr::null_mut(), len: 0 }
    }
}

impl core::ops::Deref for Loaded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the server returned this many bytes, and only `drop` frees them.
        unsafe { slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: allocated by the server, freed once.
            unsafe { engine!(RedisModule_Free(self.start.cast())) };
        }
    }
}

/// Reads the body piece by piece.
struct Body<'a> {
    dump: &'a Dump,
    piece: Loaded,
    read: usize,
}

impl Read for &mut Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.read == self.piece.len() {
            self.piece = self.dump.take().ok_or(io::ErrorKind::UnexpectedEof)?;
            self.read = 0;
        }
        let rest = self.piece.get(self.read..).unwrap_or_default();
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.read += len;
        Ok(len)
    }
}
