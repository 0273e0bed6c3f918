//! The project's commands (`cargo xtask …`). Knows their names and arguments; what each does is in
//! its own module.

mod backup;
mod bench;
mod bench_cli;
mod bench_dedup;
mod consent;
mod dist;
mod document;
mod fuzz;
mod mutants;
mod package;
mod platforms;
mod promises;
mod python;
mod run;
mod sanitize;
mod soak;
mod test;
mod tools;
mod usage;
mod valkey;
mod wheel;

use std::io::{self, Write};
use std::process::ExitCode;

use run::Failure;

struct Command {
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result<(), Failure>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "",
        summary: "run everything that must pass: format, lints, tests, docs, packages, servers",
        run: test::run,
    },
    Command {
        name: "bench",
        arguments: "[ARGS…] [--write]",
        summary: "run an experiment of the laboratory in release (default: speed; `bench list` lists all); with \
                  --write put its tables into docs/benchmarks.md",
        run: bench::run,
    },
    Command {
        name: "bench-cli",
        arguments: "[--lines N] [--rounds N] [--json]",
        summary: "compare the command-line tool with awk and sort (default: 20 million lines)",
        run: bench_cli::run,
    },
    Command {
        name: "bench-dedup",
        arguments: "[--gigabytes N] [--kills N]",
        summary: "measure `cuculus dedup` on generated documents (default: 10 GB, deleted at the end), and \
                  kill and continue it (default: 50 times)",
        run: bench_dedup::run,
    },
    Command {
        name: "bench-backup",
        arguments: "[--peers [--workload NAME] [--versions N] | --large [--files N]] [--write]",
        summary: "measure what the filters of the index save the backup; with --peers compare the backup with \
                  restic and borg (downloads 1 GB of packages); with --large save a file of 2 TB and a \
                  directory of two million files; with --write put the table into backup/benchmarks.md",
        run: backup::run,
    },
    Command {
        name: "fuzz",
        arguments: "[--seconds N] [TARGET]",
        summary: "run all fuzz targets, or one, for N seconds each (default: 60)",
        run: fuzz::run,
    },
    Command {
        name: "promises",
        arguments: "[--full] [--keys N] [--files N] [--loaded N] [--kind KIND]",
        summary: "chosen keys, forged files and refused memory against every kind of filter, and the \
                  memory of loaded ones (default: 5000 keys, 2000 files; with --full a million and \
                  200,000; 0 leaves a part out; --kind Elastic forges files of one kind)",
        run: promises::run,
    },
    Command {
        name: "mutants",
        arguments: "[--seed N] [--count N] [--at FILE:LINE]…",
        summary: "put errors into a copy of the library and list those that no test notices (default: 56 by \
                  the seed 1), with --at also all that a line can have",
        run: mutants::run,
    },
    Command {
        name: "platforms",
        arguments: "",
        summary: "compile the library for WebAssembly, and run its tests on i686 and, in an emulator, on \
                  PowerPC (32 bits, the highest byte first)",
        run: platforms::run,
    },
    Command {
        name: "sanitize",
        arguments: "[--thread | --miri] [TEST…]",
        summary: "run the library's tests with the address sanitizer, those that start threads with the \
                  thread sanitizer, or parts of them with Miri",
        run: sanitize::run,
    },
    Command {
        name: "soak",
        arguments: "[--operations N] [--seed N] [--items N]",
        summary: "compare elastic filters with exact multisets (default: 100 million operations)",
        run: soak::run,
    },
    Command {
        name: "soak-shared",
        arguments: "[--seconds N]",
        summary: "use one shared filter from many threads, with an exact oracle (default: an hour)",
        run: soak::shared,
    },
    Command {
        name: "valkey",
        arguments: "[SERVER OPTIONS…]",
        summary: "start a Valkey or Redis server with the module",
        run: valkey::run,
    },
    Command {
        name: "test-valkey",
        arguments: "[--peer PATH.so]",
        summary: "run the tests of the module, on the newest Redis of Debian too (downloads 20 MB); with \
                  --peer compare replies with those of another module",
        run: valkey::test_all,
    },
    Command {
        name: "bench-valkey",
        arguments: "[--items N] [--peer PATH.so] [--json] | --cluster N | --copy N",
        summary: "measure the module on a server under load (default: 10 million items); with --peer \
                  compare it with another module that has the same commands; with --cluster measure a \
                  set of N items over a cluster that loses a server, with --copy a filter of N items \
                  that is copied while items are added",
        run: valkey::bench,
    },
    Command {
        name: "python",
        arguments: "",
        summary: "build the Python package and run its tests in an environment of its own",
        run: wheel::run,
    },
    Command {
        name: "bench-python",
        arguments: "[--keys N] [--json]",
        summary: "measure the Python package beside set, rbloom, fastbloom-rs, pybloom-live and pyprobables",
        run: wheel::bench,
    },
    Command {
        name: "dist",
        arguments: "",
        summary: "make the module's library with a checksum, a Debian package and a container file, and \
                  the Python package as a wheel and as sources",
        run: dist::run,
    },
    Command {
        name: "soak-backup",
        arguments: "[--kills N] [--rounds N]",
        summary: "run the backup's crash and damage tests for longer (default: 2000 kills, 500 rounds of \
                  damage)",
        run: backup::soak,
    },
];

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    consent::take_yes(&mut arguments);
    let outcome = match arguments.split_first() {
        None => help(),
        Some((word, _)) if matches!(word.as_str(), "help" | "--help" | "-h") => help(),
        Some((word, rest)) => match COMMANDS.iter().find(|command| command.name == word) {
            Some(command) if rest.iter().any(|word| word == "--help" || word == "-h") => {
                usage(&mut io::stdout(), command).map_err(Failure::from)
            }
            Some(command) => (command.run)(rest),
            None => Err(Failure::Usage(format!(
                "no command {word:?}; `cargo xtask --help` lists the commands"
            ))),
        },
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn help() -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "Usage: cargo xtask COMMAND\n")?;
    for command in COMMANDS {
        usage(&mut out, command)?;
    }
    writeln!(
        out,
        "\nWhat is missing on this machine is named, and installed with apt-get after a question; with --yes \
         or\nwhere CI is set, without one."
    )?;
    Ok(())
}

fn usage(out: &mut impl Write, command: &Command) -> io::Result<()> {
    let call = format!("{} {}", command.name, command.arguments);
    writeln!(out, "  {call:<32}  {}", command.summary)
}
