//! A cache of objects in a local directory. Knows files; whoever opens a cached object finds out
//! whether it is intact. The directory can be removed at any time.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::ObjectKind;
use super::local::{LocalObject, STALE_DRAFT_AGE};
use crate::clock::is_past;
use crate::error::{Error, Result};
use crate::id::Name;
use crate::local_state::{self, new_private_file, private_folder};

const DRAFTS: &str = "tmp";

#[derive(Clone)]
pub(super) struct ObjectCache {
    pub(super) folder: PathBuf,
}

impl ObjectCache {
    /// The cache of a repository, below the given directory or the user's cache directory.
    pub(super) fn open(directory: Option<&Path>, repository: &Name) -> Result<Self> {
        let directory = local_state::directory(directory)?;
        let cache = Self { folder: directory.join(repository.to_string()) };
        let cached = ObjectKind::ALL.into_iter().filter(|kind| kind.is_cached());
        for folder in cached.map(ObjectKind::folder).chain([DRAFTS]) {
            private_folder(&cache.folder.join(folder)).map_err(|error| cache.failed(error))?;
        }
        cache.sweep();
        Ok(cache)
    }

    fn sweep(&self) {
        let Ok(drafts) = fs::read_dir(self.folder.join(DRAFTS)) else { return };
        for draft in drafts.flatten() {
            let modified = draft.metadata().and_then(|draft| draft.modified());
            if is_past(modified.ok(), STALE_DRAFT_AGE) {
                let _ = fs::remove_file(draft.path());
            }
        }
    }

    pub(super) fn failed(&self, source: io::Error) -> Error {
        let path = self.folder.display();
        let what =
            format!("cannot use the cache in {path} (choose another directory with --cache-dir)");
        Error::Io { what, source }
    }

    fn path(&self, kind: ObjectKind, name: &Name) -> PathBuf {
        self.folder.join(kind.folder()).join(name.to_string())
    }

    pub(super) fn has(&self, kind: ObjectKind, name: &Name) -> bool {
        self.path(kind, name).exists()
    }

    pub(super) fn get(&self, kind: ObjectKind, name: &Name) -> Option<LocalObject> {
        LocalObject::open(self.path(kind, name), kind, *name).ok()
    }

    pub(super) fn begin(&self) -> Result<CacheDraft> {
        let path = self.folder.join(DRAFTS).join(Name::random()?.to_string());
        let file = new_private_file(&path).map_err(|error| self.failed(error))?;
        Ok(CacheDraft { file, path, cache: self.clone() })
    }

    pub(super) fn remove(&self, kind: ObjectKind, name: &Name) {
        // One that stays is removed after the next listing.
        let _ = fs::remove_file(self.path(kind, name));
    }

    /// Removes all cached objects of a kind except these.
    pub(super) fn keep_only(&self, kind: ObjectKind, names: &HashSet<Name>) {
        let Ok(files) = fs::read_dir(self.folder.join(kind.folder())) else { return };
        for file in files.flatten() {
            let name = file.file_name().to_str().and_then(Name::parse);
            if name.is_none_or(|name| !names.contains(&name)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// A cached object that is being written. It is not fsynced: after a crash it is fetched again.
pub(super) struct CacheDraft {
    file: File,
    path: PathBuf,
    cache: ObjectCache,
}

impl CacheDraft {
    pub(super) fn keep(self, kind: ObjectKind, name: &Name) -> Result<()> {
        let kept = fs::rename(&self.path, self.cache.path(kind, name));
        kept.map_err(|error| self.cache.failed(error))
    }
}

impl Write for CacheDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|error| {
            // `write_all` must recognise an interruption by its kind.
            io::Error::new(error.kind(), self.cache.failed(error))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CacheDraft {
    fn drop(&mut self) {
        // Already renamed if it was kept.
        let _ = fs::remove_file(&self.path);
    }
}
