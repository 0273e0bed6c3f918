//! Walks directories, depth first. Knows the file system and the last snapshot; files that look
//! unchanged are taken from there without being read.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FileType, OFlags};

use super::exclude::Exclude;
use super::metadata::{self, MUST_READ};
use super::names::Names;
use super::roots::Roots;
use super::saver::Saver;
use super::writing::{SaveError, Saved, TreeWriter};
use super::{BackupOptions, BackupReport};
use crate::chunks::Chunks;
use crate::clock::{now, now_in_nanoseconds};
use crate::error::Result;
use crate::progress::Progress;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::tree::{self, Content, DirReader, DirRef, DirWriter, Meta, Node, NodeKind, Piece};

pub(super) struct Walk<'a> {
    tree: TreeWriter,
    earlier: Chunks,
    exclude: Exclude,
    exclude_caches: bool,
    /// Device and inode of the repository, which is left out of its own backups.
    repository: Option<(u64, u64)>,
    one_file_system: bool,
    read_all: bool,
    /// Files with several hard links that were saved already.
    links: HashMap<(u64, u64), NodeKind>,
    progress: &'a dyn Progress,
    report: BackupReport,
}

/// The nodes of a directory in the last snapshot, in the order of their names. An unreadable tree
/// only means that files are read again.
struct Earlier {
    nodes: Option<DirReader>,
    next: Option<Node>,
}

impl Earlier {
    fn new(dir: Option<&DirRef>) -> Self {
        Self { nodes: dir.map(DirReader::new), next: None }
    }

