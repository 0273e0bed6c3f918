//! The shell blocks in the documents work as they are written.

mod shell_blocks;

use std::fs;
use std::path::Path;
use std::process::Command;

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

/// Console blocks with `$ cuculus plan …`: what follows is what the tool prints, to the letter.
#[test]
fn the_plans_in_the_documents_are_those_of_the_tool() {
    let mut plans = 0;
    for name in ["README.md", "docs/cli.md", "docs/guide.md", "crates/cuculus-cli/README.md"] {
        let text = fs::read_to_string(repository().join(name)).expect("a document");
        for block in text.split("```console\n$ cuculus plan ").skip(1) {
            let (arguments, rest) = block.split_once('\n').expect("output");
            let (shown, _) = rest.split_once("```").expect("the end of the block");
            let output = Command::new(env!("CARGO_BIN_EXE_cuculus"))
                .arg("plan")
                .args(arguments.split_whitespace())
                .output()
                .expect("the tool");
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(shown == printed, "{name}: the tool prints now\n{printed}");
            plans += 1;
        }
    }
    assert!(plans > 0, "no document shows a plan");
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
