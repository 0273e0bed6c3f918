//! What a repository contains: `ls`, `find`, `dump`, `diff` and `stats`. Changes nothing.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::backup::glob;
use crate::chunks::Chunks;
use crate::error::{DamagedPart, Error, Result};
use crate::index::Run;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
use crate::source::{Part, Source};
use crate::store::ObjectKind;
use crate::tree::{self, DirReader, DirRef, Node, NodeKind};

/// The sizes of a repository and its parts.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub struct Stats {
    /// The number of snapshots.
    pub snapshots: u64,
    /// Total size of the files in all snapshots, before deduplication.
    pub logical_bytes: u64,
    /// Chunks stored; one that is stored twice counts twice.
    pub chunks: u64,
    /// Of them those that are different.
    pub distinct_chunks: u64,
    /// Total size of the chunks stored, before compression.
    pub chunk_bytes: u64,
    /// The number of packs.
    pub packs: u64,
    /// Size of the packs.
    pub pack_bytes: u64,
    /// The number of index runs.
    pub index_runs: u64,
    /// Size of the index runs.
    pub index_bytes: u64,
    /// Memory of the filters of all index runs.
    pub filter_bytes: u64,
    /// Size of all objects.
    pub repository_bytes: u64,
}

static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// One path of a snapshot.
#[derive(Clone, Debug)]
pub struct ListEntry {
    /// The path from the root of the snapshot.
    pub path: Vec<u8>,
    /// `-`, `d`, `l`, `p`, `c` or `b`, as in `ls -l`.
    pub kind: char,
    /// Permissions.
    pub mode: u32,
    /// The user id of the owner.
    pub uid: u32,
    /// The group id of the owner.
    pub gid: u32,
    /// The size of a file in bytes; 0 for everything else.
    pub size: u64,
    /// The modification time: seconds since 1970, and nanoseconds.
    pub modified: (i64, u32),
    /// The target of a symbolic link.
    pub target: Option<Vec<u8>>,
}

/// How a path differs between two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is only in the second.
    Added,
    /// It is only in the first.
    Removed,
    /// The contents or the type differ.
    Contents,
    /// Only the metadata differs.
    Metadata,
}

impl Repository {
    /// Measures the repository.
    ///
    /// # Errors
    /// If the index or a snapshot cannot be read.
    pub fn stats(&self) -> Result<Stats> {
        let index = self.index()?;
        let snapshots = self.snapshots()?;
        let mut stats = Stats {
            snapshots: snapshots.len() as u64,
            logical_bytes: snapshots.iter().map(|snapshot| snapshot.bytes).sum(),
            chunks: index.len(),
            index_runs: index.runs().len() as u64,
            index_bytes: index.runs().iter().map(Run::size_in_bytes).sum(),
            ..Stats::default()
        };
        let mut last = None;
        for entry in index.entries() {
            let entry = entry?.2;
            stats.chunk_bytes += u64::from(entry.location.len);
            stats.distinct_chunks += u64::from(last.replace(entry.id) != Some(entry.id));
        }
        for kind in ObjectKind::ALL {
            for (_, size) in self.store.list(kind)? {
                stats.repository_bytes += size;
                if kind == ObjectKind::Pack {
                    stats.packs += 1;
                    stats.pack_bytes += size;
                }
            }
        }
        stats.filter_bytes = index.filter_bytes()?;
        Ok(stats)
    }

    /// Passes every path of a snapshot, or every path below `within`, to `each`.
    ///
    /// # Errors
    /// If a tree cannot be read, `within` is not in the snapshot, or `each` fails.
    pub fn list(
        &self,
        snapshot: &Snapshot,
        within: Option<&Path>,
        each: &mut dyn FnMut(&ListEntry) -> Result<()>,
    ) -> Result<()> {
        let mut chunks = self.chunks()?;
        let mut each = |path: &[u8], node: &Node| each(&listed(path, node));
        let within = within.map(|path| path.as_os_str().as_encoded_bytes()).unwrap_or_default();
        let within: Vec<&[u8]> =
            within.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).collect();
        if within.is_empty() {
            return tree::list(&mut chunks, &snapshot.root, b"", &mut each);
        }
        let path = [b"/".as_slice(), &within.join(&b'/')].concat();
        let Some(node) = tree::resolve(&mut chunks, &snapshot.root, &path)? else {
            let path = PathBuf::from(OsStr::from_bytes(&path));
            return Err(Error::PathNotFound { path, snapshot: snapshot.name });
        };
        each(&path, &node)?;
        let NodeKind::Dir(dir) = &node.kind else { return Ok(()) };
        tree::list(&mut chunks, dir, &path, &mut each)
    }

    /// Writes the bytes of one file of a snapshot to `out`.
    ///
    /// # Errors
    /// If there is no such file, something is damaged (what was written until then is right), or
    /// `out` cannot be written.
    pub fn dump(&self, snapshot: &Snapshot, path: &Path, out: &mut dyn Write) -> Result<u64> {
        let mut source = Source::new(self)?;
        let missing = || Error::PathNotFound { path: path.to_owned(), snapshot: snapshot.name };
        let bytes = path.as_os_str().as_encoded_bytes();
        let node = tree::resolve(&mut source.chunks, &snapshot.root, bytes)?.ok_or_else(missing)?;
        let NodeKind::File { size, content } = &node.kind else {
            return Err(Error::NotAFile { path: path.to_owned() });
        };
        let failed = |error| Error::io("cannot write to standard output")(error);
        source.read(content, *size, &mut |part| match part {
            Part::Bytes(bytes) => out.write_all(bytes).map_err(failed),
            Part::Hole(mut len) => {
                while len > 0 {
                    let some = usize::try_from(len).unwrap_or(usize::MAX).min(ZEROS.len());
                    out.write_all(&ZEROS[..some]).map_err(failed)?;
                    len -= some as u64;
                }
                Ok(())
            }
        })?;
        out.flush().map_err(failed)?;
        Ok(*size)
    }

    /// Passes every path of a snapshot that matches a pattern to `each`: a pattern without a slash
    /// matches names, one with a slash whole paths.
    ///
    /// # Errors
    /// If a pattern is not valid, a tree cannot be read, or `each` fails.
    pub fn find_paths(
        &self,
        snapshot: &Snapshot,
        patterns: &[String],
        each: &mut dyn FnMut(&ListEntry) -> Result<()>,
    ) -> Result<()> {
        let matcher = |pattern: &String| {
            Ok((glob(pattern, pattern)?.compile_matcher(), pattern.contains('/')))
        };
        let globs = patterns.iter().map(matcher).collect::<Result<Vec<_>>>()?;
        let mut chunks = self.chunks()?;
        tree::list(&mut chunks, &snapshot.root, b"", &mut |path, node| {
            let found = globs.iter().any(|(glob, whole)| {
                let bytes = if *whole { path } else { &node.name };
                glob.is_match(Path::new(&*String::from_utf8_lossy(bytes)))
            });
            if found { each(&listed(path, node)) } else { Ok(()) }
        })
    }

    /// Passes every path that differs between two snapshots to `each`.
    ///
    /// # Errors
    /// If a tree cannot be read, or `each` fails.
    pub fn diff(
        &self,
        first: &Snapshot,
        second: &Snapshot,
        each: &mut dyn FnMut(Change, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunks = self.chunks()?;
        differences(&mut chunks, &first.root, &second.root, b"", each)
    }
}

