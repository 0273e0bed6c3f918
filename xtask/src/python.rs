//! Python virtual environments in the build directory, with the packages that tests need. Each is
//! created once, and again when its list of packages changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::run::{program, root, step, succeeds, target_directory};
use crate::tools;

/// The interpreter of an environment with the packages of `list`, a requirements file in the
/// repository.
pub(crate) fn with_packages(list: &str) -> Result<PathBuf> {
    environment("python", "python3", list)
}

/// The interpreter of an environment of its own: its directory in the build directory, the interpreter that
/// it is made with, and its requirements file.
pub(crate) fn environment(name: &str, maker: &str, list: &str) -> Result<PathBuf> {
    let wanted = fs::read_to_string(root().join(list))?;
    let directory = target_directory().join(name);
    let stamp = directory.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(interpreter(&directory));
    }
    let python = create(&directory, maker)?;
    let mut install = program(&python, ["-m", "pip", "install", "--quiet", "--requirement", list]);
    step("python packages", &mut install)?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The interpreter of an environment that has pip, and possibly other packages.
pub(crate) fn with_pip() -> Result<PathBuf> {
    let directory = target_directory().join("python");
    let python = interpreter(&directory);
    let there = succeeds(&mut program(&python, ["-m", "pip", "--version"]));
    if there { Ok(python) } else { create(&directory, "python3") }
}

fn interpreter(directory: &Path) -> PathBuf {
    directory.join("bin/python")
}

fn create(directory: &Path, maker: &str) -> Result<PathBuf> {
    tools::debian(&[tools::PYTHON_VENV])?;
    let mut create = program(maker, ["-m", "venv", "--clear"]);
    step("python environment", create.arg(directory))?;
    Ok(interpreter(directory))
}

/// An interpreter of this machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interpreter {
    /// As in `3.14`, or `3.14t` without a global lock.
    pub(crate) version: String,
    pub(crate) path: String,
}

/// The interpreters of this machine from a version of 3 on, or from another one without a global lock; one of
/// each version: those on the path, and those that pyenv has.
pub(crate) fn interpreters(oldest: u32, oldest_without_lock: u32) -> Vec<Interpreter> {
    let mut candidates: Vec<String> = vec!["python3".into()];
    for minor in oldest..oldest + 10 {
        candidates.extend([format!("python3.{minor}"), format!("python3.{minor}t")]);
    }
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let versions = pyenv.map(|pyenv| pyenv.join("versions")).map(fs::read_dir);
    let versions = versions.into_iter().flatten().flatten().flatten();
    candidates
        .extend(versions.map(|version| version.path().join("bin/python3").display().to_string()));
    let mut found: Vec<Interpreter> = Vec::new();
    for path in candidates {
        let code = "import sys, sysconfig; t = sysconfig.get_config_var('Py_GIL_DISABLED'); \
                    print(sys.version_info[1], 't' if t else '')";
        let said = program(&path, ["-c", code]).output();
        let Ok(said) = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()) else {
            continue;
        };
        let mut words = said.split_whitespace();
        let Some(minor) = words.next().and_then(|minor| minor.parse::<u32>().ok()) else {
            continue;
        };
        let mark = words.next().unwrap_or_default();
        let version = format!("3.{minor}{mark}");
        let oldest = if mark.is_empty() { oldest } else { oldest_without_lock };
        if minor >= oldest && found.iter().all(|other| other.version != version) {
            found.push(Interpreter { version, path });
        }
    }
    found
}
