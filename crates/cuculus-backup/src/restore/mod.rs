//! Trees written back. Knows the order: contents, owner, mode, attributes, times, and a directory
//! after what it holds. A file whose bytes cannot be had exactly is left out and reported.

mod apply; // metadata

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::chunks::Chunks;
use crate::error::{Error, Result};
use crate::id::ChunkId;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Node, Piece, What};
use crate::watch::Watch;

/// Written at once.
const WRITE: usize = 1 << 20;

/// Where to restore to, and what.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The directory that the tree is written below.
    pub target: PathBuf,
    /// Paths in the snapshot; none means all.
    pub include: Vec<PathBuf>,
    /// Files that are in the way are replaced.
    pub overwrite: bool,
    /// Nothing is written; everything is read and checked.
    pub dry_run: bool,
}

/// What was restored.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct RestoreReport {
    /// Files, links and devices.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// What could not be restored exactly; each was reported.
    pub problems: u64,
}

impl Repository {
    /// Writes a snapshot's files below a directory.
    ///
    /// # Errors
    /// If the target is not empty (and nothing may be replaced), if a path is not in the snapshot,
    /// or if the root of the snapshot cannot be read. Single files that cannot be restored are
    /// reported to the watcher and counted.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        options: &RestoreOptions,
        watch: &dyn Watch,
    ) -> Result<RestoreReport> {
        let mut chunks = self.chunks()?;
        let include: Vec<Vec<u8>> = options.include.iter().map(|path| normal(path)).collect();
        for (path, given) in include.iter().zip(&options.include) {
            if tree::resolve(&mut chunks, &snapshot.root, path)?.is_none() && !path.is_empty() {
                return Err(Error::NotFound(format!(
                    "{} is not in snapshot {}; `ls` shows what is",
                    given.display(),
                    snapshot.name.short()
                )));
            }
        }
        if !options.dry_run {
            prepare(&options.target, options.overwrite)?;
        }
        watch.total(snapshot.bytes);
        watch.phase("restoring");
        let mut restore = Restore {
            repository: self,
            chunks,
            include,
            overwrite: options.overwrite,
            dry_run: options.dry_run,
            links: HashMap::new(),
            watch,
            report: RestoreReport::default(),
        };
        let nodes = restore.read_dir(&snapshot.root)?;
        restore.write_nodes(&options.target, b"", nodes);
        Ok(restore.report)
    }
}

/// A path of a snapshot: names after slashes, none at the end.
fn normal(path: &Path) -> Vec<u8> {
    let names = path.as_os_str().as_bytes().split(|&byte| byte == b'/');
    names.filter(|name| !name.is_empty() && *name != b".").fold(Vec::new(), |mut path, name| {
        path.push(b'/');
        path.extend_from_slice(name);
        path
    })
}

fn prepare(target: &Path, overwrite: bool) -> Result<()> {
    let made = DirBuilder::new().recursive(true).create(target);
    made.map_err(Error::at("create", target))?;
    let mut there = fs::read_dir(target).map_err(Error::at("read", target))?;
    if there.next().is_some() && !overwrite {
        return Err(Error::refused(format!(
            "{} is not empty; restore to an empty directory, or with --overwrite",
            target.display()
        )));
    }
    Ok(())
}

struct Restore<'a> {
    repository: &'a Repository,
    chunks: Chunks,
    include: Vec<Vec<u8>>,
    overwrite: bool,
    dry_run: bool,
    /// Where the first name of a file with several was written.
    links: HashMap<(u64, u64), PathBuf>,
    watch: &'a dyn Watch,
    report: RestoreReport,
}

