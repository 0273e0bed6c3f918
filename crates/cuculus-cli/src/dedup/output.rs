//! The output of an input: lines in the packing of the input. Knows bytes, nothing of documents.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::keys::{Packing, shown};

pub(super) struct Output {
    file: File,
    path: PathBuf,
    packing: Packing,
    written: u64,
}

impl Output {
    /// Continues a file after its first `written` bytes; what follows was written by a run that was
    /// killed.
    pub(super) fn open(path: &Path, packing: Packing, written: u64) -> Result<Self> {
        let open = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            let found = file.metadata()?.len();
            file.set_len(written.min(found))?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, io::Error>((file, found))
        };
        let (file, found) = open().with_context(|| cannot_write(path))?;
        ensure!(
            found >= written,
            "{} is shorter than when the run was interrupted; start again without the state",
            shown(path)
        );
        Ok(Self { file, path: path.to_owned(), packing, written })
    }

    /// Appends lines. Packed ones are a member or frame of their own, so that a file that is cut
    /// after any of them is whole.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        if lines.is_empty() { Ok(()) } else { self.append(lines) }
    }

    fn append(&mut self, lines: &[u8]) -> Result<()> {
        let packed = match self.packing {
            Packing::Plain => None,
            Packing::Gzip => {
                let level = flate2::Compression::default();
                let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
                Some(packer.write_all(lines).and_then(|()| packer.finish())?)
            }
            Packing::Zstd => Some(zstd::encode_all(lines, 0)?),
        };
        let bytes = packed.as_deref().unwrap_or(lines);
        self.file.write_all(bytes).with_context(|| cannot_write(&self.path))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Fsyncs a file that gets no more lines; returns the length. A packed file of no bytes is not whole for
    /// programs that unpack it, so one without lines has a member or frame without lines.
    pub(super) fn finish(&mut self) -> Result<u64> {
        if self.written == 0 && self.packing != Packing::Plain {
            self.append(&[])?;
        }
        self.sync()
    }

    /// Fsyncs what was written; returns the length.
    pub(super) fn sync(&mut self) -> Result<u64> {
        self.file.sync_all().with_context(|| cannot_write(&self.path))?;
        Ok(self.written)
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", shown(path))
}
