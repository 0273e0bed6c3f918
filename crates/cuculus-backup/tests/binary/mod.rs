//! The binary as a user has it, with a repository and a tree of its own. Shared by the tests.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A place with a repository in `repo` and room for trees.
pub(crate) struct Place {
    dir: TempDir,
    encrypted: bool,
}

impl Place {
    /// With a new repository.
    pub(crate) fn new(encrypted: bool) -> Self {
        Self::with(encrypted, &[])
    }

    /// With a new repository that is made with these options.
    pub(crate) fn with(encrypted: bool, options: &[&str]) -> Self {
        let place = Self { dir: tempfile::tempdir().expect("a directory"), encrypted };
        let plain: &[&str] = if encrypted { &[] } else { &["--no-encryption"] };
        place.succeeds(&[&["init"], plain, options].concat());
        place
    }

    /// With a copy of a repository, and the folders that are empty and therefore not checked in.
    pub(crate) fn with_copy(repository: &Path, encrypted: bool) -> Self {
        let place = Self { dir: tempfile::tempdir().expect("a directory"), encrypted };
        let copied = Command::new("cp").arg("-r").arg(repository).arg(place.repo()).status();
        assert!(copied.expect("cp runs").success());
        for folder in ["intents", "marks", "tmp"] {
            std::fs::create_dir_all(place.repo().join(folder)).expect("a directory");
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuculus-backup"));
        command.arg("--repo").arg(self.repo()).args(arguments).current_dir(self.dir.path());
        command.env_remove("CUCULUS_BACKUP_REPO").env_remove("CUCULUS_BACKUP_PASSPHRASE");
        if self.encrypted {
            command.env("CUCULUS_BACKUP_PASSPHRASE", "a passphrase");
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// Runs a command that must succeed; returns what it printed.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}{err}", output.status);
        out
    }

    /// Runs a command that must be refused with one line that has the hint.
    pub(crate) fn refused(&self, arguments: &[&str], hint: &str) {
        let output = self.run(arguments);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.starts_with("cuculus-backup: "), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains(hint), "{complaint}");
        assert!(output.stdout.is_empty());
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let out = self.succeeds(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).expect("JSON")
    }

    /// Restores a snapshot to a new directory; returns where the tree at `source` is there.
    pub(crate) fn restored(&self, snapshot: &str, source: &Path) -> (TempDir, PathBuf) {
        let target = tempfile::tempdir_in(self.dir.path()).expect("a directory");
        let path = target.path().to_str().expect("text");
        self.succeeds(&["restore", snapshot, "--target", path]);
        let tree = target.path().join(source.strip_prefix("/").expect("a full path"));
        (target, tree)
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
