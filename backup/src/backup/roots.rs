//! Several paths as one tree: their common parent directories, and where each path begins.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// A parent directory of what is saved, or a path to save whole; the latter has nothing in `below`.
#[derive(Default)]
pub(super) struct Roots {
    pub(super) whole: bool,
    pub(super) below: BTreeMap<OsString, Roots>,
}

impl Roots {
    pub(super) fn of(paths: &[PathBuf]) -> Result<Self> {
        let mut root = Self::default();
        if paths.is_empty() {
            return Err(Error::NothingToBackUp);
        }
        for path in paths {
            // Symbolic links are saved as links, so the path is not resolved.
            let full = std::path::absolute(path).map_err(Error::at("find", path))?;
            std::fs::symlink_metadata(&full).map_err(Error::at("back up", &full))?;
            root.add(&components(&full));
        }
        Ok(root)
    }

    fn add(&mut self, names: &[OsString]) {
        match names.split_first() {
            // Everything below is included.
            None => *self = Self { whole: true, below: BTreeMap::new() },
            Some(_) if self.whole => {}
            Some((first, rest)) => self.below.entry(first.clone()).or_default().add(rest),
        }
    }

    pub(super) fn paths(&self) -> Vec<Vec<u8>> {
        let mut paths = Vec::new();
        self.collect(Path::new("/"), &mut paths);
        paths
    }

    fn collect(&self, path: &Path, paths: &mut Vec<Vec<u8>>) {
        if self.whole {
            paths.push(path.as_os_str().as_bytes().to_vec());
        }
        for (name, below) in &self.below {
            below.collect(&path.join(name), paths);
        }
    }
}

/// The components of a path. `..` removes the last component, as in a shell.
fn components(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(OsStr::to_owned(name)),
            Component::ParentDir => _ = names.pop(),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_within_others_count_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        std::fs::create_dir_all(path.join("a/b")).expect("directories");
        std::fs::create_dir(path.join("c")).expect("a directory");
        let paths = ["a/b", "a", "c/../c", "a/b"].map(|name| path.join(name));
        let roots = Roots::of(&paths).expect("paths");
        let bytes = |name: &str| path.join(name).into_os_string().into_encoded_bytes();
        assert_eq!(roots.paths(), [bytes("a"), bytes("c")]);
        assert!(Roots::of(&[path.join("missing")]).is_err());
    }
}
