//! A store in a directory. Knows files, renames and `fsync`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl, flock};
use rustix::io::{Errno, pread};

use super::{Draft, GoOn, Object, ObjectKind, Place, Store};
use crate::clock::is_past;
use crate::error::{Error, Result};
use crate::id::Name;
use crate::local_state::{if_exists, new_private_file, private_folder, remove_if_there};

/// Drafts are on the same file system as the objects, so that a rename publishes them.
pub(super) const DRAFTS: &str = "tmp";
/// How the drafts of other machines begin. They have no locks: their age decides.
pub(super) const REMOTE_DRAFT: &str = "remote-";
/// A draft that nobody has written to for this long was left by a dead process.
pub(super) const STALE_DRAFT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Clone)]
pub(crate) struct LocalStore {
    pub(super) root: PathBuf,
}

impl LocalStore {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// An empty repository, which is gone when the directory is dropped.
    #[cfg(test)]
    pub(crate) fn temporary() -> (tempfile::TempDir, Self) {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Self::new(directory.path().join("repository"));
        store.prepare().expect("folders");
        (directory, store)
    }

    fn path(&self, kind: ObjectKind, name: &Name) -> PathBuf {
        self.root.join(kind.key(name))
    }
}

impl Place for LocalStore {
    /// Creates the directories of a new repository. Its root may exist, but must be empty.
    fn prepare(&self) -> Result<()> {
        let root = &self.root;
        private_folder(root).map_err(Error::at("create", root))?;
        // Our directories without a configuration are left from an interrupted attempt.
        let ours = |name: &OsStr| ObjectKind::folders().chain([DRAFTS]).any(|ours| name == ours);
        for entry in fs::read_dir(root).map_err(Error::at("read", root))? {
            if !ours(&entry.map_err(Error::at("read", root))?.file_name()) {
                return Err(Error::NotEmpty {
                    location: root.display().to_string(),
                    remedy: "give the repository a directory of its own",
                });
            }
        }
        for folder in ObjectKind::folders().chain([DRAFTS]) {
            let path = root.join(folder);
            private_folder(&path).map_err(Error::at("create", &path))?;
        }
        // A repository that has lost its configuration is no empty place.
        for kind in [ObjectKind::Pack, ObjectKind::Snapshot] {
            if !self.list(kind)?.is_empty() {
                return Err(Error::NotEmpty {
                    location: root.display().to_string(),
                    remedy: "it holds a repository without its configuration",
                });
            }
        }
        Ok(())
    }

    fn identity(&self) -> String {
        let path = &self.root;
        let full = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
        full.unwrap_or_else(|_| path.to_owned()).display().to_string()
    }
}

/// Listings of runs that are replaced all the time.
const MAX_LISTINGS: u32 = 1_000;

impl Store for LocalStore {
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
        let mut tries = 0;
        loop {
            let path = self.root.join(DRAFTS).join(Name::random()?.to_string());
            let file = new_private_file(&path).map_err(Error::at("create", &path))?;
            // Tells `sweep_drafts` that the draft is in use; the kernel releases the lock when we
            // die. On a file system without locks nothing is swept.
            let lock = flock(&file, FlockOperation::NonBlockingLockExclusive);
            // Swept before it was locked. A few tries: some file systems count no links at all.
            let is_swept = lock == Err(Errno::WOULDBLOCK)
                || file.metadata().is_ok_and(|file| file.nlink() == 0);
            tries += 1;
            if is_swept && tries < 4 {
                continue;
            }
            let (store, name) = (self.clone(), *name);
            let direct = None;
            return Ok(Box::new(LocalDraft { file, path, store, kind, name, direct, kept: false }));
        }
    }

    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        let root = self.root.join(kind.folder());
        let mut found = Vec::new();
        if kind.is_single() {
            let file = if_exists(fs::metadata(&root)).map_err(Error::at("read", &root))?;
            return Ok(file.map(|file| (super::SINGLETON, file.len())).into_iter().collect());
        }
        let mut folders = vec![root.clone()];
        let mut tries = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).map_err(Error::at("read", &folder))? {
                let entry = entry.map_err(Error::at("read", &folder))?;
                let name = entry.file_name();
                let Some(text) = name.to_str() else { continue };
                if kind == ObjectKind::Pack && text.len() == 2 {
                    folders.push(entry.path());
                } else if let Some(name) = Name::parse(text) {
                    match entry.metadata() {
                        Ok(file) => found.push((name, file.len())),
                        Err(error)
                            if error.kind() == io::ErrorKind::NotFound && tries < MAX_LISTINGS =>
                        {
                            // Removed since the listing began. A run was replaced then, by one
                            // that the listing may not have: it begins again. So it is with
                            // records of forgotten snapshots.
                            if matches!(kind, ObjectKind::Run | ObjectKind::Forgotten) {
                                tries += 1;
                                found.clear();
                                folders.push(root.clone());
                                break;
                            }
                        }
                        Err(error) => return Err(Error::at("read", &entry.path())(error)),
                    }
                }
            }
        }
        Ok(found)
    }

    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
        let path = self.path(kind, name);
        let opened = LocalObject::open(path.clone(), kind, *name);
        Ok(Box::new(opened.map_err(Error::at("open", &path))?))
    }

    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
        names.iter().try_for_each(|name| {
            go_on()?;
            let path = self.path(kind, name);
            remove_if_there(&path).map_err(Error::at("remove", &path))
        })
    }

    fn sweep_drafts(&self) -> Result<u64> {
        let folder = self.root.join(DRAFTS);
        let mut swept = 0;
        for entry in fs::read_dir(&folder).map_err(Error::at("read", &folder))? {
            let entry = entry.map_err(Error::at("read", &folder))?;
            let path = entry.path();
            let Ok(file) = File::open(&path) else { continue };
            if entry.file_name().as_encoded_bytes().starts_with(REMOTE_DRAFT.as_bytes()) {
                let changed = file.metadata().and_then(|file| file.modified());
                if !is_past(changed.ok(), STALE_DRAFT_AGE) {
                    continue;
                }
            }
            if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let removed =
                    if_exists(fs::remove_file(&path)).map_err(Error::at("remove", &path))?;
                // Otherwise it was finished and renamed meanwhile.
                if removed.is_some() {
                    swept += file.metadata().map_or(0, |file| file.len());
                }
            }
        }
        Ok(swept)
    }
}

