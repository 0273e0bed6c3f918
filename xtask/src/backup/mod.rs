//! `cargo xtask bench-backup` and `soak-backup`: what the filters of the index save, a comparison of
//! the backup with other tools, and longer runs of its tests. Knows how each is called; the filters are
//! measured by the backup's own benchmark.

mod large; // a file of two terabytes, a directory of two million files
mod peers; // the backup compared with restic and borg
mod tools; // the command lines of the three tools
mod versions; // many versions of one large package
mod workloads; // what is backed up in the comparison

use crate::document::write_table;
use crate::run::{Failure, cargo, output_of, step};

/// Where the tables go.
const DOCUMENT: &str = "backup/benchmarks.md";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_written = words.contains(&"--write");
    words.retain(|word| *word != "--write");
    // Prints a table and, with `--write`, puts it into the document.
    let show = |name: &str, command: &str, table: &str| {
        println!("{table}");
        if is_written { write_table(DOCUMENT, name, command, table) } else { Ok(()) }
    };
    match words.split_first() {
        Some((&"--peers", rest)) => peers::run(rest, &show),
        Some((&"--large", rest)) => large::run(rest, &show),
        None => filters(&show),
        Some((word, _)) => Err(Failure::Usage(format!(
            "bench-backup does not take {word:?}; it takes [--peers | --large] [--write]"
        ))),
    }
}

type Show<'a> = &'a dyn Fn(&str, &str, &str) -> Result<(), Failure>;

fn filters(show: Show<'_>) -> Result<(), Failure> {
    versions::fetched(versions::VERSIONS.len())?;
    let words = ["bench", "-p", "cuculus-backup", "--features", "lab", "--bench", "backup", "--"];
    let mut command = cargo(words);
    command.arg("--trees").arg(versions::directory());
    // The row for fjall, whose 30 crates no test compiles.
    let printed = output_of(command.env("RUSTFLAGS", "--cfg bench_fjall"))?;
    for part in printed.split("## ").skip(1) {
        let (name, table) = part.split_once('\n').unwrap_or_default();
        show(name, "cargo xtask bench-backup", table.trim())?;
    }
    Ok(())
}

/// `cargo xtask soak-backup`: more kills, rounds of damage and changed bytes than the tests have time
/// for, on encrypted repositories.
pub(crate) fn soak(arguments: &[String]) -> Result<(), Failure> {
    let (mut kills, mut rounds) = ("2000", "500");
    for option in arguments.chunks(2) {
        match option {
            [word, number] if number.parse::<u64>().is_ok() && word == "--kills" => kills = number,
            [word, number] if number.parse::<u64>().is_ok() && word == "--rounds" => {
                rounds = number;
            }
            _ => {
                return Err(Failure::Usage("soak-backup takes [--kills N] [--rounds N]".into()));
            }
        }
    }
    let words = ["test", "--release", "-p", "cuculus-backup", "--test", "suite", "--"];
    let tests = ["--nocapture", "crash::", "damage::", "rounds::"];
    let mut command = cargo(words.into_iter().chain(tests));
    command.env("CUCULUS_BACKUP_KILLS", kills).env("CUCULUS_BACKUP_ROUNDS", rounds);
    step("soak-backup", command.env("CUCULUS_BACKUP_BYTES", "2000"))
}
