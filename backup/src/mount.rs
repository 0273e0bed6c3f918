//! Snapshots as a read-only file system. Knows what the kernel asks through FUSE; directories and
//! files are read as streams, as far as they are asked for.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyXattr, Request,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::chunks::Chunks;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::snapshot::{self, Snapshot, SnapshotFilter};
use crate::tree::{self, Content, DirReader, Meta, Node, NodeKind, Piece, Pieces};

/// How long the kernel may remember an answer: snapshots never change.
const TTL: Duration = Duration::from_secs(3600);
const ROOT: u64 = 1;

impl Repository {
    /// Mounts the snapshots that a filter chooses as directories below `target`, read-only, until
    /// the file system is unmounted (`umount`, `fusermount3 -u`). There is a directory for each
    /// snapshot, named by its time and its name, and a link `latest`.
    ///
    /// # Errors
    /// If the snapshots cannot be read, or the system does not allow the mount.
    pub fn mount(self, target: &Path, filter: &SnapshotFilter) -> Result<()> {
        let snapshots = self.snapshots_where(filter)?;
        let chunks = self.chunks()?;
        let state = Mutex::new(State::new(self, chunks, &snapshots));
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("cuculus-backup".into()),
            MountOption::RO,
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::DefaultPermissions,
        ];
        fuser::mount(Mounted { state }, target, &config).map_err(Error::at("mount", target))
    }
}

/// What the kernel knows by a number.
struct Inode {
    parent: u64,
    meta: Meta,
    kind: NodeKind,
}

enum Open {
    Dir {
        nodes: Box<DirReader>,
        /// The offset of the next node, after the two names that every directory has.
        offset: u64,
        /// A node that did not fit in the last answer.
        left: Option<Box<Node>>,
    },
    File(OpenFile),
}

struct OpenFile {
    pieces: Pieces,
    /// The bytes from `start` on that were read last.
    buffer: Vec<u8>,
    start: u64,
}

struct State {
    repository: Repository,
    chunks: Chunks,
    inodes: HashMap<u64, Inode>,
    names: HashMap<(u64, Vec<u8>), u64>,
    /// The snapshots by name, in order, as nodes of the root.
    roots: Vec<Node>,
    open: HashMap<u64, Open>,
    next: u64,
}

fn failed(error: &Error) -> Errno {
    match error {
        Error::Io { source, .. } => source.raw_os_error().map_or(Errno::EIO, Errno::from_i32),
        _ => Errno::EIO,
    }
}

impl State {
    fn new(repository: Repository, chunks: Chunks, snapshots: &[Snapshot]) -> Self {
        let name = |snapshot: &Snapshot| {
            let time = Timestamp::from_nanosecond(snapshot.time.into()).unwrap_or(Timestamp::MAX);
            let time = time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d_%H-%M-%S");
            format!("{time}_{}", snapshot.name.short()).into_bytes()
        };
        let node = |snapshot: &Snapshot| Node {
            name: name(snapshot),
            kind: NodeKind::Dir(snapshot.root.clone()),
            meta: Meta::own(0o755, snapshot.time),
        };
        let mut roots: Vec<Node> = snapshots.iter().map(node).collect();
        if let Some(newest) = snapshots.last() {
            let kind = NodeKind::Symlink(name(newest));
            let name = snapshot::LATEST.as_bytes().to_vec();
            roots.push(Node { name, kind, meta: Meta::own(0o755, newest.time) });
        }
        let time = snapshots.last().map_or(0, |snapshot| snapshot.time);
        let kind = NodeKind::Dir(tree::DirRef::default());
        let root = Inode { parent: ROOT, meta: Meta::own(0o755, time), kind };
        Self {
            repository,
            chunks,
            inodes: HashMap::from([(ROOT, root)]),
            names: HashMap::new(),
            roots,
            open: HashMap::new(),
            next: ROOT + 1,
        }
    }

    /// Reads; if something is missing, again with the index as it is now.
    fn retry<T>(&mut self, mut read: impl FnMut(&mut Chunks) -> Result<T>) -> Result<T> {
        match read(&mut self.chunks) {
            Err(error) if error.is_missing() => {
                self.chunks = self.repository.chunks_of_present_packs()?;
                read(&mut self.chunks)
            }
            outcome => outcome,
        }
    }

