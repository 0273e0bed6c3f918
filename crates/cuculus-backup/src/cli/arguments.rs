//! What can be typed, and complaints about it in one line.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

/// Deduplicating backups that need little memory.
///
/// Exit codes: 0 done; 1 the answer is no (check found damage, the digest does not agree); 2 an
/// error, nothing was done; 3 done, but some files were left out, each named on standard error.
#[derive(Parser)]
#[command(name = "cuculus-backup", version)]
pub(crate) struct Arguments {
    /// Where the repository is: a directory, or s3://BUCKET/PREFIX
    #[arg(long, short, value_name = "PLACE", env = "CUCULUS_BACKUP_REPO", global = true)]
    pub(crate) repo: Option<PathBuf>,
    /// A file with the passphrase in its first line
    #[arg(long, value_name = "FILE", env = "CUCULUS_BACKUP_PASSPHRASE_FILE", global = true)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// A command that prints the passphrase
    #[arg(long, value_name = "COMMAND", env = "CUCULUS_BACKUP_PASSPHRASE_COMMAND", global = true)]
    pub(crate) passphrase_command: Option<String>,
    /// Another directory than ~/.cache/cuculus-backup for the index of a repository on S3
    #[arg(long, value_name = "DIR", env = "CUCULUS_BACKUP_CACHE_DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a new repository
    Init(Init),
    /// Take a snapshot of files and directories
    Backup(Backup),
    /// List the snapshots
    Snapshots,
    /// List what is in a snapshot
    Ls {
        /// The beginning of a snapshot's name, or `latest`
        snapshot: String,
        /// Only this path and what is below
        path: Option<PathBuf>,
        /// Modes, owners, sizes and times too
        #[arg(long, short)]
        long: bool,
    },
    /// List what differs between two snapshots
    Diff {
        /// The first
        first: String,
        /// The second
        second: String,
    },
    /// Write a snapshot's files to a directory
    Restore(Restore),
    /// Remove snapshots, by name or by age
    Forget(Forget),
    /// Remove what no snapshot needs
    Prune(Prune),
    /// Check that every snapshot can be restored
    Check {
        /// Read and verify every byte of every pack
        #[arg(long)]
        read_data: bool,
    },
    /// Take out what is damaged, so that the next backup stores it again
    ///
    /// Reads every pack, moves what is sound out of damaged ones, and names the files that have lost
    /// something. Exit code 1 if there are such files.
    Repair,
    /// The passphrases of a repository
    #[command(subcommand)]
    Key(Key),
    /// Print sizes
    Stats,
    /// Compare the chunk digest with the index
    VerifyDigest {
        /// Make it anew if they do not agree
        #[arg(long)]
        repair: bool,
    },
}

#[derive(Args)]
pub(crate) struct Init {
    /// Keep everything readable for whoever can read the repository
    #[arg(long)]
    pub(crate) no_encryption: bool,
    /// The mean length of a chunk in KiB, a power of two
    #[arg(long, value_name = "KIB", default_value_t = 8)]
    pub(crate) chunk_size: u32,
    /// The level of zstd, -7 to 22
    #[arg(long, value_name = "LEVEL", default_value_t = 3, allow_negative_numbers = true)]
    pub(crate) compression: i32,
}

#[derive(Args)]
pub(crate) struct Backup {
    /// What to save
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Leave out what matches: names (`*.o`), or paths if there is a slash (`/home/*/cache`)
    #[arg(long, short, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Leave out other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,
    /// Read every file, even if it seems unchanged
    #[arg(long)]
    pub(crate) read_all: bool,
    /// A word to find the snapshot by
    #[arg(long, value_name = "WORD")]
    pub(crate) tag: Vec<String>,
    /// Another name for this machine
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Another time than now, as in 2026-01-31T12:00:00Z
    #[arg(long)]
    pub(crate) time: Option<jiff::Timestamp>,
    /// Only say what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Restore {
    /// The beginning of a snapshot's name, or `latest`
    pub(crate) snapshot: String,
    /// The directory to write below
    #[arg(long, short)]
    pub(crate) target: PathBuf,
    /// Only this path of the snapshot and what is below
    #[arg(long, short, value_name = "PATH")]
    pub(crate) include: Vec<PathBuf>,
    /// Replace files that are in the way
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Read and verify everything, write nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Forget {
    /// The beginnings of snapshots' names
    pub(crate) snapshots: Vec<String>,
    /// Keep the newest N
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_last: usize,
    /// Keep the newest of each of the last N days that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_daily: usize,
    /// The same for weeks
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_weekly: usize,
    /// The same for months
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_monthly: usize,
    /// Remove what is no longer needed, too
    #[arg(long)]
    pub(crate) prune: bool,
    /// Only say what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Prune {
    /// Unused bytes that may stay, in per cent of those in use
    #[arg(long, value_name = "PER CENT", default_value_t = 5.0)]
    pub(crate) max_unused: f64,
    /// Only say what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Subcommand)]
pub(crate) enum Key {
    /// List the keys, one for each passphrase
    List,
    /// Let one more passphrase open the repository
    Add(NewPassphrase),
    /// Put a new passphrase in the place of the one that is given
    #[command(visible_alias = "passwd")]
    Change(NewPassphrase),
    /// Let a passphrase open the repository no longer
    Remove {
        /// The beginning of a key's name
        key: String,
    },
}

#[derive(Args)]
pub(crate) struct NewPassphrase {
    /// A file with the new passphrase in its first line
    #[arg(long, value_name = "FILE")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// A command that prints the new passphrase
    #[arg(long, value_name = "COMMAND")]
    pub(crate) new_passphrase_command: Option<String>,
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Refused> {
        Self::try_parse().map_err(Refused)
    }
}

/// Arguments that are no command, or a question about the commands.
pub(crate) struct Refused(clap::Error);

impl Refused {
    pub(crate) fn report(&self) -> ExitCode {
        match self.0.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // A reader that has left has seen enough.
                let _ = self.0.print();
                ExitCode::SUCCESS
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                crate::complain("no command; `cuculus-backup --help` lists them");
                ExitCode::from(crate::ERROR)
            }
            _ => {
                crate::complain(&one_line(&self.0.to_string()));
                ExitCode::from(crate::ERROR)
            }
        }
    }
}

/// The complaint out of clap's paragraphs; the usage stands in the help.
fn one_line(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    format!("{}; --help says more", words.join(" ").trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
