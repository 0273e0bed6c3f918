//! Copies of objects, in a folder of this machine's cache. Knows files; whether a copy is sound is
//! found out by who opens what is sealed in it. The folder can be removed at any time.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Kind;
use super::local::LocalObject;
use crate::error::{Error, Result};
use crate::id::Name;

const DRAFTS: &str = "tmp";
/// A draft that is older was left by a process that was killed.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone)]
pub(super) struct Copies {
    folder: PathBuf,
}

fn failed(source: io::Error, path: &Path) -> Error {
    let path = path.display();
    let what = format!("cannot keep copies in {path} (--cache-dir names another place)");
    Error::Io { what, source }
}

/// `cuculus-backup` in the user's directory for caches.
fn usual_directory() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    caches.map(|caches| caches.join("cuculus-backup")).ok_or_else(|| {
        Error::refused(
            "no directory for copies of the index: neither XDG_CACHE_HOME nor HOME is set; \
             use --cache-dir",
        )
    })
}

impl Copies {
    /// The copies of a repository, below the directory given or the usual one.
    pub(super) fn open(directory: Option<&Path>, repository: &Name) -> Result<Self> {
        let directory = match directory {
            Some(directory) => {
                std::path::absolute(directory).map_err(|error| failed(error, directory))?
            }
            None => usual_directory()?,
        };
        let copies = Self { folder: directory.join(repository.to_string()) };
        for folder in Kind::ALL.into_iter().filter(|kind| kind.is_copied()).map(Kind::folder) {
            copies.make(folder)?;
        }
        copies.make(DRAFTS)?;
        copies.sweep();
        Ok(copies)
    }

    fn make(&self, folder: &str) -> Result<()> {
        let path = self.folder.join(folder);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&path);
        made.map_err(|error| failed(error, &self.folder))
    }

    fn sweep(&self) {
        let Ok(drafts) = fs::read_dir(self.folder.join(DRAFTS)) else { return };
        for draft in drafts.flatten() {
            let modified = draft.metadata().and_then(|draft| draft.modified());
            let age = modified.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_some_and(|age| age > OLD) {
                let _ = fs::remove_file(draft.path());
            }
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, kind: Kind, name: &Name) -> PathBuf {
        self.folder.join(kind.folder()).join(name.to_string())
    }

    pub(super) fn has(&self, kind: Kind, name: &Name) -> bool {
        self.path(kind, name).exists()
    }

    /// A copy, if there is one that can be opened.
    pub(super) fn get(&self, kind: Kind, name: &Name) -> Option<LocalObject> {
        LocalObject::open(&self.path(kind, name)).ok()
    }

    pub(super) fn begin(&self) -> Result<CopyDraft> {
        let failed = |error| failed(error, &self.folder);
        let path = self.folder.join(DRAFTS).join(Name::random()?.to_string());
        let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        Ok(CopyDraft { file: open.map_err(failed)?, path, copies: self.clone() })
    }

    pub(super) fn remove(&self, kind: Kind, name: &Name) {
        // One that stays is removed when it is missing in a list.
        let _ = fs::remove_file(self.path(kind, name));
    }

    /// Removes all copies of a kind but these.
    pub(super) fn keep_only(&self, kind: Kind, names: &HashSet<Name>) {
        let Ok(files) = fs::read_dir(self.folder.join(kind.folder())) else { return };
        for file in files.flatten() {
            let name = file.file_name().to_str().and_then(Name::parse);
            if name.is_none_or(|name| !names.contains(&name)) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// A copy in the making. It is not made durable: one that a crash has hurt is fetched again.
pub(super) struct CopyDraft {
    file: File,
    path: PathBuf,
    copies: Copies,
}

impl CopyDraft {
    pub(super) fn keep(self, kind: Kind, name: &Name) -> Result<()> {
        let kept = fs::rename(&self.path, self.copies.path(kind, name));
        kept.map_err(|error| failed(error, &self.copies.folder))
    }
}

impl Write for CopyDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|error| {
            // Who writes it all goes on after an interruption, and knows it by its kind.
            io::Error::new(error.kind(), failed(error, &self.copies.folder))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CopyDraft {
    fn drop(&mut self) {
        // Gone if it was kept.
        let _ = fs::remove_file(&self.path);
    }
}
