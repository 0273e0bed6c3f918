//! Runs other programs, step by step. Knows how a step is announced, measured and how it fails;
//! knows nothing of what the steps are for.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// What a step took, in seconds: by the clock, and of processor time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Took {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
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
pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    measured_step(name, command).map(drop)
}

/// Runs one step, shows its output, and returns the time it took.
pub(crate) fn measured_step(name: &str, command: &mut Command) -> Result<Took> {
    println!("==> {name}: {}", line_of(command));
    let (start, before) = (Instant::now(), cpu_of_children());
    let status = command.status().with_context(|| cannot_run(command))?;
    ensure!(status.success(), "{name} failed ({status}): {}", line_of(command));
    let took = Took { wall: start.elapsed().as_secs_f64(), cpu: cpu_of_children() - before };
    println!("    {name}: passed in {:.1} s", took.wall);
    Ok(took)
}

/// Seconds of processor time of all programs that have ended, where the system tells it: user and system
/// time are the 14th and 15th number after the name of this program, in hundredths on every Linux.
fn cpu_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (_, numbers) = stat.rsplit_once(") ").unwrap_or_default();
    let ticks = numbers.split(' ').skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// What a command prints on standard output; it must succeed.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| cannot_run(command))?;
    ensure!(output.status.success(), "{} failed ({})", line_of(command), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cannot_run(command: &Command) -> String {
    format!("cannot run {}", line_of(command))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_measured_and_must_succeed() {
        let count = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let took = measured_step("count", &mut program("sh", ["-c", count])).expect("it counts");
        assert!(took.cpu > 0.0 && took.wall > 0.0, "{took:?}");
        let failed = step("fail", &mut program("sh", ["-c", "exit 3"])).expect_err("exit 3");
        assert!(
            failed.to_string().contains("fail failed (exit status: 3): sh -c exit 3"),
            "{failed}"
        );
        assert!(step("none", &mut program("no-such-program", [])).is_err());
    }
}
