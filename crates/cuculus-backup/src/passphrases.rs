//! Passphrases added, changed and removed. Knows the order in which keys are written and removed, so
//! that there is always one that opens the repository, whatever is killed when.

use crate::error::{Error, Result};
use crate::id::Name;
use crate::intent;
use crate::key;
use crate::repository::Repository;
use crate::seal::Master;
use crate::store::Kind;

/// A key: the master key under one passphrase.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Key {
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
    pub fn keys(&self, current: &str) -> Result<Vec<Key>> {
        self.master(current)?;
        let own = key::opened_by(&*self.store, current)?;
        let mut names = self.key_names()?;
        names.sort_unstable();
        let key = |name: Name| Key { current: own.contains(&name), name: name.to_string() };
        Ok(names.into_iter().map(key).collect())
    }

    /// One more passphrase that opens the repository; returns the name of its key.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or `new` opens it already.
    pub fn add_passphrase(&self, current: &str, new: &str) -> Result<Name> {
        let master = self.master(current)?;
        let _announced = intent::maintenance(&self.store, &self.keys)?;
        if !key::opened_by(&*self.store, new)?.is_empty() {
            return Err(Error::refused("the new passphrase opens the repository already"));
        }
        key::add(&*self.store, &master, new)
    }

    /// `new` in the place of `current`, which opens the repository no longer.
    ///
    /// # Errors
    /// If the repository is not encrypted, `current` is wrong, or both are the same. If it is cut
    /// off, one of the two opens the repository, or both; it can then be done again.
    pub fn change_passphrase(&self, current: &str, new: &str) -> Result<()> {
        let master = self.master(current)?;
        if current == new {
            return Err(Error::refused("the new passphrase is the old one; choose another"));
        }
        let _announced = intent::maintenance(&self.store, &self.keys)?;
        // It does if an earlier attempt was cut off between the two steps.
        if key::opened_by(&*self.store, new)?.is_empty() {
            key::add(&*self.store, &master, new)?;
        }
        for name in key::opened_by(&*self.store, current)? {
            self.store.remove(Kind::Key, &name)?;
        }
        Ok(())
    }

    /// Removes the key whose name begins so; its passphrase opens the repository no longer.
    ///
    /// # Errors
    /// If no key begins so, or several, or if it is the one that `current` opens: so there is always
    /// one left that somebody can open.
    pub fn remove_passphrase(&self, current: &str, word: &str) -> Result<Name> {
        self.master(current)?;
        let _announced = intent::maintenance(&self.store, &self.keys)?;
        let (own, names) = (key::opened_by(&*self.store, current)?, self.key_names()?);
        let mut fitting = names.iter().filter(|name| name.to_string().starts_with(word));
        let name = match (fitting.next(), fitting.next()) {
            (Some(name), None) => *name,
            (Some(_), Some(_)) => {
                return Err(Error::refused(format!(
                    "several keys begin with {word:?}; give more of the name"
                )));
            }
            (None, _) => {
                return Err(Error::NotFound(format!(
                    "there is no key {word:?}; `cuculus-backup key list` lists those there are"
                )));
            }
        };
        if names.len() == 1 {
            return Err(Error::refused(
                "it is the only key, and without one nobody can read the repository; \
                 `cuculus-backup key change` gives it another passphrase",
            ));
        }
        // One that is damaged may be all that is left otherwise.
        if own.contains(&name) && own.len() == 1 {
            return Err(Error::refused(
                "it is the key of the passphrase that you gave; give another one to remove it",
            ));
        }
        self.store.remove(Kind::Key, &name)?;
        Ok(name)
    }

    fn key_names(&self) -> Result<Vec<Name>> {
        Ok(self.store.list(Kind::Key)?.into_iter().map(|(name, _)| name).collect())
    }

    fn master(&self, current: &str) -> Result<Master> {
        if !self.keys.seal.is_secret() {
            return Err(Error::refused("the repository is not encrypted, so it has no passphrase"));
        }
        key::open(&*self.store, current)
    }
}
