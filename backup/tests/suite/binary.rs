//! Runs the binary as a user does, with a repository and a directory of its own. Shared by the
//! tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[cfg(feature = "s3")]
use loopback_s3::Server;
use tempfile::TempDir;

#[cfg(feature = "sftp")]
use crate::sshd::Sshd;
use crate::trees;

/// Where a repository can be. The laws hold everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Directory,
    #[cfg(feature = "s3")]
    Bucket,
    #[cfg(feature = "sftp")]
    Server,
}

impl Backend {
    pub(crate) const ALL: &[Self] = &[
        Self::Directory,
        #[cfg(feature = "s3")]
        Self::Bucket,
        #[cfg(feature = "sftp")]
        Self::Server,
    ];

    /// The first number for a directory, the second for the others, which are slower.
    pub(crate) fn choose(self, near: u64, far: u64) -> u64 {
        if self == Self::Directory { near } else { far }
    }
}

/// A temporary directory with a repository in `repo` and room for trees.
pub(crate) struct Place {
    dir: TempDir,
    encrypted: bool,
    #[cfg(feature = "s3")]
    server: Option<Server>,
    #[cfg(feature = "sftp")]
    sshd: Option<Sshd>,
}

impl Place {
    /// With a new repository in a directory.
    pub(crate) fn new(encrypted: bool) -> Self {
        Self::at(Backend::Directory, encrypted)
    }

    /// With a new repository.
    pub(crate) fn at(at: Backend, encrypted: bool) -> Self {
        Self::with(at, encrypted, &[])
    }

    /// With a new repository that is created with these options.
    pub(crate) fn with(at: Backend, encrypted: bool, options: &[&str]) -> Self {
        let place = Self::empty(at, encrypted);
        // The cheapest cost of a passphrase that is allowed: the tests run hundreds of commands.
        let cost = &["--kdf-memory", "19", "--kdf-passes", "2"];
        let how: &[&str] = if encrypted { cost } else { &["--no-encryption"] };
        place.succeeds(&[&["init"], how, options].concat());
        place
    }

    /// With a copy of a repository, and its empty directories, which are not checked in.
    pub(crate) fn with_copy(repository: &Path, encrypted: bool) -> Self {
        let place = Self::empty(Backend::Directory, encrypted);
        let copied = Command::new("cp").arg("-r").arg(repository).arg(place.repo()).status();
        assert!(copied.expect("cp runs").success());
        for folder in ["intents", "marks", "tmp"] {
            std::fs::create_dir_all(place.repo().join(folder)).expect("a directory");
        }
        place
    }

    /// With a new repository, and `count` files in `source`.
    pub(crate) fn with_files(
        at: Backend,
        encrypted: bool,
        seed: u64,
        count: usize,
    ) -> (Self, PathBuf) {
        let place = Self::at(at, encrypted);
        let source = place.path("source");
        trees::files(&source, seed, count);
        (place, source)
    }

    /// Without a repository.
    #[cfg_attr(not(any(feature = "s3", feature = "sftp")), expect(unused_variables))]
    pub(crate) fn empty(at: Backend, encrypted: bool) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self {
            encrypted,
            #[cfg(feature = "s3")]
            server: (at == Backend::Bucket)
                .then(|| Server::start(&dir.path().join("server"), &["bucket"])),
            #[cfg(feature = "sftp")]
            sshd: (at == Backend::Server).then(|| Sshd::start(dir.path().join("sshd"))),
            dir,
        }
    }

    #[cfg(feature = "s3")]
    pub(crate) fn server(&mut self) -> &mut Server {
        self.server.as_mut().expect("a repository in a bucket")
    }

    #[cfg(feature = "sftp")]
    pub(crate) fn sshd(&mut self) -> &mut Sshd {
        self.sshd.as_mut().expect("a repository on a server")
    }

    fn is_in_a_bucket(&self) -> bool {
        #[cfg(feature = "s3")]
        return self.server.is_some();
        #[cfg(not(feature = "s3"))]
        false
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The files of the repository: those of its directory, or those of the server.
    pub(crate) fn repo(&self) -> PathBuf {
        self.path(if self.is_in_a_bucket() { "server/bucket/some/repo" } else { "repo" })
    }

    /// The number of files in a directory of the repository.
    pub(crate) fn count(&self, folder: &str) -> usize {
        std::fs::read_dir(self.repo().join(folder)).map_or(0, Iterator::count)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        if self.is_in_a_bucket() {
            return self.command_on(Path::new("s3://bucket/some/repo"), arguments);
        }
        #[cfg(feature = "sftp")]
        if let Some(sshd) = &self.sshd {
            return self.command_on(&sshd.location(&self.repo()), arguments);
        }
        self.command_on(&self.repo(), arguments)
    }

    /// The same for another repository.
    pub(crate) fn command_on(&self, repo: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cuculus-backup"));
        command.arg("--repo").arg(repo).args(arguments).current_dir(self.dir.path());
        command.env_remove("CUCULUS_BACKUP_REPO").env_remove("CUCULUS_BACKUP_PASSPHRASE");
        command.env("XDG_CACHE_HOME", self.path("cache")).env_remove("CUCULUS_BACKUP_CACHE_DIR");
        if self.encrypted {
            command.env("CUCULUS_BACKUP_PASSPHRASE", "a passphrase");
        }
        #[cfg(feature = "s3")]
        if let Some(server) = &self.server {
            server.tell(&mut command);
        }
        #[cfg(feature = "sftp")]
        if let Some(sshd) = &self.sshd {
            sshd.tell(&mut command);
        }
        command
    }

    /// Runs a command; one that hangs is ended after five minutes, with status 124.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let command = self.command(arguments);
        let mut bounded = Command::new("timeout");
        bounded.args(["--kill-after=5", "300"]).arg(command.get_program()).args(command.get_args());
        bounded.current_dir(self.dir.path());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => bounded.env(name, value),
                None => bounded.env_remove(name),
            };
        }
        bounded.output().expect("timeout runs")
    }

    /// Runs a command that must succeed; returns what it printed.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {}\n{out}{err}", output.status);
        out
    }

    /// Runs a command that must fail with one line that contains the hint.
    pub(crate) fn refused(&self, arguments: &[&str], hint: &str) {
        is_refused(&self.run(arguments), hint);
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let out = self.succeeds(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).expect("JSON")
    }

    /// Restores a snapshot to a new directory; returns where the tree at `source` is now.
    pub(crate) fn restored(&self, snapshot: &str, source: &Path) -> (TempDir, PathBuf) {
        let target = tempfile::tempdir_in(self.dir.path()).expect("a directory");
        let path = target.path().to_str().expect("text");
        self.succeeds(&["restore", snapshot, "--target", path]);
        let tree = target.path().join(source.strip_prefix("/").expect("a full path"));
        (target, tree)
    }
}

/// The command failed with one line that contains the hint, and printed nothing else.
pub(crate) fn is_refused(output: &Output, hint: &str) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("cuculus-backup: "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(message.contains(hint), "{message}");
    assert!(output.stdout.is_empty());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
