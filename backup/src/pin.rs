//! What this machine remembers of a repository, so that it notices if whoever holds the storage
//! replaces the repository or brings back an older state. Knows ids and names only.
//!
//! A pin is a small file below the cache directory, one for each location, and beside it a
//! directory with an empty file for each snapshot. There is no lock: each change creates, replaces
//! or removes one file, so that a process that is stopped in the middle stops no other.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::id::Name;
use crate::local_state::{if_exists, new_private_file, private_folder, remove_if_there};

/// What is pinned, as JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Pinned {
    location: String,
    repository: String,
    encrypted: bool,
}

pub(crate) struct Pin {
    path: PathBuf,
    location: String,
}

impl Pin {
    /// `directory` is where pins are kept; `location` identifies the place of the repository.
    pub(crate) fn new(directory: &Path, location: String) -> Result<Self> {
        let folder = directory.join("pins");
        private_folder(&folder).map_err(Error::at("create", &folder))?;
        let path = folder.join(Name::of(location.as_bytes()).to_string());
        Ok(Self { path, location })
    }

    fn read(&self) -> Result<Option<Pinned>> {
        let text = if_exists(fs::read(&self.path)).map_err(Error::at("read", &self.path))?;
        let pinned = text.map(|text| serde_json::from_slice(&text)).transpose();
        pinned.map_err(|_| Error::DamagedPin { path: self.path.clone() })
    }

    /// Fails with `AlreadyExists` if another process was first and `replace` is not set.
    fn write(&self, pinned: &Pinned, replace: bool) -> io::Result<()> {
        let unique = Name::random().map_err(io::Error::other)?;
        let draft = self.path.with_extension(format!("{unique}.new"));
        let mut file = new_private_file(&draft)?;
        let written = (|| {
            file.write_all(&serde_json::to_vec_pretty(pinned)?)?;
            file.sync_all()?;
            if replace { fs::rename(&draft, &self.path) } else { fs::hard_link(&draft, &self.path) }
        })();
        written.and(remove_if_there(&draft))
    }

    fn snapshots(&self, repository: &str) -> PathBuf {
        self.path.with_extension(repository)
    }

    fn remembered(&self, repository: &str) -> Result<BTreeSet<Name>> {
        let folder = self.snapshots(repository);
        let names = fs::read_dir(&folder).and_then(|entries| {
            let name = |entry: io::Result<DirEntry>| {
                entry.map(|entry| entry.file_name().to_str().and_then(Name::parse)).transpose()
            };
            entries.filter_map(name).collect()
        });
        Ok(if_exists(names).map_err(Error::at("read", &folder))?.unwrap_or_default())
    }

