//! The Python package: builds wheels, installs them into environments of their own, tests and measures them.
//! Knows maturin and the requirements files; the tests and the benchmark are in the package's directory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::python::{self, Interpreter};
use crate::run::{program, root, step, target_directory};
use crate::test::Steps;
use crate::valkey::{self, Built};

const PACKAGE: &str = "crates/cuculus-python";
/// All that the tests use.
const ALL: &str = "crates/cuculus-python/tests/requirements.txt";
/// What runs on every interpreter: few packages, since new interpreters have few.
const FEW: &str = "crates/cuculus-python/tests/requirements-few.txt";
const PEERS: &str = "crates/cuculus-python/benches/requirements.txt";
/// The interpreter of the wheel's interface is the oldest.
const OLDEST: u32 = 11;
/// The oldest without a global lock that PyO3 supports.
const OLDEST_WITHOUT_LOCK: u32 = 14;

/// `cargo xtask python`: builds the wheel and runs all its tests.
pub(crate) fn run() -> Result<()> {
    valkey::prepare()?;
    let mut steps = Steps::default();
    let packages = [
        "--package",
        "cuculus-valkey",
        "--package",
        "cuculus-cli",
        "--features",
        "cuculus-cli/cluster",
    ];
    let built = valkey::build_for_tests(&mut steps, &packages)?;
    test(&mut steps, &built)?;
    println!("\n{steps}");
    Ok(())
}

/// Tests the package: all tests on the usual interpreter, those that need few packages on all others.
pub(crate) fn test(steps: &mut Steps, built: &Built) -> Result<()> {
    let python = python::environment("python-package", "python3", ALL)?;
    // The wheel for release is made of it; here it is only made, which takes a second.
    steps.run("python sources", &mut sdist(&python, &target_directory().join("wheels/sources")))?;
    let wheel = build(steps, &python, "dev", None)?;
    install(steps, &python, &wheel)?;
    let tests = format!("{PACKAGE}/tests");
    steps.run("python tests", built.environment(&mut pytest(&python, &[&tests])))?;
    let mut stubs = program(&python, ["-m", "mypy.stubtest", "cuculus_filter"]);
    // Not at the root: the package that is tested is the one that was installed.
    steps.run("python stubs", stubs.current_dir(target_directory()))?;
    let interpreters = python::interpreters(OLDEST, OLDEST_WITHOUT_LOCK);
    println!("    interpreters: {}", versions(&interpreters));
    for interpreter in interpreters.iter().skip(1) {
        let Interpreter { version, path } = interpreter;
        let other = python::environment(&format!("python-package-{version}"), path, FEW)?;
        let mut wheel = wheel.clone();
        if version.ends_with('t') {
            // An interpreter without a global lock has an interface of its own.
            wheel = build(steps, &python, "dev", Some(&other))?;
        }
        install(steps, &other, &wheel)?;
        let few = ["test_set.py", "test_files.py", "test_fork.py", "test_threads.py"];
        let few = few.map(|file| format!("{tests}/{file}"));
        let mut run = pytest(&other, &few.each_ref().map(String::as_str));
        steps.run(&format!("python {version} tests"), built.environment(&mut run))?;
    }
    Ok(())
}

fn versions(interpreters: &[Interpreter]) -> String {
    let versions: Vec<_> = interpreters.iter().map(|found| found.version.as_str()).collect();
    versions.join(", ")
}

fn pytest(python: &Path, tests: &[&str]) -> std::process::Command {
    let mut command = program(python, ["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    command.args(tests).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// `cargo xtask bench-python`: measures the package beside others.
pub(crate) fn bench(arguments: &[String]) -> Result<()> {
    let python = python::environment("python-bench", "python3", PEERS)?;
    let mut steps = Steps::default();
    let wheel = build(&mut steps, &python, "release", None)?;
    install(&mut steps, &python, &wheel)?;
    let script = format!("{PACKAGE}/benches/peers.py");
    step("bench", program(&python, [script.as_str()]).args(arguments))
}

/// Makes the source distribution.
fn sdist(python: &Path, place: &Path) -> std::process::Command {
    let mut command = program(python, ["-m", "maturin", "sdist", "--out"]);
    command.arg(place).current_dir(root().join(PACKAGE));
    command
}

/// Wheel and source distribution for release, in a directory; returns their names.
pub(crate) fn dist(place: &Path) -> Result<Vec<String>> {
    let python = python::environment("python-package", "python3", ALL)?;
    step("python sources", &mut sdist(&python, place))?;
    let sources = only(place, ".tar.gz")?;
    // The wheel is made of the sources: they are complete.
    let mut wheel = program(&python, ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]);
    step("python wheel", wheel.arg(place).arg(&sources))?;
    let wheel = only(place, ".whl")?;
    let fresh = target_directory().join("python-fresh");
    step("fresh environment", program("python3", ["-m", "venv", "--clear"]).arg(&fresh))?;
    let python = fresh.join("bin/python");
    let mut install = program(&python, ["-m", "pip", "install", "--quiet"]);
    step("install", install.arg(&wheel))?;
    let code =
        "import cuculus_filter as c; assert list(c.Filter().add_new([1, 1])) == [True, False]";
    step("import", program(&python, ["-c", code]).current_dir(place))?;
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(vec![name(sources), name(wheel)])
}

/// Builds a wheel, for the interface of all interpreters or for one interpreter.
fn build(
    steps: &mut Steps,
    python: &Path,
    profile: &str,
    only_for: Option<&Path>,
) -> Result<PathBuf> {
    let place = target_directory().join("wheels").join(profile);
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let mut command = program(python, ["-m", "maturin", "build", "--quiet", "--profile", profile]);
    command.arg("--out").arg(&place).current_dir(root().join(PACKAGE));
    command.arg("--interpreter").arg(only_for.unwrap_or(python));
    if only_for.is_some() {
        command.args(["--features", "shared"]);
    }
    // A directory of its own: maturin sets variables after which PyO3 is compiled again.
    command.env("CARGO_TARGET_DIR", target_directory().join("maturin"));
    steps.run("python wheel", &mut command)?;
    only(&place, ".whl")
}

fn install(steps: &mut Steps, python: &Path, wheel: &Path) -> Result<()> {
    let words = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"];
    steps.run("python install", program(python, words).arg(wheel))
}

/// The one file of a directory whose name ends so.
fn only(directory: &Path, end: &str) -> Result<PathBuf> {
    let files = fs::read_dir(directory)?.flatten().map(|entry| entry.path());
    let mut files = files.filter(|path| path.to_string_lossy().ends_with(end));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file.canonicalize()?),
        _ => bail!("{} has not one file *{end}", directory.display()),
    }
}
