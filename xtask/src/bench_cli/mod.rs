//! `cargo xtask bench-cli`: compares the command-line tool on millions of lines with awk, sort,
//! runiq, huniq and a program that only reads and hashes. Knows which programs run on which files; measuring and the
//! contents of the files are modules.

mod data; // files of lines
mod measure; // time and memory of a program

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failure, cargo, root, step};
use data::Share;
pub(crate) use data::scramble;
use measure::{Measured, Run};

struct Options {
    lines: u64,
    rounds: u32,
    json: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut options = Self { lines: 20_000_000, rounds: 3, json: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let number = words.next().and_then(|number| number.parse().ok());
                number.filter(|&number: &u32| number > 0).ok_or_else(|| {
                    Failure::Usage(format!("{word} needs a number above 0, such as {word} 3"))
                })
            };
            match word.as_str() {
                "--lines" => options.lines = u64::from(number()?),
                "--rounds" => options.rounds = number()?,
                "--json" => options.json = true,
                _ => {
                    return Err(Failure::Usage(format!(
                        "unknown argument {word:?}; bench-cli takes [--lines N] [--rounds N] [--json]"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// Measurements under one title; the first is the reference for the others.
struct Contest {
    title: String,
    runs: Vec<Measured>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = Options::parse(arguments)?;
    let build = ["build", "--release", "-p", "cuculus-cli", "--bin", "cuculus"];
    step("build", &mut cargo(build.into_iter().chain(["--example", "read_and_hash"])))?;
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    let directory = target.join("bench-cli");
    fs::create_dir_all(&directory)?;
    let measured = contests(&options, &target.join("release"), &directory);
    // The files are large, and quick to write again.
    fs::remove_dir_all(&directory)?;
    let contests = measured?;
    if options.json {
        println!("{}", json(&options, &contests));
    } else {
        contests.iter().for_each(|contest| print(contest, options.lines));
    }
    Ok(())
}

fn contests(options: &Options, release: &Path, directory: &Path) -> Result<Vec<Contest>, Failure> {
    let cuculus = release.join("cuculus");
    let reference = release.join("examples/read_and_hash");
    let mut contests = Vec::new();
    for share in [Share::Distinct, Share::Half] {
        let file = directory.join("lines");
        data::write(&file, options.lines, share)?;
        let mut runs = vec![
            Run::new("read and hash only", &reference).file(&file),
            Run::new("cuculus uniq", &cuculus).arguments("uniq --stats --json").file(&file),
            Run::new("cuculus uniq, from a pipe", &cuculus)
                .arguments("uniq --stats --json")
                .piped(&file),
            Run::new("cuculus uniq --state", &cuculus)
                .arguments("uniq --stats --json --state")
                .file(&directory.join("seen"))
                .file(&file)
                .fresh(&directory.join("seen"))
                .slow(),
            Run::new("cuculus uniq --fpr 1e-5", &cuculus)
                .arguments("uniq --quiet --stats --json --fpr 1e-5")
                .file(&file),
            Run::new("awk '!seen[$0]++'", Path::new("awk"))
                .argument("!seen[$0]++")
                .file(&file)
                .slow(),
            Run::new("sort -u", Path::new("sort")).arguments("-u").file(&file).slow(),
        ];
        // Not needed for the tests: compared where somebody has installed them.
        for name in ["runiq", "huniq"] {
            match on_path(name) {
                Some(program) => runs.push(Run::new(name, &program).piped(&file)),
                None => eprintln!("{name} is not installed; `cargo install {name}` to compare"),
            }
        }
        let title = format!("uniq, {} lines of 24 bytes, {}", options.lines, share.name());
        contests.push(Contest { title, runs: measure::interleaved(&runs, options.rounds)? });
    }
    contests.push(queries(options, &cuculus, &reference, directory)?);
    Ok(contests)
}

/// Where a program is, if it is installed.
fn on_path(name: &str) -> Option<PathBuf> {
    let paths = env::var_os("PATH")?;
    env::split_paths(&paths).map(|directory| directory.join(name)).find(|path| path.is_file())
}

/// Looks up all lines in filters that hold four fifths of them.
fn queries(
    options: &Options,
    cuculus: &Path,
    reference: &Path,
    directory: &Path,
) -> Result<Contest, Failure> {
    let (queried, held) = (directory.join("queried"), directory.join("held"));
    let keys = options.lines / 5 * 4;
    data::write(&queried, options.lines, Share::Distinct)?;
    data::write(&held, keys, Share::Distinct)?;
    let nothing = directory.join("nothing");
    fs::write(&nothing, "")?;
    let mut runs = vec![Run::new("read and hash only", reference).file(&queried)];
    for kind in ["elastic", "cuckoo"] {
        let file = directory.join(kind);
        let build = Run::new(&format!("cuculus build --kind {kind}, {keys} keys"), cuculus)
            .arguments(&format!("build --force --kind {kind}"))
            .file(&file)
            .file(&held)
            .slow();
        let query = |name: String, keys: &Path| {
            Run::new(&name, cuculus).arguments("query").file(&file).file(keys)
        };
        runs.push(build);
        runs.push(query(format!("cuculus query, {kind}"), &queried));
        runs.push(query(format!("cuculus query, {kind}, no keys (load only)"), &nothing));
    }
    let title = format!("query, {} keys of 24 bytes in filters of {keys}", options.lines);
    Ok(Contest { title, runs: measure::interleaved(&runs, options.rounds)? })
}

fn print(contest: &Contest, lines: u64) {
    println!("\n{}", contest.title);
    println!(
        "{:<45} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "program", "seconds", "CPU s", "ns/line", "times", "peak MiB", "/ filter"
    );
    let first = contest.runs.first().map_or(1.0, |run| run.seconds);
    for run in &contest.runs {
        println!(
            "{:<45} {:>8.2} {:>8.2} {:>8.1} {:>8.2} {:>9.1} {:>9}",
            run.name,
            run.seconds,
            run.cpu_seconds,
            run.seconds * 1e9 / lines as f64,
            run.seconds / first,
            run.peak_bytes as f64 / f64::from(1 << 20),
            run.peak_of_filter().map_or("–".to_owned(), |share| format!("{share:.2}")),
        );
    }
}

fn json(options: &Options, contests: &[Contest]) -> String {
    let contests: Vec<String> = contests
        .iter()
        .map(|contest| {
            let runs: Vec<String> = contest.runs.iter().map(Measured::to_json).collect();
            format!("{{\"title\":{:?},\"runs\":[{}]}}", contest.title, runs.join(","))
        })
        .collect();
    let (lines, rounds) = (options.lines, options.rounds);
    format!("{{\"lines\":{lines},\"rounds\":{rounds},\"contests\":[{}]}}", contests.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_above_zero() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            Options::parse(&words).map(|o| (o.lines, o.rounds, o.json)).map_err(|f| f.exit_code())
        };
        assert_eq!(parse(""), Ok((20_000_000, 3, false)));
        assert_eq!(parse("--json --lines 5 --rounds 1"), Ok((5, 1, true)));
        for line in ["--lines", "--lines 0", "--rounds x", "lines"] {
            assert_eq!(parse(line), Err(2), "{line}");
        }
    }
}
