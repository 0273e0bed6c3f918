//! Where a repository's objects are kept. Knows kinds, names and bytes; nothing of what is in
//! them. An object appears whole or not at all, is durable once it is there, and never changes
//! (but for the digest and the intents, which are replaced whole).

#[cfg(feature = "s3")]
mod cached; // a bucket with copies of what is read here and there
#[cfg(feature = "s3")]
mod copies; // files on this machine
mod local; // a directory
mod place; // what a repository's place means
#[cfg(feature = "s3")]
mod s3; // a bucket

use std::io::Write;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::id::Name;

pub(crate) use place::Reached;

/// The kinds of objects, in the order in which a backup writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What the repository is; one, and the first thing that is read.
    Config,
    /// The master key under a passphrase.
    Key,
    /// Who is at work.
    Intent,
    /// Chunks.
    Pack,
    /// A part of the index.
    Run,
    /// A tree of files at a time.
    Snapshot,
    /// Packs that are about to go.
    Mark,
    /// The filter of all chunk ids, as of some generation of the index; one.
    Digest,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Config,
        Self::Key,
        Self::Intent,
        Self::Pack,
        Self::Run,
        Self::Snapshot,
        Self::Mark,
        Self::Digest,
    ];

    /// The folder of the objects, or the file if there is one only.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Key => "keys",
            Self::Intent => "intents",
            Self::Pack => "packs",
            Self::Run => "index",
            Self::Snapshot => "snapshots",
            Self::Mark => "marks",
            Self::Digest => "digest",
        }
    }

    /// The folders of a repository.
    pub(crate) fn folders() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|kind| !kind.is_single()).map(Self::folder)
    }

    /// Where an object is, from the root of the repository.
    pub(crate) fn key(self, name: &Name) -> String {
        let folder = self.folder();
        match self {
            _ if self.is_single() => folder.into(),
            // Many packs: a folder for each first byte of the name.
            Self::Pack => format!("{folder}/{:02x}/{name}", name.0[0]),
            _ => format!("{folder}/{name}"),
        }
    }

    pub(crate) fn is_single(self) -> bool {
        matches!(self, Self::Config | Self::Digest)
    }

    /// Whether copies of a repository far away are kept on this machine: of what is read in small
    /// parts, or every time.
    #[cfg(feature = "s3")]
    fn is_copied(self) -> bool {
        matches!(self, Self::Run | Self::Snapshot | Self::Digest)
    }

    /// How an object is called in messages.
    pub(crate) fn describe(self, name: &Name) -> String {
        match self {
            Self::Config => "the repository's configuration".into(),
            Self::Digest => "the digest".into(),
            Self::Key => format!("key {name}"),
            Self::Intent => format!("intent {name}"),
            Self::Pack => format!("pack {name}"),
            Self::Run => format!("index run {name}"),
            Self::Snapshot => format!("snapshot {name}"),
            Self::Mark => format!("mark {name}"),
        }
    }
}

/// The name of an object whose kind has one only.
pub(crate) const ONLY: Name = Name([0; Name::LEN]);

pub(crate) trait Store: Send + Sync {
    /// Begins an object. Dropped before it is kept, it leaves nothing.
    fn draft(&self, kind: Kind, name: &Name) -> Result<Box<dyn Draft>>;

    /// All names of a kind with their sizes in bytes, in no order.
    fn list(&self, kind: Kind) -> Result<Vec<(Name, u64)>>;

    /// An object to read from here and there.
    fn open(&self, kind: Kind, name: &Name) -> Result<Box<dyn Object>>;

    /// Removes an object. One that is gone already is no error: the crash that we go on after may
    /// have come later than the removal.
    fn remove(&self, kind: Kind, name: &Name) -> Result<()>;

    /// Removes what drafts of dead processes left behind; returns bytes.
    fn sweep_drafts(&self) -> Result<u64>;

    /// Everything is read from where it truly is from now on, not from copies of an earlier time.
    fn drop_copies(&self) {}

    /// Objects that are best written at once.
    fn writes_at_once(&self) -> usize {
        1
    }

    /// For how long after a process's death what it asked for may still be done.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether all writes were done or refused. One that got no answer may still be done.
    fn is_settled(&self) -> bool {
        true
    }

    /// An object whose size is known, which may save asking for it; with another size it is
    /// damaged.
    fn open_sized(&self, kind: Kind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        let object = self.open(kind, name)?;
        if object.len() == len { Ok(object) } else { Err(Error::damaged(kind.describe(name))) }
    }

    /// Removes objects. Before each step `go_on` is asked, however many a step removes.
    fn remove_all(&self, kind: Kind, names: &[Name], go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        names.iter().try_for_each(|name| go_on().and_then(|()| self.remove(kind, name)))
    }

    /// Writes a whole object, replacing one of the same name.
    fn put(&self, kind: Kind, name: &Name, bytes: &[u8]) -> Result<()> {
        let mut draft = self.draft(kind, name)?;
        let write = draft.write_all(bytes);
        write.map_err(Error::io(format!("cannot write {}", kind.describe(name))))?;
        draft.keep()
    }

    /// Reads a whole object.
    fn get(&self, kind: Kind, name: &Name) -> Result<Vec<u8>> {
        let object = self.open(kind, name)?;
        object.read_at(0, object.len())
    }
}

pub(crate) trait Draft: Write + Send {
    /// Makes it durable under its name.
    fn keep(self: Box<Self>) -> Result<()>;
}

pub(crate) trait Object: Send + Sync {
    fn len(&self) -> u64;

    /// Exactly these bytes, or an error; nothing is allocated for bytes that are not there.
    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>>;

    /// For one who has found the bytes damaged: if they were a copy's, it is thrown away and
    /// fetched again. Whether it is worth reading once more.
    fn renew(&self) -> Result<bool> {
        Ok(false)
    }
}

/// Reads once more if what was found damaged was a copy.
pub(crate) fn read_sound<T>(object: &dyn Object, read: impl Fn() -> Result<T>) -> Result<T> {
    match read() {
        Err(Error::Damaged(_)) if object.renew()? => read(),
        outcome => outcome,
    }
}
