//! What can go wrong, each in one line with what to do. Knows nothing of how it came about.

use std::fmt;
use std::io;
use std::path::Path;

/// Why an operation on a repository or on files failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    Io {
        /// What was tried, as in "cannot read /a/b".
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes of the repository are not what was written.
    Damaged(String),
    /// What was asked for is not there.
    NotFound(String),
    /// What was asked for cannot be done, with the remedy.
    Refused(String),
}

/// The outcome of most calls here.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    pub(crate) fn at(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::io(format!("cannot {doing} {}", path.display()))
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }

    pub(crate) fn refused(what: impl Into<String>) -> Self {
        Self::Refused(what.into())
    }

    /// Whether an object of the repository is missing: it may have been replaced meanwhile.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { what, source } => write!(f, "{what}: {source}"),
            Self::Damaged(what) => {
                write!(
                    f,
                    "{what} is damaged; `cuculus-backup check` tells what is hurt, `repair` takes it out"
                )
            }
            Self::NotFound(what) | Self::Refused(what) => f.write_str(what),
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
