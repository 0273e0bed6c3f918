//! An object behind a network. Knows that a request takes as long as transferring a megabyte, so
//! whoever reads on gets more than requested.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::{Object, ObjectKind};
use crate::error::{Error, Result};
use crate::id::Name;

/// Bytes fetched ahead by sequential reads.
const READ_AHEAD: u64 = 1 << 20;

/// Where the bytes of objects come from.
pub(super) trait Fetch: Send + Sync + Sized {
    /// These bytes of an object, or fewer if it ends before.
    fn fetch(&self, object: &RemoteObject<Self>, range: Range<u64>) -> Result<Vec<u8>>;
}

pub(super) struct RemoteObject<F> {
    pub(super) source: F,
    pub(super) kind: ObjectKind,
    pub(super) name: Name,
    pub(super) len: u64,
    window: Mutex<Window>,
}

/// Bytes that were fetched ahead, and where the last read ended.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
    next: Option<u64>,
}

impl Window {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        let from = usize::try_from(range.start.checked_sub(self.start)?).ok()?;
        let len = usize::try_from(range.end - range.start).ok()?;
        self.bytes.get(from..from.checked_add(len)?)
    }
}

impl<F: Fetch> RemoteObject<F> {
    pub(super) fn new(source: F, kind: ObjectKind, name: &Name, len: u64) -> Self {
        Self { source, kind, name: *name, len, window: Mutex::default() }
    }

    pub(super) fn too_short(&self) -> Error {
        Error::damaged(self.kind, &self.name).with_detail("too short")
    }
}

impl<F: Fetch> Object for RemoteObject<F> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len);
        let end = end.ok_or_else(|| self.too_short())?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let wanted = offset..end;
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let reads_on = window.next.replace(end) == Some(offset);
        if let Some(bytes) = window.get(&wanted) {
            let bytes = bytes.to_vec();
            // Many packs may be open, but few are read at a time.
            if window.end() == end {
                window.bytes = Vec::new();
            }
            return Ok(bytes);
        }
        let ahead = if reads_on { READ_AHEAD } else { 0 };
        let range = offset..end.max((offset + ahead).min(self.len));
        let bytes = self.source.fetch(self, range.clone())?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(self.too_short());
        }
        if range != wanted {
            *window = Window { start: offset, bytes, next: Some(end) };
            return window.get(&wanted).map(<[u8]>::to_vec).ok_or_else(|| self.too_short());
        }
        window.bytes = Vec::new();
        Ok(bytes)
    }
}
