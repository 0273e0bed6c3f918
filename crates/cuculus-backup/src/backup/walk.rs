//! Walks directories, depth first. Knows the file system and the last snapshot; files that look
//! unchanged are taken from there without being read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::exclude::Exclude;
use super::files::{self, SaveError};
use super::metadata::{self, FileKind, MUST_READ};
use super::roots::Roots;
use super::saver::Saver;
use super::{BackupOptions, BackupReport};
use crate::chunker::Chunker;
use crate::chunks::Chunks;
use crate::error::Result;
use crate::id::ChunkId;
use crate::intent::now;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::sink::ChunkKind;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Meta, Node, NodeKind, Piece};

pub(super) struct Walk<'a> {
    saver: Saver,
    chunker: Chunker,
    /// Trees of the last snapshot.
    earlier: Chunks,
    exclude: Exclude,
    /// Device and inode of the repository, which is left out of its own backups.
    repository: Option<(u64, u64)>,
    one_file_system: bool,
    read_all: bool,
    /// Files with several hard links that were saved already.
    links: HashMap<(u64, u64), NodeKind>,
    progress: &'a dyn Progress,
    report: BackupReport,
}

/// The nodes of a directory in the last snapshot; empty if it was not there or cannot be read.
type Earlier = Vec<Node>;

impl<'a> Walk<'a> {
    pub(super) fn new(
        repository: &Repository,
        options: &BackupOptions,
        saver: Saver,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        Ok(Self {
            saver,
            chunker: Chunker::new(&repository.parameters, repository.keys.cuts),
            earlier: repository.chunks()?,
            exclude: Exclude::new(&options.exclude)?,
            repository: fs::metadata(&repository.path).map(|dir| (dir.dev(), dir.ino())).ok(),
            one_file_system: options.one_file_system,
            read_all: options.read_all,
            links: HashMap::new(),
            progress,
            report: BackupReport::default(),
        })
    }

    pub(super) fn finish(mut self) -> (BackupReport, Saver) {
        self.report.new_chunks = self.saver.new_chunks;
        self.report.new_bytes = self.saver.new_bytes;
        (self.report, self.saver)
    }

    /// Saves all paths; returns the root of the tree.
    pub(super) fn save_roots(
        &mut self,
        roots: &Roots,
        parent: Option<&Snapshot>,
    ) -> Result<DirRef> {
        if self.progress.wants_total() {
            self.progress.phase("counting");
            self.progress.total(count(roots, Path::new("/"), &self.exclude));
        }
        self.progress.phase("saving");
        let earlier = parent.map(|snapshot| snapshot.root.clone());
        let root = Path::new("/");
        if roots.whole {
            let device = fs::symlink_metadata(root).map(|metadata| metadata.dev()).ok();
            return self.save_dir(root, earlier.as_ref(), device);
        }
        self.save_ancestor(root, roots, earlier.as_ref())
    }

    /// A parent directory of what is saved: it contains only what leads there.
    fn save_ancestor(
        &mut self,
        path: &Path,
        roots: &Roots,
        earlier: Option<&DirRef>,
    ) -> Result<DirRef> {
        let mut earlier = self.read_earlier(earlier);
        let mut nodes = Vec::new();
        for (name, below) in &roots.below {
            let path = path.join(name);
            let before = take(&mut earlier, name);
            let node = if below.whole {
                let device = fs::symlink_metadata(&path).map(|metadata| metadata.dev()).ok();
                self.save_node(&path, before, device)?
            } else {
                let before = before.as_ref().and_then(dir_of);
                let dir = self.save_ancestor(&path, below, before)?;
                // A symbolic link in a parent path is followed, and is stored as a directory.
                match fs::metadata(&path).and_then(|found| metadata::meta(&found, &path, now())) {
                    Ok(meta) => Some(Node { name: bytes(name), kind: NodeKind::Dir(dir), meta }),
                    Err(error) => self.problem(&path, &error),
                }
            };
            nodes.extend(node);
        }
        self.save_nodes(&nodes)
    }

