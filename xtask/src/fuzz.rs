//! `cargo xtask fuzz`: runs the fuzz targets. Knows how they are compiled and how long they run;
//! what they check is in `fuzz/`.

use std::fs;
use std::process::Command;

use crate::run::{Failure, cargo, program, root, step};
use crate::tools;

/// Not the workspace's own: instrumented code must not mix with it.
const TARGET_DIR: &str = "target/fuzz";

const DEFAULT_SECONDS: u64 = 60;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let Arguments { seconds, target } = Arguments::parse(arguments)?;
    let targets = targets()?;
    let chosen = match target {
        None => targets,
        Some(target) if targets.contains(&target) => vec![target],
        Some(target) => {
            let targets = targets.join(", ");
            return Err(Failure::Usage(format!(
                "no fuzz target {target:?}; the targets are {targets}"
            )));
        }
    };
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
fn targets() -> Result<Vec<String>, Failure> {
    let directory = root().join("fuzz/fuzz_targets");
    let files = fs::read_dir(&directory).map_err(|error| {
        Failure::Failed(format!("cannot read {}: {error}", directory.display()))
    })?;
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

struct Arguments {
    seconds: u64,
    target: Option<String>,
}

impl Arguments {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut parsed = Self { seconds: DEFAULT_SECONDS, target: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--seconds" {
                let seconds = words.next().and_then(|number| number.parse().ok());
                // To libFuzzer, 0 means no limit.
                parsed.seconds = seconds.filter(|&seconds| seconds > 0).ok_or_else(|| {
                    Failure::Usage("--seconds needs a number above 0, as in --seconds 60".into())
                })?;
            } else if word.starts_with('-') || parsed.target.is_some() {
                return Err(Failure::Usage(format!(
                    "fuzz does not take {word:?}; it takes [--seconds N] [TARGET]"
                )));
            } else {
                parsed.target = Some(word.clone());
            }
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(u64, Option<String>), u8> {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        Arguments::parse(&words)
            .map(|parsed| (parsed.seconds, parsed.target))
            .map_err(|failure| failure.exit_code())
    }

    #[test]
    fn seconds_and_target_are_optional_and_in_any_order() {
        assert_eq!(parse(""), Ok((60, None)));
        assert_eq!(parse("decode"), Ok((60, Some("decode".into()))));
        assert_eq!(parse("decode --seconds 5"), Ok((5, Some("decode".into()))));
        assert_eq!(parse("--seconds 5 decode"), Ok((5, Some("decode".into()))));
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for line in ["--seconds", "--seconds x", "--seconds 0", "--second 5", "decode maplet"] {
            assert_eq!(parse(line), Err(2), "{line}");
        }
    }
}
