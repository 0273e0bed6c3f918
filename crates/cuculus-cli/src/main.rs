//! The command-line tool. Knows which command was asked for and how an outcome becomes an exit
//! code; the commands themselves are modules.

mod arguments; // what was typed, and what is wrong with it in one line
mod count; // numbers as people write them
mod demo; // the first thing to run
mod lab; // the papers' figures
mod plan; // what each filter would cost
mod progress; // how far it is, on standard error
mod shell; // completions and manual pages
mod text; // tables and numbers for people

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::{Arguments, Command};
use cuculus_lab::heap::CountingAllocator;

/// Experiments count the memory of filters that do not tell. It costs an addition in a thread's
/// own memory for each allocation.
#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator;

/// An error, said in one line. (Exit code 1 is kept for "not found".)
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(refused) => return refused.report(),
    };
    let outcome = match &arguments.command {
        Command::Demo(options) => demo::run(options, &mut io::stdout().lock()),
        Command::Lab(options) => lab::run(options, &mut io::stdout().lock()),
        Command::Plan(options) => plan::run(options, &mut io::stdout().lock()),
        Command::Completions(options) => shell::completions(options, &mut io::stdout().lock()),
        Command::Man(options) => shell::man(options, &mut io::stdout().lock()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough: `cuculus demo | head -1`.
        Err(error) if reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(ERROR)
        }
    }
}

/// Says what went wrong. If even standard error is closed, there is nobody to tell.
fn complain(words: &str) {
    let _ = writeln!(io::stderr(), "cuculus: {words}");
}

fn reader_left(error: &anyhow::Error) -> bool {
    let io_error = error.downcast_ref::<io::Error>();
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
