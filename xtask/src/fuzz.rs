//! `cargo xtask fuzz`: runs the fuzz targets. Knows how they are compiled and how long they run;
//! what they check is in `fuzz/`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::run::{cargo, program, root, step};
use crate::tools;

/// Not the workspace's own: instrumented code must not mix with it.
const TARGET_DIR: &str = "target/fuzz";

#[derive(Args)]
pub(crate) struct Arguments {
    /// For each target. To libFuzzer, 0 would mean no limit
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    target: Option<String>,
}

pub(crate) fn run(Arguments { seconds, target }: &Arguments) -> Result<()> {
    let mut chosen = targets()?;
    if let Some(target) = target {
        if !chosen.contains(target) {
            bail!("no fuzz target {target:?}; the targets are {}", chosen.join(", "));
        }
        chosen = vec![target.clone()];
    }
    tools::package("fuzz", "cargo-fuzz")?;
    let nightly = tools::has_nightly();
    let compiler =
        if nightly { "the nightly compiler" } else { "this compiler with RUSTC_BOOTSTRAP=1" };
    println!("fuzzing {} for {seconds} s each, with {compiler}", chosen.join(", "));
    for target in &chosen {
        let time = format!("-max_total_time={seconds}");
        let mut command = compiler_for_fuzzing(nightly);
        command.args(["fuzz", "run", "--target-dir", TARGET_DIR, target.as_str()]);
        // Without the lines for every new input, which would hide a crash.
        command.args(["--", &time, "-print_final_stats=1", "-verbosity=0", "-print_funcs=0"]);
        step(&format!("fuzz {target}"), &mut command)?;
    }
    Ok(())
}

/// Instrumented code needs unstable options: a nightly compiler, or a stable one that is told to
/// accept them.
fn compiler_for_fuzzing(nightly: bool) -> Command {
    let mut command = if nightly {
        program("rustup", ["run", "nightly", "cargo"])
    } else {
        let mut command = cargo([]);
        command.env("RUSTC_BOOTSTRAP", "1");
        command
    };
    // The settings of release builds are made for small binaries; a crash needs its symbols.
    let profile = [("STRIP", "none"), ("LTO", "off"), ("PANIC", "unwind"), ("CODEGEN_UNITS", "16")];
    command.envs(profile.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)));
    command
}

/// Each file is a target, so a new target needs no change here.
fn targets() -> Result<Vec<String>> {
    let directory = root().join("fuzz/fuzz_targets");
    let files =
        fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))?;
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}