    fn add<'a>(&self, repository: &str, names: impl Iterator<Item = &'a Name>) -> Result<()> {
        let folder = self.snapshots(repository);
        private_folder(&folder).map_err(Error::at("create", &folder))?;
        for path in names.map(|name| folder.join(name.to_string())) {
            let made = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            made.map_err(Error::at("create", &path))?;
        }
        let synced = File::open(&folder).and_then(|folder| folder.sync_all());
        synced.map_err(Error::at("write", &folder))
    }

    fn remove<'a>(&self, repository: &str, names: impl Iterator<Item = &'a Name>) -> Result<()> {
        let folder = self.snapshots(repository);
        let mut paths = names.map(|name| folder.join(name.to_string()));
        paths.try_for_each(|path| remove_if_there(&path).map_err(Error::at("remove", &path)))
    }

    /// Before a passphrase is used: fails if an encrypted repository became one in the clear, or
    /// the reverse.
    pub(crate) fn expects(&self, encrypted: bool) -> Result<()> {
        match self.read()? {
            Some(pinned) if pinned.encrypted != encrypted => {
                Err(self.changed(&pinned, None, encrypted))
            }
            _ => Ok(()),
        }
    }

    fn changed(&self, pinned: &Pinned, found: Option<&Name>, encrypted: bool) -> Error {
        Error::RepositoryChanged {
            location: self.location.clone(),
            known: (pinned.repository.clone(), pinned.encrypted),
            found: (found.map(Name::to_string), encrypted),
        }
    }

    /// The repository is this one: remembered at first use, and compared later. With `accept`, a
    /// change is remembered.
    pub(crate) fn confirm(&self, repository: &Name, encrypted: bool, accept: bool) -> Result<()> {
        let known = self.read()?;
        let pinned = Pinned {
            location: self.location.clone(),
            repository: repository.to_string(),
            encrypted,
        };
        let failed = Error::at("write", &self.path);
        let Some(known) = known else {
            return match self.write(&pinned, false) {
                // Another process was first; it must mean the same repository.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.confirm(repository, encrypted, accept)
                }
                outcome => outcome.map_err(failed),
            };
        };
        let same = known.repository == pinned.repository;
        if !(accept || same && known.encrypted == encrypted) {
            return Err(self.changed(&known, Some(repository), encrypted));
        }
        if same && known.encrypted == encrypted {
            return Ok(());
        }
        if !same {
            let _ = fs::remove_dir_all(self.snapshots(&known.repository));
        }
        self.write(&pinned, true).map_err(failed)
    }

    /// Remembers the snapshots that are present; returns those that were and are not, unless
    /// `forgotten` has them. With `accept`, missing ones are no longer expected.
    pub(crate) fn compare(
        &self,
        present: impl FnOnce() -> Result<HashSet<Name>>,
        forgotten: impl FnOnce() -> Result<HashSet<Name>>,
        accept: bool,
    ) -> Result<Vec<Name>> {
        let Some(pinned) = self.read()? else { return Ok(Vec::new()) };
        let repository = &pinned.repository;
        // First what is remembered: a snapshot that another process finishes now is not missing.
        let remembered = self.remembered(repository)?;
        let present: BTreeSet<Name> = present()?.into_iter().collect();
        let absent: BTreeSet<Name> = remembered.difference(&present).copied().collect();
        let mut missing = absent.clone();
        if !missing.is_empty() {
            let forgotten = forgotten()?;
            missing.retain(|name| !forgotten.contains(name));
        }
        let gone = absent.iter().filter(|name| accept || !missing.contains(*name));
        self.remove(repository, gone)?;
        if !present.is_subset(&remembered) {
            self.add(repository, present.difference(&remembered))?;
        }
        Ok(missing.into_iter().collect())
    }

    /// This machine has added or removed snapshots.
    pub(crate) fn update(&self, added: &[Name], removed: &[Name]) -> Result<()> {
        let Some(Pinned { repository, .. }) = self.read()? else { return Ok(()) };
        self.remove(&repository, removed.iter())?;
        if added.is_empty() { Ok(()) } else { self.add(&repository, added.iter()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_made_at_first_use_and_compared_later() {
        let dir = tempfile::tempdir().expect("a directory");
        let pin = Pin::new(dir.path(), "/somewhere".into()).expect("a pin");
        let [one, other] = [Name([1; 16]), Name([2; 16])];
        assert!(pin.expects(false).is_ok());
        pin.confirm(&one, true, false).expect("first use");
        pin.confirm(&one, true, false).expect("the same");
        assert!(matches!(pin.expects(false), Err(Error::RepositoryChanged { .. })));
        for (name, encrypted) in [(&other, true), (&one, false)] {
            let changed = pin.confirm(name, encrypted, false);
            assert!(matches!(changed, Err(Error::RepositoryChanged { .. })));
        }
        pin.confirm(&other, false, true).expect("accepted");
        assert!(pin.expects(false).is_ok());
    }

    #[test]
    fn a_snapshot_that_was_seen_must_stay_or_be_forgotten() {
        let dir = tempfile::tempdir().expect("a directory");
        let pin = Pin::new(dir.path(), "/somewhere".into()).expect("a pin");
        pin.confirm(&Name([9; 16]), true, false).expect("first use");
        let names = |bytes: &[u8]| bytes.iter().map(|byte| Name([*byte; 16])).collect();
        let compare = |present: &[u8], forgotten: &[u8], accept| {
            let (present, forgotten) = (|| Ok(names(present)), || Ok(names(forgotten)));
            pin.compare(present, forgotten, accept).expect("compared").len()
        };
        assert_eq!(compare(&[1, 2, 3], &[], false), 0);
        assert_eq!(compare(&[1, 2], &[3], false), 0);
        assert_eq!(compare(&[1], &[], false), 1);
        assert_eq!(compare(&[1], &[], false), 1, "it stays missing until it is accepted");
        assert_eq!(compare(&[1], &[], true), 1);
        assert_eq!(compare(&[1], &[], false), 0);
        pin.update(&[Name([4; 16])], &[Name([1; 16])]).expect("updated");
        assert_eq!(compare(&[], &[], false), 1);
    }

    /// A process may be stopped at any moment, between any two of its calls.
    #[test]
    fn a_snapshot_of_another_process_is_not_missing() {
        let dir = tempfile::tempdir().expect("a directory");
        let pin = Pin::new(dir.path(), "/somewhere".into()).expect("a pin");
        pin.confirm(&Name([9; 16]), true, false).expect("first use");
        let finished = Name([7; 16]);
        // Another process finishes a snapshot while this one compares.
        let present = || {
            pin.update(&[finished], &[])?;
            Ok(HashSet::new())
        };
        assert!(pin.compare(present, || Ok(HashSet::new()), false).expect("compared").is_empty());
        let gone = pin.compare(|| Ok(HashSet::new()), || Ok(HashSet::new()), false);
        assert_eq!(gone.expect("compared"), [finished]);
    }
}
