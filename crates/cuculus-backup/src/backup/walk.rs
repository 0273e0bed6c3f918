//! Directories, depth first. Knows the file system and the last snapshot of it; what is unchanged
//! is taken from there without being read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::exclude::Exclude;
use super::files::{self, Stopped};
use super::metadata::{self, Kind, UNSETTLED};
use super::roots::Roots;
use super::saver::Saver;
use super::{BackupOptions, BackupReport};
use crate::chunker::Chunker;
use crate::chunks::Chunks;
use crate::error::Result;
use crate::id::ChunkId;
use crate::intent::now;
use crate::repository::Repository;
use crate::sink::Sort;
use crate::snapshot::Snapshot;
use crate::tree::{self, DirRef, Meta, Node, Piece, What};
use crate::watch::Watch;

pub(super) struct Walk<'a> {
    saver: Saver,
    chunker: Chunker,
    /// Trees of the last snapshot.
    earlier: Chunks,
    exclude: Exclude,
    /// Device and inode of the repository, which is no part of its own backups.
    repository: Option<(u64, u64)>,
    one_file_system: bool,
    read_all: bool,
    /// Files with several names that were read already.
    links: HashMap<(u64, u64), What>,
    watch: &'a dyn Watch,
    report: BackupReport,
}

/// What a directory was in the last snapshot; empty if it was not there or cannot be read.
type Earlier = Vec<Node>;