impl Restore<'_> {
    /// A prune may have moved chunks since we read the index: then it is read again, once.
    fn retry<T>(&mut self, mut read: impl FnMut(&mut Chunks) -> Result<T>) -> Result<T> {
        match read(&mut self.chunks) {
            Err(error) if error.is_missing() => {
                self.chunks = self.repository.chunks()?;
                read(&mut self.chunks)
            }
            outcome => outcome,
        }
    }

    fn read_dir(&mut self, dir: &DirRef) -> Result<Vec<Node>> {
        self.retry(|chunks| tree::read_dir(chunks, dir))
    }

    fn read_chunk(&mut self, id: &ChunkId, out: &mut Vec<u8>) -> Result<()> {
        let before = out.len();
        self.retry(|chunks| {
            out.truncate(before);
            chunks.read(id, out)
        })
    }

    fn problem(&mut self, path: &Path, what: &dyn std::fmt::Display) {
        self.report.problems += 1;
        self.watch.problem(&format!("{}: {what}", path.display()));
    }

    /// Whether a path is asked for, or leads to one that is.
    fn wanted(&self, path: &[u8]) -> bool {
        let below = |path: &[u8], dir: &[u8]| {
            path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        };
        self.include.is_empty()
            || self.include.iter().any(|asked| below(path, asked) || below(asked, path))
    }

    fn write_nodes(&mut self, target: &Path, within: &[u8], nodes: Vec<Node>) {
        for node in nodes {
            let path = [within, b"/", &node.name].concat();
            if self.wanted(&path) {
                let target = target.join(OsStr::from_bytes(&node.name));
                if let Err(error) = self.write_node(&target, &path, &node) {
                    self.problem(&target, &error);
                }
            }
        }
    }

    fn write_node(&mut self, target: &Path, path: &[u8], node: &Node) -> Result<()> {
        if path.len() > tree::MOST_PATH {
            return Err(Error::refused("the path is too long"));
        }
        if let What::Dir(dir) = &node.what {
            let nodes = self.read_dir(dir)?;
            self.report.directories += 1;
            if !self.dry_run {
                self.make_dir(target)?;
            }
            self.write_nodes(target, path, nodes);
        } else {
            self.make_room(target)?;
            if self.write_link(target, node)? {
                return Ok(());
            }
            self.write_contents(target, node)?;
            self.report.files += 1;
        }
        if self.dry_run {
            return Ok(());
        }
        if let Some(link) = node.meta.link {
            self.links.insert(link, target.to_path_buf());
        }
        for problem in apply::metadata(target, node) {
            self.problem(target, &problem);
        }
        Ok(())
    }

    /// An existing directory will do; a link to one will not, since it may lead anywhere.
    fn make_dir(&mut self, target: &Path) -> Result<()> {
        match fs::symlink_metadata(target) {
            Ok(there) if there.is_dir() => return Ok(()),
            Ok(_) => self.make_room(target)?,
            Err(_) => {}
        }
        DirBuilder::new().mode(0o700).create(target).map_err(Error::at("create", target))
    }

    fn make_room(&self, target: &Path) -> Result<()> {
        if !self.overwrite || self.dry_run {
            return Ok(());
        }
        match fs::symlink_metadata(target) {
            Ok(there) if there.is_dir() => Err(Error::refused("a directory is in the way")),
            Ok(_) => fs::remove_file(target).map_err(Error::at("replace", target)),
            Err(_) => Ok(()),
        }
    }

    /// Another name for a file that is there already.
    fn write_link(&mut self, target: &Path, node: &Node) -> Result<bool> {
        let Some(first) = node.meta.link.and_then(|link| self.links.get(&link)) else {
            return Ok(false);
        };
        fs::hard_link(first, target).map_err(Error::at("link", target))?;
        self.report.files += 1;
        self.watch.advance(node.size());
        Ok(true)
    }

    fn write_contents(&mut self, target: &Path, node: &Node) -> Result<()> {
        match &node.what {
            What::File { size, pieces } if self.dry_run => self.write_pieces(None, *size, pieces),
            _ if self.dry_run => Ok(()),
            What::File { size, pieces } => {
                let mut options = OpenOptions::new();
                let open = options.write(true).create_new(true).mode(0o600).open(target);
                let mut file = open.map_err(Error::at("create", target))?;
                let written = self.write_pieces(Some((&mut file, target)), *size, pieces);
                written.inspect_err(|_| {
                    // Half a file under its name would pass for a whole one.
                    let _ = fs::remove_file(target);
                })
            }
            What::Symlink(to) => {
                let made = std::os::unix::fs::symlink(OsStr::from_bytes(to), target);
                made.map_err(Error::at("create", target))
            }
            What::Fifo | What::Char(_) | What::Block(_) => apply::special(target, node),
            What::Dir(_) => Ok(()),
        }
    }

    fn write_pieces(
        &mut self,
        mut file: Option<(&mut File, &Path)>,
        size: u64,
        pieces: &[Piece],
    ) -> Result<()> {
        let mut buffer = Vec::new();
        let mut position = 0u64;
        let mut flush = |buffer: &mut Vec<u8>, skip: u64| -> Result<()> {
            if let Some((file, path)) = &mut file {
                let written = file.write_all(buffer).and_then(|()| match i64::try_from(skip) {
                    Ok(0) => Ok(0),
                    Ok(skip) => file.seek(SeekFrom::Current(skip)),
                    Err(_) => Err(std::io::ErrorKind::FileTooLarge.into()),
                });
                written.map_err(Error::at("write", path))?;
            }
            buffer.clear();
            Ok(())
        };
        for piece in pieces {
            let before = buffer.len() as u64;
            match piece {
                Piece::Chunk(id) => {
                    self.read_chunk(id, &mut buffer)?;
                    position = position.saturating_add(buffer.len() as u64 - before);
                    if buffer.len() >= WRITE {
                        flush(&mut buffer, 0)?;
                    }
                }
                Piece::Hole(len) => {
                    position = position.saturating_add(*len);
                    flush(&mut buffer, *len)?;
                }
            }
        }
        flush(&mut buffer, 0)?;
        if position != size {
            return Err(Error::damaged(format!("the list of chunks ({position} of {size} bytes)")));
        }
        if let Some((file, path)) = file
            && matches!(pieces.last(), Some(Piece::Hole(_)))
        {
            file.set_len(size).map_err(Error::at("write", path))?;
        }
        self.report.bytes += size;
        self.watch.advance(size);
        Ok(())
    }
}
