//! `cargo xtask sanitize`: the library's tests with the address sanitizer, or with Miri. Both need the
//! nightly compiler, which is installed if it is not there.

use crate::run::{Failure, program, step, succeeds, target_directory};
use crate::tools;

/// The only platform that the sanitizer is used on here; it needs the target to be named.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The suites that the sanitizer runs by default: all that touch memory. (The other tests of the
/// library are statistics, and take an hour with it.)
const SUITES: [&str; 9] = [
    "failing_memory",
    "enemy",
    "format",
    "format_elastic",
    "maplet",
    "dynamic",
    "index_independent",
    "shared",
    "bulk",
];
/// What Miri runs by default. It is some thousand times slower, and these have the unsafe code.
const INTERPRETED: [&str; 4] = ["memory::", "table::runs", "elastic::pool", "relocate::"];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let is_miri = arguments.iter().any(|word| word == "--miri");
    let chosen: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|&word| word != "--miri").collect();
    if let Some(word) = chosen.iter().find(|word| word.starts_with('-')) {
        return Err(Failure::Usage(format!(
            "sanitize does not take {word:?}; it takes [--miri] [TEST…]"
        )));
    }
    nightly()?;
    if is_miri { interpret(&chosen) } else { sanitize(&chosen) }
}

fn nightly() -> Result<(), Failure> {
    if tools::has_nightly() {
        return Ok(());
    }
    let install = ["toolchain", "install", "nightly", "--profile", "minimal"];
    step("install the nightly compiler", &mut program("rustup", install))
}

/// Unit tests and suites, with overflow checks and debug assertions, which this profile has anyway.
fn sanitize(chosen: &[&str]) -> Result<(), Failure> {
    let suites: Vec<&str> = if chosen.is_empty() { SUITES.to_vec() } else { chosen.to_vec() };
    let mut words = vec!["run", "nightly", "cargo", "test", "-p", "cuculus", "--target", TARGET];
    if chosen.is_empty() {
        words.push("--lib");
    }
    words.extend(suites.iter().flat_map(|suite| ["--test", suite]));
    let mut command = program("rustup", words);
    // Not the workspace's own: instrumented code must not mix with it.
    command.env("CARGO_TARGET_DIR", target_directory().join("sanitize"));
    command.env("RUSTFLAGS", "-Zsanitizer=address");
    // A failing allocation is an error to the tests, and so to the sanitizer.
    command.env("ASAN_OPTIONS", "allocator_may_return_null=1");
    step("address sanitizer", &mut command)
}

/// Unit tests by the beginning of their names.
fn interpret(chosen: &[&str]) -> Result<(), Failure> {
    let has_miri =
        || succeeds(&mut program("rustup", ["run", "nightly", "cargo", "miri", "--version"]));
    if !has_miri() {
        let install = ["component", "add", "--toolchain", "nightly", "miri", "rust-src"];
        step("install Miri", &mut program("rustup", install))?;
    }
    let names: Vec<&str> = if chosen.is_empty() { INTERPRETED.to_vec() } else { chosen.to_vec() };
    for name in names {
        let words = ["run", "nightly", "cargo", "miri", "test", "-p", "cuculus", "--lib", name];
        let mut command = program("rustup", words);
        command.env("CARGO_TARGET_DIR", target_directory().join("miri"));
        step(&format!("Miri, {name}"), &mut command)?;
    }
    Ok(())
}