struct LocalDraft {
    file: File,
    path: PathBuf,
    store: LocalStore,
    kind: ObjectKind,
    name: Name,
    direct: Option<Direct>,
    kept: bool,
}

impl LocalDraft {
    fn settle(&mut self) -> io::Result<()> {
        self.direct.take().map_or(Ok(()), |mut direct| direct.finish(&mut self.file))
    }
}

impl Write for LocalDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.direct {
            Some(direct) => direct.write(&mut self.file, bytes),
            None => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Draft for LocalDraft {
    fn bypass_cache(&mut self) {
        self.direct = Direct::of(&self.file);
    }

    /// First the bytes are fsynced, then the file is renamed, then its directory is fsynced.
    fn keep(mut self: Box<Self>) -> Result<()> {
        let path = self.store.path(self.kind, &self.name);
        self.settle().and_then(|()| self.file.sync_all()).map_err(Error::at("write", &path))?;
        let folder = path.parent().unwrap_or(&self.store.root);
        if self.kind == ObjectKind::Pack && !folder.exists() {
            private_folder(folder).map_err(Error::at("create", folder))?;
            sync_folder(folder.parent().unwrap_or(&self.store.root))?;
        }
        fs::rename(&self.path, &path).map_err(Error::at("write", &path))?;
        self.kept = true;
        sync_folder(folder)
    }
}

impl Drop for LocalDraft {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Gathers bytes and writes them past the cache of files, from memory and to offsets that are aligned.
/// Pages of the cache would be allocated, filled, written and dropped: in a virtual machine that takes
/// several times as long as everything else that a prune does with the bytes.
struct Direct {
    memory: Vec<u8>,
    /// The aligned part of `memory`, of `DIRECT_SIZE` bytes, begins here.
    start: usize,
    filled: usize,
}

const DIRECT_SIZE: usize = 1 << 20;
/// A multiple of what disks and file systems ask for.
const ALIGNMENT: usize = 4096;
const EINVAL: i32 = Errno::INVAL.raw_os_error();

impl Direct {
    /// `None` if the file system cannot do it.
    fn of(file: &File) -> Option<Self> {
        fcntl_setfl(file, fcntl_getfl(file).ok()? | OFlags::DIRECT).ok()?;
        let memory = vec![0; DIRECT_SIZE + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Some(Self { memory, start, filled: 0 })
    }

    fn write(&mut self, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
        let room = self.memory.get_mut(self.start + self.filled..self.start + DIRECT_SIZE);
        let room = room.unwrap_or_default();
        let len = bytes.len().min(room.len());
        room[..len].copy_from_slice(&bytes[..len]);
        self.filled += len;
        if self.filled == DIRECT_SIZE {
            self.write_first(file, DIRECT_SIZE)?;
            self.filled = 0;
        }
        Ok(len)
    }

    fn write_first(&self, file: &mut File, len: usize) -> io::Result<()> {
        let mut rest = self.memory.get(self.start..self.start + len).unwrap_or_default();
        let mut is_direct = true;
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The file system took the flag and does not do it; or a short write, of a disk that is
                // nearly full, has left the rest unaligned.
                Err(error) if is_direct && error.raw_os_error() == Some(EINVAL) => {
                    through_cache(file)?;
                    is_direct = false;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes what is left; the last bytes fill no aligned block.
    fn finish(&mut self, file: &mut File) -> io::Result<()> {
        let whole = self.filled / ALIGNMENT * ALIGNMENT;
        self.write_first(file, whole)?;
        through_cache(file)?;
        let rest = self.memory.get(self.start + whole..self.start + self.filled);
        file.write_all(rest.unwrap_or_default())
    }
}

fn through_cache(file: &File) -> io::Result<()> {
    Ok(fcntl_setfl(file, fcntl_getfl(file)? - OFlags::DIRECT)?)
}

fn sync_folder(folder: &Path) -> Result<()> {
    let sync = File::open(folder).and_then(|folder| folder.sync_all());
    sync.map_err(Error::at("write", folder))
}

pub(super) struct LocalObject {
    file: File,
    len: u64,
    path: PathBuf,
    kind: ObjectKind,
    name: Name,
}

impl LocalObject {
    pub(super) fn open(path: PathBuf, kind: ObjectKind, name: Name) -> io::Result<Self> {
        let file = File::open(&path)?;
        Ok(Self { len: file.metadata()?.len(), file, path, kind, name })
    }
}

impl Object for LocalObject {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let short = || Error::damaged(self.kind, &self.name).with_detail("too short");
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(short());
        }
        let len = usize::try_from(len).map_err(|_| short())?;
        // Without zeros that the bytes would replace.
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = offset + bytes.len() as u64;
            let error = match pread(&self.file, spare_capacity(&mut bytes), at) {
                Ok(0) => io::ErrorKind::UnexpectedEof.into(),
                Ok(_) | Err(Errno::INTR) => continue,
                Err(error) => error.into(),
            };
            return Err(Error::at("read", &self.path)(error));
        }
        bytes.truncate(len);
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Of every length around the sizes of a disk's blocks and of a write, in pieces of any length.
    #[test]
    fn an_object_that_bypasses_the_cache_has_the_same_bytes() {
        let (_directory, store) = LocalStore::temporary();
        let mut random = fastrand::Rng::with_seed(11);
        let around = |len: usize| len.saturating_sub(1)..len + 2;
        let lengths = [0, ALIGNMENT, DIRECT_SIZE, 2 * DIRECT_SIZE + ALIGNMENT].map(around);
        for (number, len) in lengths.into_iter().flatten().enumerate() {
            let bytes: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
            let name = Name([number as u8; 16]);
            let mut draft = store.draft(ObjectKind::Pack, &name).expect("a draft");
            draft.bypass_cache();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, later) = rest.split_at(random.usize(1..=rest.len().min(300_000)));
                draft.write_all(piece).expect("written");
                rest = later;
            }
            draft.keep().expect("kept");
            assert!(store.get(ObjectKind::Pack, &name).expect("a pack") == bytes, "{len}");
        }
    }

