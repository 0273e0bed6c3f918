//! Where this machine keeps what it knows of repositories: the cache of remote ones, and the pins.
//! Knows directories and files that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The given directory, or `cuculus-backup` in the user's cache directory.
pub(crate) fn directory(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        return std::path::absolute(given).map_err(Error::at("find", given));
    }
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    caches.map(|caches| caches.join("cuculus-backup")).ok_or_else(|| {
        let reason = "and XDG_CACHE_HOME are not set; choose a cache directory with --cache-dir";
        Error::InvalidSetting { variable: "HOME", reason: reason.into() }
    })
}

/// Creates a directory and those above it, unless they exist.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(path)
}

pub(crate) fn new_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    if_exists(fs::remove_file(path)).map(|_| ())
}

/// `None` if there is no such file.
pub(crate) fn if_exists<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}
