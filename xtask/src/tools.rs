//! Programs that the commands need. Each is found, or installed, or named in an error: no step is
//! skipped because a program is missing.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::run::{Failure, cargo, program, step, succeeds};

/// The longest time that another program may have the lock of apt.
const APT_PATIENCE: Duration = Duration::from_secs(600);

/// A component of the Rust toolchain that is a cargo subcommand.
pub(crate) fn component(subcommand: &str, component: &str) -> Result<(), Failure> {
    let there = || succeeds(&mut cargo([subcommand, "--version"]));
    if there() {
        return Ok(());
    }
    let install = ["component", "add", component];
    let _ = step(&format!("install {component}"), &mut program("rustup", install));
    if there() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{component} is missing and could not be installed; install it with `rustup component \
         add {component}`"
    )))
}

/// A cargo subcommand that is a package on crates.io.
pub(crate) fn package(subcommand: &str, package: &str) -> Result<(), Failure> {
    if succeeds(&mut cargo([subcommand, "--version"])) {
        return Ok(());
    }
    step(&format!("install {package}"), &mut cargo(["install", package, "--locked"]))
}

/// A program from a Debian package.
pub(crate) fn debian(name: &str, package: &str) -> Result<(), Failure> {
    debian_for(package, || succeeds(&mut program(name, ["--version"])))
}

/// Anything that a Debian package installs.
pub(crate) fn debian_for(package: &str, there: impl Fn() -> bool) -> Result<(), Failure> {
    if there() {
        return Ok(());
    }
    // A fresh image has no package lists.
    let install = ["install", "--yes", "--no-install-recommends", package];
    let _ = apt(&["update"]).and_then(|()| apt(&install));
    if there() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{package} is missing and could not be installed; install it with `sudo apt-get install \
         {package}`"
    )))
}

/// Runs apt-get. While another program has its lock, waits for it.
fn apt(words: &[&str]) -> Result<(), Failure> {
    let mut command = program("apt-get", words.iter().copied());
    println!("==> apt-get {}", words.join(" "));
    let deadline = Instant::now() + APT_PATIENCE;
    loop {
        let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !is_locked(&said) || Instant::now() > deadline {
            return Err(Failure::Failed(format!("apt-get {} failed: {said}", words.join(" "))));
        }
        println!("    another program has the lock of apt; waiting");
        sleep(Duration::from_secs(5));
    }
}

fn is_locked(said: &str) -> bool {
    said.contains("Could not get lock") || said.contains("is another process using it")
}

/// Whether rustup has a nightly toolchain.
pub(crate) fn has_nightly() -> bool {
    let list = program("rustup", ["toolchain", "list"]).output();
    list.is_ok_and(|list| {
        String::from_utf8_lossy(&list.stdout).lines().any(|line| line.starts_with("nightly"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_is_waited_for() {
        assert!(is_locked(
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7"
        ));
        assert!(is_locked("E: Unable to lock directory; is another process using it?"));
        assert!(!is_locked("E: Unable to locate package no-such-package"));
    }
}
