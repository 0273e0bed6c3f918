//! The project's commands (`cargo xtask …`). Knows their names and arguments; what each does is in
//! its own module.

mod bench;
mod consent;
mod dist;
mod document;
mod fuzz;
mod long;
mod package;
mod platforms;
mod python;
mod run;
mod sanitize;
mod test;
mod tools;
mod valkey;
mod wheel;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser};

/// The project's commands. What is missing on this machine is named, and installed with apt-get after a
/// question; with --yes or where CI is set, without one.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
enum Command {
    /// Run everything that must pass: format, lints, tests, docs, packages, servers
    Test,
    /// Run an experiment of the laboratory in release (default: speed; `bench list` lists all); with
    /// --write put its tables into docs/benchmarks.md
    Bench(Words),
    /// Compare the command-line tool with awk and sort (20 million lines, or --lines N; --rounds N); with
    /// --write put the tables into docs/benchmarks.md
    BenchCli(Words),
    /// Measure `cuculus dedup` on generated documents (10 GB, or --gigabytes N), and kill and continue it (50
    /// times, or --kills N)
    BenchDedup(Words),
    /// Measure what the filters of the index save the backup; with --peers [--workload versions|image|small]
    /// [--versions N] compare it with restic and borg (downloads 1 GB of packages); with --large [--files N] save
    /// a file of 2 TB and a directory of two million files; with --write put the tables into backup/benchmarks.md
    BenchBackup(Words),
    /// Run all fuzz targets, or one
    Fuzz(fuzz::Arguments),
    /// Chosen keys, forged files and refused memory against every kind of filter, and the memory of loaded ones
    Promises(long::Promises),
    /// Compile the library for WebAssembly, and run its tests on i686 and, in an emulator, on PowerPC (32 bits,
    /// the highest byte first)
    Platforms,
    /// Run the library's tests with the address sanitizer
    Sanitize(sanitize::Arguments),
    /// Compare elastic filters with exact multisets
    Soak(long::Soak),
    /// Use one shared filter from many threads, with an exact oracle
    SoakShared(long::SoakShared),
    /// Run the backup's crash and damage tests for longer
    SoakBackup(long::SoakBackup),
    /// Start a Valkey or Redis server with the module, and these options of the server
    Valkey(Words),
    /// Run the tests of the module, on the newest Redis too (downloads 20 MB)
    TestValkey {
        /// Another module, whose replies are compared
        #[arg(long, value_name = "PATH.so")]
        peer: Option<PathBuf>,
    },
    /// Measure the module on a server under load: 10 million items, or --items N; with --peer PATH.so beside
    /// another module that has the same commands; with --write put the table into docs/benchmarks.md
    BenchValkey(valkey::Bench),
    /// Build the Python package and run its tests in an environment of its own
    Python,
    /// Measure the Python package beside set, rbloom, fastbloom-rs, pybloom-live and pyprobables ([--keys N]
    /// [--json])
    BenchPython(Words),
    /// Make the module's library with a checksum, a Debian package and a container file, and the Python package
    /// as a wheel and as sources
    Dist,
}

/// The arguments of another program.
#[derive(Args)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    words: Vec<String>,
}

fn main() -> ExitCode {
    let words = consent::without_yes(std::env::args());
    let done = match Command::parse_from(words) {
        Command::Test => test::run(),
        Command::Bench(Words { words }) => bench::lab(&words),
        Command::BenchCli(Words { words }) => bench::cli(words),
        Command::BenchDedup(Words { words }) => bench::dedup(&words),
        Command::BenchBackup(Words { words }) => bench::backup(words),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Promises(numbers) => long::promises(&numbers),
        Command::Platforms => platforms::run(),
        Command::Sanitize(arguments) => sanitize::run(&arguments),
        Command::Soak(numbers) => long::soak(&numbers),
        Command::SoakShared(numbers) => long::soak_shared(&numbers),
        Command::SoakBackup(numbers) => long::soak_backup(&numbers),
        Command::Valkey(Words { words }) => valkey::run(&words),
        Command::TestValkey { peer } => valkey::test_all(peer),
        Command::BenchValkey(options) => valkey::measure(&options),
        Command::Python => wheel::run(),
        Command::BenchPython(Words { words }) => wheel::bench(&words),
        Command::Dist => dist::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_of_the_arguments_is_valid() {
        Command::command().debug_assert();
    }

    #[test]
    fn arguments_are_checked_before_anything_runs() {
        let is_understood = |line: &str| {
            let words = ["cargo xtask"].into_iter().chain(line.split_whitespace());
            Command::try_parse_from(words).is_ok()
        };
        for line in [
            "bench kicks --log2-buckets 20",
            "bench-backup --peers --workload image --versions 2 --write",
            "bench-backup --large --files 500",
            "bench-valkey --copy 5",
            "bench-valkey --items 5 --peer a.so",
            "fuzz decode --seconds 5",
            "fuzz --seconds 5 decode",
            "promises --files 7 --full --kind Elastic",
            "sanitize bulk --thread",
            "sanitize --miri memory::",
            "soak --operations 5 --seed 6",
            "valkey --maxmemory 1gb",
        ] {
            assert!(is_understood(line), "{line}");
        }
        for line in [
            "",
            "no-such-command",
            "test everything",
            "bench-valkey --copy",
            "bench-valkey --copy 0",
            "bench-valkey --cluster x",
            "bench-valkey --cluster 5 --copy 6",
            "fuzz --seconds 0",
            "fuzz decode maplet",
            "promises --files -1",
            "sanitize --miri --thread",
            "soak --seconds 5",
        ] {
            assert!(!is_understood(line), "{line}");
        }
    }
}
