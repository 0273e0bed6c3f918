//! Where the objects of a repository are stored. Knows kinds, names and bytes; nothing of what the
//! bytes mean. An object appears whole or not at all, is durable once it exists, and never changes
//! (except for the configuration and the intents, which are replaced whole).

#[cfg(any(feature = "s3", feature = "sftp"))]
mod cache; // a local cache of objects
#[cfg(any(feature = "s3", feature = "sftp"))]
mod cached; // a remote store with a local cache
pub(crate) mod local; // a directory
mod location; // which store a location means
#[cfg(any(feature = "s3", feature = "sftp"))]
mod read_ahead; // an object behind a network
#[cfg(feature = "s3")]
mod s3; // a bucket
#[cfg(feature = "sftp")]
mod sftp; // a directory of another machine

use std::io::Write;
use std::time::Duration;

use crate::error::{Error, Result, if_there};
use crate::id::Name;

pub(crate) use location::{Place, RepositoryLocation, find};

/// The kinds of objects, in the order in which a backup writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectKind {
    /// The configuration; there is one, and it is read first.
    Config,
    /// A copy of the configuration.
    ConfigCopy,
    /// The master key, encrypted with a passphrase.
    Key,
    /// A process at work.
    Intent,
    /// A file of chunks.
    Pack,
    /// A run: a sorted part of the index.
    Run,
    /// A snapshot.
    Snapshot,
    /// Packs about to be removed.
    Mark,
    /// Snapshots that were removed on purpose.
    Forgotten,
}

impl ObjectKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Config,
        Self::ConfigCopy,
        Self::Key,
        Self::Intent,
        Self::Pack,
        Self::Run,
        Self::Snapshot,
        Self::Mark,
        Self::Forgotten,
    ];

    /// The directory of the objects, or the file if there is only one; and the kind in messages.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Config => ("config", "configuration"),
            Self::ConfigCopy => ("config.copy", "copy of the configuration"),
            Self::Key => ("keys", "key"),
            Self::Intent => ("intents", "lock"),
            Self::Pack => ("packs", "pack"),
            Self::Run => ("index", "index run"),
            Self::Snapshot => ("snapshots", "snapshot"),
            Self::Mark => ("marks", "mark"),
            Self::Forgotten => ("forgotten", "record of forgotten snapshots"),
        }
    }

    pub(crate) fn folder(self) -> &'static str {
        self.words().0
    }

    pub(crate) fn noun(self) -> &'static str {
        self.words().1
    }

    /// The directories of a repository.
    pub(crate) fn folders() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|kind| !kind.is_single()).map(Self::folder)
    }

    /// The path of an object, from the root of the repository.
    pub(crate) fn key(self, name: &Name) -> String {
        let folder = self.folder();
        match self {
            _ if self.is_single() => folder.into(),
            // Packs are many: one directory per first byte of the name.
            Self::Pack => format!("{folder}/{:02x}/{name}", name.0[0]),
            _ => format!("{folder}/{name}"),
        }
    }

    pub(crate) fn is_single(self) -> bool {
        matches!(self, Self::Config | Self::ConfigCopy)
    }

    /// Whether objects of a remote repository are cached locally: those that are read in small
    /// parts, or by every command.
    #[cfg(any(feature = "s3", feature = "sftp"))]
    fn is_cached(self) -> bool {
        matches!(self, Self::Run | Self::Snapshot)
    }

    /// An object in messages.
    pub(crate) fn describe(self, name: &Name) -> String {
        match self {
            Self::Config => "the repository's configuration".into(),
            _ => format!("{} {name}", self.noun()),
        }
    }
}

/// The only item whose name begins with `prefix`.
pub(crate) fn by_prefix<'a, T>(
    kind: ObjectKind,
    items: &'a [T],
    name: impl Fn(&T) -> &Name,
    prefix: &str,
) -> Result<&'a T> {
    let mut matching = items.iter().filter(|item| name(item).to_string().starts_with(prefix));
    match (matching.next(), matching.next()) {
        (Some(item), None) => Ok(item),
        (Some(_), Some(_)) => Err(Error::Ambiguous { kind, prefix: prefix.into() }),
        (None, _) => Err(Error::NotFound { kind, prefix: prefix.into() }),
    }
}

