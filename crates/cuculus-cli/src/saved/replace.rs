//! A new file in place of an old one, or nothing at all. Knows bytes and names, nothing of filters.
//!
//! The new file is written beside the old one, under a name that follows from the old one's, and
//! renamed over it when every byte is on the disk. The new file is also the lock: whoever wants to
//! write to the old one must make the new one and lock it first. A lock on the old file itself
//! would be lost with the rename, and a file that only says "locked" would outlive a killed process;
//! here what a killed process leaves behind has no lock, and the next writer throws it away.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::system::{Identity, is_locked_now, keep_permissions, open_existing, sync_directory};

/// How often a lock is tried that others take and leave at the same time.
const TRIES: usize = 100;

/// A file that is going to be replaced. Dropped without [`commit`](Self::commit), it is as if
/// nothing had been.
pub(crate) struct Replacement {
    /// The file itself, past all symbolic links: those stay.
    target: PathBuf,
    new_path: PathBuf,
    new: File,
    is_done: bool,
}

impl Replacement {
    /// Begins to replace a file that must be there.
    pub(crate) fn of_existing(path: &Path) -> Result<Self> {
        let there = || fs::metadata(path).with_context(|| cannot_open(path));
        // Before anything is made beside it, and again when nobody else can move it.
        there()?;
        let begun = Self::begin(path)?;
        there()?;
        begun.old()?;
        Ok(begun)
    }

    /// Begins to make a file; with `may_exist` it replaces one that is there.
    pub(crate) fn of_new(path: &Path, may_exist: bool) -> Result<Self> {
        let begun = Self::begin(path)?;
        if !may_exist && begun.old()?.is_some() {
            bail!("{} exists; choose another name, or add --force to replace it", path.display());
        }
        Ok(begun)
    }

    fn begin(path: &Path) -> Result<Self> {
        let at = || format!("cannot write {}", path.display());
        let target = resolved(path).with_context(at)?;
        let name = target.file_name().with_context(|| format!("{}: no file name", at()))?;
        let mut new_name = std::ffi::OsString::from(".");
        new_name.push(name);
        new_name.push(".cuculus-new");
        let new_path = target.with_file_name(new_name);
        for _ in 0..TRIES {
            if let Some(new) = locked(&new_path).with_context(at)? {
                return match new {
                    Locked::ByUs(new) => Ok(Self { target, new_path, new, is_done: false }),
                    Locked::ByAnother => bail!(
                        "{} is being written by another process; try again when that is done",
                        path.display()
                    ),
                };
            }
        }
        bail!("{}: other processes keep writing it; try again later", at())
    }

    /// The file that is there now. Another writer cannot change it meanwhile.
    fn old(&self) -> Result<Option<Metadata>> {
        match fs::metadata(&self.target) {
            Ok(old) => {
                ensure!(old.is_file(), "{} is not a plain file", self.target.display());
                Ok(Some(old))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| cannot_open(&self.target)),
        }
    }

    /// Writes the new file and puts it in the old one's place. When this returns, it is on the
    /// disk; if the process ends before, the old one is there as it was.
    pub(crate) fn commit(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let at = || format!("cannot write {}; it is as it was", self.target.display());
        let old = self.old()?;
        let written = || {
            write(&mut self.new)?;
            self.new.flush()?;
            if let Some(old) = &old {
                keep_permissions(&self.new, old)?;
            }
            self.new.sync_all()?;
            fs::rename(&self.new_path, &self.target)
        };
        written().with_context(at)?;
        self.is_done = true;
        let directory = self.target.parent().unwrap_or(Path::new("."));
        sync_directory(directory).with_context(|| {
            format!("{} is written, but may be lost with the power", self.target.display())
        })
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_done {
            // What cannot be removed is thrown away by the next writer.
            let _ = fs::remove_file(&self.new_path);
        }
    }
}

pub(super) fn cannot_open(path: &Path) -> String {
    format!("cannot open {}", path.display())
}

enum Locked {
    ByUs(File),
    ByAnother,
}

/// Makes a file and locks it; `None` if others did the same just now, so that it has to be tried
/// again.
fn locked(path: &Path) -> io::Result<Option<Locked>> {
    let (file, is_new) = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => (file, true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match open_existing(path) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error),
    };
    if !is_locked_now(&file)? {
        return Ok(Some(Locked::ByAnother));
    }
    // Between opening and locking its owner may have renamed or removed it.
    match fs::symlink_metadata(path) {
        Ok(there) if Identity::of(&there) == Identity::of(&file.metadata()?) => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    if is_new {
        return Ok(Some(Locked::ByUs(file)));
    }
    // Left behind by a process that was killed. Made anew, since it may have other permissions.
    fs::remove_file(path)?;
    Ok(None)
}

/// The file itself, past symbolic links. The last part need not be there, if it is not a link.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(_) => fs::canonicalize(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let directory = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(fs::canonicalize(directory)?.join(name))
        }
        Err(error) => Err(error),
    }
}
