//! `cargo xtask test`: everything that must pass before a change goes in, cheapest first.

use std::time::Instant;

use crate::fuzz::TARGET_DIR;
use crate::run::{Failure, cargo, step};
use crate::{tools, valkey};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if let Some(word) = arguments.first() {
        return Err(Failure::Usage(format!("test takes no arguments, and {word:?} was given")));
    }
    tools::component("fmt", "rustfmt")?;
    tools::component("clippy", "clippy")?;
    // The pages of the laboratory are looked at by a browser.
    tools::debian("chromium", "chromium")?;
    valkey::prepare()?;
    let start = Instant::now();
    let workspace = ["--workspace", "--all-features"];

    step("format", &mut cargo(["fmt", "--all", "--check"]))?;
    let words = ["clippy", "--all-targets"].into_iter().chain(workspace);
    step("lints", &mut cargo(words.chain(["--", "-D", "warnings"])))?;
    // What is there only without a feature is compiled by nothing else.
    let words = ["clippy", "-p", "cuculus-backup", "--", "-D", "warnings"];
    step("lints of the backup without S3", &mut cargo(words))?;
    step("tests", &mut cargo(["test"].into_iter().chain(workspace)))?;
    let words = ["test", "-p", "cuculus-backup", "--test", "cli"];
    step("tests of the backup without S3", &mut cargo(words))?;
    let words = ["doc", "--no-deps"].into_iter().chain(workspace);
    step("docs", cargo(words).env("RUSTDOCFLAGS", "-D warnings"))?;
    valkey::test()?;

    // The fuzz targets are not part of the workspace, and only a nightly compiler can run them as
    // such. What they check is a library, which any compiler can build and run on some inputs;
    // without default features it needs no C++ compiler either.
    let fuzz = ["--manifest-path", "fuzz/Cargo.toml"];
    let plain = ["--no-default-features", "--target-dir", TARGET_DIR];
    let words = ["fmt"].into_iter().chain(fuzz).chain(["--check"]);
    step("fuzz format", &mut cargo(words))?;
    let words = ["clippy", "--all-targets"].into_iter().chain(fuzz).chain(plain);
    step("fuzz lints", &mut cargo(words.chain(["--", "-D", "warnings"])))?;
    let words = ["test", "--lib"].into_iter().chain(fuzz).chain(plain);
    step("fuzz tests", &mut cargo(words))?;

    println!("all steps passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}
