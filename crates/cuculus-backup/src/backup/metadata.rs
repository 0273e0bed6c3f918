//! What the system knows about a file, as a node has it.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use crate::tree::Meta;

/// The file system's clock may stand still for so long (a tick, or two seconds with FAT): a file
/// that changed so shortly before it was read could change again and look the same.
const CLOCK: i64 = 2;

/// What kind of thing a path is.
pub(super) enum Kind {
    File,
    Dir,
    Symlink,
    Fifo,
    Char,
    Block,
    /// A socket lives only as long as its server.
    Socket,
}

pub(super) fn kind(metadata: &Metadata) -> Kind {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Kind::Dir
    } else if kind.is_symlink() {
        Kind::Symlink
    } else if kind.is_fifo() {
        Kind::Fifo
    } else if kind.is_char_device() {
        Kind::Char
    } else if kind.is_block_device() {
        Kind::Block
    } else if kind.is_socket() {
        Kind::Socket
    } else {
        Kind::File
    }
}

/// `now` is the time in seconds before the file is read.
pub(super) fn meta(metadata: &Metadata, path: &Path, now: u64) -> io::Result<Meta> {
    let settled = metadata.ctime().saturating_add(CLOCK) < i64::try_from(now).unwrap_or(i64::MAX);
    let several = !metadata.is_dir() && metadata.nlink() > 1;
    Ok(Meta {
        mode: metadata.mode() & 0o7777,
        uid: metadata.uid(),
        gid: metadata.gid(),
        modified: (metadata.mtime(), metadata.mtime_nsec() as u32),
        stamp: if settled && metadata.is_file() { stamp(metadata) } else { UNSETTLED },
        link: several.then(|| (metadata.dev(), metadata.ino())),
        xattrs: xattrs(path)?,
    })
}

/// The stamp of a file that must be read again in any case.
pub(super) const UNSETTLED: u32 = 0;

fn stamp(metadata: &Metadata) -> u32 {
    let mut hasher = blake3::Hasher::new();
    for number in [metadata.ctime(), metadata.ctime_nsec(), metadata.ino() as i64] {
        hasher.update(&number.to_le_bytes());
    }
    let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(UNSETTLED + 1)
}

/// Whether a file is as it was.
pub(super) fn same(before: &Metadata, after: &Metadata) -> bool {
    let state = |metadata: &Metadata| {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        (metadata.len(), modified, metadata.ctime(), metadata.ctime_nsec(), metadata.ino())
    };
    state(before) == state(after)
}

fn xattrs(path: &Path) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    use rustix::io::Errno;
    let names = match list(path) {
        Ok(names) => names,
        Err(Errno::NOTSUP | Errno::NOSYS | Errno::PERM) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut found = Vec::new();
    for name in names.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        match value(path, name) {
            Ok(value) => found.push((name.to_vec(), value)),
            // Removed since, or not ours to read (as trusted.* for users).
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    found.sort();
    Ok(found)
}

fn list(path: &Path) -> rustix::io::Result<Vec<u8>> {
    read_growing(|room| rustix::fs::llistxattr(path, room))
}

fn value(path: &Path, name: &[u8]) -> rustix::io::Result<Vec<u8>> {
    read_growing(|room| rustix::fs::lgetxattr(path, name, room))
}

/// Reads what may grow between the question for its length and the answer. Most files have no
/// attributes, so the first try is a small one.
fn read_growing(
    mut read: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>,
) -> rustix::io::Result<Vec<u8>> {
    let mut small = [0; 256];
    let mut room = match read(&mut small) {
        Ok(len) => return Ok(small.get(..len).unwrap_or_default().to_vec()),
        Err(rustix::io::Errno::RANGE) => vec![0; 4096],
        Err(error) => return Err(error),
    };
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
