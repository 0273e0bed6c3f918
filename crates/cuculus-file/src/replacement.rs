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

use crate::Error;
use crate::system::{
    Identity, create_new, keep_permissions, open_existing, sync_directory, try_lock,
};

/// Attempts to take the lock while other writers create and delete the file.
const TRIES: usize = 100;

/// A file that is about to be replaced, or created. Dropped without [`commit`](Self::commit), it
/// changes nothing.
#[derive(Debug)]
pub struct Replacement {
    /// The file itself, with symbolic links resolved: the links stay.
    target: PathBuf,
    new_path: PathBuf,
    new: File,
    is_done: bool,
}

/// A new file that is fsynced beside the one that it is to replace. Dropped, it changes nothing.
#[derive(Debug)]
#[must_use]
pub struct Written(Replacement);

impl Replacement {
    /// Locks a file against other writers and creates the new one beside it.
    ///
    /// # Errors
    ///
    /// If another writer has the file, if it is not a regular one, or if the new one cannot be
    /// created.
    pub fn begin(path: &Path) -> Result<Self, Error> {
        // Before anything is created beside a device, and again when no other writer can move it.
        old(path)?;
        let target = resolved(path)?;
        let cannot_write = |error| Error::cannot_write(path, error);
        let name = target.file_name().ok_or_else(|| {
            cannot_write(io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name"))
        })?;
        let mut new_name = std::ffi::OsString::from(".");
        new_name.push(name);
        new_name.push(".cuculus-new");
        let new_path = target.with_file_name(new_name);
        for _ in 0..TRIES {
            // What replaces a private file is private from the beginning.
            let is_private = target.exists();
            match locked(&new_path, is_private).map_err(cannot_write)? {
                Some(Locked::ByUs(new)) => {
                    let begun = Self { target, new_path, new, is_done: false };
                    old(&begun.target)?;
                    return Ok(begun);
                }
                Some(Locked::ByAnother) => break,
                None => {}
            }
        }
        Err(Error::Busy { path: path.to_owned() })
    }

    /// Whether there is a file to be replaced; no other writer creates or removes it now.
    #[must_use]
    pub fn replaces_a_file(&self) -> bool {
        self.target.exists()
    }

    /// The name of the new file while it is written.
    #[must_use]
    pub fn new_path(&self) -> &Path {
        &self.new_path
    }

    /// Adds to the new file.
    ///
    /// # Errors
    ///
    /// If it cannot be written; the old file is unchanged.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.new.write_all(bytes).map_err(|error| self.unchanged(error))
    }

    /// Writes the new file and fsyncs it, beside the old one.
    ///
    /// # Errors
    ///
    /// If it cannot be written; the old file is unchanged.
    pub fn written(
        mut self,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<Written, Error> {
        let old = old(&self.target)?;
        let written = || {
            write(&mut self.new)?;
            self.new.flush()?;
            if let Some(old) = &old {
                keep_permissions(&self.new, old)?;
            }
            self.new.sync_all()
        };
        match written() {
            Ok(()) => Ok(Written(self)),
            Err(error) => Err(self.unchanged(error)),
        }
    }

    /// Writes the new file and renames it over the old one. When this returns, the new file is
    /// fsynced; if the process ends before, the old file is unchanged.
    ///
    /// # Errors
    ///
    /// If it cannot be written; the old file is unchanged.
    pub fn commit(self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
        self.written(write)?.rename()
    }

    fn unchanged(&self, error: io::Error) -> Error {
        let what = format!("cannot write {}; the file is unchanged", crate::shown(&self.target));
        Error::System { what, path: self.target.clone(), error }
    }
}

impl Written {
    /// Renames the new file over the old one, and fsyncs the directory.
    ///
    /// # Errors
    ///
    /// If it cannot be renamed, and the old file is unchanged; or if the directory cannot be
    /// fsynced: then the new file has the name, but could lose it if the power fails.
    pub fn rename(mut self) -> Result<(), Error> {
        if let Err(error) = fs::rename(&self.0.new_path, &self.0.target) {
            return Err(self.0.unchanged(error));
        }
        self.0.is_done = true;
        let target = &self.0.target;
        let directory = target.parent().unwrap_or(Path::new("."));
        sync_directory(directory).map_err(|error| {
            let target = crate::shown(target);
            let what = format!("{target} is written, but could be lost if the power fails now");
            Error::System { what, path: directory.to_owned(), error }
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

/// The existing file, if any: a regular one.
fn old(path: &Path) -> Result<Option<Metadata>, Error> {
    match fs::metadata(path) {
        Ok(old) if old.is_file() => Ok(Some(old)),
        Ok(_) => Err(Error::NotRegular { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let what = format!("cannot open {}", crate::shown(path));
            Err(Error::System { what, path: path.to_owned(), error })
        }
    }
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
fn resolved(path: &Path) -> Result<PathBuf, Error> {
    let cannot_write = |error| Error::cannot_write(path, error);
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    match fs::symlink_metadata(path) {
        Ok(_) => match fs::canonicalize(path) {
            Err(error) if is_missing(&error) => {
                let to = fs::read_link(path).map_err(cannot_write)?;
                Err(Error::Dangling { path: path.to_owned(), to })
            }
            resolved => resolved.map_err(cannot_write),
        },
        Err(error) if is_missing(&error) => {
            let directory = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
            let name = path.file_name().ok_or(error).map_err(cannot_write)?;
            Ok(fs::canonicalize(directory).map_err(cannot_write)?.join(name))
        }
        Err(error) => Err(cannot_write(error)),
    }
}