    fn read_earlier(&mut self, dir: Option<&DirRef>) -> Earlier {
        // An unreadable tree only means that files are read again.
        dir.and_then(|dir| tree::read_dir(&mut self.earlier, dir).ok()).unwrap_or_default()
    }

    /// Reports something that could not be saved. The backup goes on.
    fn problem<T>(&mut self, path: &Path, what: &dyn std::fmt::Display) -> Option<T> {
        self.report.problems += 1;
        self.progress.problem(&format!("{}: {what}", path.display()));
        None
    }

    fn save_dir(
        &mut self,
        path: &Path,
        earlier: Option<&DirRef>,
        device: Option<u64>,
    ) -> Result<DirRef> {
        let mut names = Vec::new();
        match fs::read_dir(path) {
            Err(error) => _ = self.problem::<()>(path, &error),
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => names.push(entry.file_name()),
                        Err(error) => _ = self.problem::<()>(path, &error),
                    }
                }
            }
        }
        names.sort_unstable();
        let mut earlier = self.read_earlier(earlier);
        let mut nodes = Vec::with_capacity(names.len());
        for name in names {
            let path = path.join(&name);
            if !self.exclude.matches(&path) {
                let before = take(&mut earlier, &name);
                nodes.extend(self.save_node(&path, before, device)?);
            }
        }
        self.save_nodes(&nodes)
    }

    fn save_nodes(&mut self, nodes: &[Node]) -> Result<DirRef> {
        let (contents, metadata) = tree::encode(nodes);
        Ok(DirRef { contents: self.save_tree(&contents)?, metadata: self.save_tree(&metadata)? })
    }

    fn save_tree(&mut self, bytes: &[u8]) -> Result<Vec<ChunkId>> {
        let mut ids = Vec::new();
        let saved = self.chunker.chunks(bytes, |chunk| {
            ids.push(self.saver.save(ChunkKind::Tree, chunk)?);
            Ok(())
        });
        match saved {
            Ok(_) => Ok(ids),
            Err(SaveError::Repository(error)) => Err(error),
            Err(SaveError::File(error)) => Err(crate::Error::io("cannot read memory")(error)),
        }
    }

    /// Saves one path; `None` if it cannot be saved, or need not be.
    fn save_node(
        &mut self,
        path: &Path,
        before: Option<Node>,
        device: Option<u64>,
    ) -> Result<Option<Node>> {
        let found = fs::symlink_metadata(path).and_then(|found| {
            let meta = metadata::meta(&found, path, now())?;
            Ok((found, meta))
        });
        let (found, mut meta) = match found {
            Ok(found) => found,
            Err(error) => return Ok(self.problem(path, &error)),
        };
        let what = match metadata::kind(&found) {
            FileKind::Dir if Some((found.dev(), found.ino())) == self.repository => None,
            FileKind::Dir => {
                self.report.directories += 1;
                let elsewhere = self.one_file_system && Some(found.dev()) != device;
                let earlier = before.as_ref().and_then(dir_of);
                // A mount point is kept as an empty directory.
                let dir = if elsewhere {
                    self.save_nodes(&[])?
                } else {
                    self.save_dir(path, earlier, device)?
                };
                Some(NodeKind::Dir(dir))
            }
            FileKind::File => self.save_file(path, &found, &mut meta, before)?,
            FileKind::Symlink => match fs::read_link(path) {
                Ok(target) => Some(NodeKind::Symlink(target.into_os_string().into_encoded_bytes())),
                Err(error) => self.problem(path, &error),
            },
            FileKind::Fifo => Some(NodeKind::Fifo),
            FileKind::Char => Some(NodeKind::Char(found.rdev())),
            FileKind::Block => Some(NodeKind::Block(found.rdev())),
            FileKind::Socket => None,
        };
        let name = bytes(path.file_name().unwrap_or_default());
        Ok(what.map(|what| Node { name, kind: what, meta }))
    }

    fn save_file(
        &mut self,
        path: &Path,
        found: &Metadata,
        meta: &mut Meta,
        before: Option<Node>,
    ) -> Result<Option<NodeKind>> {
        if let Some(what) = meta.link.and_then(|link| self.links.get(&link)) {
            let what = what.clone();
            return Ok(Some(self.count_file(found.len(), what)));
        }
        let unchanged = match before {
            Some(before) if !self.read_all => self.unchanged(found, meta, before)?,
            _ => None,
        };
        let what = match unchanged {
            Some(what) => {
                self.report.unchanged_files += 1;
                what
            }
            None => match self.read_file(path, found, meta) {
                Ok(what) => what,
                Err(SaveError::File(error)) => return Ok(self.problem(path, &error)),
                Err(SaveError::Repository(error)) => return Err(error),
            },
        };
        if let Some(link) = meta.link {
            self.links.insert(link, what.clone());
        }
        Ok(Some(self.count_file(found.len(), what)))
    }

    fn count_file(&mut self, bytes: u64, what: NodeKind) -> NodeKind {
        self.report.files += 1;
        self.report.bytes += bytes;
        self.progress.advance(bytes);
        what
    }

    /// The file as it was, if it looks unchanged and all its chunks are still stored.
    fn unchanged(
        &mut self,
        found: &Metadata,
        meta: &Meta,
        before: Node,
    ) -> Result<Option<NodeKind>> {
        let NodeKind::File { size, pieces } = before.kind else { return Ok(None) };
        let same = size == found.len()
            && meta.modified == before.meta.modified
            && meta.stamp == before.meta.stamp
            && meta.stamp != MUST_READ;
        if !same {
            return Ok(None);
        }
        for piece in &pieces {
            if let Piece::Chunk(id) = piece
                && !self.saver.has(id)?
            {
                return Ok(None);
            }
        }
        Ok(Some(NodeKind::File { size, pieces }))
    }

    fn read_file(
        &mut self,
        path: &Path,
        found: &Metadata,
        meta: &mut Meta,
    ) -> std::result::Result<NodeKind, SaveError> {
        let mut file = open(path)?;
        let opened = file.metadata()?;
        if !opened.is_file() || opened.ino() != found.ino() {
            return Err(io::Error::other("it was replaced while it was read").into());
        }
        let (size, pieces) = files::save(&mut file, &mut self.chunker, &mut self.saver)?;
        if !metadata::same(found, &file.metadata()?) || size != found.len() {
            meta.stamp = MUST_READ;
            self.problem::<()>(path, &"it changed while it was read; what was read is saved");
        }
        Ok(NodeKind::File { size, pieces })
    }
}

