//! The command-line tool. Knows which command was asked for and how an outcome becomes an exit
//! code; the commands themselves are modules.

mod arguments; // what was typed, and what is wrong with it in one line
mod build; // a new filter in a file
mod change; // keys added and removed
mod count; // numbers as people write them
mod demo; // the first thing to run
mod info; // what is in a file, and whether it is whole
mod input; // keys as options of the commands
mod keys; // lines, read and hashed
mod memory; // large pages for large filters
mod merge; // several filters in one
mod plan; // what each filter would cost
mod progress; // how far it is, on standard error
mod query; // which keys a filter contains
mod saved; // filters in files
mod shell; // completions and manual pages
mod text; // tables and numbers for people
mod uniq; // each line the first time only

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::{Arguments, Command};
use cuculus_lab::heap::CountingAllocator;
use memory::LargePages;

/// Experiments count the memory of filters that do not tell. It costs an addition in a thread's
/// own memory for each allocation.
#[global_allocator]
static ALLOCATOR: CountingAllocator<LargePages> = CountingAllocator::new(LargePages);

/// Something was not found, where that is the question.
const NOT_FOUND: u8 = 1;
/// An error, said in one line.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(refused) => return refused.report(),
    };
    match run(&arguments.command, &mut io::stdout().lock()) {
        Ok(code) => code,
        // Whoever read our output has seen enough: `cuculus demo | head -1`.
        Err(error) if reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::from(ERROR)
        }
    }
}

fn run(command: &Command, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(options) => demo::run(options, out).map(|()| ExitCode::SUCCESS),
        Command::Uniq(options) => uniq::run(options, out),
        Command::Build(options) => build::run(options, out),
        Command::Add(options) => change::add(options, out),
        Command::Remove(options) => change::remove(options, out),
        Command::Query(options) => query::query(options, out),
        Command::Count(options) => query::count(options, out),
        Command::Info(options) => info::info(options, out),
        Command::Verify(options) => info::verify(options, out),
        Command::Merge(options) => merge::run(options, out),
        Command::Plan(options) => plan::run(options, out).map(|()| ExitCode::SUCCESS),
        Command::Completions(options) => {
            shell::completions(options, out).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(options) => shell::man(options, out).map(|()| ExitCode::SUCCESS),
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
