//! Metadata of a file, as the operating system reports it and as a node stores it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::tree::Meta;

/// File timestamps may be this coarse, in seconds (FAT: two). A file that changed just before it
/// was read could change again and keep its timestamp.
const CLOCK_GRANULARITY: i64 = 2;

/// `now` is the time in seconds, taken before the file is read.
pub(super) fn meta(metadata: &Metadata, path: &Path, now: u64) -> io::Result<Meta> {
    let settled =
        metadata.ctime().saturating_add(CLOCK_GRANULARITY) < i64::try_from(now).unwrap_or(i64::MAX);
    let several = !metadata.is_dir() && metadata.nlink() > 1;
    Ok(Meta {
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
        modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
        stamp: if settled && metadata.is_file() { stamp(metadata) } else { MUST_READ },
        link: several.then(|| (metadata.dev(), metadata.ino())),
        xattrs: xattrs(path)?,
    })
}

/// The stamp of a file that the next backup must read.
pub(super) const MUST_READ: u32 = 0;

fn stamp(metadata: &Metadata) -> u32 {
    let mut hasher = blake3::Hasher::new();
    for number in [metadata.ctime(), metadata.ctime_nsec(), metadata.ino() as i64] {
        hasher.update(&number.to_le_bytes());
    }
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(MUST_READ + 1)
}

/// Whether a file looks unchanged.
pub(super) fn same(before: &Metadata, after: &Metadata) -> bool {
    let state = |metadata: &Metadata| {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        (metadata.len(), modified, metadata.ctime(), metadata.ctime_nsec(), metadata.ino())
    };
    state(before) == state(after)
}

fn xattrs(path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    use rustix::io::Errno;
    let names = match read_growing(|room| rustix::fs::llistxattr(path, room)) {
        Ok(names) => names,
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::PERM) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        match read_growing(|room| rustix::fs::lgetxattr(path, name, room)) {
            Ok(value) => found.push((name.to_vec(), value)),
            // Removed since the listing, or not readable for this user (trusted.*).
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a value that may grow between two calls. Most files have no attributes, so the first
/// buffer is small.
fn read_growing(
    mut read: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    let mut room = vec![0; 256];
    loop {
        match read(&mut room) {
            Ok(len) => {
                room.truncate(len);
                return Ok(room);
            }
            Err(rustix::io::Errno::RANGE) if room.len() < 1 << 20 => room.resize(room.len() * 4, 0),
            Err(error) => return Err(error),
        }
    }
}