/// Opens without following a link, and without blocking on a fifo that may have replaced the file.
/// The access time stays as it is where the system allows that.
fn open(path: &Path) -> io::Result<File> {
    let open =
        |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    // Only the owner of a file may use NOATIME.
    open(flags | OFlags::NOATIME).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => open(flags),
        _ => Err(error),
    })
}

fn bytes(name: &OsStr) -> Vec<u8> {
    name.as_bytes().to_vec()
}

fn dir_of(node: &Node) -> Option<&DirRef> {
    match &node.kind {
        NodeKind::Dir(dir) => Some(dir),
        _ => None,
    }
}

/// Takes the node of this name, which is not needed again.
fn take(earlier: &mut Earlier, name: &OsStr) -> Option<Node> {
    let at = earlier.binary_search_by(|node| node.name.as_slice().cmp(name.as_bytes())).ok()?;
    let node = earlier.get_mut(at)?;
    let what = std::mem::replace(&mut node.kind, NodeKind::Fifo);
    Some(Node { name: node.name.clone(), kind: what, meta: node.meta.clone() })
}

/// The number of bytes to save, as far as it can be counted; only for the progress bar.
fn count(roots: &Roots, path: &Path, exclude: &Exclude) -> u64 {
    if !roots.whole {
        let below = roots.below.iter();
        return below.map(|(name, below)| count(below, &path.join(name), exclude)).sum();
    }
    let mut waiting = vec![path.to_path_buf()];
    let mut bytes = 0;
    while let Some(path) = waiting.pop() {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                waiting.extend(
                    entries.map(|entry| entry.path()).filter(|path| !exclude.matches(path)),
                );
            }
            Ok(metadata) if metadata.is_file() => bytes += metadata.len(),
            _ => {}
        }
    }
    bytes
}
