//! Filters in files: loading a filter of any kind, and replacing a file atomically. Knows nothing of
//! keys.

mod any; // a filter of any kind
mod note; // what the file says about its keys
mod replace; // atomic replacement of a file

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use cuculus::{Filter, Insert, Note, Remove};

use crate::keys::{Encoding, Form, shown};
pub(crate) use any::{AnyFilter, kind_name};
pub(crate) use note::{FileNote, Holds};
pub(crate) use replace::Replacement;

/// A filter, what is noted about it, and the file that both are from or for.
pub(crate) struct Saved {
    pub(crate) filter: AnyFilter,
    pub(crate) note: FileNote,
    path: PathBuf,
}

impl Saved {
    /// A filter that is not in a file yet.
    pub(crate) fn new(filter: AnyFilter, note: FileNote, path: &Path) -> Self {
        Self { filter, note, path: path.to_owned() }
    }

    /// Loads a filter from a file and checks all of it.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        not_a_pipe(path)?;
        let file = File::open(path).with_context(|| replace::cannot_open(path))?;
        let at = || shown(path);
        let (filter, note) = AnyFilter::read_from(file).with_context(at)?;
        let note = note.as_ref().map(Note::as_bytes);
        let note = note.map_or_else(|| Ok(FileNote::default()), FileNote::from_bytes);
        Ok(Self::new(filter, note.with_context(at)?, path))
    }

    /// Locks a file against other writers and loads its filter.
    pub(crate) fn open(path: &Path) -> Result<(Replacement, Self)> {
        Ok((Replacement::of_existing(path)?, Self::load(path)?))
    }

    /// Writes filter and note to the file, atomically.
    pub(crate) fn save(&self, replacement: Replacement) -> Result<()> {
        replacement.commit(|file| self.filter.write_to(file, &self.note))
    }

    pub(crate) fn as_filter(&self) -> &dyn Filter {
        self.filter.as_filter()
    }

    pub(crate) fn as_insert(&mut self) -> Result<&mut dyn Insert> {
        self.filter.as_insert().with_context(|| shown(&self.path))
    }

    pub(crate) fn as_remove(&mut self) -> Result<&mut dyn Remove> {
        self.filter.as_remove().with_context(|| shown(&self.path))
    }

    /// How lines become keys of this file, if they may be written like this.
    pub(crate) fn form(&self, asked: Encoding) -> Result<Form> {
        self.note.form(asked).with_context(|| shown(&self.path))
    }
}

/// Refuses `-`: a filter is read and replaced as a whole.
pub(crate) fn not_a_pipe(path: &Path) -> Result<()> {
    ensure!(
        path.as_os_str() != "-",
        "a filter is kept in a file, not in a pipe; name a file (./- if it is called -)"
    );
    Ok(())
}

/// Locks a directory against other runs until the file that is returned is dropped.
pub(crate) fn lock_directory(path: &Path) -> Result<File> {
    let at = || format!("cannot lock {}", shown(path));
    let directory = File::open(path).with_context(at)?;
    ensure!(
        cuculus_file::try_lock(&directory).with_context(at)?,
        "{} is in use by another process; try again when it has ended",
        shown(path)
    );
    Ok(directory)
}

/// Fsyncs a directory, so that new files in it survive a power failure.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    cuculus_file::sync_directory(path).with_context(|| format!("cannot write {}", shown(path)))
}

/// Refuses `-` as the name of a directory.
pub(crate) fn is_directory_name(path: &Path) -> Result<()> {
    ensure!(
        path.as_os_str() != "-",
        "--out names a directory, not a pipe; name one (./- if it is called -)"
    );
    Ok(())
}
