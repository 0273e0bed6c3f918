//! What this machine remembers of a repository, so that it notices if whoever holds the storage
//! replaces the repository or brings back an older state. Knows ids and names; a pin is a small
//! file below the cache directory, one for each location.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::id::Name;

/// What is pinned, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pinned {
    location: String,
    repository: String,
    encrypted: bool,
    /// Snapshots that were there and that nobody with the key has forgotten.
    snapshots: BTreeSet<String>,
}

/// The pin of one location.
pub(crate) struct Pin {
    path: PathBuf,
    location: String,
}

impl Pin {
    /// `directory` is where pins are kept; `location` identifies the place of the repository.
    pub(crate) fn new(directory: &Path, location: String) -> Result<Self> {
        let folder = directory.join("pins");
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&folder);
        made.map_err(Error::at("create", &folder))?;
        let path = folder.join(Name::of(location.as_bytes()).to_string());
        Ok(Self { path, location })
    }

    fn read(&self) -> Result<Option<Pinned>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::at("read", &self.path)(error)),
        };
        match serde_json::from_slice(&text) {
            Ok(pinned) => Ok(Some(pinned)),
            Err(_) => Err(Error::DamagedPin { path: self.path.clone() }),
        }
    }

    fn write(&self, pinned: &Pinned) -> Result<()> {
        let draft = self.path.with_extension("new");
        let text = serde_json::to_vec_pretty(pinned).map_err(io::Error::from);
        let written = text.and_then(|text| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let mut file = options.open(&draft)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        });
        written.map_err(Error::at("write", &self.path))
    }

    /// Changes the pin while no other process does.
    fn change<T>(&self, change: impl FnOnce(&mut Option<Pinned>) -> Result<T>) -> Result<T> {
        let lock = self.path.with_extension("lock");
        let locked = OpenOptions::new().write(true).create(true).truncate(false).open(&lock);
        let file: File = locked.map_err(Error::at("open", &lock))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| Error::at("lock", &lock)(error.into()))?;
        let mut pinned = self.read()?;
        let before = pinned.as_ref().map(|pinned| (pinned.repository.clone(), pinned.clone()));
        let outcome = change(&mut pinned)?;
        if let Some(pinned) = &pinned {
            let same = before.is_some_and(|(repository, before)| {
                repository == pinned.repository
                    && before.encrypted == pinned.encrypted
                    && before.snapshots == pinned.snapshots
            });
            if !same {
                self.write(pinned)?;
            }
        }
        Ok(outcome)
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
        self.change(|pinned| {
            if let Some(known) = pinned
                && !accept
                && (known.repository != repository.to_string() || known.encrypted != encrypted)
            {
                return Err(self.changed(known, Some(repository), encrypted));
            }
            let same = |known: &Pinned| known.repository == repository.to_string();
            let snapshots = pinned.take().filter(same).map(|known| known.snapshots);
            *pinned = Some(Pinned {
                location: self.location.clone(),
                repository: repository.to_string(),
                encrypted,
                snapshots: snapshots.unwrap_or_default(),
            });
            Ok(())
        })
    }

    /// Remembers the snapshots that are present; returns those that were and are not, unless
    /// `forgotten` has them. With `accept`, missing ones are no longer expected.
    pub(crate) fn compare(
        &self,
        present: &HashSet<Name>,
        forgotten: impl FnOnce() -> Result<HashSet<Name>>,
        accept: bool,
    ) -> Result<Vec<String>> {
        self.change(|pinned| {
            let Some(pinned) = pinned else { return Ok(Vec::new()) };
            let absent = |name: &String| Name::parse(name).is_none_or(|n| !present.contains(&n));
            let mut missing: Vec<String> =
                pinned.snapshots.iter().filter(|name| absent(name)).cloned().collect();
            if !missing.is_empty() {
                let forgotten = forgotten()?;
                missing.retain(|name| Name::parse(name).is_none_or(|n| !forgotten.contains(&n)));
            }
            pinned.snapshots = present.iter().map(Name::to_string).collect();
            if !accept {
                pinned.snapshots.extend(missing.iter().cloned());
            }
            Ok(missing)
        })
    }

    /// This machine has added or removed snapshots.
    pub(crate) fn update(&self, added: &[Name], removed: &[Name]) -> Result<()> {
        self.change(|pinned| {
            if let Some(pinned) = pinned {
                pinned.snapshots.extend(added.iter().map(Name::to_string));
                removed.iter().for_each(|name| _ = pinned.snapshots.remove(&name.to_string()));
            }
            Ok(())
        })
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
            pin.compare(&names(present), || Ok(names(forgotten)), accept).expect("compared").len()
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
}
