//! Writes one restored file, link or device. Knows how to replace an existing one without losing it:
//! the new one is written beside it, and takes its name when it is complete.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Shared;
use super::apply::{self, Target};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::local_state::new_private_file;
use crate::source::{Part, Source};
use crate::tree::{Node, NodeKind};

/// Restores what is not a directory. What cannot be restored exactly is left out.
pub(super) fn node(
    shared: &Shared<'_>,
    source: &mut Source<'_>,
    target: &Path,
    node: &Node,
) -> Result<()> {
    if shared.dry_run {
        if let NodeKind::File { size, content } = &node.kind {
            source.read(content, *size, &mut |_| Ok(()))?;
        }
    } else {
        let place = Place::new(target, shared.overwrite)?;
        for problem in contents(source, &place.path, node, place.is_beside())? {
            shared.problem(target, &problem);
        }
        place.keep()?;
    }
    shared.count_file(node);
    Ok(())
}

/// Makes a hard link to a file that was restored already.
pub(super) fn link(shared: &Shared<'_>, first: &Path, target: &Path, node: &Node) -> Result<()> {
    let place = Place::new(target, shared.overwrite)?;
    fs::hard_link(first, &place.path).map_err(Error::at("link", target))?;
    place.keep()?;
    shared.count_file(node);
    Ok(())
}

/// Where a file is written: at its target, or beside it if something is there.
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) target: PathBuf,
    kept: bool,
}

impl Place {
    pub(super) fn new(target: &Path, overwrite: bool) -> Result<Self> {
        // Otherwise nothing is there, or creating the file fails.
        let there = if overwrite { fs::symlink_metadata(target).ok() } else { None };
        let path = match there {
            Some(there) if there.is_dir() => return Err(Error::DirectoryInTheWay),
            Some(_) => {
                target.with_file_name(format!(".cuculus-restore-{}", Name::random()?.short()))
            }
            None => target.to_owned(),
        };
        Ok(Self { path, target: target.to_owned(), kept: false })
    }

    pub(super) fn is_beside(&self) -> bool {
        self.path != self.target
    }

    pub(super) fn keep(mut self) -> Result<()> {
        if self.is_beside() {
            fs::rename(&self.path, &self.target).map_err(Error::at("replace", &self.target))?;
            // A rename between two names of the same file leaves both.
            let _ = fs::remove_file(&self.path);
        }
        self.kept = true;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.kept && self.is_beside() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

pub(super) fn create(path: &Path) -> Result<File> {
    new_private_file(path).map_err(Error::at("create", path))
}

/// Writes it with its metadata; returns what of the metadata could not be set.
fn contents(source: &mut Source<'_>, path: &Path, node: &Node, sync: bool) -> Result<Vec<String>> {
    match &node.kind {
        NodeKind::File { size, content } => {
            let mut file = create(path)?;
            let mut ends_in_a_hole = false;
            let written = source.read(content, *size, &mut |part| {
                let written = write(&mut file, &part, ends_in_a_hole);
                ends_in_a_hole = written.map_err(Error::at("write", path))?;
                Ok(())
            });
            let ended = written.and_then(|()| {
                let sized = if ends_in_a_hole { file.set_len(*size) } else { Ok(()) };
                // The old file goes: the new one must be on the disk.
                let synced = sized.and_then(|()| if sync { file.sync_data() } else { Ok(()) });
                synced.map_err(Error::at("write", path))
            });
            ended.inspect_err(|_| {
                // Half a file would look like a whole one.
                let _ = fs::remove_file(path);
            })?;
            return Ok(apply::metadata(Target::Open(&file), node));
        }
        NodeKind::Symlink(to) => {
            let made = std::os::unix::fs::symlink(OsStr::from_bytes(to), path);
            made.map_err(Error::at("create", path))?;
        }
        NodeKind::Fifo | NodeKind::Char(_) | NodeKind::Block(_) => apply::special(path, node)?,
        NodeKind::Dir(_) => return Ok(Vec::new()),
    }
    Ok(apply::metadata(Target::Path(path), node))
}

/// Returns whether the file ends in a hole so far.
fn write(file: &mut File, part: &Part<'_>, ends_in_a_hole: bool) -> std::io::Result<bool> {
    match part {
        Part::Bytes([]) => Ok(ends_in_a_hole),
        Part::Bytes(bytes) => file.write_all(bytes).map(|()| false),
        Part::Hole(len) => {
            let skip = i64::try_from(*len).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
            file.seek(SeekFrom::Current(skip)).map(|_| true)
        }
    }
}
