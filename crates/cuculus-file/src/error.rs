//! Why a file cannot be replaced, in one line that says what to do. Knows names, nothing of bytes.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A file that cannot be replaced. It is unchanged, unless the error says otherwise.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Another process, or another thread of this one, is writing it.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A directory, a device, a pipe or a socket.
    NotRegular {
        /// What is there.
        path: PathBuf,
    },
    /// A symbolic link to a file that does not exist.
    Dangling {
        /// The link.
        path: PathBuf,
        /// What it says.
        to: PathBuf,
    },
    /// The operating system refused.
    System {
        /// What could not be done.
        what: String,
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Self {
        let what = format!("cannot write {}", shown(path));
        Self::System { what, path: path.to_owned(), error }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { path } => write!(
                f,
                "{} is being written by another process; try again when it has ended",
                shown(path)
            ),
            Self::NotRegular { path } => {
                write!(f, "{} is not a regular file; choose another", shown(path))
            }
            Self::Dangling { path, to } => write!(
                f,
                "{} is a link to {}, which does not exist; remove the link, or name the file itself",
                shown(path),
                shown(to)
            ),
            Self::System { what, error, .. } => write!(f, "{what}: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A file name in a message: quoted and escaped if it has characters that would change the terminal
/// or the line.
#[must_use]
pub fn shown(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.is_empty() && !text.chars().any(char::is_control) => text.to_owned(),
        _ => format!("{path:?}"),
    }
}
