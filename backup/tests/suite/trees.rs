//! Trees to back up, and everything about a tree that a backup must preserve, for comparison.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, SeekFrom, Timespec, Timestamps, Uid, XattrFlags, seek,
};

/// What must be the same after a restore.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    pub(crate) size: u64,
    device: u64,
    /// The first name of the same file.
    link: PathBuf,
    /// Of a file a hash.
    contents: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<u8>)>,
    is_sparse: bool,
}

impl Seen {
    pub(crate) fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }
}

pub(crate) fn manifest(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut first_names = BTreeMap::new();
    let mut seen = BTreeMap::new();
    let mut paths = vec![PathBuf::new()];
    while let Some(name) = paths.pop() {
        let path = if name.as_os_str().is_empty() { root.to_owned() } else { root.join(&name) };
        let found = fs::symlink_metadata(&path).expect("a file");
        let kind = found.file_type();
        if kind.is_dir() {
            for entry in fs::read_dir(&path).expect("a directory") {
                paths.push(name.join(entry.expect("an entry").file_name()));
            }
            // In an order that does not depend on the file system, for the first names.
            paths.sort_unstable_by(|a, b| b.cmp(a));
        }
        let contents = if kind.is_file() {
            hash(&path)
        } else if kind.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else {
            vec![]
        };
        let link = first_names.entry(found.ino()).or_insert_with(|| name.clone()).clone();
        seen.insert(
            name,
            Seen {
                mode: found.mode(),
                owner: (found.uid(), found.gid()),
                modified: (found.mtime(), found.mtime_nsec()),
                size: if kind.is_dir() { 0 } else { found.len() },
                device: found.rdev(),
                link,
                contents,
                attributes: attributes(&path),
                is_sparse: kind.is_file() && found.blocks() * 512 + 65536 < found.len(),
            },
        );
    }
    seen
}

/// A hash of all bytes that are not zero, with their places; holes are not read.
fn hash(path: &Path) -> Vec<u8> {
    let file = File::open(path).expect("a file");
    let (mut hasher, mut buffer) = (blake3::Hasher::new(), vec![0; 64 << 10]);
    let mut at = 0;
    loop {
        match seek(&file, SeekFrom::Data(at)) {
            Ok(data) => at = data / 4096 * 4096,
            // After the last data.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => panic!("{}: {error}", path.display()),
        }
        let read = file.read_at(&mut buffer, at).expect("bytes");
        for (number, block) in (0..).zip(buffer[..read].chunks(4096)) {
            let len = block.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if len > 0 {
                let place: u64 = at + number * 4096;
                hasher.update(&place.to_le_bytes()).update(&len.to_le_bytes());
                hasher.update(&block[..len]);
            }
        }
        at += read.max(1) as u64;
    }
    hasher.finalize().as_bytes().to_vec()
}

fn attributes(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut names = vec![0; 65536];
    let len = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let names = names[..len].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut found: Vec<_> = names
        .map(|name| {
            let mut value = vec![0; 65536];
            let len = rustix::fs::lgetxattr(path, name, &mut value[..]).expect("an attribute");
            value.truncate(len);
            (name.to_vec(), value)
        })
        .collect();
    found.sort();
    found
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Incompressible bytes, a function of the seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

pub(crate) fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    let set = rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
    set.expect("a time");
}

