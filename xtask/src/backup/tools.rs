//! The backup and its peers: how each is called for the same task. Knows their command lines;
//! nothing of what is measured. Each encrypts and writes to one directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, cargo, program, step, target_directory};
use crate::tools;

const PASSPHRASE: &str = "a passphrase";

#[derive(Clone, Copy)]
enum Which {
    Cuculus,
    Restic,
    Borg,
}

pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) version: String,
    which: Which,
    binary: PathBuf,
    place: PathBuf,
}

/// A task for a tool.
pub(super) enum Job<'a> {
    Init,
    /// Take a snapshot of a directory.
    Backup(&'a Path),
    /// Restore the newest snapshot to a directory.
    Restore(&'a Path),
    /// Check that everything is there, without reading all data.
    Check,
    /// Of this number of snapshots, forget the oldest, and free what only they needed.
    Forget {
        snapshots: usize,
        oldest: usize,
    },
}

/// Ours first; the others are installed if they are missing.
pub(super) fn all(directory: &Path) -> Result<Vec<Tool>, Failure> {
    step("build", &mut cargo(["build", "--release", "-p", "cuculus-backup"]))?;
    tools::debian(&[tools::RESTIC, tools::BORG])?;
    let ours = target_directory().join("release/cuculus-backup");
    let tool = |which, name: &'static str, binary: PathBuf, ask: &str| -> Result<Tool, Failure> {
        let said = program(&binary, [ask]).output()?;
        // The second word of "borg 1.2.4", "restic 0.14.0 compiled with …".
        let said = String::from_utf8_lossy(&said.stdout);
        let version = said.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let place = directory.join(name);
        fs::create_dir_all(&place)?;
        Ok(Tool { name, version, which, binary, place })
    };
    Ok(vec![
        tool(Which::Cuculus, "cuculus-backup", ours, "--version")?,
        tool(Which::Restic, "restic", "restic".into(), "version")?,
        tool(Which::Borg, "borg", "borg".into(), "--version")?,
    ])
}

impl Tool {
    pub(super) fn repository(&self) -> PathBuf {
        self.place.join("repository")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = program(&self.binary, words.iter().copied());
        let repository = self.repository();
        match self.which {
            Which::Cuculus => command
                .env("CUCULUS_BACKUP_REPO", repository)
                .env("CUCULUS_BACKUP_PASSPHRASE", PASSPHRASE)
                .env("XDG_CACHE_HOME", self.place.join("cache")),
            Which::Restic => command
                .env("RESTIC_REPOSITORY", repository)
                .env("RESTIC_PASSWORD", PASSPHRASE)
                .env("RESTIC_CACHE_DIR", self.place.join("cache")),
            Which::Borg => command
                .env("BORG_REPO", repository)
                .env("BORG_PASSPHRASE", PASSPHRASE)
                .env("BORG_BASE_DIR", self.place.join("base")),
        };
        command
    }

    /// The commands to run, in order.
    pub(super) fn commands(&self, job: &Job<'_>) -> Result<Vec<Command>, Failure> {
        let with = |words: &[&str], path: &Path| {
            let mut command = self.command(words);
            command.arg(path);
            command
        };
        Ok(match (self.which, job) {
            (Which::Cuculus | Which::Restic, Job::Init) => vec![self.command(&["init"])],
            (Which::Borg, Job::Init) => {
                vec![self.command(&["init", "--encryption", "repokey-blake2"])]
            }
            (Which::Cuculus, Job::Backup(path)) => vec![with(&["backup"], path)],
            (Which::Restic, Job::Backup(path)) => vec![with(&["backup", "--quiet"], path)],
            (Which::Borg, Job::Backup(path)) => {
                // By default it compresses less than the others, and stores more.
                let compression = ["create", "--compression", "zstd,3"];
                let snapshots = self.borg_archives()?.len();
                vec![with(&[&compression[..], &[&format!("::{snapshots:03}")]].concat(), path)]
            }
            (Which::Cuculus, Job::Restore(target)) => {
                vec![with(&["restore", "latest", "--target"], target)]
            }
            (Which::Restic, Job::Restore(target)) => {
                vec![with(&["restore", "latest", "--quiet", "--target"], target)]
            }
            (Which::Borg, Job::Restore(target)) => {
                fs::create_dir_all(target)?;
                let newest = self.borg_archives()?.pop().unwrap_or_default();
                let mut command = self.command(&["extract", &format!("::{newest}")]);
                // It restores to the current directory.
                command.current_dir(target);
                vec![command]
            }
            // borg's check of the repository reads everything; that of the archives does not.
            (Which::Borg, Job::Check) => vec![self.command(&["check", "--archives-only"])],
            (_, Job::Check) => vec![self.command(&["check"])],
            (Which::Cuculus, Job::Forget { oldest, .. }) => {
                let list = output_of(&mut self.command(&["snapshots"]))?;
                let mut names = list.lines().filter_map(|line| line.split_whitespace().next());
                let mut command = self.command(&["forget", "--prune"]);
                command.args(names.by_ref().take(*oldest));
                vec![command]
            }
            (Which::Restic, Job::Forget { snapshots, oldest }) => {
                let keep = snapshots.saturating_sub(*oldest).to_string();
                let words = ["forget", "--quiet", "--prune", "--group-by", "", "--keep-last"];
                vec![self.command(&[&words[..], &[keep.as_str()]].concat())]
            }
            (Which::Borg, Job::Forget { oldest, .. }) => {
                let mut archives = self.borg_archives()?.into_iter().take(*oldest);
                let first = format!("::{}", archives.next().unwrap_or_default());
                let mut delete = self.command(&["delete", &first]);
                delete.args(archives);
                vec![delete, self.command(&["compact"])]
            }
        })
    }

    /// Oldest first.
    fn borg_archives(&self) -> Result<Vec<String>, Failure> {
        let list = output_of(&mut self.command(&["list", "--short"]))?;
        Ok(list.lines().map(str::to_owned).collect())
    }
}

fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::Failed(format!("a tool could not list what it has: {}", said.trim())))
}
