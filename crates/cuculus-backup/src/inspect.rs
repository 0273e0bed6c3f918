//! What a repository contains: `ls`, `diff`, `stats` and `verify-digest`. Changes nothing, except
//! for a digest that is to be rebuilt.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::chunks::Chunks;
use crate::digest::{Digest, State};
use crate::error::{DamagedPart, Error, Result};
use crate::index::Run;
use crate::intent;
use crate::repository::Repository;
use crate::snapshot::Snapshot;
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
    /// Total size of these chunks, before compression.
    pub chunk_bytes: u64,
    /// The number of packs.
    pub packs: u64,
    /// Size of the packs.
    pub pack_bytes: u64,
    /// The number of index runs.
    pub index_runs: u64,
    /// Size of the index runs.
    pub index_bytes: u64,
    /// Memory of the digest, if it is saved and current.
    pub digest_bytes: Option<u64>,
    /// Size of all objects.
    pub repository_bytes: u64,
}

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

/// What `verify-digest` found.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct DigestReport {
    /// `current`, `stale`, `damaged` or `absent`.
    pub state: String,
    /// Distinct chunks in the index.
    pub chunks: u64,
    /// Entries in the digest.
    pub entries: u64,
    /// Chunks in the index for which the digest says "no": must be 0.
    pub missing: u64,
    /// Memory of the digest in bytes.
    pub bytes: u64,
    /// Memory of the digest in bits per chunk.
    pub bits_per_chunk: f64,
    /// The expected false positive rate at the current load.
    pub rate: f64,
    /// Whether it was rebuilt.
    pub repaired: bool,
}

impl DigestReport {
    /// Whether the digest is current and matches the index.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.state == "current" && self.missing == 0 && self.entries == self.chunks
    }
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
        for entry in index.entries() {
            stats.chunk_bytes += u64::from(entry?.2.location.len);
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
        let digest = Digest::load(&*self.store, &self.keys, &index.generation());
        stats.digest_bytes = digest.as_ref().map(Digest::size_in_bytes);
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
            return tree::list(&mut chunks, &snapshot.root, &mut each);
        }
        let path = [b"/".as_slice(), &within.join(&b'/')].concat();
        let Some(node) = tree::resolve(&mut chunks, &snapshot.root, &path)? else {
            let path = PathBuf::from(OsStr::from_bytes(&path));
            return Err(Error::PathNotFound { path, snapshot: snapshot.name });
        };
        each(&path, &node)?;
        let NodeKind::Dir(dir) = &node.kind else { return Ok(()) };
        tree::list(&mut chunks, dir, &mut |below, node| each(&[&path, below].concat(), node))
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

    /// Compares the digest with the index, chunk by chunk; rebuilds it if `repair` is set and they
    /// do not match.
    ///
    /// # Errors
    /// If the index cannot be read, or the digest cannot be written.
    pub fn verify_digest(&self, repair: bool) -> Result<DigestReport> {
        let index = self.index()?;
        let generation = index.generation();
        let state = Digest::state(&*self.store, &self.keys, &generation)?;
        let mut report = DigestReport::default();
        let word = match &state {
            State::Current(_) => "current",
            State::Stale => "stale",
            State::Damaged => "damaged",
            State::Absent => "absent",
        };
        report.state = word.into();
        let digest = match state {
            State::Current(digest) => Some(*digest),
            _ => None,
        };
        let mut last = None;
        for entry in index.entries() {
            let id = entry?.2.id;
            if last.replace(id) != Some(id) {
                report.chunks += 1;
                report.missing += u64::from(digest.as_ref().is_none_or(|d| !d.contains(&id)));
            }
        }
        report.describe(digest.as_ref());
        if repair && !report.is_exact() {
            let _announcement = intent::maintenance(&self.store, &self.keys)?;
            let digest = Digest::rebuild(&index, &self.keys, &self.parameters)?;
            digest.save(&*self.store, &self.keys, &generation)?;
            report.describe(Some(&digest));
            (report.state, report.missing, report.repaired) = ("current".into(), 0, true);
        }
        Ok(report)
    }
}

impl DigestReport {
    fn describe(&mut self, digest: Option<&Digest>) {
        let Some(digest) = digest else { return };
        self.entries = digest.len();
        self.bytes = digest.size_in_bytes();
        self.rate = digest.rate();
        self.bits_per_chunk = 8.0 * self.bytes as f64 / self.chunks.max(1) as f64;
    }
}

pub(crate) fn listed(path: &[u8], node: &Node) -> ListEntry {
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

/// The name that comes first.
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