/// A tree with everything that is hard to preserve. Devices and other owners only for root.
pub(crate) fn hostile(root: &Path) {
    let dir = |name: &str| fs::create_dir_all(root.join(name)).expect("a directory");
    dir("empty");
    dir("deep/a/b/c/d/e/f");
    fs::write(root.join("deep/a/b/c/d/e/f/file"), "far down").expect("a file");
    fs::write(root.join("zero"), "").expect("a file");
    fs::write(root.join("one"), "1").expect("a file");
    fs::write(root.join("large"), noise(1, 3_000_000)).expect("a file");
    fs::write(root.join("zeros"), vec![0; 500_000]).expect("a file");
    for name in
        [&b"new\nline"[..], b"not \xff\xfe utf-8", b"tab\t", b"\x01\x02", b" ", b"-rf", b"*"]
    {
        fs::write(root.join(OsStr::from_bytes(name)), name).expect("a file");
    }
    fs::write(root.join("n".repeat(255)), "a long name").expect("a file");

    // Holes at the beginning, in the middle and at the end.
    let sparse = File::create(root.join("sparse")).expect("a file");
    sparse.set_len(20 << 20).expect("a hole");
    sparse.write_all_at(&noise(2, 100_000), 5 << 20).expect("bytes");
    File::create(root.join("hole")).expect("a file").set_len(1 << 30).expect("a hole");

    std::os::unix::fs::symlink("nowhere/at all", root.join("dangling")).expect("a link");
    std::os::unix::fs::symlink("/etc", root.join("outside")).expect("a link");
    let target = OsStr::from_bytes(b"\xff\n");
    std::os::unix::fs::symlink(target, root.join("odd link")).expect("a link");
    fs::hard_link(root.join("large"), root.join("deep/large too")).expect("a link");
    fs::hard_link(root.join("large"), root.join("zz large")).expect("a link");
    let mode = Mode::from_raw_mode(0o640);
    rustix::fs::mknodat(CWD, root.join("fifo"), FileType::Fifo, mode, 0).expect("a fifo");

    let set = |name: &str, attribute: &str, value: &[u8]| {
        let set = rustix::fs::lsetxattr(root.join(name), attribute, value, XattrFlags::empty());
        // Not every file system supports them; then the comparison finds none on both sides.
        assert!(matches!(set, Ok(()) | Err(rustix::io::Errno::NOTSUP)), "{set:?}");
    };
    set("one", "user.small", b"\x00\xff");
    set("one", "user.empty", b"");
    set("zero", "user.large", &noise(3, 2000));
    set("empty", "user.dir", b"on a directory");

    for (name, mode) in [("zero", 0o000), ("one", 0o4755), ("zeros", 0o2711), ("empty", 0o1777)] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).expect("a mode");
    }
    if is_root() {
        let number = rustix::fs::makedev(1, 3);
        let (char, block) = (FileType::CharacterDevice, FileType::BlockDevice);
        rustix::fs::mknodat(CWD, root.join("char"), char, mode, number).expect("a device");
        rustix::fs::mknodat(CWD, root.join("block"), block, mode, number).expect("a device");
        let (uid, gid) = (Uid::from_raw(1234), Gid::from_raw(4321));
        for name in ["one", "dangling", "deep", "fifo"] {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            let owned = rustix::fs::chownat(CWD, root.join(name), Some(uid), Some(gid), flags);
            owned.expect("an owner");
        }
        // Changing the owner clears the set-id bits.
        let mode = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(root.join("one"), mode).expect("a mode");
    }
    set_time(&root.join("one"), -86_400, 123_456_789);
    set_time(&root.join("dangling"), 1, 1);
    set_time(&root.join("large"), 4_000_000_000, 999_999_999);
    set_time(&root.join("empty"), 0, 0);
    set_time(root, 1_000_000_000, 5);
}

/// A tree of small files of many sizes, a function of the seed.
pub(crate) fn files(root: &Path, seed: u64, count: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    for i in 0..count {
        let dir = root.join(format!("dir{}", i % 7));
        fs::create_dir_all(&dir).expect("a directory");
        let len = random.usize(0..40_000);
        let mut bytes = noise(random.u64(..), len / 2);
        bytes.resize(len, b'x');
        fs::write(dir.join(format!("file{i}")), bytes).expect("a file");
    }
}

/// Changes some files, adds one and removes one.
pub(crate) fn change(root: &Path, seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut paths: Vec<PathBuf> = manifest(root).into_keys().collect();
    paths.retain(|path| root.join(path).is_file());
    for _ in 0..3 {
        let path = root.join(&paths[random.usize(..paths.len())]);
        let mut bytes = fs::read(&path).expect("a file");
        let at = random.usize(..=bytes.len());
        bytes.splice(at..at, noise(seed, 500));
        fs::write(&path, bytes).expect("a file");
    }
    fs::remove_file(root.join(&paths[random.usize(..paths.len())])).expect("a file");
    fs::write(root.join(format!("added{seed}")), noise(seed, 20_000)).expect("a file");
}

/// Where the tree at `source` is after a restore to `target`.
pub(crate) fn below(target: &Path, source: &Path) -> PathBuf {
    target.join(source.strip_prefix("/").expect("a full path"))
}

/// All files below a directory, the largest first.
pub(crate) fn largest(root: &Path) -> Vec<PathBuf> {
    let found = manifest(root);
    let mut files: Vec<_> = found.iter().filter(|(_, seen)| seen.is_file()).collect();
    files.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.size));
    files.into_iter().map(|(name, _)| root.join(name)).collect()
}

/// Writes a file, and makes the directories above it.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(path, bytes).expect("a file");
}

/// Replaces a directory by a copy of another one.
pub(crate) fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let copied = std::process::Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
}

pub(crate) fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).expect("a file");
    bytes[at] ^= 0x10;
    fs::write(path, bytes).expect("a file");
}
