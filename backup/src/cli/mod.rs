//! The command line. Each command turns its arguments into a call of the library, and the result
//! into lines for people or JSON for programs.

mod arguments; // options and subcommands
mod chosen; // find, dump, tag, copy
mod commands; // what each subcommand does
mod lists; // paths and patterns in files
mod passphrase; // where a passphrase comes from, the subcommands of `key`
mod progress; // progress bars
mod text; // numbers, times and names for people

use std::fmt;

pub(crate) use arguments::Arguments;
pub(crate) use commands::run;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Damage was found.
    CheckFailed,
    /// Some files were left out; each was reported.
    Incomplete,
}

/// Why a command failed.
pub(crate) enum Failure {
    /// An option is missing or wrong; the message names the remedy.
    Usage(&'static str),
    Backup(cuculus_backup::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

fn usage(message: &'static str) -> Failure {
    Failure::Usage(message)
}

impl From<cuculus_backup::Error> for Failure {
    fn from(error: cuculus_backup::Error) -> Self {
        Self::Backup(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Backup(error) => error.fmt(f),
        }
    }
}
