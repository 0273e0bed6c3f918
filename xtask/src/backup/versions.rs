//! Many versions of one large package, unpacked side by side. Knows where they come from and where
//! they are stored; nothing of what is measured with them.

use std::path::{Path, PathBuf};

use crate::python;
use crate::run::{Failure, program, step, target_directory};

/// A package with about twenty thousand files per version, from the Python package index.
const PACKAGE: &str = "ansible";
pub(super) const VERSIONS: [&str; 23] = [
    "8.0.0", "8.1.0", "8.2.0", "8.3.0", "8.4.0", "8.5.0", "8.6.0", "8.6.1", "8.7.0", "9.0.1",
    "9.1.0", "9.2.0", "9.3.0", "9.4.0", "9.5.1", "9.6.1", "9.7.0", "9.8.0", "9.9.0", "9.10.0",
    "9.11.0", "9.12.0", "9.13.0",
];

/// The directory of the versions, with one directory each; a full path, below which files are
/// restored.
pub(super) fn directory() -> PathBuf {
    let path = target_directory().join("backup-versions");
    std::path::absolute(&path).unwrap_or(path)
}

/// The first `count` versions, oldest first; downloaded if they are missing.
pub(super) fn fetched(count: usize) -> Result<Vec<PathBuf>, Failure> {
    let all = directory();
    let mut found = Vec::new();
    for version in VERSIONS.into_iter().take(count) {
        let there = all.join(version);
        if !there.is_dir() {
            fetch(&all, version, &there)?;
        }
        found.push(there);
    }
    Ok(found)
}

fn fetch(all: &Path, version: &str, there: &Path) -> Result<(), Failure> {
    let python = python::with_pip()?;
    let download = target_directory().join("backup-downloads");
    let wanted = format!("{PACKAGE}=={version}");
    let mut pip = program(&python, ["-m", "pip", "download", "--quiet", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--dest"]).arg(&download).arg(&wanted);
    step(&format!("fetch {wanted}"), &mut pip)?;
    let wheel = download.join(format!("{PACKAGE}-{version}-py3-none-any.whl"));
    // Unpacked under another name, so that an interrupted attempt is not taken for a complete one.
    let part = all.join(format!("{version}.part"));
    let mut unpack = program(&python, ["-m", "zipfile", "-e"]);
    step(&format!("unpack {wanted}"), unpack.arg(&wheel).arg(&part))?;
    std::fs::rename(&part, there)?;
    std::fs::remove_file(&wheel)?;
    Ok(())
}
