//! Completions and manual pages, made from the definition of the arguments.

use std::io;
use std::path::Path;

use clap::CommandFactory;
use cuculus_backup::Error;

use super::commands::failed;
use super::{Arguments, Outcome, Result};

pub(super) fn completions(shell: clap_complete::Shell) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "cuculus-backup", &mut script);
    io::Write::write_all(&mut io::stdout(), &script).map_err(failed)?;
    Ok(Outcome::Done)
}

/// One page for the program and one for each command.
pub(super) fn pages(directory: &Path) -> Result<Outcome> {
    let cannot =
        |source| Error::Io { what: format!("cannot write {}", directory.display()), source };
    std::fs::create_dir_all(directory).map_err(cannot)?;
    clap_mangen::generate_to(Arguments::command(), directory).map_err(cannot)?;
    Ok(Outcome::Done)
}
