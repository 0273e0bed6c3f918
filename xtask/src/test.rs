//! `cargo xtask test`: everything that must pass before a change goes in. Knows the steps and their
//! order; how a step runs is in `run`.
//!
//! Most of the time goes into compiling. Therefore all steps select the whole workspace with all
//! features, in the one profile of checks, builds and tests: cargo then compiles each dependency
//! once. The few steps with other features exist because they compile other code.

use std::env;
use std::fmt;
use std::process::Command;

use anyhow::Result;

use crate::run::{Took, cargo, measured_step};
use crate::tools::{self, Package};
use crate::{package, platforms, valkey, wheel};

/// All packages with all features.
pub(crate) const WHOLE: [&str; 2] = ["--workspace", "--all-features"];

/// All features but those of the backup. With these the other packages are compiled as with all features, so that
/// they are not compiled again.
const SHARED_FEATURES: &str = "cuculus/serde,cuculus-cli/cluster";

/// What the tests need of Debian: a browser to look at HTML pages, an SSH server for a repository of the
/// backup, a server for the module and what builds it, and Python.
const NEEDED: [Package; 7] = [
    tools::CHROMIUM,
    tools::SSH_SERVER,
    tools::SSH_CLIENT,
    tools::CLANG,
    tools::LIBCLANG,
    tools::REDIS,
    tools::PYTHON_VENV,
];

pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    let outcome = run_all(&mut steps);
    println!("\n{steps}");
    outcome?;
    println!("all steps passed");
    Ok(())
}

fn run_all(steps: &mut Steps) -> Result<()> {
    tools::component("fmt", "rustfmt")?;
    tools::component("clippy", "clippy")?;
    tools::debian(&[&NEEDED[..], &platforms::NEEDED].concat())?;
    println!("==> all steps: tens of minutes on two cores, most of them to compile the first time");

    steps.cargo("format", &["fmt", "--all", "--check"])?;
    let deny = ["--", "-D", "warnings"];
    let words = [&["clippy", "--all-targets"], &WHOLE[..], &deny[..]].concat();
    steps.cargo("lints", &words)?;
    // What `cargo install`, other crates and `cargo fuzz` compile: code that exists only without a
    // feature. The module is not chosen, so that the fuzz targets have its values without its server.
    let words = [&["clippy", "--workspace", "--exclude", "cuculus-valkey"], &deny[..]].concat();
    steps.cargo("lints, default features", &words)?;
    let words = [&["test"], &WHOLE[..]].concat();
    steps.cargo("tests", &words)?;
    let words =
        ["test", "--workspace", "--features", SHARED_FEATURES, "--test", "without_features"];
    let mut command = from_nothing(&words);
    // Compiling takes longer than this test.
    command.args(["--config", "profile.dev.package.cuculus-backup.opt-level=0"]);
    steps.run("tests, backup without S3", &mut command)?;
    let words = [&["doc", "--no-deps"], &WHOLE[..]].concat();
    steps.run("docs", from_nothing(&words).env("RUSTDOCFLAGS", "-D warnings"))?;
    package::check(steps)?;
    platforms::compiles(steps)?;
    let built = valkey::test(steps)?;
    wheel::test(steps, &built)
}

/// The steps so far, and what each took.
#[derive(Default)]
pub(crate) struct Steps(Vec<(String, Took)>);

impl Steps {
    pub(crate) fn run(&mut self, name: &str, command: &mut Command) -> Result<()> {
        self.0.push((name.into(), measured_step(name, command)?));
        Ok(())
    }

    pub(crate) fn cargo(&mut self, name: &str, words: &[&str]) -> Result<()> {
        self.run(name, &mut from_nothing(words))
    }
}

/// Cargo without incremental compilation: a build from nothing then takes a tenth less processor
/// time and half the disk space. Who runs the tests often sets `CARGO_INCREMENTAL=1`.
fn from_nothing(words: &[&str]) -> Command {
    let mut command = cargo(words.iter().copied());
    if env::var_os("CARGO_INCREMENTAL").is_none() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<28} {:>10} {:>12}", "step", "seconds", "CPU seconds")?;
        let mut total = Took::default();
        for (name, Took { wall, cpu }) in &self.0 {
            writeln!(f, "{name:<28} {wall:>10.1} {cpu:>12.1}")?;
            total = Took { wall: total.wall + wall, cpu: total.cpu + cpu };
        }
        writeln!(f, "{:<28} {:>10.1} {:>12.1}", "total", total.wall, total.cpu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_per_step_and_their_sum() {
        let took = |wall| Took { wall, cpu: 2.0 };
        let steps = Steps(vec![("format".into(), took(1.0)), ("lints".into(), took(2.5))]);
        let table = steps.to_string();
        let lines: Vec<Vec<&str>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines[1..],
            [["format", "1.0", "2.0"], ["lints", "2.5", "2.0"], ["total", "3.5", "4.0"]]
        );
    }
}
