//! `cargo xtask bench-backup` and `soak-backup`: what the chunk digest brings to the backup, and its
//! tests for longer. Knows where many versions of one large package come from; what is measured
//! stands in the backup's benchmark.

use std::path::{Path, PathBuf};

use crate::run::{Failure, cargo, program, root, step};

/// A package with some twenty thousand files a version, from the Python package index.
const PACKAGE: &str = "ansible";
const VERSIONS: [&str; 23] = [
    "8.0.0", "8.1.0", "8.2.0", "8.3.0", "8.4.0", "8.5.0", "8.6.0", "8.6.1", "8.7.0", "9.0.1",
    "9.1.0", "9.2.0", "9.3.0", "9.4.0", "9.5.1", "9.6.1", "9.7.0", "9.8.0", "9.9.0", "9.10.0",
    "9.11.0", "9.12.0", "9.13.0",
];

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = cargo(["bench", "-p", "cuculus-backup", "--bench", "backup", "--"]);
    command.args(arguments);
    if !arguments.iter().any(|word| word.starts_with("--versions")) {
        command.arg("--versions").arg(versions()?);
    }
    step("bench-backup", &mut command)
}

/// `cargo xtask soak-backup`: more kills and more damaged bytes than the tests have time for.
pub(crate) fn soak(arguments: &[String]) -> Result<(), Failure> {
    let kills = match arguments {
        [] => "2000",
        [word, number] if word == "--kills" && number.parse::<u64>().is_ok() => number,
        _ => return Err(Failure::Usage("soak-backup takes [--kills N]".into())),
    };
    let words =
        ["test", "--release", "-p", "cuculus-backup", "--test", "crash", "--test", "damage"];
    let mut command = cargo(words.into_iter().chain(["--", "--nocapture"]));
    command.env("CUCULUS_BACKUP_KILLS", kills).env("CUCULUS_BACKUP_BYTES", "2000");
    step("soak-backup", &mut command)
}

/// The versions, unpacked side by side; fetched where they are missing.
fn versions() -> Result<PathBuf, Failure> {
    let all = root().join("target/backup-versions");
    for version in VERSIONS {
        let there = all.join(version);
        if !there.is_dir() {
            fetch(&all, version, &there)?;
        }
    }
    Ok(all)
}

fn fetch(all: &Path, version: &str, there: &Path) -> Result<(), Failure> {
    let download = root().join("target/backup-downloads");
    let wanted = format!("{PACKAGE}=={version}");
    let mut pip = program("python3", ["-m", "pip", "download", "--quiet", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--dest"]).arg(&download).arg(&wanted);
    step(&format!("fetch {wanted}"), &mut pip)?;
    let wheel = download.join(format!("{PACKAGE}-{version}-py3-none-any.whl"));
    // Under another name until it is complete, so that a second attempt does not take a part of
    // it for the whole.
    let part = all.join(format!("{version}.part"));
    let mut unpack = program("python3", ["-m", "zipfile", "-e"]);
    step(&format!("unpack {wanted}"), unpack.arg(&wheel).arg(&part))?;
    std::fs::rename(&part, there)?;
    std::fs::remove_file(&wheel)?;
    Ok(())
}
