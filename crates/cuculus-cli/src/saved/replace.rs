//! Atomic replacement of a file, with one writer at a time. Knows bytes and names, nothing of filters.
//!
//! The new file is written beside the old one, under a name derived from it, and renamed over it after
//! an fsync. The new file is also the lock: a writer must create and lock it first. A lock on the old
//! file itself would be lost with the rename, and a file that only says "locked" would outlive a
//! killed process; here the file that a killed process leaves behind is not locked, and the next
//! writer deletes it.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::interrupt::Unfinished;
use crate::keys::shown;

use super::system::{
    Identity, create_new, keep_permissions, open_existing, sync_directory, try_lock,
};

/// Attempts to take the lock while other writers create and delete the file.
const TRIES: usize = 100;

/// A file that is about to be replaced. Dropped without [`commit`](Self::commit), it changes
/// nothing.
pub(crate) struct Replacement {
    /// The file itself, with symbolic links resolved: the links stay.
    target: PathBuf,
    new_path: PathBuf,
    new: File,
    is_done: bool,
    /// Removed when the program is interrupted.
    unfinished: Unfinished,
}

impl Replacement {
    /// Begins to replace a file that must exist.
    pub(crate) fn of_existing(path: &Path) -> Result<Self> {
        super::not_a_pipe(path)?;
        let there = || fs::metadata(path).with_context(|| cannot_open(path));
        // Before the new file is created, and again when no other writer can move it.
        there()?;
        let begun = Self::begin(path)?;
        there()?;
        begun.old()?;
        Ok(begun)
    }

    /// Begins to create a file; with `may_exist` it may replace an existing one.
    pub(crate) fn of_new(path: &Path, may_exist: bool) -> Result<Self> {
        let begun = Self::begin(path)?;
        if !may_exist && begun.old()?.is_some() {
            bail!("{} exists; choose another name, or add --force to replace it", shown(path));
        }
        Ok(begun)
    }

    fn begin(path: &Path) -> Result<Self> {
        super::not_a_pipe(path)?;
        let at = || format!("cannot write {}", shown(path));
        let target = resolved(path).with_context(at)?;
        let name =
            target.file_name().with_context(|| format!("{}: the path has no file name", at()))?;
        let mut new_name = std::ffi::OsString::from(".");
        new_name.push(name);
        new_name.push(".cuculus-new");
        let new_path = target.with_file_name(new_name);
        for _ in 0..TRIES {
            // What replaces a private file is private from the beginning.
            let is_private = target.exists();
            if let Some(new) = locked(&new_path, is_private).with_context(at)? {
                return match new {
                    Locked::ByUs(new) => {
                        let unfinished = Unfinished::new(&new_path);
                        Ok(Self { target, new_path, new, is_done: false, unfinished })
                    }
                    Locked::ByAnother => bail!(
                        "{} is being written by another process; try again when it has ended",
                        shown(path)
                    ),
                };
            }
        }
        bail!("{}: other processes keep writing it; try again later", at())
    }

    /// The existing file, if any. No other writer can change it while this one holds the lock.
    fn old(&self) -> Result<Option<Metadata>> {
        match fs::metadata(&self.target) {
            Ok(old) => {
                ensure!(
                    old.is_file(),
                    "{} is not a regular file; choose another",
                    shown(&self.target)
                );
                Ok(Some(old))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| cannot_open(&self.target)),
        }
    }

    /// Adds to the new file what is not written at once by [`commit`](Self::commit).
    #[cfg(feature = "cluster")]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let at = || format!("cannot write {}; the file is unchanged", shown(&self.target));
        self.new.write_all(bytes).with_context(at)
    }

    /// Writes the new file and renames it over the old one. When this returns, the new file is
    /// fsynced; if the process ends before, the old file is unchanged.
    pub(crate) fn commit(mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let at = || format!("cannot write {}; the file is unchanged", shown(&self.target));
        let old = self.old()?;
        let written = || {
            write(&mut self.new)?;
            self.new.flush()?;
            if let Some(old) = &old {
                keep_permissions(&self.new, old)?;
            }
            self.new.sync_all()?;
            self.unfinished.finish(|| fs::rename(&self.new_path, &self.target))
        };
        written().with_context(at)?;
        self.is_done = true;
        let directory = self.target.parent().unwrap_or(Path::new("."));
        sync_directory(directory).with_context(|| {
            format!("{} is written, but could be lost if the power fails now", shown(&self.target))
        })
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_done {
            // If this fails, the next writer deletes the file.
            let _ = fs::remove_file(&self.new_path);
        }
    }
}

pub(super) fn cannot_open(path: &Path) -> String {
    format!("cannot open {}", shown(path))
}

enum Locked {
    ByUs(File),
    ByAnother,
}

/// Creates a file and locks it; `None` if another writer interfered and the caller must try again.
fn locked(path: &Path, is_private: bool) -> io::Result<Option<Locked>> {
    let (file, is_new) = match create_new(path, is_private) {
        Ok(file) => (file, true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match open_existing(path) {
            Ok(file) => (file, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error),
    };
    if !try_lock(&file)? {
        return Ok(Some(Locked::ByAnother));
    }
    // Between opening and locking, its owner may have renamed or removed it.
    match fs::symlink_metadata(path) {
        Ok(there) if Identity::of(&there) == Identity::of(&file.metadata()?) => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    if is_new {
        return Ok(Some(Locked::ByUs(file)));
    }
    // Left behind by a killed process. Created again, since its permissions may differ.
    fs::remove_file(path)?;
    Ok(None)
}

/// The path with symbolic links resolved. The last part need not exist, unless it is a link.
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
