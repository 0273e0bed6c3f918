//! The command-line tool: calls the command that was given and turns its result into an exit code.
//! What each command does is in its own module.

mod arguments; // the command line and its errors
mod build; // a new filter in a file
mod change; // add and remove keys
#[cfg(feature = "cluster")]
mod cluster; // one set over a Valkey or Redis cluster
mod count; // numbers as people write them
mod dedup; // whole data sets, without repeated documents
mod demo; // four filters follow a set
mod gathered; // new keys on their way into a filter
mod info; // describe and check files
mod input; // keys as options of the commands
mod interrupt; // Ctrl-C
mod keys; // read and hash lines
mod lossless; // the filter of lines that were seen
mod merge; // merge filters
mod plan; // compare the cost of filters
mod progress; // progress bar on standard error
mod query; // which keys a filter contains
mod rate; // rates as people write them
mod sample; // keys for the demo and the plan
mod saved; // filters in files
mod shell; // completions and manual pages
mod text; // tables and numbers as text
mod uniq; // print each line the first time only

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::{Arguments, Command};

/// Exit code: not found, where that is the question.
const NOT_FOUND: u8 = 1;
/// Exit code: interrupted by Ctrl-C.
const INTERRUPTED: u8 = 130;
/// Exit code: an error, which was printed as one line.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(refused) => return refused.report(),
    };
    interrupt::handle();
    match run(&arguments.command, &mut io::stdout().lock()) {
        Ok(code) => code,
        // The reader of the output went away, as in `cuculus demo | head -1`.
        Err(error) if reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&in_one_line(&error));
            ExitCode::from(ERROR)
        }
    }
}

fn run(command: &Command, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(options) => demo::run(options, out).map(|()| ExitCode::SUCCESS),
        Command::Uniq(options) => uniq::run(options, out),
        Command::Dedup(options) => dedup::run(options, out),
        Command::Build(options) => build::run(options, out),
        Command::Add(options) => change::add(options, out),
        Command::Remove(options) => change::remove(options, out),
        Command::Query(options) => query::query(options, out),
        Command::Count(options) => query::count(options, out),
        Command::Info(options) => info::info(options, out),
        Command::Verify(options) => info::verify(options, out),
        Command::Merge(options) => merge::run(options, out),
        #[cfg(feature = "cluster")]
        Command::Cluster(options) => cluster::run(options, out),
        Command::Plan(options) => plan::run(options, out).map(|()| ExitCode::SUCCESS),
        Command::Completions(options) => {
            shell::completions(options, out).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(options) => shell::man(options, out).map(|()| ExitCode::SUCCESS),
    }
}

/// Prints an error to standard error. If that is closed too, there is nobody to tell.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "cuculus: {message}");
}

/// An error and its causes. Some errors say their cause themselves; it is not said twice.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !line.ends_with(&cause) {
            line += if line.is_empty() { "" } else { ": " };
            line += &cause;
        }
    }
    line.replace(['\n', '\r'], " ")
}

fn reader_left(error: &anyhow::Error) -> bool {
    let io_error = error.downcast_ref::<io::Error>();
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
