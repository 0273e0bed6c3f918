//! The command line. Each command turns its arguments into a call of the library, and the result
//! into lines for people or JSON for programs.

mod arguments; // options and subcommands
mod chosen; // find, tag, copy
mod commands; // what each subcommand does
mod lists; // paths and patterns in files
mod passphrase; // where a passphrase comes from, the subcommands of `key`
mod progress; // progress bars
mod text; // numbers, times and names for people

pub(crate) use arguments::{Arguments, report};
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

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An option is missing or wrong; the message names the remedy.
    #[error("{0}")]
    Usage(&'static str),
    #[error(transparent)]
    Backup(#[from] cuculus_backup::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Failure>;

fn usage(message: &'static str) -> Failure {
    Failure::Usage(message)
}
