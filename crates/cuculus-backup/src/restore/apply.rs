//! Metadata written to files. Knows the system's rules: a change of owner clears the set-id bits and
//! capabilities, so owners come first; times change with everything, so they come last.

use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::tree::{Meta, Node, What};

/// Applies what can be; returns what could not, in words.
pub(super) fn metadata(path: &Path, node: &Node) -> Vec<String> {
    let meta = &node.meta;
    let is_link = matches!(node.what, What::Symlink(_));
    let mut problems = Vec::new();
    let mut attempt = |what: &str, outcome: rustix::io::Result<()>| {
        if let Err(error) = outcome {
            problems.push(format!("cannot set its {what}: {error}"));
        }
    };
    attempt("owner", owner(path, meta));
    if !is_link {
        let mode = Mode::from_raw_mode(meta.mode);
        attempt("mode", rustix::fs::chmodat(CWD, path, mode, AtFlags::empty()));
    }
    for (name, value) in &meta.xattrs {
        let set = rustix::fs::lsetxattr(path, &name[..], value, XattrFlags::empty());
        let label = format!("attribute {}", String::from_utf8_lossy(name));
        match set {
            // Others' namespaces, and file systems that have no attributes: for users no surprise.
            Err(Errno::PERM | Errno::NOTSUP) if !is_root() => {}
            outcome => attempt(&label, outcome),
        }
    }
    let time = Timespec { tv_sec: meta.modified.0, tv_nsec: meta.modified.1.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    attempt("time", rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW));
    problems
}

/// Only root can give files away; for others files are their own.
fn owner(path: &Path, meta: &Meta) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw_unchecked(meta.uid), Gid::from_raw_unchecked(meta.gid));
    match rustix::fs::chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::PERM) if !is_root() => Ok(()),
        outcome => outcome,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes a fifo or a device.
pub(super) fn special(path: &Path, node: &Node) -> Result<()> {
    let (kind, number) = match node.what {
        What::Char(number) => (FileType::CharacterDevice, number),
        What::Block(number) => (FileType::BlockDevice, number),
        _ => (FileType::Fifo, 0),
    };
    let mode = Mode::from_raw_mode(node.meta.mode & 0o700);
    rustix::fs::mknodat(CWD, path, kind, mode, number)
        .map_err(|error| Error::at("create", path)(error.into()))
}
