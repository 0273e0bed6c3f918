//! Where a passphrase comes from: a file, a command, the environment, or the terminal.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cuculus_backup::Error;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::Arguments;
use super::arguments::NewPassphrase;
use super::{Result, usage};

/// Where to look for one passphrase, in this order; the terminal comes last.
struct Source<'a> {
    file: Option<&'a PathBuf>,
    command: Option<&'a String>,
    variable: &'static str,
    prompt: &'static str,
    /// A new passphrase is asked for twice.
    new: bool,
}

/// The passphrase of the repository, if there is a source for it.
pub(crate) fn find(arguments: &Arguments, new: bool) -> Result<Option<Zeroizing<String>>> {
    Source {
        file: arguments.passphrase_file.as_ref(),
        command: arguments.passphrase_command.as_ref(),
        variable: "CUCULUS_BACKUP_PASSPHRASE",
        prompt: "Passphrase: ",
        new,
    }
    .find()
}

/// A passphrase to add to the repository.
pub(crate) fn find_new(options: &NewPassphrase) -> Result<Zeroizing<String>> {
    let source = Source {
        file: options.new_passphrase_file.as_ref(),
        command: options.new_passphrase_command.as_ref(),
        variable: "CUCULUS_BACKUP_NEW_PASSPHRASE",
        prompt: "New passphrase: ",
        new: true,
    };
    source.find()?.ok_or_else(|| {
        usage(
            "no new passphrase; set CUCULUS_BACKUP_NEW_PASSPHRASE, or use --new-passphrase-file or \
             --new-passphrase-command",
        )
    })
}

impl Source<'_> {
    fn find(&self) -> Result<Option<Zeroizing<String>>> {
        let failed = |what: &str, error: io::Error| Error::Io {
            what: format!("cannot read the passphrase from {what}"),
            source: error,
        };
        let found = if let Some(file) = self.file {
            let text = fs::read_to_string(file);
            Some(text.map_err(|error| failed(&file.display().to_string(), error))?)
        } else if let Some(command) = self.command {
            Some(output_of(command).map_err(|error| failed(&format!("`{command}`"), error))?)
        } else if let Ok(text) = std::env::var(self.variable) {
            Some(text)
        } else if io::stdin().is_terminal() {
            Some(self.ask().map_err(|error| failed("the terminal", error))?)
        } else {
            None
        };
        let found = found.map(|text| {
            let text = Zeroizing::new(text);
            Zeroizing::new(text.lines().next().unwrap_or_default().to_owned())
        });
        match found {
            Some(text) if text.is_empty() && self.new => Err(usage(
                "the passphrase is empty; choose one, or use --no-encryption with `init`",
            )),
            found => Ok(found),
        }
    }

    fn ask(&self) -> io::Result<String> {
        let first = ask_once(self.prompt)?;
        if self.new && ask_once("Repeat: ")? != first {
            return Err(io::Error::other("the two passphrases differ"));
        }
        Ok(first)
    }
}

fn output_of(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", command]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("it failed with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// Reads a line without echoing it.
fn ask_once(prompt: &str) -> io::Result<String> {
    let input = io::stdin();
    write!(io::stderr(), "{prompt}")?;
    let shown = tcgetattr(&input)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&input, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    tcsetattr(&input, OptionalActions::Flush, &shown)?;
    writeln!(io::stderr())?;
    read?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(line)
}
