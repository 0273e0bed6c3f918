//! Writes an object: to a draft beside the objects, which is fsynced and renamed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use openssh_sftp_client::file::TokioCompatFile;
use tokio::io::AsyncWriteExt;

use super::Directory;
use super::connection::is_missing;
use crate::error::Result;
use crate::id::Name;
use crate::store::ObjectKind;
use crate::store::cached::RemoteDraft;

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
