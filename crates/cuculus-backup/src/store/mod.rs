//! Where a repository's objects are kept. Knows kinds, names and bytes; nothing of what is in
//! them. An object appears whole or not at all, is durable once it is there, and never changes
//! (but for the digest and the intents, which are replaced whole).

mod local; // a directory

use std::io::Write;

use crate::error::Result;
use crate::id::Name;

pub(crate) use local::LocalStore;

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

    pub(crate) fn is_single(self) -> bool {
        matches!(self, Self::Config | Self::Digest)
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
    /// Begins an object that has no name yet. Dropped, it leaves nothing.
    fn draft(&self, kind: Kind) -> Result<Box<dyn Draft>>;

    /// All names of a kind with their sizes in bytes, in no order.
    fn list(&self, kind: Kind) -> Result<Vec<(Name, u64)>>;

    /// An object to read from here and there.
    fn open(&self, kind: Kind, name: &Name) -> Result<Box<dyn Object>>;

    /// Removes an object. One that is gone already is no error: the crash that we go on after may
    /// have come later than the removal.
    fn remove(&self, kind: Kind, name: &Name) -> Result<()>;

    /// Removes what drafts of dead processes left behind; returns bytes.
    fn sweep_drafts(&self) -> Result<u64>;

    /// Writes a whole object, replacing one of the same name.
    fn put(&self, kind: Kind, name: &Name, bytes: &[u8]) -> Result<()> {
        let mut draft = self.draft(kind)?;
        let write = draft.write_all(bytes);
        write.map_err(crate::Error::io(format!("cannot write {}", kind.describe(name))))?;
        draft.keep(name)
    }

    /// Reads a whole object.
    fn get(&self, kind: Kind, name: &Name) -> Result<Vec<u8>> {
        let object = self.open(kind, name)?;
        object.read_at(0, object.len())
    }
}

pub(crate) trait Draft: Write + Send {
    /// Makes it durable under its name.
    fn keep(self: Box<Self>, name: &Name) -> Result<()>;
}

pub(crate) trait Object: Send + Sync {
    fn len(&self) -> u64;

    /// Exactly these bytes, or an error; nothing is allocated for bytes that are not there.
    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>>;
}
