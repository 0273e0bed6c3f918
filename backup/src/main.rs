//! The command `cuculus-backup`. Knows how an outcome becomes an exit code; `cli` does the rest.

mod cli;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use cli::{Arguments, Failure, Outcome};

const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refused) => return cli::report(&refused),
    };
    match cli::run(&arguments) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::CheckFailed) => ExitCode::from(1),
        Ok(Outcome::Incomplete) => ExitCode::from(3),
        // The reader closed the pipe: `cuculus-backup ls latest | head -1`.
        Err(Failure::Backup(cuculus_backup::Error::Io { source, .. }))
            if source.kind() == io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            print_error(&failure.to_string());
            ExitCode::from(ERROR)
        }
    }
}

/// Prints one line to standard error. If standard error is closed, the message is lost.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "cuculus-backup: {}", message.replace('\n', "\\n"));
}
