//! Programs that the commands need. Each is found, or installed, or named in an error: no step is
//! skipped because a program is missing.

use crate::run::{Failure, cargo, program, step, succeeds};

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
    let update = step("package lists", &mut program("apt-get", ["update"]));
    let install = ["install", "--yes", "--no-install-recommends", package];
    let _ =
        update.and_then(|()| step(&format!("install {package}"), &mut program("apt-get", install)));
    if there() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{package} is missing and could not be installed; install it with `sudo apt-get install \
         {package}`"
    )))
}

/// Whether rustup has a nightly toolchain.
pub(crate) fn has_nightly() -> bool {
    let list = program("rustup", ["toolchain", "list"]).output();
    list.is_ok_and(|list| {
        String::from_utf8_lossy(&list.stdout).lines().any(|line| line.starts_with("nightly"))
    })
}
