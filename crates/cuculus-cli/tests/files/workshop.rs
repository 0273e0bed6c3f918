//! A directory for one test, and helpers that run the binary with files in it.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::thread;

use crate::binary::{cuculus, stderr_of, stdout_of};

/// A directory that is removed after the test.
pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The path as an argument.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).to_str().expect("a path that is text").to_owned()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), bytes).expect("a file can be written");
        self.at(name)
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file is there")
    }

    /// A filter of some keys with a fixed seed.
    pub(crate) fn build(&self, name: &str, options: &[&str], keys: &str) -> String {
        let file = self.at(name);
        let arguments = [&["build", &file, "--seed", "1"], options].concat();
        succeeds(&arguments, keys);
        file
    }

    /// The files that are there.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a directory");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
        names.sort();
        names
    }
}

/// The binary, with pipes to it and from it.
pub(crate) fn piped(arguments: &[&str]) -> Child {
    let mut command = cuculus(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the binary runs")
}

/// Runs the binary with these bytes on its standard input.
pub(crate) fn fed(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    let mut child = piped(arguments);
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.as_ref();
    thread::scope(|scope| {
        // A command may close the pipe early.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("the binary ends")
    })
}

/// Runs a command that must succeed; returns standard output.
pub(crate) fn succeeds(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = fed(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr_of(&output));
    stdout_of(&output).to_owned()
}

/// `prefix0`, `prefix1` and so on, one per line.
pub(crate) fn lines(prefix: &str, count: usize) -> String {
    (0..count).map(|i| format!("{prefix}{i}\n")).collect()
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The bytes as `gzip` would pack them.
pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes.as_ref()).expect("a vector");
    packer.finish().expect("a vector")
}

/// The bytes as `zstd` would pack them.
pub(crate) fn zstd(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(bytes.as_ref(), 0).expect("a vector")
}
