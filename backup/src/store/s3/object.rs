//! Reads an object by ranges.

use std::ops::Range;
use std::sync::Arc;

use object_store::GetOptions;

use super::{Bucket, failure};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::store::read_ahead::ReadAhead;
use crate::store::{Object, ObjectKind};

pub(super) struct S3Object {
    bucket: Arc<Bucket>,
    kind: ObjectKind,
    name: Name,
    len: u64,
    ahead: ReadAhead,
}

impl S3Object {
    pub(super) fn new(bucket: Arc<Bucket>, kind: ObjectKind, name: Name, len: u64) -> Self {
        Self { bucket, kind, name, len, ahead: ReadAhead::default() }
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
        let read = self.ahead.read(self.len, offset, len, |range| self.fetch(range));
        read?.ok_or_else(|| self.too_short())
    }
}
