//! The commands. Each turns what was typed into a call of the library, and what it returned into
//! lines for people or JSON for programs.

mod arguments; // what can be typed
mod commands; // what is done about it
mod keys; // of these, what is done about passphrases
mod passphrase; // where a passphrase comes from
mod progress; // how far it is
mod text; // numbers, times and names

pub(crate) use arguments::Arguments;
pub(crate) use commands::run;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The answer to the question was no: something is hurt, something does not agree.
    No,
    /// Some files were left out; each was named.
    Partly,
}