    /// A file system that refuses aligned writes, or a short write: the rest goes the usual way.
    #[test]
    fn what_cannot_bypass_the_cache_goes_through_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("file");
        let mut file = File::create(&path).expect("a file");
        let Some(mut direct) = Direct::of(&file) else { return };
        // Moves the next write to an offset at which the system refuses it.
        through_cache(&file).and_then(|()| file.write_all(b"odd")).expect("written");
        fcntl_setfl(&file, OFlags::DIRECT).expect("a flag");
        let bytes = vec![7; 3 * ALIGNMENT + 5];
        assert_eq!(direct.write(&mut file, &bytes).expect("gathered"), bytes.len());
        direct.finish(&mut file).expect("written");
        assert!(fs::read(&path).expect("a file") == [&b"odd"[..], &bytes].concat());
    }

    /// Whoever merges writes the new run first and removes the old one then: at every moment there
    /// is one. Here it changes its name, again and again.
    #[test]
    fn a_listing_sees_a_run_that_is_replaced_all_the_time() {
        let (_directory, store) = LocalStore::temporary();
        let names = [Name([1; 16]), Name([2; 16])];
        store.draft(ObjectKind::Run, &names[0]).and_then(Draft::keep).expect("a run");
        let paths = names.map(|name| store.path(ObjectKind::Run, &name));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..40_000 {
                    let _ = fs::rename(&paths[number % 2], &paths[(number + 1) % 2]);
                }
                is_done.store(true, Ordering::Relaxed);
            });
            let mut unseen = 0;
            while !is_done.load(Ordering::Relaxed) {
                unseen += u32::from(store.list(ObjectKind::Run).expect("a list").is_empty());
            }
            assert_eq!(unseen, 0, "listings that saw no run");
        });
    }
}
