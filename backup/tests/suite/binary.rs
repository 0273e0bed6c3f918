//! Runs the binary as a user does, with a repository and a directory of its own. Shared by the
//! tests.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

#[cfg(feature = "s3")]
use loopback_s3::Server;
use tempfile::TempDir;

use rustix::process::{Pid, Signal, kill_process};

#[cfg(feature = "sftp")]
use crate::sshd::Sshd;
use crate::trees::{self, Seen, manifest};

pub(crate) type Manifest = BTreeMap<PathBuf, Seen>;

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
    pub(crate) fn new(encrypted: bool) -> Self {
        Self::at(Backend::Directory, encrypted)
    }

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
        trees::copy(repository, &place.repo());
        for folder in ["forgotten", "intents", "marks", "tmp"] {
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

    /// With a new repository, and a file of this length in `source` that does not compress.
    pub(crate) fn with_noise(at: Backend, encrypted: bool, len: usize) -> (Self, PathBuf) {
        let place = Self::at(at, encrypted);
        let source = place.path("source");
        trees::write(&source.join("noise"), &trees::noise(4, len));
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

    pub(crate) fn count(&self, folder: &str) -> usize {
        std::fs::read_dir(self.repo().join(folder)).map_or(0, Iterator::count)
    }

    /// All files in a directory of the repository, the largest first.
    pub(crate) fn objects(&self, folder: &str) -> Vec<PathBuf> {
        trees::largest(&self.repo().join(folder))
    }

    /// The names of the snapshots, oldest first.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        names(&self.json(&["snapshots"]))
    }

    fn location(&self) -> PathBuf {
        if self.is_in_a_bucket() {
            return "s3://bucket/some/repo".into();
        }
        #[cfg(feature = "sftp")]
        if let Some(sshd) = &self.sshd {
            return sshd.location(&self.repo());
        }
        self.repo()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_on(&self.location(), arguments)
    }

    pub(crate) fn command_on(&self, repo: &Path, arguments: &[&str]) -> Command {
        self.complete(Command::new(BINARY), repo, arguments)
    }

    fn complete(&self, mut command: Command, repo: &Path, arguments: &[&str]) -> Command {
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
        self.bounded(arguments).output().expect("timeout runs")
    }

    fn bounded(&self, arguments: &[&str]) -> Command {
        let mut bounded = Command::new("timeout");
        bounded.args(["--kill-after=5", "300", BINARY]);
        self.complete(bounded, &self.location(), arguments)
    }

    /// Runs a command that reads these bytes and must succeed; returns what it printed.
    pub(crate) fn with_input(&self, arguments: &[&str], input: &[u8]) -> String {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = command.spawn().expect("the binary runs");
        running.stdin.take().expect("a pipe").write_all(input).expect("written");
        printed(&running.wait_with_output().expect("a process"), arguments)
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        Running(child.expect("the binary runs"))
    }

    /// Starts a backup; returns when it has written a pack.
    #[cfg(any(feature = "s3", feature = "sftp"))]
    pub(crate) fn start_until_a_pack(&self) -> Running {
        let running = self.start(&["backup", "source"]);
        while self.count("packs") == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        running
    }

    /// Waits until the command is at work, or has ended.
    pub(crate) fn wait_for_intent(&self, running: &mut Running) {
        while self.count("intents") == 0 && !running.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn succeeds(&self, arguments: &[&str]) -> String {
        printed(&self.run(arguments), arguments)
    }

    /// Runs a command that must succeed and must not warn.
    pub(crate) fn is_quiet(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    }

    /// Runs a command that must fail with one line that contains the hint.
    pub(crate) fn refused(&self, arguments: &[&str], hint: &str) {
        is_refused(&mut self.bounded(arguments), hint);
    }

    /// Runs a command that must end with this code; returns its messages.
    pub(crate) fn ends_with(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let out = self.succeeds(&[arguments, &["--json"]].concat());
        serde_json::from_str(&out).expect("JSON")
    }

    /// Every byte that is stored is right.
    pub(crate) fn is_sound(&self) {
        self.succeeds(&["check", "--read-data"]);
    }

    /// Restores a snapshot to a new directory; returns where the tree at `source` is now.
    pub(crate) fn restored(&self, snapshot: &str, source: &Path) -> (TempDir, PathBuf) {
        let target = tempfile::tempdir_in(self.dir.path()).expect("a directory");
        let path = target.path().to_str().expect("text");
        self.succeeds(&["restore", snapshot, "--target", path]);
        let tree = trees::below(target.path(), source);
        (target, tree)
    }

    /// The tree at `source` comes back from a snapshot as it was.
    pub(crate) fn restores_as(&self, snapshot: &str, source: &Path, saved: &Manifest, when: &str) {
        let (_kept, restored) = self.restored(snapshot, source);
        assert!(manifest(&restored) == *saved, "{snapshot} {when}");
    }

    /// The tree at `source` comes back from the newest snapshot as it is.
    pub(crate) fn restores(&self, source: &Path) {
        self.restores_as("latest", source, &manifest(source), "");
    }

    pub(crate) fn tags(&self, options: &[&str]) -> Vec<(String, String)> {
        let list = self.json(&[options, &["snapshots"]].concat());
        let tags = list.as_array().expect("a list").iter();
        let tags = tags.map(|one| one["tags"][0].as_str().expect("text").to_owned());
        tags.zip(names(&list)).collect()
    }

    /// Restores a snapshot that may be damaged: every file that comes back is the one that was saved,
    /// and if some do not, it is said. Returns whether all came back.
    pub(crate) fn restores_or_reports(
        &self,
        snapshot: &str,
        source: &Path,
        saved: &Manifest,
        when: &str,
    ) -> bool {
        let target = tempfile::tempdir_in(self.dir.path()).expect("a directory");
        let path = target.path().to_str().expect("text");
        let output = self.run(&["restore", snapshot, "--target", path]);
        let said = text(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{when}: {said}");
        let is_whole = output.status.success();
        came_back_right(&trees::below(target.path(), source), saved, is_whole, when);
        assert!(is_whole || !said.is_empty(), "{when}: nothing was said");
        is_whole
    }
}

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_cuculus-backup");

/// A command that was started. Killed when the test ends, in any case.
pub(crate) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a process").is_some()
    }

    pub(crate) fn stop(&self) {
        kill_process(Pid::from_child(&self.0), Signal::STOP).expect("a signal");
    }

    pub(crate) fn go_on(&self) {
        kill_process(Pid::from_child(&self.0), Signal::CONT).expect("a signal");
    }

    /// Waits for its end; returns the exit code and the messages.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut said).expect("text");
        }
        (self.0.wait().expect("a process").code(), said)
    }

    pub(crate) fn succeeds(&mut self, when: &str) {
        let (code, said) = self.end();
        assert_eq!(code, Some(0), "{when}: {said}");
    }

    /// It failed with one line that contains the hint.
    pub(crate) fn is_refused(&mut self, hint: &str) {
        check_refusal(self.end(), hint);
    }
}

