//! `cargo xtask platforms`: the library on processors unlike this machine's. Knows compilers, targets
//! and an emulator; what the tests check is in `crates/cuculus`.
//!
//! The compiler and the source of the standard library are Debian's; cargo compiles that source for a
//! target as it compiles any crate. So nothing is needed but Debian packages and crates. The two are of
//! one version, which need not be that of the toolchain that compiles everything else.

use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, target_directory};
use crate::test::Steps;
use crate::tools::{self, Package};

/// Addresses of 32 bits, and no system: no random numbers, for instance.
const WASM: &str = "wasm32-unknown-unknown";
/// Addresses of 32 bits. This machine's processor runs it.
const I686: &str = "i686-unknown-linux-gnu";
/// Addresses of 32 bits, the highest byte first, and no atomic numbers of 64 bits.
const POWERPC: &str = "powerpc-unknown-linux-gnu";
/// Where the packages for PowerPC put its libraries.
const POWERPC_LIBRARIES: &str = "/usr/powerpc-linux-gnu";

/// What `cargo xtask test` runs: filters are the same bytes on every platform, and forged ones are
/// refused.
const SHORT: [&str; 2] = ["format", "format_elastic"];
/// What else `cargo xtask platforms` runs, beside the unit tests.
const LONG: [&str; 5] = ["build", "bulk", "elastic", "maplet", "sections"];

pub(crate) const NEEDED: [Package; 3] =
    [tools::RUSTC_WEB, tools::RUST_WEB_SRC, tools::GCC_MULTILIB];

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    let outcome = run_all(&mut steps);
    println!("\n{steps}");
    outcome
}

fn run_all(steps: &mut Steps) -> Result<()> {
    short(steps)?;
    let suites = [&SHORT[..], &LONG[..]].concat();
    steps.run("i686, all tests", test(I686, &suites).arg("--lib"))?;
    tools::debian(&tools::POWERPC)?;
    let mut command = test(POWERPC, &suites);
    command.env("CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_LINKER", "powerpc-linux-gnu-gcc");
    let emulator = format!("qemu-ppc -L {POWERPC_LIBRARIES}");
    command.env("CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_RUNNER", emulator);
    steps.run("PowerPC, all tests", command.arg("--lib"))
}

/// The part that runs with all other tests.
pub(crate) fn short(steps: &mut Steps) -> Result<()> {
    tools::debian(&NEEDED)?;
    let mut command = compiler("build", WASM, "std,panic_unwind");
    steps.run("wasm32 compiles", command.env("RUSTFLAGS", "-Zno-codegen"))?;
    let mut command = test(I686, &SHORT);
    // Compiling takes longer than these tests.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    command.args(["--", "golden_files", "refused", "refusals"]);
    steps.run("i686, files", &mut command)
}

fn test(target: &str, suites: &[&str]) -> Command {
    let mut command = compiler("test", target, "std,panic_unwind,test");
    command.args(suites.iter().flat_map(|suite| ["--test", suite]));
    command
}

/// Cargo with Debian's compiler and a standard library of these crates, for a target.
fn compiler(subcommand: &str, target: &str, library: &str) -> Command {
    let library = format!("-Zbuild-std={library}");
    let words = [subcommand, "-p", "cuculus", "--target", target, &library];
    let mut command = cargo(words);
    // Without what prints backtraces.
    command.arg("-Zbuild-std-features=panic-unwind");
    // `-Z` is for nightly compilers, or for a stable one that is told to accept it.
    command.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
    command.env("CARGO_TARGET_DIR", target_directory().join("platforms"));
    let profile = [("DEBUG", "0"), ("INCREMENTAL", "false")];
    command.envs(profile.map(|(name, value)| (format!("CARGO_PROFILE_DEV_{name}"), value)));
    command
}
