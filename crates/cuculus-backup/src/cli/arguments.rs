//! The options and subcommands, and one-line messages about wrong ones.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};

/// Deduplicating backups that need little memory.
///
/// Exit codes: 0 success; 1 `check` or `repair` found damage, or the digest does not match the
/// index; 2 error; 3 success, but some files were left out, each named on standard error.
#[derive(Parser)]
#[command(name = "cuculus-backup", version)]
pub(crate) struct Arguments {
    /// The repository: a directory or s3://BUCKET/PREFIX
    #[arg(long, short, value_name = "LOCATION", env = "CUCULUS_BACKUP_REPO", global = true)]
    pub(crate) repo: Option<PathBuf>,
    /// Read the passphrase from the first line of this file
    #[arg(long, value_name = "FILE", env = "CUCULUS_BACKUP_PASSPHRASE_FILE", global = true)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Read the passphrase from the output of this command
    #[arg(long, value_name = "COMMAND", env = "CUCULUS_BACKUP_PASSPHRASE_COMMAND", global = true)]
    pub(crate) passphrase_command: Option<String>,
    /// Cache the index of a repository on S3 here instead of in ~/.cache/cuculus-backup
    #[arg(long, value_name = "DIR", env = "CUCULUS_BACKUP_CACHE_DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print JSON
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
    /// Create a repository
    Init(Init),
    /// Take a snapshot of files and directories
    Backup(Backup),
    /// List the snapshots
    Snapshots,
    /// List the paths in a snapshot
    Ls {
        /// The first digits of a snapshot's name, or `latest`
        snapshot: String,
        /// List only this path and everything below it
        path: Option<PathBuf>,
        /// Also print modes, owners, sizes and times
        #[arg(long, short)]
        long: bool,
    },
    /// List the differences between two snapshots
    Diff {
        /// The first digits of the older snapshot's name
        first: String,
        /// The first digits of the newer snapshot's name, or `latest`
        second: String,
    },
    /// Restore the files of a snapshot to a directory
    Restore(Restore),
    /// Remove snapshots, by name or by age
    Forget(Forget),
    /// Remove data that no snapshot needs
    Prune(Prune),
    /// Check that every snapshot can be restored
    Check {
        /// Also read and verify all stored data
        #[arg(long)]
        read_data: bool,
    },
    /// Remove damaged data, so that the next backup stores it again
    ///
    /// Reads every pack, moves intact chunks out of damaged packs, and lists the files that lost
    /// data. The exit code is 1 if there are such files.
    Repair,
    /// List, add, change or remove passphrases
    #[command(subcommand)]
    Key(Key),
    /// Print the size of the repository and its parts
    Stats,
    /// Compare the chunk digest with the index
    VerifyDigest {
        /// Rebuild the digest if it does not match
        #[arg(long)]
        repair: bool,
    },
}

#[derive(Args)]
pub(crate) struct Init {
    /// Do not encrypt: whoever can read the repository can read the files
    #[arg(long)]
    pub(crate) no_encryption: bool,
    /// The mean chunk size in KiB, a power of two from 1 to 1024
    #[arg(long, value_name = "KIB", default_value_t = 8)]
    pub(crate) chunk_size: u32,
    /// The zstd compression level, from -7 to 22
    #[arg(long, value_name = "LEVEL", default_value_t = 3, allow_negative_numbers = true)]
    pub(crate) compression: i32,
}

#[derive(Args)]
pub(crate) struct Backup {
    /// Files and directories to back up
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Leave out matching names (`*.o`), or matching paths if there is a slash (`/home/*/cache`)
    #[arg(long, short, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Do not enter other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,
    /// Read every file, even if it looks unchanged
    #[arg(long)]
    pub(crate) read_all: bool,
    /// A label for the snapshot
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Record this host name instead of the name of this machine
    #[arg(long)]
    pub(crate) host: Option<String>,
    /// Record this time instead of now, for example 2026-01-31T12:00:00Z
    #[arg(long)]
    pub(crate) time: Option<jiff::Timestamp>,
    /// Only print what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Restore {
    /// The first digits of a snapshot's name, or `latest`
    pub(crate) snapshot: String,
    /// The directory to restore to
    #[arg(long, short)]
    pub(crate) target: PathBuf,
    /// Restore only this path of the snapshot and everything below it
    #[arg(long, short, value_name = "PATH")]
    pub(crate) include: Vec<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Read and verify everything, write nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Forget {
    /// The first digits of the names of snapshots to remove
    pub(crate) snapshots: Vec<String>,
    /// Keep the newest N snapshots
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_last: usize,
    /// Keep the newest snapshot of each of the last N days that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_daily: usize,
    /// Keep the newest snapshot of each of the last N weeks that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_weekly: usize,
    /// Keep the newest snapshot of each of the last N months that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_monthly: usize,
    /// Then remove data that no snapshot needs
    #[arg(long)]
    pub(crate) prune: bool,
    /// Only print what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Args)]
pub(crate) struct Prune {
    /// Unused bytes that may stay, in percent of the bytes in use
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub(crate) max_unused: f64,
    /// Only print what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

#[derive(Subcommand)]
pub(crate) enum Key {
    /// List the keys, one per passphrase
    List,
    /// Add a passphrase
    Add(NewPassphrase),
    /// Replace the passphrase that is given by a new one
    #[command(visible_alias = "passwd")]
    Change(NewPassphrase),
    /// Remove a passphrase
    Remove {
        /// The first digits of a key's name
        key: String,
    },
}

#[derive(Args)]
pub(crate) struct NewPassphrase {
    /// Read the new passphrase from the first line of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Read the new passphrase from the output of this command
    #[arg(long, value_name = "COMMAND")]
    pub(crate) new_passphrase_command: Option<String>,
}

impl Arguments {
    pub(crate) fn read() -> Result<Self, Refused> {
        Self::try_parse().map_err(Refused)
    }
}

/// Arguments that do not parse, or a request for help or the version.
pub(crate) struct Refused(clap::Error);

impl Refused {
    pub(crate) fn report(&self) -> ExitCode {
        match self.0.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                // The reader may have closed the pipe.
                let _ = self.0.print();
                ExitCode::SUCCESS
            }
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
                crate::print_error("no command; `cuculus-backup --help` lists the commands");
                ExitCode::from(crate::ERROR)
            }
            _ => {
                crate::print_error(&one_line(&self.0.to_string()));
                ExitCode::from(crate::ERROR)
            }
        }
    }
}

/// The first paragraph of clap's message as one line; the usage is in the help.
fn one_line(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    format!("{}; see `cuculus-backup --help`", words.join(" ").trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_sound() {
        <Arguments as clap::CommandFactory>::command().debug_assert();
    }
}
