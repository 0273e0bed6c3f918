//! Writes and reads an object. It is written to a draft beside the objects, which is fsynced and
//! renamed. Of reads several requests are under way, because each waits for an answer.

use std::io::{self, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use bytes::BytesMut;
use futures_util::{StreamExt, TryStreamExt, stream};
use openssh_sftp_client::file::{File, TokioCompatFile};
use tokio::io::{AsyncSeek, AsyncWriteExt};

use super::Directory;
use super::connection::{Outcome, is_missing};
use crate::error::Result;
use crate::id::Name;
use crate::store::ObjectKind;
use crate::store::cached::RemoteDraft;
use crate::store::read_ahead::{Fetch, RemoteObject};

/// Bytes per request: every server gives as many.
const PIECE: u64 = 32 << 10;
/// Requests under way: two megabytes, enough for a fast line to another continent.
const REQUESTS: usize = 64;

pub(crate) struct SftpDraft {
    pub(super) directory: Arc<Directory>,
    /// `None` once it is kept.
    pub(super) file: Option<Pin<Box<TokioCompatFile>>>,
    pub(super) path: PathBuf,
    pub(super) kind: ObjectKind,
    pub(super) name: Name,
}

impl SftpDraft {
    fn what(&self) -> String {
        format!("cannot write {}", self.kind.describe(&self.name))
    }
}

impl RemoteDraft for SftpDraft {
    fn finish(mut self) -> Result<()> {
        let directory = Arc::clone(&self.directory);
        let connection = &directory.connection;
        let target = directory.path(self.kind, &self.name);
        let (what, sftp) = (self.what(), connection.sftp()?);
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let path = self.path.clone();
        let kept = connection.wait(async {
            file.flush().await?;
            file.as_mut().as_mut_file().sync_all().await?;
            let mut fs = sftp.fs();
            match fs.rename(&path, &target).await {
                // The directory of a pack is made with its first pack.
                Err(error) if is_missing(&error) => {
                    directory.make(target.parent().unwrap_or(Path::new("/"))).await?;
                    fs.rename(&path, &target).await
                }
                outcome => outcome,
            }
        });
        if kept.is_err() {
            // So that `drop` removes the draft.
            self.file = Some(file);
        }
        connection.written(kept).map_err(connection.failed(what))
    }
}

impl Write for SftpDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotConnected.into()) };
        let connection = &self.directory.connection;
        let written = connection.wait(file.write(bytes));
        written.map_err(|error| connection.explained(error.into()))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SftpDraft {
    fn drop(&mut self) {
        if let (Some(_), Ok(sftp)) = (self.file.take(), self.directory.connection.sftp()) {
            // One that stays is swept later.
            let _ = self.directory.connection.wait(sftp.fs().remove_file(&self.path));
        }
    }
}

/// An object that is open.
pub(super) struct OpenFile {
    pub(super) directory: Arc<Directory>,
    pub(super) file: File,
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

impl OpenFile {
    /// Passes the bytes of a range to `each` in order, up to the end of the file.
    pub(super) fn stream(
        &self,
        object: &RemoteObject<Self>,
        range: Range<u64>,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let pieces = (range.end - range.start).div_ceil(PIECE);
        let pieces = (0..pieces).map(|number| {
            let start = range.start + number * PIECE;
            piece(self.file.clone(), start..(start + PIECE).min(range.end))
        });
        let connection = &self.directory.connection;
        let what = format!("cannot read {}", object.kind.describe(&object.name));
        let mut pieces = stream::iter(pieces).buffered(REQUESTS);
        while let Some(bytes) =
            connection.wait(pieces.try_next()).map_err(connection.failed(&*what))?
        {
            each(&bytes)?;
        }
        Ok(())
    }
}

impl Fetch for OpenFile {
    fn fetch(&self, object: &RemoteObject<Self>, range: Range<u64>) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        self.stream(object, range, |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(all)
    }
}
