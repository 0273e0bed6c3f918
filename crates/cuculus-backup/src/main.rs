//! The backup as a command. Knows how an outcome becomes an exit code; the commands stand in `cli`.

mod cli;

use std::io::{self, Write};
use std::process::ExitCode;

use cli::{Arguments, Outcome};

/// An error, said in one line.
const ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(refused) => return refused.report(),
    };
    match cli::run(&arguments) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::No) => ExitCode::from(1),
        Ok(Outcome::Partly) => ExitCode::from(3),
        // Whoever read our output has seen enough: `cuculus-backup ls latest | head -1`.
        Err(cuculus_backup::Error::Io { source, .. })
            if source.kind() == io::ErrorKind::BrokenPipe =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(ERROR)
        }
    }
}

/// Says what went wrong. If even standard error is closed, there is nobody to tell.
fn complain(words: &str) {
    let _ = writeln!(io::stderr(), "cuculus-backup: {}", words.replace('\n', "\\n"));
}