    /// The number of a node; the same for the same name in the same directory.
    fn number(&mut self, parent: u64, node: Node) -> u64 {
        let number = *self.names.entry((parent, node.name.clone())).or_insert_with(|| {
            self.next += 1;
            self.next - 1
        });
        let Node { kind, meta, .. } = node;
        self.inodes.entry(number).or_insert(Inode { parent, meta, kind });
        number
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let inode = self.inodes.get(&number)?;
        let size = match &inode.kind {
            NodeKind::File { size, .. } => *size,
            NodeKind::Symlink(target) => target.len() as u64,
            _ => 0,
        };
        let (seconds, nanoseconds) = inode.meta.modified;
        let time = Timestamp::new(seconds, nanoseconds as i32);
        let time = time.map_or(UNIX_EPOCH, SystemTime::from);
        let rdev = match inode.kind {
            NodeKind::Char(number) | NodeKind::Block(number) => number as u32,
            _ => 0,
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind: kind_of(&inode.kind),
            perm: inode.meta.mode as u16,
            nlink: 1,
            uid: inode.meta.uid,
            gid: inode.meta.gid,
            rdev,
            blksize: 4096,
            flags: 0,
        })
    }

    fn lookup(&mut self, parent: u64, name: &OsStr) -> Result<FileAttr, Errno> {
        let name = name.as_bytes();
        if let Some(number) = self.names.get(&(parent, name.to_vec())) {
            return self.attributes(*number).ok_or(Errno::ENOENT);
        }
        let node = if parent == ROOT {
            self.roots.iter().find(|node| node.name == name).cloned()
        } else {
            let Some(Inode { kind: NodeKind::Dir(dir), .. }) = self.inodes.get(&parent) else {
                return Err(Errno::ENOTDIR);
            };
            let dir = dir.clone();
            self.retry(|chunks| tree::find(chunks, &dir, name)).map_err(|error| failed(&error))?
        };
        let number = self.number(parent, node.ok_or(Errno::ENOENT)?);
        self.attributes(number).ok_or(Errno::ENOENT)
    }

    fn open(&mut self, open: Open) -> u64 {
        self.next += 1;
        self.open.insert(self.next - 1, open);
        self.next - 1
    }

    fn node_at(&mut self, number: u64, handle: u64, offset: u64) -> Result<Option<Node>> {
        if number == ROOT {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            return Ok(self.roots.get(at).cloned());
        }
        let Some(Open::Dir { mut nodes, offset: mut at, mut left }) = self.open.remove(&handle)
        else {
            return Ok(None);
        };
        if offset < at
            && let Some(Inode { kind: NodeKind::Dir(dir), .. }) = self.inodes.get(&number)
        {
            (nodes, at, left) = (Box::new(DirReader::new(dir)), 0, None);
        }
        let outcome = loop {
            let next = match left.take() {
                Some(node) => Ok(Some(*node)),
                None => self.retry(|chunks| nodes.next(chunks)),
            };
            match next {
                Ok(Some(node)) if at == offset => {
                    // Kept until the next is asked for: the answer may be full.
                    left = Some(Box::new(node.clone()));
                    break Ok(Some(node));
                }
                Ok(Some(_)) => at += 1,
                other => break other,
            }
        };
        self.open.insert(handle, Open::Dir { nodes, offset: at, left });
        outcome
    }

    fn read(&mut self, number: u64, handle: u64, offset: u64, size: u32) -> Result<Vec<u8>> {
        let content = match self.inodes.get(&number) {
            Some(Inode { kind: NodeKind::File { content, .. }, .. }) => content.clone(),
            _ => return Ok(Vec::new()),
        };
        let mut file = match self.open.remove(&handle) {
            Some(Open::File(file)) => file,
            _ => OpenFile::new(&content),
        };
        let outcome = self.read_from(&mut file, &content, offset, size as usize);
        if outcome.is_err() {
            // Nobody knows how far it came.
            file = OpenFile::new(&content);
        }
        self.open.insert(handle, Open::File(file));
        outcome
    }

    fn read_from(
        &mut self,
        file: &mut OpenFile,
        content: &Content,
        offset: u64,
        size: usize,
    ) -> Result<Vec<u8>> {
        if offset < file.start || offset > file.start + file.buffer.len() as u64 {
            // Elsewhere: lists that end before are skipped.
            *file = OpenFile::new(content);
            file.start = self.retry(|chunks| {
                file.pieces = Pieces::new(content);
                file.pieces.skip_to(chunks, offset)
            })?;
        }
        let mut out = Vec::new();
        while out.len() < size {
            let position = offset + out.len() as u64;
            let within = usize::try_from(position - file.start).unwrap_or(usize::MAX);
            if let Some(rest) = file.buffer.get(within..).filter(|rest| !rest.is_empty()) {
                out.extend_from_slice(&rest[..rest.len().min(size - out.len())]);
                continue;
            }
            file.start += file.buffer.len() as u64;
            file.buffer.clear();
            match self.retry(|chunks| file.pieces.next(chunks))? {
                None => break,
                Some(Piece::Chunk { id, .. }) => {
                    let mut bytes = Vec::new();
                    self.retry(|chunks| {
                        bytes.clear();
                        chunks.read(&id, &mut bytes)
                    })?;
                    file.buffer = bytes;
                }
                Some(Piece::Hole(len)) => {
                    // As many zeros as are asked for; the rest of the hole is skipped to.
                    let position = offset + out.len() as u64;
                    let left = (file.start + len).saturating_sub(position);
                    let some = usize::try_from(left).unwrap_or(usize::MAX).min(size - out.len());
                    out.resize(out.len() + some, 0);
                    if (some as u64) < left {
                        // The next read begins in this hole.
                        *file = OpenFile::new(content);
                        break;
                    }
                    file.start += len;
                }
            }
        }
        Ok(out)
    }
}

