//! Where a passphrase comes from: a file, a command, the environment, or the terminal; and the
//! subcommands that add, change and remove passphrases.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use console::Term;
use cuculus_backup::{Error, KeyInfo};
use serde_json::json;
use zeroize::Zeroizing;

use super::arguments::{Key, NewPassphrase};
use super::commands::Cli;
use super::{Arguments, Outcome, Result, usage};

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

impl Cli<'_> {
    pub(super) fn key(&self, command: &Key, current: &str) -> Result<Outcome> {
        let repository = &self.repository;
        match command {
            Key::List => {
                let keys = repository.keys(current)?;
                self.print(&keys, || {
                    let line = |key: &KeyInfo| {
                        let own = if key.current { "  (your passphrase)" } else { "" };
                        format!("{}{own}", key.name)
                    };
                    keys.iter().map(line).collect::<Vec<_>>().join("\n")
                })
            }
            Key::Add(options) => {
                // A wrong old passphrase is reported before a new one is asked for.
                repository.keys(current)?;
                let name = repository.add_passphrase(current, &find_new(options)?)?;
                self.print(&json!({ "added": name }), || format!("added key {name}"))
            }
            Key::Change(options) => {
                repository.keys(current)?;
                repository.change_passphrase(current, &find_new(options)?)?;
                self.print(&json!({ "changed": true }), || {
                    "changed; the old passphrase no longer opens the repository".into()
                })
            }
            Key::Remove { key } => {
                let name = repository.remove_passphrase(current, key)?;
                self.print(&json!({ "removed": name }), || format!("removed key {name}"))
            }
        }
    }
}

/// A passphrase to add to the repository.
fn find_new(options: &NewPassphrase) -> Result<Zeroizing<String>> {
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
