//! What can go wrong: one variant per situation, each displayed as one line with the remedy. Knows
//! nothing of how a situation came about.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::id::{ChunkId, Name};
use crate::store::ObjectKind;

/// Why an operation on a repository or on files failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system or a server reported an error.
    Io {
        /// What was tried, for example "cannot read /a/b".
        what: String,
        /// The error it caused.
        source: io::Error,
    },
    /// Stored bytes are not what was written.
    Damaged(Damage),
    /// There is no repository at this location.
    NotARepository {
        /// The directory, `s3://BUCKET/PREFIX` or `sftp://HOST/PATH`.
        location: String,
    },
    /// The repository has a format version that this program does not read.
    UnknownVersion {
        /// The last byte of the magic bytes; `1` and `2` are supported.
        found: char,
    },
    /// A new repository, or a restore, needs an empty place.
    NotEmpty {
        /// The directory, `s3://BUCKET/PREFIX` or `sftp://HOST/PATH`.
        location: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A parameter of a new repository is out of range.
    InvalidParameters,
    /// The repository is encrypted, and no passphrase was given.
    PassphraseNeeded,
    /// No key of the repository opens with this passphrase.
    WrongPassphrase,
    /// A passphrase was given, and the repository is not encrypted: somebody may have replaced it.
    UnwantedPassphrase,
    /// The repository is not the one that this machine knows at this location.
    RepositoryChanged {
        /// Where it is.
        location: String,
        /// The id of the repository that was here, and whether it was encrypted.
        known: (String, bool),
        /// The id of the repository that is here, as far as it is known, and whether it is
        /// encrypted.
        found: (Option<String>, bool),
    },
    /// What this machine remembers of a repository cannot be read.
    DamagedPin {
        /// The file.
        path: PathBuf,
    },
    /// The repository is not encrypted, so it has no passphrases.
    NotEncrypted,
    /// The repository is encrypted, and its last key file is gone.
    NoKeys,
    /// The new passphrase already opens the repository.
    PassphraseInUse,
    /// This is the last key; without it nobody can read the repository.
    LastKey,
    /// The key to remove belongs to the passphrase that opened the repository.
    KeyInUse,
    /// The repository has no snapshot yet.
    NoSnapshots,
    /// There are snapshots, but none that the filter chooses.
    NoMatchingSnapshot,
    /// A path of a snapshot is a directory or a link, not a file.
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The name for what is read from standard input is not a name of a file.
    InvalidFileName {
        /// What was given.
        name: String,
    },
    /// No snapshot or key has a name that begins like this.
    NotFound {
        /// What was looked for.
        kind: ObjectKind,
        /// The beginning of the name.
        prefix: String,
    },
    /// Several snapshots or keys have names that begin like this.
    Ambiguous {
        /// What was looked for.
        kind: ObjectKind,
        /// The beginning of the name.
        prefix: String,
    },
    /// A path is not in a snapshot.
    PathNotFound {
        /// The path.
        path: PathBuf,
        /// The snapshot.
        snapshot: Name,
    },
    /// A directory stands where a restore would write a file.
    DirectoryInTheWay,
    /// An exclude pattern is not a valid glob.
    InvalidPattern {
        /// The pattern.
        pattern: String,
        /// Why it is not valid.
        reason: String,
    },
    /// A backup was called without any path.
    NothingToBackUp,
    /// `forget` was called with neither names nor rules.
    NothingToForget,
    /// [`PruneOptions::max_unused`](crate::PruneOptions::max_unused) is negative or not a number.
    InvalidMaxUnused(f64),
    /// A directory is too large for a repository of version 1, which could not read it back.
    TooLargeForVersion1,
    /// The store confirmed a write, and what was written cannot be found.
    LostWrite {
        /// What was written.
        kind: ObjectKind,
        /// Its name.
        name: Name,
    },
    /// Another process is changing the index of the repository.
    Busy {
        /// The process and its machine.
        by: String,
    },
    /// Another machine saw no sign of life from this run for a day and declared it dead.
    DeclaredDead,
    /// Objects cannot be read, for reasons that may not be damage.
    Unreadable {
        /// What was reported, one entry per object.
        errors: Vec<String>,
    },
    /// The location is in a bucket, and this program was built without S3.
    BuiltWithoutS3,
    /// The location is on another machine, and this program was built without SFTP.
    BuiltWithoutSftp,
    /// The location is not of the form that its beginning promises.
    InvalidLocation {
        /// What was given.
        location: String,
        /// What is wrong with it.
        reason: &'static str,
        /// The form.
        form: &'static str,
    },
    /// An environment variable has a value that cannot be used.
    InvalidSetting {
        /// The variable.
        variable: &'static str,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// An SFTP server cannot do what a repository needs.
    ServerLacks {
        /// The server.
        server: String,
        /// What it cannot do.
        what: &'static str,
    },
    /// There is no such bucket.
    NoSuchBucket {
        /// What was tried.
        what: String,
        /// The S3 server.
        server: String,
    },
    /// The S3 server refused access.
    AccessDenied {
        /// What was tried.
        what: String,
        /// The S3 server.
        server: String,
        /// The code in its answer.
        code: String,
    },
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamagedPart {
    /// An object of the repository.
    Object {
        /// Its kind.
        kind: ObjectKind,
        /// Its name.
        name: Name,
    },
    /// A chunk that is needed and that no index run has.
    MissingChunk(ChunkId),
    /// A directory stored in a snapshot.
    Directory,
    /// The list of chunks of a file stored in a snapshot.
    ChunkList,
}

/// The outcome of most calls of this crate.
pub type Result<T> = std::result::Result<T, Error>;

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

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            DamagedPart::Object { kind, name } => {
                write!(f, "{} is damaged", kind.describe(name))?;
            }
            DamagedPart::MissingChunk(id) => write!(f, "chunk {id} is not in the index")?,
            DamagedPart::Directory => f.write_str("a stored directory is damaged")?,
            DamagedPart::ChunkList => f.write_str("the list of chunks is damaged")?,
        }
        if !self.detail.is_empty() {
            write!(f, " ({})", self.detail)?;
        }
        match &self.snapshot {
            Some(snapshot) => write!(f, ", needed by a directory of snapshot {snapshot}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Damaged(damage) => write!(
                f,
                "{damage}; `cuculus-backup check` lists the damage, and `repair` removes it"
            ),
            Self::NotARepository { location } => write!(
                f,
                "{location} is not a repository; create one with \
                 `cuculus-backup --repo {location} init`"
            ),
            Self::UnknownVersion { found } => write!(
                f,
                "the repository has format version {found:?}, and this program reads versions 1 and \
                 2; \
                 use a newer cuculus-backup"
            ),
            Self::NotEmpty { location, remedy } => write!(f, "{location} is not empty; {remedy}"),
            Self::InvalidParameters => f.write_str(
                "the mean chunk size must be a power of two from 1 KiB to 1 MiB, the zstd level \
                 from -7 to 22, the memory for a passphrase from 19 to 256 MiB, and its passes from \
                 2 to 16 with at most 1 GiB in all",
            ),
            Self::PassphraseNeeded => f.write_str(
                "the repository is encrypted; set CUCULUS_BACKUP_PASSPHRASE, or use \
                 --passphrase-file or --passphrase-command",
            ),
            Self::WrongPassphrase => f.write_str("wrong passphrase (or a damaged key); try again"),
            Self::UnwantedPassphrase => f.write_str(
                "a passphrase was given, but the repository is not encrypted: somebody may have \
                 replaced it, and what is backed up could be read; if it should be like this, give \
                 no passphrase",
            ),
            Self::RepositoryChanged { location, known, found } => {
                let mode = |encrypted: bool| if encrypted { "encrypted" } else { "not encrypted" };
                let short = |id: &str| id.get(..8).unwrap_or(id).to_owned();
                let id = found.0.as_deref().map_or("another one".into(), short);
                write!(
                    f,
                    "{location} has changed: it was repository {} ({}) and is now {id} ({}); \
                     somebody may have replaced it; if you did, use --new-repository-id",
                    short(&known.0),
                    mode(known.1),
                    mode(found.1),
                )
            }
            Self::DamagedPin { path } => write!(
                f,
                "{} is damaged, so nobody knows whether this is the same repository as before; \
                 remove the file to trust the repository as it is",
                path.display()
            ),
            Self::NotEncrypted => {
                f.write_str("the repository is not encrypted, so it has no passphrase")
            }
            Self::NoKeys => f.write_str(
                "the repository has no key left; restore its `keys` directory from a copy",
            ),
            Self::PassphraseInUse => {
                f.write_str("the new passphrase already opens the repository; choose another")
            }
            Self::LastKey => f.write_str(
                "this is the only key, and without one nobody can read the repository; \
                 `cuculus-backup key change` replaces its passphrase",
            ),
            Self::KeyInUse => f.write_str(
                "this key belongs to the passphrase that you gave; give another one to remove it",
            ),
            Self::NoSnapshots => {
                f.write_str("the repository has no snapshot yet; `backup PATH` takes one")
            }
            Self::NoMatchingSnapshot => f.write_str(
                "no snapshot has this host, these tags and these paths; `snapshots` lists them",
            ),
            Self::NotAFile { path } => write!(
                f,
                "{} is not a file; `restore --include` restores directories and links",
                path.display()
            ),
            Self::InvalidFileName { name } => {
                write!(f, "{name:?} is not the name of a file; choose one without a slash")
            }
            Self::NotFound { kind, prefix } => {
                let list = match kind {
                    ObjectKind::Key => "key list",
                    ObjectKind::Intent => "unlock",
                    _ => "snapshots",
                };
                write!(
                    f,
                    "there is no {} {prefix:?}; `cuculus-backup {list}` lists them",
                    kind.noun()
                )
            }
            Self::Ambiguous { kind, prefix } => write!(
                f,
                "several {}s begin with {prefix:?}; give more digits of the name",
                kind.noun()
            ),
            Self::PathNotFound { path, snapshot } => {
                let (path, snapshot) = (path.display(), snapshot.short());
                write!(f, "{path} is not in snapshot {snapshot}; `ls {snapshot}` lists its paths")
            }
            Self::DirectoryInTheWay => {
                f.write_str("a directory is in the way; remove it, or restore to another directory")
            }
            Self::InvalidPattern { pattern, reason } => {
                write!(f, "the pattern {pattern:?} is not valid: {reason}")
            }
            Self::NothingToBackUp => f.write_str("nothing to back up; name a file or a directory"),
            Self::NothingToForget => f.write_str(
                "nothing to forget; name snapshots, or use a rule such as --keep-last 10",
            ),
            Self::InvalidMaxUnused(found) => write!(
                f,
                "--max-unused must be a percentage from 0 to 100000000, not {}",
                100.0 * found
            ),
            Self::TooLargeForVersion1 => f.write_str(
                "a directory is too large for a repository of version 1; `copy` its snapshots to a \
                 new repository and back up there",
            ),
            Self::LostWrite { kind, name } => write!(
                f,
                "{} was written and cannot be found; the storage loses data: use another",
                kind.describe(name)
            ),
            Self::Busy { by } => {
                write!(f, "{by} is changing this repository; try again when it has finished")
            }
            Self::DeclaredDead => f.write_str(
                "another machine saw no sign of life from this run for a day and declared it dead; \
                 run the command again",
            ),
            Self::Unreadable { errors } => write!(
                f,
                "not everything can be read, which may not be damage: {}; copy the repository to \
                 another disk and repair the copy",
                errors.join("; ")
            ),
            Self::BuiltWithoutS3 => f.write_str(
                "this cuculus-backup was built without S3; \
                 install it with `cargo install cuculus-backup --features s3`",
            ),
            Self::BuiltWithoutSftp => f.write_str(
                "this cuculus-backup was built without SFTP; \
                 install it with `cargo install cuculus-backup --features sftp`",
            ),
            Self::InvalidLocation { location, reason, form } => {
                write!(f, "{location}: {reason}; use {form}")
            }
            Self::InvalidSetting { variable, reason } => write!(f, "{variable} {reason}"),
            Self::ServerLacks { server, what } => write!(
                f,
                "{server} cannot {what}, so a crash could lose what it stores; use a server such as \
                 OpenSSH 6.5 or newer"
            ),
            Self::NoSuchBucket { what, server } => {
                write!(f, "{what}: there is no such bucket at {server}; create it first")
            }
            Self::AccessDenied { what, server, code } => write!(
                f,
                "{what}: {server} refuses access ({code}); check AWS_ACCESS_KEY_ID, \
                 AWS_SECRET_ACCESS_KEY, AWS_REGION and their permissions"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
