//! Paths and patterns that files list.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use cuculus_backup::Error;

use super::Result;
use super::arguments::Backup;

pub(super) fn paths(options: &Backup) -> Result<Vec<PathBuf>> {
    let mut paths = options.paths.clone();
    for file in &options.files_from {
        let bytes = contents(file)?;
        let lines = bytes.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        paths.extend(lines.filter(|line| !line.is_empty() && line[0] != b'#').map(path));
    }
    for file in &options.files_from0 {
        let bytes = contents(file)?;
        paths.extend(bytes.split(|&byte| byte == 0).filter(|p| !p.is_empty()).map(path));
    }
    Ok(paths)
}

pub(super) fn patterns(options: &Backup) -> Result<Vec<String>> {
    let mut patterns = options.exclude.clone();
    for file in &options.exclude_file {
        let text = String::from_utf8_lossy(&contents(file)?).into_owned();
        let lines = text.lines().map(str::trim_end);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        patterns.extend(lines.map(str::to_owned));
    }
    Ok(patterns)
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn contents(file: &Path) -> Result<Vec<u8>> {
    let read = if file == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    let what = || format!("cannot read {}", file.display());
    Ok(read.map_err(|source| Error::Io { what: what(), source })?)
}
