//! The options and subcommands, and one-line messages about wrong ones.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use cuculus_backup::{GroupBy, ReadData, SnapshotFilter};

/// Deduplicating backups that need little memory.
///
/// Exit codes: 0 success; 1 `check` or `repair` found damage; 2 error; 3 success, but some files
/// were left out, each named on standard error.
#[derive(Parser)]
#[command(name = "cuculus-backup", version)]
pub(crate) struct Arguments {
    /// The repository: a directory, s3://BUCKET/PREFIX or sftp://HOST/PATH
    #[arg(long, short, value_name = "LOCATION", env = "CUCULUS_BACKUP_REPO", global = true)]
    pub(crate) repo: Option<PathBuf>,
    /// Read the passphrase from the first line of this file
    #[arg(long, value_name = "FILE", env = "CUCULUS_BACKUP_PASSPHRASE_FILE", global = true)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Read the passphrase from the output of this command
    #[arg(long, value_name = "COMMAND", env = "CUCULUS_BACKUP_PASSPHRASE_COMMAND", global = true)]
    pub(crate) passphrase_command: Option<String>,
    /// Cache the index of a remote repository here instead of in ~/.cache/cuculus-backup
    #[arg(long, value_name = "DIR", env = "CUCULUS_BACKUP_CACHE_DIR", global = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Accept that the repository at this location is another one than before
    #[arg(long, global = true)]
    pub(crate) new_repository_id: bool,
    /// Accept that snapshots are gone which this machine has seen
    #[arg(long, global = true)]
    pub(crate) accept_missing_snapshots: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print errors only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Progress: a bar on a terminal, lines of JSON on standard error, or none
    #[arg(long, value_name = "HOW", global = true, default_value = "auto")]
    pub(crate) progress: ProgressStyle,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressStyle {
    Auto,
    Json,
    None,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Create a repository
    Init(Init),
    /// Take a snapshot of files and directories
    Backup(Backup),
    /// List the snapshots
    Snapshots(Filter),
    /// List the paths in a snapshot
    Ls {
        /// The first digits of a snapshot's name, or `latest`
        snapshot: String,
        /// List only this path and everything below it
        path: Option<PathBuf>,
        /// Also print modes, owners, sizes and times
        #[arg(long, short)]
        long: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// List the paths of all snapshots that match a pattern
    Find {
        /// Names (`*.txt`), or whole paths if there is a slash (`/home/*/letters/**`)
        #[arg(required = true)]
        patterns: Vec<String>,
        /// Search only this snapshot
        #[arg(long, short, value_name = "SNAPSHOT")]
        snapshot: Option<String>,
        /// Also print modes, owners, sizes and times
        #[arg(long, short)]
        long: bool,
        #[command(flatten)]
        filter: Filter,
    },
    /// List the differences between two snapshots: `+` added, `-` removed, `M` contents, `m` metadata
    Diff {
        /// The first digits of the older snapshot's name
        first: String,
        /// The first digits of the newer snapshot's name, or `latest`
        second: String,
        #[command(flatten)]
        filter: Filter,
    },
    /// Mount the snapshots as a read-only file system, until it is unmounted
    #[cfg_attr(not(feature = "mount"), command(hide = true))]
    Mount {
        /// An empty directory
        target: PathBuf,
        #[command(flatten)]
        filter: Filter,
    },
    /// Write one file of a snapshot to standard output
    Dump {
        /// The first digits of a snapshot's name, or `latest`
        snapshot: String,
        /// The path of the file
        path: PathBuf,
        #[command(flatten)]
        filter: Filter,
    },
    /// Restore the files of a snapshot to a directory
    Restore(Restore),
    /// Remove snapshots, by name or by age
    Forget(Forget),
    /// Change the tags of snapshots
    ///
    /// A snapshot with other tags gets another name.
    Tag(Tag),
    /// Copy snapshots from another repository
    Copy(Copy),
    /// Remove data that no snapshot needs
    Prune(Prune),
    /// Check that every snapshot can be restored
    Check {
        /// Also read and verify all stored data
        #[arg(long)]
        read_data: bool,
        /// Read and verify part N of T (`2/7`), or a random part (`5%`), of the stored data
        #[arg(long, value_name = "N/T", conflicts_with = "read_data", value_parser = subset)]
        read_data_subset: Option<ReadData>,
    },
    /// List the processes at work in the repository, or remove the marks that they left
    ///
    /// Other commands ignore and remove what dead processes left. Only for a machine that died
    /// less than a day ago and is not this one, a prune waits; then name its lock here.
    Unlock {
        /// The first digits of the names of locks to remove
        locks: Vec<String>,
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
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages to a directory
    Manual {
        /// The directory
        directory: PathBuf,
    },
}

/// Which snapshots a command is about.
#[derive(Args, Default)]
pub(crate) struct Filter {
    /// Only snapshots of this host
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Only snapshots with this tag, or with all of several (`a,b`)
    #[arg(long = "tag", value_name = "TAG[,TAG]")]
    tags: Vec<String>,
    /// Only snapshots of this path
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<PathBuf>,
}

impl Filter {
    pub(crate) fn chosen(&self) -> SnapshotFilter {
        let list = |tags: &String| tags.split(',').map(str::to_owned).collect();
        SnapshotFilter {
            hosts: self.hosts.clone(),
            tags: self.tags.iter().map(list).collect(),
            paths: self.paths.clone(),
        }
    }
}

fn subset(text: &str) -> Result<ReadData, &'static str> {
    const FORM: &str = "use N/T with 1 <= N <= T, or a percentage such as 5%";
    if let Some(percent) = text.strip_suffix('%') {
        let percent: f64 = percent.parse().map_err(|_| FORM)?;
        let fits = percent > 0.0 && percent <= 100.0;
        return if fits { Ok(ReadData::Fraction(percent / 100.0)) } else { Err(FORM) };
    }
    let (part, of) = text.split_once('/').ok_or(FORM)?;
    let (part, of): (u64, u64) = (part.parse().map_err(|_| FORM)?, of.parse().map_err(|_| FORM)?);
    if (1..=of).contains(&part) { Ok(ReadData::Part { part, of }) } else { Err(FORM) }
}

#[derive(Args)]
pub(crate) struct Tag {
    /// The first digits of the names of snapshots, or `latest`; without any, all that are chosen
    pub(crate) snapshots: Vec<String>,
    /// Replace all tags by these
    #[arg(long, value_name = "TAG")]
    pub(crate) set: Vec<String>,
    /// Add a tag
    #[arg(long, value_name = "TAG")]
    pub(crate) add: Vec<String>,
    /// Remove a tag
    #[arg(long, value_name = "TAG")]
    pub(crate) remove: Vec<String>,
    #[command(flatten)]
    pub(crate) filter: Filter,
}

#[derive(Args)]
pub(crate) struct Copy {
    /// The first digits of the names of snapshots, or `latest`; without any, all that are chosen
    pub(crate) snapshots: Vec<String>,
    /// The repository to copy from
    #[arg(long, value_name = "LOCATION")]
    pub(crate) from_repo: PathBuf,
    /// Read its passphrase from the first line of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) from_passphrase_file: Option<PathBuf>,
    /// Read its passphrase from the output of this command
    #[arg(long, value_name = "COMMAND")]
    pub(crate) from_passphrase_command: Option<String>,
    #[command(flatten)]
    pub(crate) filter: Filter,
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
    #[arg(long, value_name = "LEVEL", default_value_t = 5, allow_negative_numbers = true)]
    pub(crate) compression: i32,
    /// The memory that turning the passphrase into a key takes, from 19 to 256 MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    pub(crate) kdf_memory: u32,
    /// How often that memory is filled, from 2 to 16 times
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) kdf_passes: u32,
}

#[derive(Args)]
pub(crate) struct Backup {
    /// Files and directories to back up
    pub(crate) paths: Vec<PathBuf>,
    /// Also back up the paths that this file lists, one per line; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Vec<PathBuf>,
    /// Also back up the paths that this file lists, each ended by a zero byte
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from0: Vec<PathBuf>,
    /// Back up what comes from standard input, as one file
    #[arg(long, conflicts_with_all = ["paths", "files_from", "files_from0", "exclude"])]
    pub(crate) stdin: bool,
    /// The name of that file
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    pub(crate) stdin_name: String,
    /// Leave out what matches, as in gitignore: names (`*.o`), paths below those that are backed up
    /// (`target/debug`), or whole paths (`/home/*/cache/`); `!` takes back
    #[arg(long, short, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Leave out what matches the patterns of this file, one per line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    pub(crate) exclude_file: Vec<PathBuf>,
    /// Leave out the contents of directories with a file CACHEDIR.TAG
    #[arg(long)]
    pub(crate) exclude_caches: bool,
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
    #[command(flatten)]
    pub(crate) filter: Filter,
}

#[derive(Args)]
pub(crate) struct Forget {
    /// The first digits of the names of snapshots to remove
    pub(crate) snapshots: Vec<String>,
    /// Keep the newest N snapshots
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_last: usize,
    /// Keep the newest snapshot of each of the last N hours that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_hourly: usize,
    /// Keep the newest snapshot of each of the last N days that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_daily: usize,
    /// Keep the newest snapshot of each of the last N weeks that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_weekly: usize,
    /// Keep the newest snapshot of each of the last N months that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_monthly: usize,
    /// Keep the newest snapshot of each of the last N years that have one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep_yearly: usize,
    /// Keep all snapshots that are not older than this before the newest, for example `1y 2mo 3d 4h`
    #[arg(long, value_name = "SPAN")]
    pub(crate) keep_within: Option<jiff::Span>,
    /// Keep all snapshots with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) keep_tag: Vec<String>,
    /// Count snapshots together that have the same `host`, `paths`, `tags` (with commas between);
    /// empty for all together
    #[arg(long, value_name = "LIST", default_value = "host,paths", value_parser = grouping)]
    pub(crate) group_by: GroupBy,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Then remove data that no snapshot needs
    #[arg(long)]
    pub(crate) prune: bool,
    /// Only print what would be done
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

/// Of a list such as `host,paths`.
fn grouping(text: &str) -> Result<GroupBy, &'static str> {
    let mut by = GroupBy { host: false, paths: false, tags: false };
    for word in text.split(',').filter(|word| !word.is_empty()) {
        match word {
            "host" => by.host = true,
            "paths" => by.paths = true,
            "tags" => by.tags = true,
            _ => return Err("use host, paths and tags, with commas between"),
        }
    }
    Ok(by)
}

#[derive(Args)]
pub(crate) struct Prune {
    /// Unused bytes that may stay, in percent of the bytes in use [default: 1; 5 on S3 and SFTP]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) max_unused: Option<f64>,
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

/// Reports arguments that do not parse, or prints the help or the version.
pub(crate) fn report(refused: &clap::Error) -> ExitCode {
    let message = match refused.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // The reader may have closed the pipe.
            let _ = refused.print();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command; `cuculus-backup --help` lists the commands".into()
        }
        _ => one_line(&refused.to_string()),
    };
    crate::print_error(&message);
    ExitCode::from(crate::ERROR)
}

/// The first paragraph of clap's message as one line; the usage is in the help.
fn one_line(message: &str) -> String {
    let first = message.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    format!("{}; see `cuculus-backup --help`", words.join(" ").trim_start_matches("error: "))
}
