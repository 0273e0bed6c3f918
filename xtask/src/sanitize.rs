//! `cargo xtask sanitize`: the library's tests with the address sanitizer, with the thread sanitizer, or
//! with Miri, which need the nightly compiler; it is installed if it is not there. The model checker does not.

use anyhow::{Result, ensure};
use clap::Args;

use crate::run::{cargo, program, step, succeeds, target_directory};
use crate::tools;

/// The only platform that the sanitizers are used on here; they need the target to be named.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The address sanitizer has an allocator of its own, which gives nothing back to the system.
const NOT_WITH_ADDRESSES: [&str; 1] = ["memory_comes_back_to_the_system"];
/// What runs with the thread sanitizer: the unit tests whose names begin so, and the suites that start
/// threads.
const THREADED: [&str; 1] = ["shared::"];
const THREADED_SUITES: [&str; 3] = ["shared", "shared_foreign", "shared_stress"];
/// What Miri runs by default. It is some thousand times slower, and these have the unsafe code.
const INTERPRETED: [&str; 6] =
    ["memory::", "shared::gate", "table::tests", "elastic::pool", "elastic::rewrite", "relocate::"];
/// The test of a suite that is small enough for Miri, and with threads.
const INTERPRETED_SUITE: [&str; 2] = ["shared", "small"];

/// With these tests, or those that are chosen for each way.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Run those that start threads with the thread sanitizer
    #[arg(long, conflicts_with = "miri")]
    thread: bool,
    /// Run parts of them with Miri
    #[arg(long)]
    miri: bool,
    /// Check the lock of shared filters in every order of steps that the memory model allows
    #[arg(long, conflicts_with_all = ["thread", "miri", "tests"])]
    model: bool,
    #[arg(value_name = "TEST")]
    tests: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.model {
        return model();
    }
    let chosen: Vec<&str> = arguments.tests.iter().map(String::as_str).collect();
    nightly()?;
    match (arguments.thread, arguments.miri) {
        (true, _) => threads(&chosen),
        (_, true) => interpret(&chosen),
        _ => address(&chosen),
    }
}

fn nightly() -> Result<()> {
    if tools::has_nightly() {
        return Ok(());
    }
    let install = ["toolchain", "install", "nightly", "--profile", "minimal"];
    let _ = step("install the nightly compiler", &mut program("rustup", install));
    ensure!(
        tools::has_nightly(),
        "the nightly compiler is missing and could not be installed; install it with `rustup toolchain \
         install nightly`"
    );
    Ok(())
}

/// Parts of the nightly compiler. There are days on which it is made without some of them.
fn components(names: &[&str]) -> Result<()> {
    let there = || {
        let list = ["component", "list", "--installed", "--toolchain", "nightly"];
        let list = program("rustup", list).output();
        let list = list.map(|list| String::from_utf8_lossy(&list.stdout).into_owned());
        list.is_ok_and(|list| {
            names.iter().all(|name| list.lines().any(|line| line.starts_with(name)))
        })
    };
    if there() {
        return Ok(());
    }
    let install = ["component", "add", "--toolchain", "nightly"];
    let mut install = program("rustup", install.into_iter().chain(names.iter().copied()));
    let _ = step("install parts of the nightly compiler", &mut install);
    let (names, options) = (names.join(" and "), names.join(" --component "));
    ensure!(
        there(),
        "the nightly compiler has no {names}, and they could not be installed; install a nightly that \
         has them with `rustup toolchain install nightly --component {options}`"
    );
    Ok(())
}

/// Unit tests and suites, with overflow checks and debug assertions, which this profile has anyway.
fn address(chosen: &[&str]) -> Result<()> {
    let mut words = vec!["run", "nightly", "cargo", "test", "-p", "cuculus", "--target", TARGET];
    if chosen.is_empty() {
        words.extend(["--lib", "--tests"]);
    }
    words.extend(chosen.iter().flat_map(|suite| ["--test", suite]));
    words.push("--");
    words.extend(NOT_WITH_ADDRESSES.iter().flat_map(|name| ["--skip", name]));
    let mut command = program("rustup", words);
    // Not the workspace's own: instrumented code must not mix with it.
    command.env("CARGO_TARGET_DIR", target_directory().join("sanitize"));
    command.env("RUSTFLAGS", "-Zsanitizer=address");
    // A failing allocation is an error to the tests, and so to the sanitizer.
    command.env("ASAN_OPTIONS", "allocator_may_return_null=1");
    step("address sanitizer", &mut command)
}

/// With a standard library that is compiled in the same way: without it the sanitizer does not see its
/// locks, and reports races that are none.
fn threads(chosen: &[&str]) -> Result<()> {
    components(&["rust-src"])?;
    let test = |name: &str, what: &[&str]| {
        let words = ["run", "nightly", "cargo", "test", "-Zbuild-std", "-p", "cuculus"];
        let words = words.into_iter().chain(["--target", TARGET]).chain(what.iter().copied());
        let mut command = program("rustup", words);
        command.env("CARGO_TARGET_DIR", target_directory().join("sanitize-threads"));
        command.env("RUSTFLAGS", "-Zsanitizer=thread");
        command.env("TSAN_OPTIONS", "halt_on_error=1");
        step(name, &mut command)
    };
    if chosen.is_empty() {
        let names: Vec<&str> = ["--lib", "--"].into_iter().chain(THREADED).collect();
        test("thread sanitizer, unit tests", &names)?;
    }
    let suites = if chosen.is_empty() { &THREADED_SUITES[..] } else { chosen };
    let suites: Vec<&str> = suites.iter().flat_map(|suite| ["--test", suite]).collect();
    test("thread sanitizer", &suites)
}

fn model() -> Result<()> {
    let words = ["test", "-p", "cuculus", "--release", "--lib", "shared::gate::models"];
    let mut command = cargo(words);
    command.env("CARGO_TARGET_DIR", target_directory().join("model"));
    command.env("RUSTFLAGS", "--cfg cuculus_loom");
    step("model checker", &mut command)
}

/// Unit tests by the beginning of their names.
fn interpret(chosen: &[&str]) -> Result<()> {
    let has_miri =
        || succeeds(&mut program("rustup", ["run", "nightly", "cargo", "miri", "--version"]));
    if !has_miri() {
        components(&["miri", "rust-src"])?;
    }
    let test = |name: &str, what: &[&str]| {
        let words = ["run", "nightly", "cargo", "miri", "test", "-p", "cuculus"];
        let mut command = program("rustup", words.into_iter().chain(what.iter().copied()));
        command.env("CARGO_TARGET_DIR", target_directory().join("miri"));
        step(&format!("Miri, {name}"), &mut command)
    };
    let names = if chosen.is_empty() { &INTERPRETED[..] } else { chosen };
    for name in names {
        test(name, &["--lib", name])?;
    }
    if chosen.is_empty() {
        let [suite, name] = INTERPRETED_SUITE;
        test(suite, &["--test", suite, name])?;
    }
    Ok(())
}
