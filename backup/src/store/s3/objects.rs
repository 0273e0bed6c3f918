//! Writes and reads an object. A pack is collected in memory and sent in one request; a larger object
//! is sent in parts while it is written, and appears when the upload is completed. Reads are of
//! ranges.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use object_store::{GetOptions, ObjectStoreExt, WriteMultipart};

use super::{Bucket, failure};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::store::ObjectKind;
use crate::store::cached::RemoteDraft;
use crate::store::read_ahead::{Fetch, RemoteObject};

/// Twice a pack. Servers accept 10,000 parts, so an index run may have 160 GB.
const PART_SIZE: usize = 16 << 20;
/// Parts of one object sent concurrently.
const CONCURRENT_PARTS: usize = 2;

pub(crate) struct S3Draft {
    pub(super) bucket: Arc<Bucket>,
    pub(super) kind: ObjectKind,
    pub(super) name: Name,
    pub(super) buffer: Vec<u8>,
    pub(super) upload: Option<WriteMultipart>,
}

impl S3Draft {
    fn send_part(&mut self) -> super::Outcome<()> {
        let bucket = Arc::clone(&self.bucket);
        let upload = match &mut self.upload {
            Some(upload) => upload,
            none => {
                let path = bucket.path(self.kind, &self.name);
                let begun = bucket.wait(bucket.client.put_multipart(&path))?;
                none.insert(WriteMultipart::new_with_chunk_size(begun, PART_SIZE))
            }
        };
        bucket.wait(upload.wait_for_capacity(CONCURRENT_PARTS))?;
        let _within = bucket.runtime.enter();
        upload.put(std::mem::take(&mut self.buffer).into());
        Ok(())
    }
}

impl RemoteDraft for S3Draft {
    fn finish(mut self) -> Result<()> {
        let bucket = Arc::clone(&self.bucket);
        let rest = std::mem::take(&mut self.buffer);
        let outcome = match self.upload.take() {
            Some(mut upload) => {
                let _within = bucket.runtime.enter();
                upload.put(rest.into());
                bucket.wait(upload.finish())
            }
            None => {
                let path = bucket.path(self.kind, &self.name);
                bucket.wait(bucket.client.put(&path, rest.into()))
            }
        };
        let what = format!("cannot write {}", self.kind.describe(&self.name));
        bucket.written(outcome).map(drop).map_err(bucket.failed(what))
    }
}

impl Write for S3Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PART_SIZE {
            let bucket = Arc::clone(&self.bucket);
            self.send_part().map_err(|error| io::Error::other(bucket.why(&error)))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Parts of an abandoned upload cost money.
impl Drop for S3Draft {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take() {
            let _ = self.bucket.wait(upload.abort());
        }
    }
}

impl Fetch for Arc<Bucket> {
    /// Memory grows with the bytes that arrive, not with the length that was announced.
    fn fetch(&self, object: &RemoteObject<Self>, range: Range<u64>) -> Result<Vec<u8>> {
        let (kind, name) = (object.kind, &object.name);
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let mut all = Vec::new();
        let answer = self.get(&self.path(kind, name), options, &mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        });
        match answer {
            Ok(meta) if meta.size == object.len => Ok(all),
            Ok(_) => Err(Error::damaged(kind, name)),
            Err(error) if failure::is_past_the_end(&error) => Err(object.too_short()),
            Err(error) => Err(self.failed(format!("cannot read {}", kind.describe(name)))(error)),
        }
    }
}
