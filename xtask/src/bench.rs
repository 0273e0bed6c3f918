//! `cargo xtask bench…`: builds what is measured, runs what measures it, and puts the tables into documents.
//! What measures is in the house of what is measured.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Result, bail, ensure};

use crate::document::{expect_table, write_table};
use crate::run::{cargo, output_of, program, root, step, target_directory};
use crate::{python, tools};

/// Where the tables go, but for those of the backup.
pub(crate) const DOCUMENT: &str = "docs/benchmarks.md";

/// The laboratory, from any directory.
pub(crate) fn lab(arguments: &[String]) -> Result<()> {
    let words = lab_words(arguments);
    let mut command = cargo(["run", "--release", "-p", "cuculus-lab", "--"]);
    let Some((_, words)) = words.split_last().filter(|(last, _)| **last == "--write") else {
        return step("bench", command.args(words));
    };
    // The arguments are the name of the table. It is looked for before anything is measured.
    let Some((&"run", experiment)) = words.split_first() else {
        bail!("bench takes --write with an experiment only");
    };
    let name = experiment.join(" ");
    expect_table(DOCUMENT, &name)?;
    let tables = output_of(command.args(words).arg("--markdown"))?;
    println!("{tables}");
    write_table(DOCUMENT, &name, &format!("cargo xtask bench {name}"), &tables)
}

/// The arguments of the laboratory: `speed --rounds 4` is `run speed --rounds 4`, and nothing is
/// `run speed`. `--write` is the last of them, wherever it was given.
fn lab_words(arguments: &[String]) -> Vec<&str> {
    let (writes, mut words): (Vec<&str>, Vec<&str>) =
        arguments.iter().map(String::as_str).partition(|word| *word == "--write");
    match words.first() {
        None => words.extend(["run", "speed"]),
        Some(&("list" | "run" | "report")) => {}
        Some(_) => words.insert(0, "run"),
    }
    words.extend(writes.first());
    words
}

pub(crate) fn cli(mut words: Vec<String>) -> Result<()> {
    let build = ["build", "--release", "-p", "cuculus-cli", "--bin", "cuculus"];
    step("build", &mut cargo(build.into_iter().chain(["--example", "read_and_hash"])))?;
    let document = takes_write(&mut words).then_some(DOCUMENT);
    let command = named("bench-cli", &words);
    let mut bench = script("python3", "crates/cuculus-cli/benches/programs.py");
    show(bench.args(words), document, &command)
}

pub(crate) fn dedup(words: &[String]) -> Result<()> {
    step("build", &mut cargo(["build", "--release", "-p", "cuculus-cli", "--bin", "cuculus"]))?;
    step("bench", script("python3", "crates/cuculus-cli/benches/dedup.py").args(words))
}

/// What the filters of the index save the backup; with `--peers` the backup beside restic and borg, with
/// `--large` a file of 2 TB and a directory of two million files.
pub(crate) fn backup(mut words: Vec<String>) -> Result<()> {
    let document = takes_write(&mut words).then_some("backup/benchmarks.md");
    let command = named("bench-backup", &words);
    let mut bench = match words.first().map(String::as_str) {
        None => filters()?,
        Some("--peers") => {
            tools::debian(&[tools::RESTIC, tools::BORG])?;
            script(python::with_pip()?, "backup/benches/peers.py")
        }
        Some("--large") => script("python3", "backup/benches/large.py"),
        Some(word) => {
            bail!("bench-backup does not take {word:?}; it takes --peers or --large first")
        }
    };
    if !words.is_empty() {
        step("build", &mut cargo(["build", "--release", "-p", "cuculus-backup"]))?;
    }
    show(bench.args(words.iter().skip(1)), document, &command)
}

fn filters() -> Result<Command> {
    let versions = output_of(&mut script(python::with_pip()?, "backup/benches/workloads.py"))?;
    let words = ["bench", "-p", "cuculus-backup", "--features", "lab", "--bench", "backup", "--"];
    let mut bench = cargo(words.into_iter().chain(["--trees", versions.trim()]));
    // The row for fjall, whose 30 crates no test compiles.
    bench.env("RUSTFLAGS", "--cfg bench_fjall");
    Ok(bench)
}

/// Takes `--write` out of the arguments.
pub(crate) fn takes_write(words: &mut Vec<String>) -> bool {
    let before = words.len();
    words.retain(|word| word != "--write");
    words.len() < before
}

/// A command as it stands above its table.
pub(crate) fn named(name: &str, words: &[String]) -> String {
    format!("cargo xtask {name} {}", words.join(" ")).trim_end().to_owned()
}

/// A benchmark in Python, with what measures programs.
fn script(python: impl AsRef<OsStr>, path: &str) -> Command {
    let mut script = program(python, [path]);
    script.env("PYTHONPATH", root().join("xtask/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    script.env("CUCULUS_TARGET", target_directory());
    script
}

/// Runs a program that prints tables, each below a line `## NAME`, and puts them into a document if there is one:
/// also those that it then fails for.
pub(crate) fn show(bench: &mut Command, document: Option<&str>, command: &str) -> Result<()> {
    let output = bench.stderr(Stdio::inherit()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut parts = printed.split("## ");
    print!("{}", parts.next().unwrap_or_default());
    for part in parts {
        let (name, table) = part.split_once('\n').unwrap_or((part, ""));
        println!("{table}");
        if let Some(document) = document {
            write_table(document, name, command, table)?;
        }
    }
    ensure!(output.status.success(), "{command} failed ({})", output.status);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn arguments_are_those_of_the_laboratory() {
        let of = |text: &str| lab_words(&words(text)).join(" ");
        assert_eq!(of(""), "run speed");
        assert_eq!(of("--write"), "run speed --write");
        assert_eq!(of("kicks --write --log2-buckets 20"), "run kicks --log2-buckets 20 --write");
        assert_eq!(of("run kicks"), "run kicks");
        assert_eq!(of("list"), "list");
    }

    /// The error comes before anything is built or measured.
    #[test]
    fn what_has_no_table_is_refused_at_once() {
        let refused = |text: &str| lab(&words(text)).expect_err(text).to_string();
        assert_eq!(
            refused("kicks --log2-buckets 3 --write"),
            "docs/benchmarks.md has no table `kicks --log2-buckets 3`; put \
             `<!-- begin: kicks --log2-buckets 3 -->` and `<!-- end: … -->` where it belongs"
        );
        assert_eq!(refused("list --write"), "bench takes --write with an experiment only");
    }
}