    /// The node of this name; names are asked for in order.
    fn take(&mut self, name: &[u8], chunks: &mut Chunks) -> Option<Node> {
        loop {
            if self.next.is_none() {
                self.next = self.nodes.as_mut()?.next(chunks).ok().flatten();
                if self.next.is_none() {
                    self.nodes = None;
                }
            }
            match self.next.as_ref()?.name.as_slice().cmp(name) {
                Ordering::Less => self.next = None,
                Ordering::Equal => return self.next.take(),
                Ordering::Greater => return None,
            }
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        repository: &Repository,
        options: &BackupOptions,
        roots: &[Vec<u8>],
        saver: Saver,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        Ok(Self {
            tree: TreeWriter::new(repository, saver),
            earlier: repository.chunks()?,
            exclude: Exclude::new(&options.exclude, roots)?,
            exclude_caches: options.exclude_caches,
            repository: fs::metadata(&repository.path).map(|dir| (dir.dev(), dir.ino())).ok(),
            one_file_system: options.one_file_system,
            read_all: options.read_all,
            links: HashMap::new(),
            progress,
            report: BackupReport::default(),
        })
    }

    pub(super) fn finish(mut self) -> (BackupReport, Saver) {
        let saver = self.tree.saver;
        (self.report.new_chunks, self.report.new_bytes) = (saver.new_chunks, saver.new_bytes);
        (self.report, saver)
    }

    pub(super) fn save_roots(&mut self, roots: &Roots, last: Option<&Snapshot>) -> Result<DirRef> {
        let root = Path::new("/");
        let total = self.progress.wants_total().then(|| {
            self.progress.phase("counting", None);
            count(roots, root, &self.exclude)
        });
        self.progress.phase("saving", total);
        let earlier = last.map(|snapshot| snapshot.root.clone());
        if roots.whole {
            let device = fs::symlink_metadata(root).map(|metadata| metadata.dev()).ok();
            return self.save_dir(root, earlier.as_ref(), device);
        }
        self.save_parent(root, roots, earlier.as_ref())
    }

    /// Saves a stream as a file of this name in the root directory.
    pub(super) fn save_stream(&mut self, name: &str, source: &mut dyn Read) -> Result<DirRef> {
        self.progress.phase("saving", None);
        let mut counted = Counted { source, progress: self.progress };
        let saved = self.tree.save_file(|file| file.bytes(&mut counted));
        let (size, content) = saved.map_err(|error| match error {
            // Half of what a program writes looks like all of it.
            SaveError::File(error) => crate::Error::io("cannot read standard input")(error),
            SaveError::Repository(error) => error,
        })?;
        (self.report.files, self.report.bytes) = (1, size);
        let meta = Meta::own(0o600, now_in_nanoseconds());
        let mut dir = self.tree.dir_writer();
        let kind = NodeKind::File { size, content };
        self.tree.add_node(&mut dir, Node { name: name.as_bytes().to_vec(), kind, meta })?;
        self.tree.end_dir(dir)
    }

    /// A parent directory of what is saved: it contains only what leads there.
    fn save_parent(&mut self, path: &Path, roots: &Roots, old: Option<&DirRef>) -> Result<DirRef> {
        let mut earlier = Earlier::new(old);
        let mut dir = self.tree.dir_writer();
        for (name, below) in &roots.below {
            let path = path.join(name);
            let before = earlier.take(name.as_bytes(), &mut self.earlier);
            let node = if below.whole {
                let device = fs::symlink_metadata(&path).map(|metadata| metadata.dev()).ok();
                self.save(&path, before, device)?
            } else {
                let before = before.as_ref().and_then(dir_of);
                let dir = self.save_parent(&path, below, before)?;
                // A symbolic link in a parent path is followed, and is stored as a directory.
                match fs::metadata(&path).and_then(|found| metadata::meta(&found, &path, now())) {
                    Ok(meta) => Some(Node { name: bytes(name), kind: NodeKind::Dir(dir), meta }),
                    Err(error) => self.problem(&path, &error),
                }
            };
            self.add_node(&mut dir, node)?;
        }
        self.tree.end_dir(dir)
    }

    fn add_node(&mut self, dir: &mut DirWriter, node: Option<Node>) -> Result<()> {
        node.map_or(Ok(()), |node| self.tree.add_node(dir, node))
    }

    /// Reports something that could not be saved. The backup goes on.
    fn problem<T>(&mut self, path: &Path, what: &dyn std::fmt::Display) -> Option<T> {
        self.report.problems += 1;
        self.progress.problem(&format!("{}: {what}", path.display()));
        None
    }

    fn save_dir(&mut self, path: &Path, old: Option<&DirRef>, dev: Option<u64>) -> Result<DirRef> {
        let mut names = Names::default();
        match fs::read_dir(path) {
            Err(error) => _ = self.problem::<()>(path, &error),
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => names.push(&entry.file_name()),
                        Err(error) => _ = self.problem::<()>(path, &error),
                    }
                }
            }
        }
        if self.exclude_caches && is_cache(path) {
            // Of a cache only the directory stays, and the file that says what it is.
            names = Names::default();
            names.push(OsStr::new(CACHE_TAG));
        }
        let mut names = names.sorted();
        let mut earlier = Earlier::new(old);
        let mut dir = self.tree.dir_writer();
        while let Some(name) = names.next() {
            let before = earlier.take(name.as_bytes(), &mut self.earlier);
            let node = self.save(&path.join(name), before, dev)?;
            self.add_node(&mut dir, node)?;
        }
        self.tree.end_dir(dir)
    }

    /// Saves one path; `None` if it cannot be saved, or need not be.
    fn save(&mut self, path: &Path, old: Option<Node>, dev: Option<u64>) -> Result<Option<Node>> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) => return Ok(self.problem(path, &error)),
        };
        if self.exclude.matches(path, found.is_dir()) {
            return Ok(None);
        }
        let mut meta = match metadata::meta(&found, path, now()) {
            Ok(meta) => meta,
            Err(error) => return Ok(self.problem(path, &error)),
        };
        let what = match FileType::from_raw_mode(found.mode()) {
            FileType::Directory if Some((found.dev(), found.ino())) == self.repository => None,
            FileType::Directory => {
                self.report.directories += 1;
                let elsewhere = self.one_file_system && Some(found.dev()) != dev;
                let earlier = old.as_ref().and_then(dir_of);
                // A mount point is kept as an empty directory.
                let dir =
                    if elsewhere { DirRef::default() } else { self.save_dir(path, earlier, dev)? };
                Some(NodeKind::Dir(dir))
            }
            FileType::Symlink => match fs::read_link(path) {
                Ok(target) => Some(NodeKind::Symlink(target.into_os_string().into_encoded_bytes())),
                Err(error) => self.problem(path, &error),
            },
            FileType::Fifo => Some(NodeKind::Fifo),
            FileType::CharacterDevice => Some(NodeKind::Char(found.rdev())),
            FileType::BlockDevice => Some(NodeKind::Block(found.rdev())),
            // It exists only while its server runs.
            FileType::Socket => None,
            _ => self.save_file(path, &found, &mut meta, old)?,
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
    fn unchanged(&mut self, found: &Metadata, meta: &Meta, old: Node) -> Result<Option<NodeKind>> {
        let NodeKind::File { size, content } = old.kind else { return Ok(None) };
        let same = size == found.len()
            && meta.modified == old.meta.modified
            && meta.stamp == old.meta.stamp
            && meta.stamp != MUST_READ;
        if !same || !self.has_all(&content)? {
            return Ok(None);
        }
        Ok(Some(NodeKind::File { size, content }))
    }

    /// Whether every chunk of a content is stored, and every list of chunks.
    fn has_all(&mut self, content: &Content) -> Result<bool> {
        for piece in &content.pieces {
            let Piece::Chunk { id, len } = piece else { continue };
            if !self.tree.saver.has(id)? {
                return Ok(false);
            }
            if content.levels > 0 {
                // A list that cannot be read only means that the file is read again.
                let list = tree::read_list(&mut self.earlier, id, *len);
                let Ok(pieces) = list else { return Ok(false) };
                if !self.has_all(&Content { levels: content.levels - 1, pieces })? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn read_file(&mut self, path: &Path, found: &Metadata, meta: &mut Meta) -> Saved<NodeKind> {
        let mut file = open(path)?;
        let opened = file.metadata()?;
        if !opened.is_file() || opened.ino() != found.ino() {
            return Err(io::Error::other("it was replaced while it was read").into());
        }
        let (size, content) = self.tree.save_file(|pieces| pieces.file(&mut file))?;
        if !metadata::same(found, &file.metadata()?) || size != found.len() {
            meta.stamp = MUST_READ;
            self.problem::<()>(path, &"it changed while it was read; what was read is saved");
        }
        Ok(NodeKind::File { size, content })
    }
}

struct Counted<'a> {
    source: &'a mut dyn Read,
    progress: &'a dyn Progress,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
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

/// The file that marks a directory as a cache, and how it begins (bford.info/cachedir).
const CACHE_TAG: &str = "CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

fn is_cache(path: &Path) -> bool {
    let mut start = vec![0; CACHE_SIGNATURE.len()];
    let read = open(&path.join(CACHE_TAG)).and_then(|mut tag| tag.read_exact(&mut start));
    read.is_ok() && start == CACHE_SIGNATURE
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
            Ok(metadata) if metadata.is_dir() && !exclude.matches(&path, true) => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                waiting.extend(entries.map(|entry| entry.path()));
            }
            Ok(metadata) if metadata.is_file() && !exclude.matches(&path, false) => {
                bytes += metadata.len();
            }
            _ => {}
        }
    }
    bytes
}
