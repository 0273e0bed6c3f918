//! Runs other programs, step by step. Knows how a step is announced, measured and how it fails;
//! knows nothing of what the steps are for.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::usage::{self, Usage};

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments were wrong.
    Usage(String),
    /// It did not succeed.
    Failed(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The root of the repository; cargo sets the variable for the programs that it runs.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package.as_deref().and_then(|package| package.parent());
    root.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Cargo's build directory.
pub(crate) fn target_directory() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or("target".into()))
}

/// Cargo of the toolchain that runs this program, at the root of the repository.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    program(env::var_os("CARGO").unwrap_or("cargo".into()), arguments)
}

/// Any program at the root of the repository.
pub(crate) fn program<'a>(
    name: impl AsRef<OsStr>,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root());
    command
}

/// Runs one step and shows its output.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    measured_step(name, command).map(drop)
}

/// Runs one step, shows its output, and returns the time it took.
pub(crate) fn measured_step(name: &str, command: &mut Command) -> Result<Usage, Failure> {
    println!("==> {name}: {}", line_of(command));
    let start = Instant::now();
    let child = command.spawn().map_err(|error| cannot_run(command, &error))?;
    let (status, usage, _) = usage::of(child, start)?;
    if !status.success() {
        return Err(Failure::Failed(format!("{name} failed ({status}): {}", line_of(command))));
    }
    println!("    {name}: passed in {:.1} s", usage.wall_seconds);
    Ok(usage)
}

/// What a command prints on standard output; it must succeed.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Failure> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cannot_run(command, &error))?;
    if !output.status.success() {
        let line = line_of(command);
        return Err(Failure::Failed(format!("{line} failed ({})", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cannot_run(command: &Command, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot run {}: {error}", line_of(command)))
}

/// Whether a command succeeds. Its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A command as one would type it.
fn line_of(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut words: Vec<String> = set
        .map(|(name, value)| format!("{}={:?}", name.display(), value.to_string_lossy()))
        .collect();
    let program = Path::new(command.get_program());
    words.push(program.file_name().unwrap_or_default().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
