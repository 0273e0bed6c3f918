//! The shell blocks in the documents work as they are written.

mod shell_blocks;

use std::path::Path;

use shell_blocks::{ShellBlock, run_shell_blocks, shell_blocks};

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_commands_of_the_manual_work() {
    assert!(run_shell_blocks(&repository().join("docs/cli.md")) > 10);
}

#[test]
fn the_commands_of_the_front_page_work() {
    assert_eq!(run_shell_blocks(&repository().join("README.md")), 1);
}

#[test]
fn the_commands_of_the_readme_of_this_crate_work() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    assert_eq!(run_shell_blocks(&readme), 5);
}

#[test]
fn only_shell_blocks_without_the_mark_are_run() {
    let markdown =
        "```sh\none\ntwo\n```\n```text\nno\n```\n```sh\n# not run\nno\n```\n```sh\nlast\n```\n";
    let block = |line, script: &str| ShellBlock { line, script: script.to_owned() };
    assert_eq!(shell_blocks(markdown), [block(2, "one\ntwo\n"), block(13, "last\n")]);
}

#[test]
#[should_panic(expected = "exit status: 1")]
fn a_command_that_fails_fails_the_test() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("broken.md");
    std::fs::write(&path, "```sh\nfalse\ntrue\n```\n").expect("written");
    run_shell_blocks(&path);
}
