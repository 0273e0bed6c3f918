//! What can be typed, and complaints about it in one line with the remedy.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::{build, change, demo, info, merge, plan, query, shell, uniq};

/// Cuckoo filters for sets that change.
#[derive(Parser)]
#[command(
    name = "cuculus",
    version,
    after_help = "\
Examples:
  cuculus demo                             see the filters at work, in less than a minute
  cuculus plan --items 1M --fpr 0.01       what each kind of filter would cost
  cuculus uniq access.log                  each line the first time only
  cuculus build seen.cf < keys             a filter of keys, in a file
  cuculus query seen.cf < more-keys        those that it contains
  cuculus completions bash                 completions for a shell

Exit codes: 0, 1 (not found, where that is the question), 2 (an error, said in one line)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// See four filters follow a set from nothing to millions of keys and back
    ///
    /// An elastic filter, a fixed one, a dynamic one (DCF) and a consistent one (CCF) take the same
    /// keys; a table shows how they fare, and a page with plots is written.
    Demo(demo::Options),
    Uniq(uniq::Options),
    Build(build::Options),
    Add(change::Add),
    Remove(change::Remove),
    Query(query::Query),
    Count(query::Count),
    Info(info::Info),
    Verify(info::Verify),
    Merge(merge::Options),
    /// Tell what each kind of filter costs for a set, and which one to take
    Plan(plan::Options),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Print the manual page, or write the pages of all commands
    Man(shell::Man),
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Refused> {
        Self::try_parse().map_err(|error| {
            let first = std::env::args_os().nth(1).unwrap_or_default();
            let commands = Self::command();
            let command = commands
                .find_subcommand(&first)
                .map_or("cuculus".into(), |command| format!("cuculus {}", command.get_name()));
            Refused { error, command }
        })
    }
}

/// Arguments that are no command, or a question about the commands.
pub(crate) struct Refused {
    error: clap::Error,
    /// The command whose help has the remedy.
    command: String,
}

impl Refused {
    pub(crate) fn report(&self) -> ExitCode {
        match self.error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // A reader that has left has seen enough.
                let _ = self.error.print();
                ExitCode::SUCCESS
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                crate::complain(
                    "no command; `cuculus demo` is a good one, `cuculus --help` has all",
                );
                ExitCode::from(crate::ERROR)
            }
            _ => {
                crate::complain(&one_line(&self.error.to_string(), &self.command));
                ExitCode::from(crate::ERROR)
            }
        }
    }
}

/// The complaint and the tips out of clap's paragraphs; the usage stands in the help.
fn one_line(message: &str, command: &str) -> String {
    let paragraphs = message.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let mut kept: Vec<String> = paragraphs
        .enumerate()
        .filter(|(i, words)| *i == 0 || words.starts_with("tip:"))
        .map(|(_, words)| words)
        .collect();
    kept.push(format!("`{command} --help` says more"));
    kept.join("; ").trim_start_matches("error: ").replace("tip: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn complaints_keep_the_tip_and_lose_the_usage() {
        let message = "error: unexpected argument '--item' found\n\n  tip: a similar argument \
                       exists: '--items'\n\nUsage: cuculus demo --items <KEYS>\n\nFor more …\n";
        assert_eq!(
            one_line(message, "cuculus demo"),
            "unexpected argument '--item' found; a similar argument exists: '--items'; \
             `cuculus demo --help` says more"
        );
    }
}