pub(crate) fn names(value: &serde_json::Value) -> Vec<String> {
    let list = value.as_array().expect("a list");
    list.iter().map(|one| one["name"].as_str().expect("text").to_owned()).collect()
}

pub(crate) fn number(report: &serde_json::Value, field: &str) -> u64 {
    report[field].as_u64().unwrap_or_else(|| panic!("{field}: {report}"))
}

/// Every file that was restored is the one that was saved; and if nothing was reported, nothing is
/// missing. The root may have changed since.
pub(crate) fn came_back_right(tree: &Path, saved: &Manifest, is_whole: bool, when: &str) {
    let found = if tree.exists() { manifest(tree) } else { Manifest::new() };
    for (name, seen) in found.iter().filter(|(_, seen)| seen.is_file()) {
        assert!(saved.get(name) == Some(seen), "{when}: {name:?} came back wrong");
    }
    let is_right =
        |name: &PathBuf| name.as_os_str().is_empty() || found.get(name) == saved.get(name);
    let wrong: Vec<&PathBuf> = saved.keys().filter(|name| !is_right(name)).collect();
    assert!(!is_whole || wrong.is_empty(), "{when}: nothing was said of {wrong:?}");
    let files = |manifest: &Manifest| manifest.values().filter(|seen| seen.is_file()).count();
    assert!(is_whole || files(&found) < files(saved), "{when}: all came back");
}

pub(crate) fn succeeds(command: &mut Command) -> String {
    printed(&command.output().expect("the binary runs"), &[])
}

fn printed(output: &Output, arguments: &[&str]) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {}\n{out}{err}", output.status);
    out
}

/// How long a soak asks a test to be.
pub(crate) fn soak(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

/// The command fails with one line that contains the hint, and prints nothing else.
pub(crate) fn is_refused(command: &mut Command, hint: &str) {
    let output = command.output().expect("the binary runs");
    check_refusal((output.status.code(), text(&output.stderr)), hint);
    assert!(output.stdout.is_empty());
}

fn check_refusal((code, said): (Option<i32>, String), hint: &str) {
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.starts_with("cuculus-backup: ") && said.contains(hint), "{said}");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