/// The name of an object whose kind has only one.
pub(crate) const SINGLETON: Name = Name([0; Name::LEN]);

/// Asked before each step of a removal; an error stops it.
pub(crate) type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// How writes take effect.
pub(crate) struct Pace {
    /// How many objects to write concurrently.
    pub(crate) concurrent_writes: usize,
    /// How long after the death of a process its last writes may take effect.
    pub(crate) late_writes: Duration,
}

pub(crate) trait Store: Send + Sync {
    /// Begins an object. If it is dropped before `keep`, it leaves nothing.
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>>;

    /// All names of a kind with their sizes in bytes, in any order.
    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>>;

    /// All names of a kind, in any order.
    fn names(&self, kind: ObjectKind) -> Result<Vec<Name>> {
        Ok(self.list(kind)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Opens an object for random reads.
    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>>;

    /// Removes objects, several per step if possible. Before each step, `go_on` may stop it. One
    /// that does not exist is no error: a previous attempt may have removed it before it was
    /// interrupted.
    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()>;

    fn remove(&self, kind: ObjectKind, name: &Name) -> Result<()> {
        self.remove_all(kind, &[*name], &|| Ok(()))
    }

    /// Removes the drafts of dead processes; returns their bytes.
    fn sweep_drafts(&self) -> Result<u64> {
        Ok(0)
    }

    /// Empties the local cache, so that everything is read from the store itself.
    fn clear_cache(&self) {}

    fn pace(&self) -> Pace {
        Pace { concurrent_writes: 1, late_writes: Duration::ZERO }
    }

    /// Whether the outcome of every write is known. A write without an answer may still take
    /// effect.
    fn is_settled(&self) -> bool {
        true
    }

    /// Opens an object whose size is known, which may save a request. If the size differs, the
    /// object is damaged.
    fn open_sized(&self, kind: ObjectKind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        let object = self.open(kind, name)?;
        if object.len() == len { Ok(object) } else { Err(Error::damaged(kind, name)) }
    }

    /// Writes a whole object, replacing one of the same name.
    fn put(&self, kind: ObjectKind, name: &Name, bytes: &[u8]) -> Result<()> {
        let mut draft = self.draft(kind, name)?;
        let write = draft.write_all(bytes);
        write.map_err(Error::io(format!("cannot write {}", kind.describe(name))))?;
        draft.keep()
    }

    /// Reads a whole object.
    fn get(&self, kind: ObjectKind, name: &Name) -> Result<Vec<u8>> {
        let object = self.open(kind, name)?;
        object.read_at(0, object.len())
    }
}

pub(crate) trait Draft: Write + Send {
    /// Nobody is about to read this object: its bytes need not stay in the system's cache of files.
    /// To be called before the first byte.
    fn bypass_cache(&mut self) {}

    /// Makes it durable under its name.
    fn keep(self: Box<Self>) -> Result<()>;
}

pub(crate) trait Object: Send + Sync {
    fn len(&self) -> u64;

    /// Exactly these bytes, or an error. Allocates nothing for bytes that do not exist.
    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>>;

    /// To be called if the bytes are damaged: fetches them again if they came from the cache.
    /// Returns whether reading again is worth it.
    fn refetch(&self) -> Result<bool> {
        Ok(false)
    }
}

/// Loads all objects of a kind. One that was removed since it was listed is left out.
pub(crate) fn load_all<T>(
    store: &dyn Store,
    kind: ObjectKind,
    load: impl Fn(&Name) -> Result<T>,
) -> Result<Vec<T>> {
    let mut loaded = Vec::new();
    for name in store.names(kind)? {
        loaded.extend(if_there(load(&name))?);
    }
    Ok(loaded)
}

/// Reads again if damaged bytes came from the cache.
pub(crate) fn read_or_refetch<T>(object: &dyn Object, read: impl Fn() -> Result<T>) -> Result<T> {
    match read() {
        Err(Error::Damaged(_)) if object.refetch()? => read(),
        outcome => outcome,
    }
}
