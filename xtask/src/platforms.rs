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

/// What runs beside the unit tests. Filters are the same bytes on every platform.
const SUITES: [&str; 7] =
    ["build", "bulk", "elastic", "format", "format_elastic", "maplet", "sections"];

pub(crate) const NEEDED: [Package; 2] = [tools::RUSTC_WEB, tools::RUST_WEB_SRC];

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    let outcome = run_all(&mut steps);
    println!("\n{steps}");
    outcome
}

fn run_all(steps: &mut Steps) -> Result<()> {
    compiles(steps)?;
    tools::debian(&[&[tools::GCC_MULTILIB], &tools::POWERPC[..]].concat())?;
    steps.run("i686", &mut test(I686))?;
    let mut command = test(POWERPC);
    command.env("CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_LINKER", "powerpc-linux-gnu-gcc");
    let emulator = format!("qemu-ppc -L {POWERPC_LIBRARIES}");
    command.env("CARGO_TARGET_POWERPC_UNKNOWN_LINUX_GNU_RUNNER", emulator);
    steps.run("PowerPC", &mut command)
}

/// The part that runs with all other tests: the library compiles for addresses of 32 bits.
pub(crate) fn compiles(steps: &mut Steps) -> Result<()> {
    tools::debian(&NEEDED)?;
    for target in [WASM, I686] {
        let mut command = compiler("build", target, "std,panic_unwind");
        let name = format!("{target} compiles");
        steps.run(&name, command.env("RUSTFLAGS", "-Zno-codegen"))?;
    }
    Ok(())
}

fn test(target: &str) -> Command {
    let mut command = compiler("test", target, "std,panic_unwind,test");
    command.arg("--lib").args(SUITES.iter().flat_map(|suite| ["--test", suite]));
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