impl OpenFile {
    fn new(content: &Content) -> Self {
        Self { pieces: Pieces::new(content), buffer: Vec::new(), start: 0 }
    }
}

fn kind_of(kind: &NodeKind) -> FileType {
    match kind {
        NodeKind::File { .. } => FileType::RegularFile,
        NodeKind::Dir(_) => FileType::Directory,
        NodeKind::Symlink(_) => FileType::Symlink,
        NodeKind::Fifo => FileType::NamedPipe,
        NodeKind::Char(_) => FileType::CharDevice,
        NodeKind::Block(_) => FileType::BlockDevice,
    }
}

struct Mounted {
    state: Mutex<State>,
}

impl Mounted {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filesystem for Mounted {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.state().lookup(parent.0, name) {
            Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.state().attributes(ino.0) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        match self.state().inodes.get(&ino.0) {
            Some(Inode { kind: NodeKind::Symlink(target), .. }) => reply.data(target),
            _ => reply.error(Errno::EINVAL),
        }
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        let nodes = match state.inodes.get(&ino.0) {
            Some(Inode { kind: NodeKind::Dir(dir), .. }) => Box::new(DirReader::new(dir)),
            _ => return reply.error(Errno::ENOTDIR),
        };
        let handle = state.open(Open::Dir { nodes, offset: 0, left: None });
        reply.opened(FileHandle(handle), FopenFlags::empty());
    }

    fn readdir(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let mut state = self.state();
        let parent = state.inodes.get(&ino.0).map_or(ROOT, |inode| inode.parent);
        let mut offset = offset;
        loop {
            let full = match offset {
                0 => reply.add(ino, 1, FileType::Directory, "."),
                1 => reply.add(INodeNo(parent), 2, FileType::Directory, ".."),
                _ => match state.node_at(ino.0, fh.0, offset - 2) {
                    Ok(None) => break,
                    Err(error) => return reply.error(failed(&error)),
                    Ok(Some(node)) => {
                        let (name, kind) = (node.name.clone(), kind_of(&node.kind));
                        let number = state.number(ino.0, node);
                        reply.add(INodeNo(number), offset + 1, kind, OsStr::from_bytes(&name))
                    }
                },
            };
            if full {
                break;
            }
            offset += 1;
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, fh: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.state().open.remove(&fh.0);
        reply.ok();
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let mut state = self.state();
        let file = match state.inodes.get(&ino.0) {
            Some(Inode { kind: NodeKind::File { content, .. }, .. }) => OpenFile::new(content),
            _ => return reply.error(Errno::EINVAL),
        };
        let handle = state.open(Open::File(file));
        reply.opened(FileHandle(handle), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.state().read(ino.0, fh.0, offset, size) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(failed(&error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.state().open.remove(&fh.0);
        reply.ok();
    }

    fn listxattr(&self, _: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        let state = self.state();
        let Some(inode) = state.inodes.get(&ino.0) else { return reply.error(Errno::ENOENT) };
        let names = inode.meta.xattrs.iter().map(|(name, _)| name.as_slice());
        answer(&names.flat_map(|name| [name, &[0]].concat()).collect::<Vec<u8>>(), size, reply);
    }

    fn getxattr(&self, _: &Request, ino: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let state = self.state();
        let Some(inode) = state.inodes.get(&ino.0) else { return reply.error(Errno::ENOENT) };
        let found = inode.meta.xattrs.iter().find(|(known, _)| known == name.as_bytes());
        match found {
            Some((_, value)) => answer(value, size, reply),
            None => reply.error(Errno::ENODATA),
        }
    }
}

/// A size of 0 asks for the size.
fn answer(bytes: &[u8], size: u32, reply: ReplyXattr) {
    match u32::try_from(bytes.len()) {
        Ok(len) if size == 0 => reply.size(len),
        Ok(len) if len <= size => reply.data(bytes),
        _ => reply.error(Errno::ERANGE),
    }
}
