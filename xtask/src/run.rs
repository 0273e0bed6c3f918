//! Running other programs, step by step. Knows how a step is announced, timed and failed;
//! nothing of what the steps are for.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Why a command ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was called wrongly.
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
            Self::Usage(words) | Self::Failed(words) => f.write_str(words),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// The root of the repository: cargo tells a program that it runs where its package lies.
pub(crate) fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = package.as_deref().and_then(|package| package.parent());
    root.map_or_else(|| PathBuf::from("."), PathBuf::from)
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    let chosen = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(chosen.unwrap_or("target".into()))
}

/// Cargo at the root of the repository, of the toolchain that runs this program.
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

/// Runs one step, with its output in view.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<(), Failure> {
    println!("==> {name}: {}", words_of(command));
    let start = Instant::now();
    let status = command.status().map_err(|error| {
        Failure::Failed(format!("{name} failed: cannot run {}: {error}", words_of(command)))
    })?;
    if !status.success() {
        return Err(Failure::Failed(format!("{name} failed ({status}): {}", words_of(command))));
    }
    println!("    {name}: passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Whether a command succeeds; its output is thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// A command as it would be typed.
fn words_of(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut words: Vec<String> = set
        .map(|(name, value)| format!("{}={:?}", name.display(), value.to_string_lossy()))
        .collect();
    let program = Path::new(command.get_program());
    words.push(program.file_name().unwrap_or_default().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
