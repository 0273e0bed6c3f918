//! Restores trees. Knows the order: contents, owner, mode, attributes, times, and a directory after
//! its contents. A file whose bytes cannot be restored exactly is left out and reported.

mod apply; // metadata

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::chunks::Chunks;
use crate::error::{DamagedPart, Error, Result};
use crate::id::ChunkId;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Node, NodeKind, Piece};

/// Bytes per write.
const WRITE_SIZE: usize = 1 << 20;

/// What to restore, and where to.
#[derive(Clone, Debug, Default)]
pub struct RestoreOptions {
    /// The directory to restore to.
    pub target: PathBuf,
    /// Paths in the snapshot; an empty list means all.
    pub include: Vec<PathBuf>,
    /// Replace existing files.
    pub overwrite: bool,
    /// Write nothing, but read and verify everything.
    pub dry_run: bool,
}

/// What was restored.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct RestoreReport {
    /// Files, links and devices.
    pub files: u64,
    /// Directories.
    pub directories: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Paths that could not be restored exactly; each was reported.
    pub problems: u64,
}

impl Repository {
    /// Restores the files of a snapshot to a directory.
    ///
    /// # Errors
    /// If the target is not empty (without `overwrite`), a path is not in the snapshot, or the root
    /// of the snapshot cannot be read. Single files that cannot be restored are reported as
    /// problems and counted.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        options: &RestoreOptions,
        progress: &dyn Progress,
    ) -> Result<RestoreReport> {
        let mut chunks = self.chunks()?;
        let include: Vec<Vec<u8>> = options.include.iter().map(|path| normal(path)).collect();
        for (path, given) in include.iter().zip(&options.include) {
            if tree::resolve(&mut chunks, &snapshot.root, path)?.is_none() && !path.is_empty() {
                return Err(Error::PathNotFound { path: given.clone(), snapshot: snapshot.name });
            }
        }
        if !options.dry_run {
            prepare(&options.target, options.overwrite)?;
        }
        progress.total(snapshot.bytes);
        progress.phase("restoring");
        let mut restore = Restore {
            repository: self,
            chunks,
            include,
            overwrite: options.overwrite,
            dry_run: options.dry_run,
            links: HashMap::new(),
            progress,
            report: RestoreReport::default(),
        };
        let nodes = restore.read_dir(&snapshot.root)?;
        restore.write_nodes(&options.target, b"", nodes);
        Ok(restore.report)
    }
}

/// A path of a snapshot: each name after a slash, without a slash at the end.
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
        return Err(Error::NotEmpty {
            location: target.display().to_string(),
            remedy: "restore to an empty directory, or use --overwrite",
        });
    }
    Ok(())
}

struct Restore<'a> {
    repository: &'a Repository,
    chunks: Chunks,
    include: Vec<Vec<u8>>,
    overwrite: bool,
    dry_run: bool,
    /// The first restored path of each file with several hard links.
    links: HashMap<(u64, u64), PathBuf>,
    progress: &'a dyn Progress,
    report: RestoreReport,
}

impl Restore<'_> {
    /// A prune may have moved chunks since the index was read: then reads the index again, once.
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
        self.progress.problem(&format!("{}: {what}", path.display()));
    }

    /// Whether a path is included, or leads to one that is.
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
        if path.len() > tree::MAX_PATH_LEN {
            return Err(Error::damage(DamagedPart::Directory, tree::PATH_TOO_LONG));
        }
        if let NodeKind::Dir(dir) = &node.kind {
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

    /// An existing directory is fine; a link to one is not, since it may lead out of the target.
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
            Ok(there) if there.is_dir() => Err(Error::DirectoryInTheWay),
            Ok(_) => fs::remove_file(target).map_err(Error::at("replace", target)),
            Err(_) => Ok(()),
        }
    }

    /// Makes a hard link if another link to the same file was restored already.
    fn write_link(&mut self, target: &Path, node: &Node) -> Result<bool> {
        let Some(first) = node.meta.link.and_then(|link| self.links.get(&link)) else {
            return Ok(false);
        };
        fs::hard_link(first, target).map_err(Error::at("link", target))?;
        self.report.files += 1;
        self.progress.advance(node.size());
        Ok(true)
    }

    fn write_contents(&mut self, target: &Path, node: &Node) -> Result<()> {
        match &node.kind {
            NodeKind::File { size, pieces } if self.dry_run => {
                self.write_pieces(None, *size, pieces)
            }
            _ if self.dry_run => Ok(()),
            NodeKind::File { size, pieces } => {
                let mut options = OpenOptions::new();
                let open = options.write(true).create_new(true).mode(0o600).open(target);
                let mut file = open.map_err(Error::at("create", target))?;
                let written = self.write_pieces(Some((&mut file, target)), *size, pieces);
                written.inspect_err(|_| {
                    // Half a file would look like a whole one.
                    let _ = fs::remove_file(target);
                })
            }
            NodeKind::Symlink(to) => {
                let made = std::os::unix::fs::symlink(OsStr::from_bytes(to), target);
                made.map_err(Error::at("create", target))
            }
            NodeKind::Fifo | NodeKind::Char(_) | NodeKind::Block(_) => apply::special(target, node),
            NodeKind::Dir(_) => Ok(()),
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
                    if buffer.len() >= WRITE_SIZE {
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
            return Err(Error::damage(
                DamagedPart::ChunkList,
                format!("{position} of {size} bytes"),
            ));
        }
        if let Some((file, path)) = file
            && matches!(pieces.last(), Some(Piece::Hole(_)))
        {
            file.set_len(size).map_err(Error::at("write", path))?;
        }
        self.report.bytes += size;
        self.progress.advance(size);
        Ok(())
    }
}
