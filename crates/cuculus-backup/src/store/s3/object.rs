//! Reads an object. Knows that a request takes as long as transferring a megabyte, so sequential
//! reads fetch more than requested.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use object_store::GetOptions;

use super::{Bucket, failure};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::store::{Object, ObjectKind};

/// Bytes fetched ahead by sequential reads.
const READ_AHEAD: u64 = 1 << 20;

pub(super) struct S3Object {
    bucket: Arc<Bucket>,
    kind: ObjectKind,
    name: Name,
    len: u64,
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

impl S3Object {
    pub(super) fn new(bucket: Arc<Bucket>, kind: ObjectKind, name: Name, len: u64) -> Self {
        Self { bucket, kind, name, len, window: Mutex::default() }
    }

    fn too_short(&self) -> Error {
        Error::damaged(self.kind, &self.name).with_detail("too short")
    }

    /// Fetches a range. Memory grows with the bytes that arrive, not with the length that was
    /// announced.
    fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let path = self.bucket.path(self.kind, &self.name);
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let mut all = Vec::new();
        let answer = self.bucket.get(&path, options, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        let what = format!("cannot read {}", self.kind.describe(&self.name));
        match answer {
            Ok(meta) if meta.size == self.len => Ok(all),
            Ok(_) => Err(Error::damaged(self.kind, &self.name)),
            Err(error) if failure::is_past_the_end(&error) => Err(self.too_short()),
            Err(error) => Err(self.bucket.failed(what)(error)),
        }
    }
}

impl Object for S3Object {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len);
        let wanted = offset..end.ok_or_else(|| self.too_short())?;
        if len == 0 {
            return Ok(Vec::new());
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let reads_on = window.next.replace(wanted.end) == Some(offset);
        if let Some(bytes) = window.get(&wanted) {
            let bytes = bytes.to_vec();
            // Many packs may be open, but few are read at a time.
            if window.end() == wanted.end {
                window.bytes = Vec::new();
            }
            return Ok(bytes);
        }
        let ahead = if reads_on { READ_AHEAD } else { 0 };
        let range = offset..wanted.end.max((offset + ahead).min(self.len));
        let bytes = self.fetch(range.clone())?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(self.too_short());
        }
        if range != wanted {
            *window = Window { start: offset, bytes, next: Some(wanted.end) };
            return window.get(&wanted).map(<[u8]>::to_vec).ok_or_else(|| self.too_short());
        }
        window.bytes = Vec::new();
        Ok(bytes)
    }
}
