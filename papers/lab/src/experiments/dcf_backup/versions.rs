//! Versions of a real source tree, fetched from the package registry that cargo is set up with, and
//! divided into chunks by their content. Knows nothing of filters.

use std::fs;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use foldhash::quality::FixedState;

/// The package: large, old, and every version changes some of its files.
const PACKAGE: &str = "libc";
const FIRST_VERSION: usize = 20;

/// Bounds and mean of a chunk in bytes.
const LEAST_CHUNK: usize = 512;
const MOST_CHUNK: usize = 8192;
const CHUNK_BITS: u32 = 11;

/// The chunks of each version, in order, by their hash.
pub(super) type Versions = Vec<Vec<u64>>;

/// Fetches versions, unless they are there already, and divides them.
pub(super) fn fetched(
    count: usize,
    directory: &Path,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Versions> {
    let mut versions = Vec::new();
    for at in 0..count {
        // From old to new, evenly over what there was when this was written.
        let number = FIRST_VERSION + at * 150 / count.max(1);
        let name = format!("{PACKAGE}-0.2.{number}");
        let tree = directory.join(&name);
        if !tree.is_dir() {
            progress(&format!("fetching {name}"));
            if let Err(error) = fetch(number, directory) {
                // Some numbers were never published.
                ensure!(at > 0, "cannot fetch {name}: {error:#}");
                continue;
            }
        }
        let mut chunks = Vec::new();
        divide_tree(&tree, &mut chunks)?;
        if !chunks.is_empty() {
            versions.push(chunks);
        }
    }
    ensure!(versions.len() > 1, "fewer than two versions of {PACKAGE} could be fetched");
    Ok(versions)
}

/// A package of its own for each version, since one may not depend on two that are compatible.
fn fetch(number: usize, directory: &Path) -> anyhow::Result<()> {
    let project = directory.join(format!("for-{number}"));
    fs::create_dir_all(&project)?;
    let manifest = format!(
        "[package]\nname = \"sources\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n\
         [dependencies]\n{PACKAGE} = {{ version = \"=0.2.{number}\", default-features = false }}\n"
    );
    fs::write(project.join("Cargo.toml"), manifest)?;
    fs::write(project.join("lib.rs"), "")?;
    let vendored = project.join("vendored");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["vendor", "--quiet", "--versioned-dirs"])
        .arg(&vendored)
        .current_dir(&project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cargo does not run")?;
    ensure!(status.success(), "cargo vendor failed ({status})");
    let name = format!("{PACKAGE}-0.2.{number}");
    fs::rename(vendored.join(&name), directory.join(&name))?;
    fs::remove_dir_all(project)?;
    Ok(())
}

fn divide_tree(tree: &Path, chunks: &mut Vec<u64>) -> anyhow::Result<()> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(tree)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            divide_tree(&path, chunks)?;
        } else if path.file_name().is_some_and(|name| name != ".cargo-checksum.json") {
            divide(&fs::read(&path)?, chunks);
        }
    }
    Ok(())
}

/// Ends a chunk where a rolling sum of the last bytes has eleven zeros, so that what is inserted in
/// a file moves no other boundary.
fn divide(bytes: &[u8], chunks: &mut Vec<u64>) {
    let hasher = FixedState::with_seed(1);
    let gears = |byte: u8| hasher.hash_one(byte);
    let table: Vec<u64> = (0..=255).map(gears).collect();
    let (mut start, mut rolling) = (0, 0u64);
    for (at, &byte) in bytes.iter().enumerate() {
        rolling = (rolling << 1).wrapping_add(table[usize::from(byte)]);
        let length = at + 1 - start;
        let ends = rolling >> (64 - CHUNK_BITS) == 0 && length >= LEAST_CHUNK;
        if ends || length == MOST_CHUNK || at + 1 == bytes.len() {
            chunks.push(hasher.hash_one(&bytes[start..=at]));
            (start, rolling) = (at + 1, 0);
        }
    }
}

#[cfg(test)]
pub(super) fn synthetic(count: usize, chunks: usize) -> Versions {
    let mut random = fastrand::Rng::with_seed(1);
    let mut version: Vec<u64> = (0..chunks).map(|_| random.u64(..)).collect();
    let mut next = |_| {
        for _ in 0..chunks / 10 {
            let at = random.usize(..chunks);
            version[at] = random.u64(..);
        }
        version.clone()
    };
    (0..count).map(&mut next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insertion_changes_few_chunks() {
        let mut random = fastrand::Rng::with_seed(7);
        let bytes: Vec<u8> = (0..200_000).map(|_| random.u8(..)).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        divide(&bytes, &mut before);
        let mut changed = bytes.clone();
        changed.splice(100_000..100_000, *b"something new");
        divide(&changed, &mut after);
        let kept = after.iter().filter(|chunk| before.contains(chunk)).count();
        assert!(before.len() > 60 && before.len() < 200, "{}", before.len());
        assert!(kept + 3 >= after.len(), "{kept} of {}", after.len());
    }
}
