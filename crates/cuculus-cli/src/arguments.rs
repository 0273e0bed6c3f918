//! The command line: which commands there are, and errors in it as one line that says what to do.
//! What a command does is in the module of the command.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

#[cfg(feature = "cluster")]
use crate::cluster;
use crate::{build, change, dedup, demo, info, merge, plan, query, shell, uniq};

/// Cuckoo filters for sets that change.
#[derive(Parser)]
#[command(
    name = "cuculus",
    version,
    after_help = "\
Examples:
  cuculus demo                          watch the filters work, in less than a minute
  cuculus plan --items 1M --fpr 0.01    compare what each kind of filter costs
  cuculus uniq access.log               print each line the first time only
  cuculus build seen.cf < keys          build a filter of keys and save it to a file
  cuculus query seen.cf < more-keys     print the keys that it contains
  cuculus completions bash              print completions for a shell

Exit codes: 0 (success), 1 (not found, where that is the question), 2 (an error, as one line),
130 (interrupted with Ctrl-C)."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Watch four filters follow a set from nothing to millions of keys and back
    ///
    /// An elastic filter, a filter of fixed size, a dynamic one (DCF) and a consistent one (CCF) get
    /// the same keys. A table compares them while they work, and a page with plots is written at the
    /// end.
    Demo(demo::Options),
    Uniq(uniq::Options),
    Dedup(dedup::Options),
    Build(build::Options),
    Add(change::Add),
    Remove(change::Remove),
    Query(query::Query),
    Count(query::Count),
    Info(info::Info),
    Verify(info::Verify),
    Merge(merge::Options),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Options),
    /// Compare what each kind of filter costs for a set, and recommend one
    Plan(plan::Options),
    /// Print completions for a shell
    Completions(shell::Completions),
    /// Print the manual page, or write the pages of all commands
    Man(shell::Man),
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Refused> {
        let definition = with_negative_numbers(Self::command());
        let matches = definition.clone().try_get_matches();
        matches.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|error| {
            let (mut at, mut command) = (&definition, "cuculus".to_owned());
            for word in std::env::args_os().skip(1) {
                let Some(found) = at.find_subcommand(&word) else { break };
                at = found;
                command = format!("{command} {}", at.get_name());
            }
            Refused { error, command }
        })
    }
}

/// A number below zero after an option is its value, which says what is wrong with it, and not an
/// unknown option.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action() {
            ArgAction::Set | ArgAction::Append if !arg.is_positional() => {
                arg.allow_negative_numbers(true)
            }
            _ => arg,
        })
        .mut_subcommands(with_negative_numbers)
}

/// Words that other programs know, by the command that does not, and what does it here.
const HINTS: &[(&str, &str, &str)] = &[
    ("cuculus", "stats", "`cuculus info` describes a filter, `cuculus cluster stats` a set"),
    #[cfg(not(feature = "cluster"))]
    (
        "cuculus",
        "cluster",
        "this build is without it; install cuculus-cli with `--features cluster`",
    ),
    ("cuculus", "delete", "`cuculus remove` removes keys"),
    ("cuculus", "contains", "`cuculus query` prints the keys that a filter contains"),
    ("cuculus", "exists", "`cuculus query` prints the keys that a filter contains"),
    ("cuculus", "insert", "`cuculus add` adds keys"),
    ("cuculus", "create", "`cuculus build` makes a filter"),
    (
        "cuculus uniq",
        "-c",
        "lines are printed as they come, without a number; --count prints how many there are, and \
         `cuculus build` and `cuculus count` how often each comes",
    ),
    ("cuculus uniq", "-d", "--repeated prints lines seen before, each time; -t is the delimiter"),
    ("cuculus uniq", "-u", "which lines come only once is known at the end: sort FILE | uniq -u"),
    ("cuculus uniq", "-s", "--state names the file that is continued; --key compares fields"),
    ("cuculus uniq", "-f", "--key compares fields: --key 2- leaves out the first"),
    ("cuculus uniq", "-z", "-0 is for lines that end in a zero byte"),
];

/// Arguments that are not a command, or a request for help or the version.
pub(crate) struct Refused {
    error: clap::Error,
    /// The command whose help explains the mistake.
    command: String,
}

impl Refused {
    pub(crate) fn report(&self) -> ExitCode {
        match self.error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // If the output is closed, nobody is reading.
                let _ = self.error.print();
                ExitCode::SUCCESS
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                let first = if self.command == "cuculus" { "try `cuculus demo`, or " } else { "" };
                let command = &self.command;
                crate::print_error(&format!("no command given; {first}see `{command} --help`"));
                ExitCode::from(crate::ERROR)
            }
            _ => {
                let message = one_line(&self.error.to_string(), self.hint(), &self.command);
                crate::print_error(&message);
                ExitCode::from(crate::ERROR)
            }
        }
    }

    /// What to use instead of a word that another program knows.
    fn hint(&self) -> Option<&'static str> {
        let words = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
        let word = words.into_iter().find_map(|kind| match self.error.get(kind) {
            Some(ContextValue::String(word)) => Some(word),
            _ => None,
        })?;
        let mut hints = HINTS.iter().filter(|(command, ..)| *command == self.command);
        hints.find(|(_, known, _)| known == word).map(|(.., hint)| *hint)
    }
}

/// The error and the tips from clap's paragraphs in one line; a hint in their place. The usage is in the
/// help.
fn one_line(message: &str, hint: Option<&str>, command: &str) -> String {
    let paragraphs = message.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let mut kept: Vec<String> = paragraphs
        .enumerate()
        .filter(|(i, words)| *i == 0 || (hint.is_none() && words.starts_with("tip:")))
        .map(|(_, words)| words)
        .collect();
    kept.extend(hint.map(str::to_owned));
    kept.push(format!("see `{command} --help`"));
    kept.join("; ").trim_start_matches("error: ").replace("tip: ", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_valid() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn errors_keep_the_tip_and_lose_the_usage() {
        let message = "error: unexpected argument '--item' found\n\n  tip: a similar argument \
                       exists: '--items'\n\nUsage: cuculus demo --items <KEYS>\n\nFor more …\n";
        assert_eq!(
            one_line(message, None, "cuculus demo"),
            "unexpected argument '--item' found; a similar argument exists: '--items'; \
             see `cuculus demo --help`"
        );
    }
}
