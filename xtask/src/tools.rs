//! Programs that the commands need. Each is found, or installed, or named in an error: no step is
//! skipped because a program is missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::consent;
use crate::run::{cargo, program, step, succeeds};

/// The longest time that another program may have the lock of apt.
const APT_PATIENCE: Duration = Duration::from_secs(600);

/// A component of the Rust toolchain that is a cargo subcommand.
pub(crate) fn component(subcommand: &str, component: &str) -> Result<()> {
    let there = || succeeds(&mut cargo([subcommand, "--version"]));
    if there() {
        return Ok(());
    }
    let install = ["component", "add", component];
    let _ = step(&format!("install {component}"), &mut program("rustup", install));
    ensure!(
        there(),
        "{component} is missing and could not be installed; install it with `rustup component \
         add {component}`"
    );
    Ok(())
}

/// A cargo subcommand that is a package on crates.io.
pub(crate) fn package(subcommand: &str, package: &str) -> Result<()> {
    if succeeds(&mut cargo([subcommand, "--version"])) {
        return Ok(());
    }
    step(&format!("install {package}"), &mut cargo(["install", package, "--locked"]))
}

/// A Debian package, and how to see that what it installs is there.
#[derive(Clone, Copy)]
pub(crate) struct Package {
    name: &'static str,
    is_there: fn() -> bool,
}

/// A package with a program that says its version.
macro_rules! program_of {
    ($package:literal, $program:literal) => {
        Package { name: $package, is_there: || succeeds(&mut program($program, ["--version"])) }
    };
}

/// A package without a program of its own.
macro_rules! files_of {
    ($package:literal) => {
        Package {
            name: $package,
            is_there: || succeeds(&mut program("dpkg", ["--status", $package])),
        }
    };
}

pub(crate) const BORG: Package = program_of!("borgbackup", "borg");
pub(crate) const CHROMIUM: Package = program_of!("chromium", "chromium");
pub(crate) const CLANG: Package = program_of!("clang", "clang");
pub(crate) const DPKG: Package = program_of!("dpkg", "dpkg-deb");
/// C for addresses of 32 bits.
pub(crate) const GCC_MULTILIB: Package = files_of!("gcc-multilib");
pub(crate) const LIBCLANG: Package = Package { name: "libclang-dev", is_there: has_libclang };
pub(crate) const NODE: Package = program_of!("nodejs", "node");
pub(crate) const NPM: Package = program_of!("npm", "npm");
/// C for PowerPC with addresses of 32 bits, and what runs its programs.
pub(crate) const POWERPC: [Package; 3] = [
    files_of!("gcc-powerpc-linux-gnu"),
    files_of!("libc6-dev-powerpc-cross"),
    program_of!("qemu-user", "qemu-ppc"),
];
pub(crate) const PYTHON_VENV: Package = Package {
    name: "python3-venv",
    is_there: || succeeds(&mut program("python3", ["-c", "import ensurepip, venv"])),
};
pub(crate) const REDIS: Package = program_of!("redis-server", "redis-server");
pub(crate) const RESTIC: Package =
    Package { name: "restic", is_there: || succeeds(&mut program("restic", ["version"])) };
/// A compiler for many targets, and the source of its standard library.
pub(crate) const RUSTC_WEB: Package = files_of!("rustc-web");
pub(crate) const RUST_WEB_SRC: Package = files_of!("rust-web-src");
pub(crate) const SSH_CLIENT: Package =
    Package { name: "openssh-client", is_there: || Path::new("/usr/bin/ssh-keygen").exists() };
pub(crate) const SSH_SERVER: Package =
    Package { name: "openssh-server", is_there: || Path::new("/usr/sbin/sshd").exists() };

/// Has what these packages install. What is missing is installed with apt-get, all of it at once, if whoever
/// runs the command agrees: it is said before, and changes the system.
pub(crate) fn debian(packages: &[Package]) -> Result<()> {
    let missing = |packages: &[Package]| -> Vec<&'static str> {
        packages.iter().filter(|one| !(one.is_there)()).map(|one| one.name).collect()
    };
    let wanted = missing(packages);
    if wanted.is_empty() {
        return Ok(());
    }
    let install = [&["install", "--yes", "--no-install-recommends"][..], &wanted].concat();
    consent::to(&wanted, &size_of_install(&wanted))?;
    // A fresh image has no package lists.
    let _ = apt(&["update"]).and_then(|()| apt(&install));
    let names = missing(packages).join(" ");
    ensure!(
        names.is_empty(),
        "missing, and could not be installed: {names}; install them with `sudo apt-get install {names}`"
    );
    Ok(())
}

/// What apt would download and write, in its own words, if it has package lists.
fn size_of_install(names: &[&str]) -> String {
    let words = [&["install", "--assume-no", "--no-install-recommends"][..], names].concat();
    let said = program("apt-get", words).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    sizes_in(&said.unwrap_or_default())
}

fn sizes_in(said: &str) -> String {
    let is_size =
        |line: &&str| line.starts_with("Need to get ") || line.starts_with("After this op");
    let lines: Vec<&str> = said.lines().map(str::trim).filter(is_size).collect();
    if lines.is_empty() { "apt-get has no sizes before an update.".into() } else { lines.join(" ") }
}

fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let llvm = versions.map(|entry| entry.path().join("lib")).filter(|path| path.is_dir());
    let directories = llvm.chain(["/usr/lib64".into(), "/usr/local/lib".into()]);
    directories
        .flat_map(|directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten())
        .any(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            // Not the other libraries whose names begin likewise.
            (name.starts_with("libclang.so")
                || name.starts_with("libclang-1")
                || name.starts_with("libclang-2"))
                && name.contains(".so")
        })
}

/// Runs apt-get. While another program has its lock, waits for it.
fn apt(words: &[&str]) -> Result<()> {
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
            bail!("apt-get {} failed: {said}", words.join(" "));
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
    fn the_sizes_are_those_of_apt() {
        let said = "Reading package lists...\nNeed to get 95.1 MB of archives.\nAfter this operation, 510 MB \
                    of additional disk space will be used.\nDo you want to continue? [Y/n] N\n";
        let sizes = "Need to get 95.1 MB of archives. After this operation, 510 MB of additional disk \
                     space will be used.";
        assert_eq!(sizes_in(said), sizes);
        assert!(sizes_in("E: Unable to locate package clang").contains("no sizes"));
    }

    #[test]
    fn only_a_lock_is_waited_for() {
        assert!(is_locked(
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7"
        ));
        assert!(is_locked("E: Unable to lock directory; is another process using it?"));
        assert!(!is_locked("E: Unable to locate package no-such-package"));
    }
}