impl<'a> Walk<'a> {
    pub(super) fn new(
        repository: &Repository,
        options: &BackupOptions,
        saver: Saver,
        watch: &'a dyn Watch,
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
            watch,
            report: BackupReport::default(),
        })
    }

    pub(super) fn finish(mut self) -> (BackupReport, Saver) {
        self.report.new_chunks = self.saver.new_chunks;
        self.report.new_bytes = self.saver.new_bytes;
        (self.report, self.saver)
    }

    /// Saves all that the backup is about; returns the root of the tree.
    pub(super) fn save_roots(
        &mut self,
        roots: &Roots,
        parent: Option<&Snapshot>,
    ) -> Result<DirRef> {
        if self.watch.wants_total() {
            self.watch.phase("counting");
            self.watch.total(count(roots, Path::new("/"), &self.exclude));
        }
        self.watch.phase("saving");
        let earlier = parent.map(|snapshot| snapshot.root.clone());
        let root = Path::new("/");
        if roots.whole {
            let device = fs::symlink_metadata(root).map(|metadata| metadata.dev()).ok();
            return self.save_dir(root, earlier.as_ref(), device);
        }
        self.save_way(root, roots, earlier.as_ref())
    }

    /// A directory on the way to what is to be saved: of its contents only what leads there.
    fn save_way(&mut self, path: &Path, roots: &Roots, earlier: Option<&DirRef>) -> Result<DirRef> {
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
                let dir = self.save_way(&path, below, before)?;
                // A symbolic link on the way is followed, and is a directory in the snapshot.
                match fs::metadata(&path).and_then(|found| metadata::meta(&found, &path, now())) {
                    Ok(meta) => Some(Node { name: bytes(name), what: What::Dir(dir), meta }),
                    Err(error) => self.problem(&path, &error),
                }
            };
            nodes.extend(node);
        }
        self.save_nodes(&nodes)
    }

    fn read_earlier(&mut self, dir: Option<&DirRef>) -> Earlier {
        // Trees that cannot be read only cost the reading of files.
        dir.and_then(|dir| tree::read_dir(&mut self.earlier, dir).ok()).unwrap_or_default()
    }

    /// Reports what could not be saved. The backup goes on.
    fn problem<T>(&mut self, path: &Path, what: &dyn std::fmt::Display) -> Option<T> {
        self.report.problems += 1;
        self.watch.problem(&format!("{}: {what}", path.display()));
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
            ids.push(self.saver.save(Sort::Tree, chunk)?);
            Ok(())
        });
        match saved {
            Ok(_) => Ok(ids),
            Err(Stopped::Repository(error)) => Err(error),
            Err(Stopped::File(error)) => Err(crate::Error::io("cannot read memory")(error)),
        }
    }

    /// Saves what is at a path; `None` if it cannot be, or is of no use.
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
            Kind::Dir if Some((found.dev(), found.ino())) == self.repository => None,
            Kind::Dir => {
                self.report.directories += 1;
                let elsewhere = self.one_file_system && Some(found.dev()) != device;
                let earlier = before.as_ref().and_then(dir_of);
                // A mount point stays, empty, to be mounted on again.
                let dir = if elsewhere {
                    self.save_nodes(&[])?
                } else {
                    self.save_dir(path, earlier, device)?
                };
                Some(What::Dir(dir))
            }
            Kind::File => self.save_file(path, &found, &mut meta, before)?,
            Kind::Symlink => match fs::read_link(path) {
                Ok(target) => Some(What::Symlink(target.into_os_string().into_encoded_bytes())),
                Err(error) => self.problem(path, &error),
            },
            Kind::Fifo => Some(What::Fifo),
            Kind::Char => Some(What::Char(found.rdev())),
            Kind::Block => Some(What::Block(found.rdev())),
            Kind::Socket => None,
        };
        let name = bytes(path.file_name().unwrap_or_default());
        Ok(what.map(|what| Node { name, what, meta }))
    }

    fn save_file(
        &mut self,
        path: &Path,
        found: &Metadata,
        meta: &mut Meta,
        before: Option<Node>,
    ) -> Result<Option<What>> {
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
                Err(Stopped::File(error)) => return Ok(self.problem(path, &error)),
                Err(Stopped::Repository(error)) => return Err(error),
            },
        };
        if let Some(link) = meta.link {
            self.links.insert(link, what.clone());
        }
        Ok(Some(self.count_file(found.len(), what)))
    }

    fn count_file(&mut self, bytes: u64, what: What) -> What {
        self.report.files += 1;
        self.report.bytes += bytes;
        self.watch.advance(bytes);
        what
    }

    /// What a file was, if it is still the same and all its chunks are still there.
    fn unchanged(&mut self, found: &Metadata, meta: &Meta, before: Node) -> Result<Option<What>> {
        let What::File { size, pieces } = before.what else { return Ok(None) };
        let same = size == found.len()
            && meta.modified == before.meta.modified
            && meta.stamp == before.meta.stamp
            && meta.stamp != UNSETTLED;
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
        Ok(Some(What::File { size, pieces }))
    }

    fn read_file(
        &mut self,
        path: &Path,
        found: &Metadata,
        meta: &mut Meta,
    ) -> std::result::Result<What, Stopped> {
        let mut file = open(path)?;
        let opened = file.metadata()?;
        if !opened.is_file() || opened.ino() != found.ino() {
            return Err(io::Error::other("it was replaced while it was read").into());
        }
        let (size, pieces) = files::save(&mut file, &mut self.chunker, &mut self.saver)?;
        if !metadata::same(found, &file.metadata()?) || size != found.len() {
            meta.stamp = UNSETTLED;
            self.problem::<()>(path, &"it changed while it was read; what was read is saved");
        }
        Ok(What::File { size, pieces })
    }
}

/// Opens without following a link and without waiting for the other end of a fifo, should one have
/// taken the file's place. Reading leaves no trace where the system lets us.
fn open(path: &Path) -> io::Result<File> {
    let open =
        |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    // Only the owner may ask for this.
    open(flags | OFlags::NOATIME).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => open(flags),
        _ => Err(error),
    })
}

fn bytes(name: &OsStr) -> Vec<u8> {
    name.as_bytes().to_vec()
}

fn dir_of(node: &Node) -> Option<&DirRef> {
    match &node.what {
        What::Dir(dir) => Some(dir),
        _ => None,
    }
}

/// The node of this name, which is not needed again.
fn take(earlier: &mut Earlier, name: &OsStr) -> Option<Node> {
    let at = earlier.binary_search_by(|node| node.name.as_slice().cmp(name.as_bytes())).ok()?;
    let node = earlier.get_mut(at)?;
    let what = std::mem::replace(&mut node.what, What::Fifo);
    Some(Node { name: node.name.clone(), what, meta: node.meta.clone() })
}

/// Bytes to be saved, as far as they can be counted; for the progress bar only.
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
