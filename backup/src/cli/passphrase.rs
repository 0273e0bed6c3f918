//! Where a passphrase comes from: a file, a command, the environment, or the terminal.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use console::Term;
use cuculus_backup::Error;
use zeroize::Zeroizing;

use super::Arguments;
use super::arguments::NewPassphrase;
use super::{Result, usage};

/// Where to look for one passphrase, in this order; the terminal comes last.
pub(crate) struct Source<'a> {
    pub(super) file: Option<&'a PathBuf>,
    pub(super) command: Option<&'a String>,
    pub(super) variable: &'static str,
    pub(super) prompt: &'static str,
    /// A new passphrase is asked for twice.
    pub(super) new: bool,
}

impl Arguments {
    /// Where the passphrase of the repository comes from.
    pub(crate) fn passphrase(&self) -> Source<'_> {
        Source {
            file: self.passphrase_file.as_ref(),
            command: self.passphrase_command.as_ref(),
            variable: "CUCULUS_BACKUP_PASSPHRASE",
            prompt: "Passphrase: ",
            new: false,
        }
    }
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
    /// For a passphrase that does not open anything yet.
    pub(super) fn new_one(self) -> Self {
        Self { new: true, ..self }
    }

    /// The passphrase if one was given in advance; nobody is asked.
    pub(super) fn given(&self) -> Result<Option<Zeroizing<String>>> {
        let is_given = self.file.is_some()
            || self.command.is_some()
            || std::env::var_os(self.variable).is_some();
        let found = if is_given { self.find()? } else { None };
        Ok(found.filter(|text| !text.is_empty()))
    }

    pub(super) fn find(&self) -> Result<Option<Zeroizing<String>>> {
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
        } else if Term::stderr().is_term() {
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

/// Reads a line from the terminal without echoing it, also if standard input is a file or a pipe.
fn ask_once(prompt: &str) -> io::Result<String> {
    let terminal = Term::stderr();
    terminal.write_str(prompt)?;
    terminal.read_secure_line()
}
