//! What a shell and a system want to know of the tool: completions and manual pages, made from the
//! definition of the arguments.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::arguments::Arguments;

const CANNOT_WRITE: &str = "cannot write to standard output";

/// Options of `completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus completions bash > ~/.local/share/bash-completion/completions/cuculus
  cuculus completions zsh > ~/.zfunc/_cuculus
  cuculus completions fish > ~/.config/fish/completions/cuculus.fish")]
pub(crate) struct Completions {
    /// The shell that will read them
    shell: Shell,
}

/// Options of `man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cuculus man | man -l -                            read it
  cuculus man --out ~/.local/share/man/man1         the pages of all commands, for `man cuculus-demo`")]
pub(crate) struct Man {
    /// Write a page for every command to this directory; made if it is not there
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints what the shell reads.
pub(crate) fn completions(options: &Completions, out: &mut dyn Write) -> Result<()> {
    // The generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "cuculus", &mut text);
    out.write_all(&text).context(CANNOT_WRITE)
}

/// Prints the manual page, or writes those of all commands.
pub(crate) fn man(options: &Man, out: &mut dyn Write) -> Result<()> {
    match &options.out {
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut text)?;
            out.write_all(&text).context(CANNOT_WRITE)
        }
        Some(directory) => {
            write_all(directory).with_context(|| {
                format!("cannot write to {}; give another --out", directory.display())
            })?;
            writeln!(out, "{}", directory.display()).context(CANNOT_WRITE)
        }
    }
}

fn write_all(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Arguments::command(), directory)
}
