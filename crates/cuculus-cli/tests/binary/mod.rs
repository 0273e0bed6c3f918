//! Runs the binary and reads its output. Shared by the tests of all commands.

use std::process::{Command, Output};

pub(crate) fn cuculus(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cuculus"));
    command.args(arguments);
    command
}

pub(crate) fn output_of(arguments: &[&str]) -> Output {
    cuculus(arguments).output().expect("the binary runs")
}

pub(crate) fn stdout_of(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("text")
}

pub(crate) fn stderr_of(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("text")
}

/// One line on standard error that contains the hint, exit code 2.
pub(crate) fn is_error(output: &Output, hint: &str) {
    let message = stderr_of(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.starts_with("cuculus: ") && message.contains(hint), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

/// An error, and nothing on standard output.
pub(crate) fn is_refused(arguments: &[&str], hint: &str) {
    let output = output_of(arguments);
    is_error(&output, hint);
    assert!(output.stdout.is_empty(), "{arguments:?}");
}
