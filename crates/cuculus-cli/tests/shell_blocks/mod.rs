//! Runs the shell blocks of a Markdown file. Knows Markdown fences and `sh`, nothing of what the
//! commands do.
//!
//! Each "```sh" block runs under `sh -eu` in a fresh directory, with the built `cuculus` first on
//! the PATH. A block whose first line is `# not run` is left out: for commands that install.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

const NOT_RUN: &str = "# not run";

/// A block of a file, and the line where its commands begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShellBlock {
    pub(crate) line: usize,
    pub(crate) script: String,
}

/// The blocks of a Markdown text that are to be run.
pub(crate) fn shell_blocks(markdown: &str) -> Vec<ShellBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<ShellBlock> = None;
    for (i, line) in markdown.lines().enumerate() {
        match &mut open {
            None if line.trim() == "```sh" => {
                open = Some(ShellBlock { line: i + 2, script: String::new() });
            }
            None => {}
            Some(_) if line.trim() == "```" => {
                blocks.extend(open.take().filter(|block| !block.script.starts_with(NOT_RUN)));
            }
            Some(block) => {
                block.script += line;
                block.script.push('\n');
            }
        }
    }
    assert_eq!(open, None, "a block without an end");
    blocks
}

/// Runs all blocks of a file and fails with the output of the first that fails; returns how many
/// blocks there were.
pub(crate) fn run_shell_blocks(path: &Path) -> usize {
    let markdown = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let blocks = shell_blocks(&markdown);
    for block in &blocks {
        let directory = TempDir::new().expect("a temporary directory");
        let output = Command::new("sh")
            .args(["-eu", "-c", &block.script])
            .current_dir(&directory)
            .env("PATH", path_with_the_binary())
            .stdin(Stdio::null())
            .output()
            .expect("sh runs");
        assert!(
            output.status.success(),
            "{}:{}: {}\n{}\nstandard output:\n{}\nstandard error:\n{}",
            path.display(),
            block.line,
            output.status,
            block.script,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
    blocks.len()
}

fn path_with_the_binary() -> std::ffi::OsString {
    let binary = Path::new(env!("CARGO_BIN_EXE_cuculus"));
    let directory = binary.parent().expect("a directory").to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    let paths = [directory].into_iter().chain(env::split_paths(&others));
    env::join_paths(paths).expect("paths without colons")
}
