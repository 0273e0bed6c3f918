//! `cuculus completions` and `cuculus man`: shell completions and manual pages, generated from the
//! definition of the arguments.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::keys::shown;

const CANNOT_WRITE: &str = "cannot write to standard output";

/// Options of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus completions bash > ~/.local/share/bash-completion/completions/cuculus
  cuculus completions zsh > ~/.zfunc/_cuculus
  cuculus completions fish > ~/.config/fish/completions/cuculus.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Options of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus man | man -l -                     read the manual page
  cuculus man --out ~/.local/share/man/man1  install the pages of all commands")]
pub(crate) struct Man {
    /// Write a page for every command to this directory, which is created if missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the completions.
pub(crate) fn completions(options: &Completions, out: &mut dyn Write) -> Result<()> {
    // The generator panics if it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "cuculus", &mut text);
    out.write_all(&text).context(CANNOT_WRITE)
}

/// Prints the manual page, or writes the pages of all commands.
pub(crate) fn man(options: &Man, out: &mut dyn Write) -> Result<()> {
    match &options.out {
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut text)?;
            out.write_all(&text).context(CANNOT_WRITE)
        }
        Some(directory) => {
            crate::saved::is_directory_name(directory)?;
            write_all(directory).with_context(|| {
                format!("cannot write to {}; choose another --out", shown(directory))
            })?;
            writeln!(out, "{}", shown(directory)).context(CANNOT_WRITE)
        }
    }
}

fn write_all(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Arguments::command(), directory)
}
