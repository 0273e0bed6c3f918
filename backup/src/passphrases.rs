//! Adding, changing and removing passphrases. Knows the order in which keys are written and
//! removed, so that a process killed at any moment leaves a key that opens the repository.

use crate::error::{Error, Result};
use crate::id::Name;
use crate::intent;
use crate::key::{self, Kdf, OpenedKey};
use crate::repository::Repository;
use crate::store::{ObjectKind, by_prefix};

/// A key: the master key encrypted with one passphrase.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KeyInfo {
    /// Its name.
    pub name: Name,
    /// Whether the passphrase that was given opens it.
    pub current: bool,
}

impl Repository {
    /// All keys, and which of them `current` opens.
    ///
    /// # Errors
    /// If the repository is not encrypted, or the passphrase is wrong.
    pub fn keys(&self, current: &str) -> Result<Vec<KeyInfo>> {
        let own = self.opened_by(current)?.1.name;
        let mut names = self.key_names()?;
        names.sort_unstable();
        let key = |name: Name| KeyInfo { current: own == name, name };
        Ok(names.into_iter().map(key).collect())
    }

    /// Adds a passphrase; returns the name of its key.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or `new` already opens it.
    pub fn add_passphrase(&self, current: &str, new: &str) -> Result<Name> {
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        let (kdf, opened) = self.opened_by(current)?;
        let hashed = kdf.hash(new)?;
        if self.key_names()?.contains(&hashed.name()) {
            return Err(Error::PassphraseInUse);
        }
        hashed.put(&*self.store, kdf, &opened.master, &self.parameters)?;
        Ok(hashed.name())
    }

    /// Replaces the passphrase `current` by `new`.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or both are the same. If it is
    /// interrupted, one of the two opens the repository, or both; it can then be repeated.
    pub fn change_passphrase(&self, current: &str, new: &str) -> Result<()> {
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        let (kdf, opened) = self.opened_by(current)?;
        if current == new {
            return Err(Error::PassphraseInUse);
        }
        // The new key is there already if an earlier attempt was interrupted between the two steps.
        kdf.hash(new)?.put(&*self.store, kdf, &opened.master, &self.parameters)?;
        self.store.remove(ObjectKind::Key, &opened.name)
    }

    /// Removes the key whose name begins with `prefix`, and with it its passphrase.
    ///
    /// # Errors
    /// If no key or several match, or if it is the key that `current` opens: a key that somebody
    /// can open must remain.
    pub fn remove_passphrase(&self, current: &str, prefix: &str) -> Result<Name> {
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        let opened = self.opened_by(current)?.1;
        let names = self.key_names()?;
        let name = *by_prefix(ObjectKind::Key, &names, |name| name, prefix)?;
        if names.len() == 1 {
            return Err(Error::LastKey);
        }
        // The other keys may be damaged.
        if name == opened.name {
            return Err(Error::KeyInUse);
        }
        self.store.remove(ObjectKind::Key, &name)?;
        Ok(name)
    }

    fn key_names(&self) -> Result<Vec<Name>> {
        self.store.names(ObjectKind::Key)
    }

    fn opened_by(&self, passphrase: &str) -> Result<(&Kdf, OpenedKey)> {
        let kdf = self.kdf.as_ref().ok_or(Error::NotEncrypted)?;
        Ok((kdf, key::open(&*self.store, kdf, passphrase)?))
    }
}
