//! Where a passphrase comes from: the environment, a file, a command, or the person at the terminal.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::{Command, Stdio};

use cuculus_backup::{Error, Result};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use super::Arguments;

const VARIABLE: &str = "CUCULUS_BACKUP_PASSPHRASE";

/// The passphrase, if anything says it. A person is asked twice for a new one.
pub(crate) fn find(arguments: &Arguments, new: bool) -> Result<Option<Zeroizing<String>>> {
    let failed = |what: &str, error: io::Error| Error::Io {
        what: format!("cannot get the passphrase from {what}"),
        source: error,
    };
    let found = if let Some(file) = &arguments.passphrase_file {
        let text = fs::read_to_string(file);
        Some(text.map_err(|error| failed(&file.display().to_string(), error))?)
    } else if let Some(command) = &arguments.passphrase_command {
        Some(output_of(command).map_err(|error| failed(&format!("`{command}`"), error))?)
    } else if let Ok(text) = std::env::var(VARIABLE) {
        Some(text)
    } else if io::stdin().is_terminal() {
        Some(ask(new).map_err(|error| failed("the terminal", error))?)
    } else {
        None
    };
    let found = found.map(|text| {
        let text = Zeroizing::new(text);
        Zeroizing::new(text.lines().next().unwrap_or_default().to_owned())
    });
    match found {
        Some(text) if text.is_empty() && new => Err(Error::Refused(
            "the passphrase is empty; choose one, or use --no-encryption".into(),
        )),
        found => Ok(found),
    }
}

fn output_of(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", command]).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("it ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

fn ask(new: bool) -> io::Result<String> {
    let first = ask_once("Passphrase: ")?;
    if new && ask_once("Once more: ")? != first {
        return Err(io::Error::other("the two were not the same"));
    }
    Ok(first)
}

/// Reads a line that is not shown.
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
