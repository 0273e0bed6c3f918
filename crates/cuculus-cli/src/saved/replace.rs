//! A file that a command is about to replace: which ones it may, and what Ctrl-C leaves. How a file is
//! replaced is in `cuculus-file`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::interrupt::Unfinished;
use crate::keys::shown;

/// A file that is about to be replaced. Dropped without [`commit`](Self::commit), it changes
/// nothing.
pub(crate) struct Replacement {
    /// Forgotten before the new file is removed, and with it the lock on the name.
    unfinished: Unfinished,
    begun: cuculus_file::Replacement,
}

impl Replacement {
    /// Begins to replace a file that must exist.
    pub(crate) fn of_existing(path: &Path) -> Result<Self> {
        super::not_a_pipe(path)?;
        let there = || fs::metadata(path).with_context(|| cannot_open(path));
        // Before the new file is created, and again when no other writer can move it.
        there()?;
        let begun = Self::begin(path)?;
        there()?;
        Ok(begun)
    }

    /// Begins to create a file; with `may_exist` it may replace an existing one.
    pub(crate) fn of_new(path: &Path, may_exist: bool) -> Result<Self> {
        super::not_a_pipe(path)?;
        let begun = Self::begin(path)?;
        if !may_exist && begun.begun.replaces_a_file() {
            bail!("{} exists; choose another name, or add --force to replace it", shown(path));
        }
        Ok(begun)
    }

    fn begin(path: &Path) -> Result<Self> {
        let begun = cuculus_file::Replacement::begin(path)?;
        Ok(Self { unfinished: Unfinished::new(begun.new_path()), begun })
    }

    /// Adds to the new file what is not written at once by [`commit`](Self::commit).
    #[cfg(feature = "cluster")]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.begun.append(bytes)?)
    }

    /// Writes the new file and renames it over the old one. When this returns, the new file is
    /// fsynced; if the process ends before, the old file is unchanged.
    pub(crate) fn commit(self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
        let written = self.begun.written(write)?;
        Ok(self.unfinished.finish(|| written.rename())?)
    }
}

pub(super) fn cannot_open(path: &Path) -> String {
    format!("cannot open {}", shown(path))
}