fn listed(path: &[u8], node: &Node) -> ListEntry {
    let (kind, target) = match &node.kind {
        NodeKind::File { .. } => ('-', None),
        NodeKind::Dir(_) => ('d', None),
        NodeKind::Symlink(target) => ('l', Some(target.clone())),
        NodeKind::Fifo => ('p', None),
        NodeKind::Char(_) => ('c', None),
        NodeKind::Block(_) => ('b', None),
    };
    let meta = &node.meta;
    let (mode, uid, gid, modified) = (meta.mode, meta.uid, meta.gid, meta.modified);
    ListEntry { path: path.to_vec(), kind, mode, uid, gid, size: node.size(), modified, target }
}

/// Directories with the same chunks are not entered.
fn differences(
    chunks: &mut Chunks,
    first: &DirRef,
    second: &DirRef,
    within: &[u8],
    each: &mut dyn FnMut(Change, &[u8]) -> Result<()>,
) -> Result<()> {
    if first == second {
        return Ok(());
    }
    if within.len() > tree::MAX_PATH_LEN {
        return Err(Error::damage(DamagedPart::Directory, tree::PATH_TOO_LONG));
    }
    let nothing = DirRef::default();
    // Nothing, and not an empty directory: there is none on this side.
    let next = |nodes: &mut DirReader, dir: &DirRef, chunks: &mut Chunks| {
        if *dir == nothing { Ok(None) } else { nodes.next(chunks) }
    };
    let (mut befores, mut afters) = (DirReader::new(first), DirReader::new(second));
    let mut before = next(&mut befores, first, chunks)?;
    let mut after = next(&mut afters, second, chunks)?;
    while let Some(name) = least(&before, &after) {
        let path = [within, b"/", &name].concat();
        let take = |side: &mut Option<Node>| side.take_if(|node| node.name == name);
        let (old, new) = (take(&mut before), take(&mut after));
        if old.is_some() {
            before = next(&mut befores, first, chunks)?;
        }
        if new.is_some() {
            after = next(&mut afters, second, chunks)?;
        }
        let change = match (&old, &new) {
            (None, _) => Some(Change::Added),
            (_, None) => Some(Change::Removed),
            (Some(old), Some(new)) => compare(old, new),
        };
        if let Some(change) = change {
            each(change, &path)?;
        }
        let dir = |node: &Option<Node>| match node {
            Some(Node { kind: NodeKind::Dir(dir), .. }) => dir.clone(),
            _ => DirRef::default(),
        };
        differences(chunks, &dir(&old), &dir(&new), &path, each)?;
    }
    Ok(())
}

fn least(one: &Option<Node>, other: &Option<Node>) -> Option<Vec<u8>> {
    let names = [one, other].into_iter().flatten().map(|node| &node.name);
    names.min().cloned()
}

fn compare(before: &Node, after: &Node) -> Option<Change> {
    let same = match (&before.kind, &after.kind) {
        // The nodes of a directory are compared one by one.
        (NodeKind::Dir(_), NodeKind::Dir(_)) => true,
        (before, after) => before == after,
    };
    let seen = |node: &Node| {
        let meta = &node.meta;
        (meta.mode, meta.uid, meta.gid, meta.modified, meta.xattrs.clone())
    };
    if !same {
        Some(Change::Contents)
    } else if seen(before) != seen(after) {
        Some(Change::Metadata)
    } else {
        None
    }
}
