//! A Python virtual environment in the build directory, with the packages that tests need. It is
//! created once, and again when the list of packages changes.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{Failure, program, root, step, succeeds, target_directory};
use crate::tools;

/// The interpreter of an environment with the packages of `list`, a requirements file in the
/// repository.
pub(crate) fn with_packages(list: &str) -> Result<PathBuf, Failure> {
    let wanted = fs::read_to_string(root().join(list))?;
    let directory = directory();
    let stamp = directory.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(interpreter(&directory));
    }
    let python = create(&directory)?;
    let mut install = program(&python, ["-m", "pip", "install", "--quiet", "--requirement", list]);
    step("python packages", &mut install)?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The interpreter of an environment that has pip, and possibly other packages.
pub(crate) fn with_pip() -> Result<PathBuf, Failure> {
    let directory = directory();
    let python = interpreter(&directory);
    let there = succeeds(&mut program(&python, ["-m", "pip", "--version"]));
    if there { Ok(python) } else { create(&directory) }
}

fn directory() -> PathBuf {
    target_directory().join("python")
}

fn interpreter(directory: &Path) -> PathBuf {
    directory.join("bin/python")
}

fn create(directory: &Path) -> Result<PathBuf, Failure> {
    tools::debian_for("python3-venv", || {
        succeeds(&mut program("python3", ["-c", "import ensurepip, venv"]))
    })?;
    let mut create = program("python3", ["-m", "venv", "--clear"]);
    step("python environment", create.arg(directory))?;
    Ok(interpreter(directory))
}
