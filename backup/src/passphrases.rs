//! Adding, changing and removing passphrases. Knows the order in which keys are written and
//! removed, so that a process killed at any moment leaves a key that opens the repository.

use crate::error::{Error, Result};
use crate::id::Name;
use crate::intent;
use crate::key;
use crate::repository::Repository;
use crate::seal::Master;
use crate::store::{ObjectKind, by_prefix};

/// A key: the master key encrypted with one passphrase.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KeyInfo {
    /// Its name.
    pub name: String,
    /// Whether the passphrase that was given opens it.
    pub current: bool,
}

impl Repository {
    /// All keys, and which of them `current` opens.
    ///
    /// # Errors
    /// If the repository is not encrypted, or the passphrase is wrong.
    pub fn keys(&self, current: &str) -> Result<Vec<KeyInfo>> {
        self.master(current)?;
        let own = self.opened_by(current)?;
        let mut names = self.key_names()?;
        names.sort_unstable();
        let key = |name: Name| KeyInfo { current: own.contains(&name), name: name.to_string() };
        Ok(names.into_iter().map(key).collect())
    }

    /// Adds a passphrase; returns the name of its key.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or `new` already opens it.
    pub fn add_passphrase(&self, current: &str, new: &str) -> Result<Name> {
        let master = self.master(current)?;
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        if !self.opened_by(new)?.is_empty() {
            return Err(Error::PassphraseInUse);
        }
        self.add_key(&master, new)
    }

    /// Replaces the passphrase `current` by `new`.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or both are the same. If it is
    /// interrupted, one of the two opens the repository, or both; it can then be repeated.
    pub fn change_passphrase(&self, current: &str, new: &str) -> Result<()> {
        let master = self.master(current)?;
        if current == new {
            return Err(Error::PassphraseInUse);
        }
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        // It does if an earlier attempt was interrupted between the two steps.
        if self.opened_by(new)?.is_empty() {
            self.add_key(&master, new)?;
        }
        for name in self.opened_by(current)? {
            self.store.remove(ObjectKind::Key, &name)?;
        }
        Ok(())
    }

    /// Removes the key whose name begins with `prefix`, and with it its passphrase.
    ///
    /// # Errors
    /// If no key or several match, or if it is the key that `current` opens: a key that somebody
    /// can open must remain.
    pub fn remove_passphrase(&self, current: &str, prefix: &str) -> Result<Name> {
        self.master(current)?;
        let _announcement = intent::maintenance(&self.store, &self.keys)?;
        let (own, names) = (self.opened_by(current)?, self.key_names()?);
        let name = *by_prefix(ObjectKind::Key, &names, |name| name, prefix)?;
        if names.len() == 1 {
            return Err(Error::LastKey);
        }
        // The other keys may be damaged.
        if own.contains(&name) && own.len() == 1 {
            return Err(Error::KeyInUse);
        }
        self.store.remove(ObjectKind::Key, &name)?;
        Ok(name)
    }

    fn key_names(&self) -> Result<Vec<Name>> {
        Ok(self.store.list(ObjectKind::Key)?.into_iter().map(|(name, _)| name).collect())
    }

    fn master(&self, current: &str) -> Result<Master> {
        if !self.keys.seal.is_secret() {
            return Err(Error::NotEncrypted);
        }
        Ok(key::open(&*self.store, &self.scheme, current)?.0)
    }

    fn opened_by(&self, passphrase: &str) -> Result<Vec<Name>> {
        key::opened_by(&*self.store, &self.scheme, passphrase)
    }

    fn add_key(&self, master: &Master, passphrase: &str) -> Result<Name> {
        key::add(&*self.store, &self.scheme, (master, &self.parameters), passphrase)
    }
}
