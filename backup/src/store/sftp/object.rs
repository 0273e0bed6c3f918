//! Reads an object. Several requests are under way, because each waits for an answer.

use std::io::SeekFrom;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::BytesMut;
use futures_util::{StreamExt, TryStreamExt, stream};
use openssh_sftp_client::file::File;
use tokio::io::AsyncSeek;

use super::Directory;
use super::connection::Outcome;
use crate::error::{Error, Result};
use crate::id::Name;
use crate::store::read_ahead::ReadAhead;
use crate::store::{Object, ObjectKind};

/// Bytes per request: every server gives as many.
const PIECE: u64 = 32 << 10;
/// Requests under way: two megabytes, enough for a fast line to another continent.
const REQUESTS: usize = 64;

pub(super) struct SftpObject {
    pub(super) directory: Arc<Directory>,
    pub(super) kind: ObjectKind,
    pub(super) name: Name,
    pub(super) len: u64,
    pub(super) file: File,
    pub(super) ahead: ReadAhead,
}

/// The bytes of a piece, or fewer at the end of the file.
async fn piece(mut file: File, range: Range<u64>) -> Outcome<BytesMut> {
    let mut all = BytesMut::new();
    loop {
        let at = range.start + all.len() as u64;
        let left = range.end.saturating_sub(at) as u32;
        // The client counts a short answer as a long one, so it is told the place each time.
        Pin::new(&mut file).start_seek(SeekFrom::Start(at))?;
        let buffer = BytesMut::with_capacity(left as usize);
        match file.read(left, buffer).await? {
            Some(bytes) if !bytes.is_empty() => {
                all.extend_from_slice(bytes.get(..left as usize).unwrap_or(&bytes));
            }
            _ => return Ok(all),
        }
    }
}

impl SftpObject {
    /// Passes the bytes of a range to `each` in order, up to the end of the file.
    pub(super) fn stream(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let pieces = (range.end - range.start).div_ceil(PIECE);
        let pieces = (0..pieces).map(|number| {
            let start = range.start + number * PIECE;
            piece(self.file.clone(), start..(start + PIECE).min(range.end))
        });
        let connection = &self.directory.connection;
        let what = format!("cannot read {}", self.kind.describe(&self.name));
        let mut pieces = stream::iter(pieces).buffered(REQUESTS);
        while let Some(bytes) =
            connection.wait(pieces.try_next()).map_err(connection.failed(&*what))?
        {
            each(&bytes)?;
        }
        Ok(())
    }

    fn fetch(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        self.stream(range, |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }
}

impl Object for SftpObject {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let read = self.ahead.read(self.len, offset, len, |range| self.fetch(range));
        read?.ok_or_else(|| Error::damaged(self.kind, &self.name).with_detail("too short"))
    }
}
