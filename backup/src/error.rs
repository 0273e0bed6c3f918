//! What can go wrong: one variant per situation, each displayed as one line with the remedy. Knows
//! nothing of how a situation came about.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::id::{ChunkId, Name};
use crate::store::ObjectKind;

/// Why an operation on a repository or on files failed.
///
/// A location is a directory, `s3://BUCKET/PREFIX` or `sftp://HOST/PATH`; `what` is what was tried, such as
/// "cannot read /a/b".
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
#[non_exhaustive]
pub enum Error {
    /// The operating system or a server reported an error.
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    /// Stored bytes are not what was written.
    #[error("{0}; `cuculus-backup check` lists the damage, and `repair` removes it")]
    Damaged(Damage),
    /// There is no repository at this location.
    #[error(
        "{location} is not a repository; create one with `cuculus-backup --repo {location} init`"
    )]
    NotARepository { location: String },
    /// The repository has a format version that this program does not read.
    #[error(
        "the repository has format version {found:?}, and this program reads version 1; \
         use a newer cuculus-backup"
    )]
    UnknownVersion {
        /// The last byte of the magic bytes.
        found: char,
    },
    /// A new repository, or a restore, needs an empty place.
    #[error("{location} is not empty; {remedy}")]
    NotEmpty { location: String, remedy: &'static str },
    /// A parameter of a new repository is out of range.
    #[error(
        "the mean chunk size must be a power of two from 1 KiB to 1 MiB, the zstd level from -7 to 22, \
         the memory for a passphrase from 19 to 256 MiB, and its passes from 2 to 16 with at most 1 GiB \
         in all"
    )]
    InvalidParameters,
    /// The repository is encrypted, and no passphrase was given.
    #[error(
        "the repository is encrypted; set CUCULUS_BACKUP_PASSPHRASE, or use --passphrase-file or \
         --passphrase-command"
    )]
    PassphraseNeeded,
    /// No key of the repository opens with this passphrase.
    #[error("wrong passphrase (or a damaged key); try again")]
    WrongPassphrase,
    /// A passphrase was given, and the repository is not encrypted: somebody may have replaced it.
    #[error(
        "a passphrase was given, but the repository is not encrypted: somebody may have replaced it, \
         and what is backed up could be read; if it should be like this, give no passphrase"
    )]
    UnwantedPassphrase,
    /// The repository is not the one that this machine knows at this location.
    #[error(
        "{location} has changed: it was repository {} ({}) and is now {} ({}); somebody may have \
         replaced it; if you did, use --new-repository-id",
        short(&.known.0), mode(.known.1), .found.0.as_deref().map_or("another one", short), mode(.found.1)
    )]
    RepositoryChanged {
        location: String,
        /// The id of the repository that was here, and whether it was encrypted.
        known: (String, bool),
        /// The id of the repository that is here, as far as it is known, and whether it is encrypted.
        found: (Option<String>, bool),
    },
    /// What this machine remembers of a repository cannot be read.
    #[error(
        "{} is damaged, so nobody knows whether this is the same repository as before; remove the \
         file to trust the repository as it is",
        .path.display()
    )]
    DamagedPin { path: PathBuf },
    /// The repository is not encrypted, so it has no passphrases.
    #[error("the repository is not encrypted, so it has no passphrase")]
    NotEncrypted,
    /// The repository is encrypted, and its last key file is gone.
    #[error("the repository has no key left; restore its `keys` directory from a copy")]
    NoKeys,
    /// The new passphrase already opens the repository.
    #[error("the new passphrase already opens the repository; choose another")]
    PassphraseInUse,
    /// This is the last key; without it nobody can read the repository.
    #[error(
        "this is the only key, and without one nobody can read the repository; \
         `cuculus-backup key change` replaces its passphrase"
    )]
    LastKey,
    /// The key to remove belongs to the passphrase that opened the repository.
    #[error("this key belongs to the passphrase that you gave; give another one to remove it")]
    KeyInUse,
    /// The repository has no snapshot yet.
    #[error("the repository has no snapshot yet; `backup PATH` takes one")]
    NoSnapshots,
    /// There are snapshots, but none that the filter chooses.
    #[error("no snapshot has this host, these tags and these paths; `snapshots` lists them")]
    NoMatchingSnapshot,
    /// A path of a snapshot is a directory or a link, not a file.
    #[error("{} is not a file; `restore --include` restores directories and links", .path.display())]
    NotAFile { path: PathBuf },
    /// The name for what is read from standard input is not a name of a file.
    #[error("{name:?} is not the name of a file; choose one without a slash")]
    InvalidFileName { name: String },
    /// No snapshot or key has a name that begins like this.
    #[error("there is no {} {prefix:?}; `cuculus-backup {}` lists them", .kind.noun(), list(*.kind))]
    NotFound { kind: ObjectKind, prefix: String },
    /// Several snapshots or keys have names that begin like this.
    #[error("several {}s begin with {prefix:?}; give more digits of the name", .kind.noun())]
    Ambiguous { kind: ObjectKind, prefix: String },
    /// A path is not in a snapshot.
    #[error(
        "{} is not in snapshot {id}; `ls {id}` lists its paths", .path.display(), id = .snapshot.short()
    )]
    PathNotFound { path: PathBuf, snapshot: Name },
    /// A directory stands where a restore would write a file.
    #[error("a directory is in the way; remove it, or restore to another directory")]
    DirectoryInTheWay,
    /// An exclude pattern is not a valid glob.
    #[error("the pattern {pattern:?} is not valid: {reason}")]
    InvalidPattern { pattern: String, reason: String },
    /// A backup was called without any path.
    #[error(
        "nothing to back up; name files and directories, or use --files-from or --stdin; see \
         `cuculus-backup --help`"
    )]
    NothingToBackUp,
    /// `forget` was called with neither names nor rules.
    #[error("nothing to forget; name snapshots, or use a rule such as --keep-last 10")]
    NothingToForget,
    /// [`PruneOptions::max_unused`](crate::PruneOptions::max_unused) is negative or not a number.
    #[error("--max-unused must be a percentage from 0 to 100000000, not {}", 100.0 * .0)]
    InvalidMaxUnused(f64),
    /// The store confirmed a write, and what was written cannot be found.
    #[error(
        "{} was written and cannot be found; the storage loses data: use another", .kind.describe(.name)
    )]
    LostWrite { kind: ObjectKind, name: Name },
    /// Another process is changing the index of the repository.
    #[error("{by} is changing this repository; try again when it has finished")]
    Busy { by: String },
    /// Another machine saw no sign of life from this run for a day and declared it dead.
    #[error(
        "another machine saw no sign of life from this run for a day and declared it dead; run the \
         command again"
    )]
    DeclaredDead,
    /// Objects cannot be read, for reasons that may not be damage.
    #[error(
        "not everything can be read, which may not be damage: {}; copy the repository to another disk \
         and repair the copy",
        .errors.join("; ")
    )]
    Unreadable { errors: Vec<String> },
    /// The location is in a bucket or on another machine, and this program was built without that.
    #[error(
        "this cuculus-backup was built without {feature}; install it with `cargo install \
         cuculus-backup --features {feature}`"
    )]
    BuiltWithout { feature: &'static str },
    /// The location is not of the form that its beginning promises.
    #[error("{location}: {reason}; use {form}")]
    InvalidLocation { location: String, reason: &'static str, form: &'static str },
    /// An environment variable has a value that cannot be used.
    #[error("{variable} {reason}")]
    InvalidSetting { variable: &'static str, reason: String },
    /// An SFTP server cannot do what a repository needs.
    #[error(
        "{server} cannot {what}, so a crash could lose what it stores; use a server such as OpenSSH \
         6.5 or newer"
    )]
    ServerLacks { server: String, what: &'static str },
    /// There is no such bucket.
    #[error("{what}: there is no such bucket at {server}; create it first")]
    NoSuchBucket { what: String, server: String },
    /// The S3 server refused access.
    #[error(
        "{what}: {server} refuses access ({code}); check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, \
         AWS_REGION and their permissions"
    )]
    AccessDenied { what: String, server: String, code: String },
}

fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn mode(is_encrypted: bool) -> &'static str {
    if is_encrypted { "encrypted" } else { "not encrypted" }
}

/// The command that lists the objects of a kind.
fn list(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Key => "key list",
        ObjectKind::Intent => "unlock",
        _ => "snapshots",
    }
}

/// Part of a repository whose bytes are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// What is damaged.
    pub part: DamagedPart,
    /// More about it; may be empty.
    pub detail: String,
    /// The snapshot that needs it, if the damage was found on the way through one.
    pub snapshot: Option<Name>,
}

/// What can be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DamagedPart {
    /// An object of the repository, by its kind and name.
    #[error("{} is damaged", .kind.describe(.name))]
    #[allow(missing_docs, reason = "said above")]
    Object { kind: ObjectKind, name: Name },
    /// A chunk that is needed and that no index run has.
    #[error("chunk {0} is not in the index")]
    MissingChunk(ChunkId),
    /// A directory stored in a snapshot.
    #[error("a stored directory is damaged")]
    Directory,
    /// The list of chunks of a file stored in a snapshot.
    #[error("the list of chunks is damaged")]
    ChunkList,
}

/// The outcome of most calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn at(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("cannot {doing} {}", path.display()))
    }

    /// An object that is damaged.
    pub(crate) fn damaged(kind: ObjectKind, name: &Name) -> Self {
        Self::damage(DamagedPart::Object { kind, name: *name }, "")
    }

    pub(crate) fn damage(part: DamagedPart, detail: impl Into<String>) -> Self {
        Self::Damaged(Damage { part, detail: detail.into(), snapshot: None })
    }

    /// Adds more about damage; other errors stay as they are.
    pub(crate) fn with_detail(mut self, text: impl Into<String>) -> Self {
        if let Self::Damaged(damage) = &mut self {
            damage.detail = text.into();
        }
        self
    }

    /// Whether an object of the repository is missing: it may have been replaced since the listing.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// `None` if the object is missing: it may have been removed since the listing.
pub(crate) fn if_there<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(error) if error.is_missing() => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// `None` if it is damaged.
pub(crate) fn if_sound<T>(outcome: Result<T>) -> Result<Option<T>> {
    match outcome {
        Err(Error::Damaged(_)) => Ok(None),
        outcome => outcome.map(Some),
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.part.fmt(f)?;
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        match &self.snapshot {
            Some(snapshot) => write!(f, ", needed by a directory of snapshot {snapshot}"),
            None => Ok(()),
        }
    }
}
