//! `cargo xtask bench-backup` and `soak-backup`: what the filters of the index save, a comparison of
//! the backup with other tools, and longer runs of its tests. Knows how each is called; the filters are
//! measured by the backup's own benchmark.

mod large; // a file of two terabytes, a directory of two million files
mod peers; // the backup compared with restic and borg
mod tools; // the command lines of the three tools
mod versions; // many versions of one large package
mod workloads; // what is backed up in the comparison

use crate::run::{Failure, cargo, step};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    if arguments.iter().any(|word| word == "--peers") {
        return peers::run(arguments);
    }
    if arguments.first().is_some_and(|word| word == "--large") {
        return large::run(arguments);
    }
    let mut command = cargo(["bench", "-p", "cuculus-backup", "--bench", "backup", "--"]);
    command.args(arguments);
    // The row for fjall, whose 30 crates no test compiles.
    command.env("RUSTFLAGS", "--cfg bench_fjall");
    if !arguments.iter().any(|word| word.starts_with("--trees")) {
        let all = versions::VERSIONS.len();
        versions::fetched(all)?;
        command.arg("--trees").arg(versions::directory());
    }
    step("bench-backup", &mut command)
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
