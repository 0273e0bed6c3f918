//! Applies metadata to restored files. Knows the system's rules: changing the owner clears the
//! set-id bits and capabilities, so it comes first; everything changes the times, so they come
//! last.

use std::fs::File;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags, chmodat, chownat,
    fchmod, fchown, fsetxattr, fstat, futimens, lsetxattr, mknodat, utimensat,
};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::tree::{Meta, Node, NodeKind};

/// What metadata is applied to: by its path, or by a file that is still open, which spares the system
/// three searches for the path.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Path(&'a Path),
    Open(&'a File),
}

/// Applies the metadata of a node; returns one message for each part that failed.
pub(super) fn metadata(target: Target<'_>, node: &Node) -> Vec<String> {
    let meta = &node.meta;
    let is_link = matches!(node.kind, NodeKind::Symlink(_));
    let mut problems = Vec::new();
    let mut attempt = |what: &str, outcome: rustix::io::Result<()>| {
        if let Err(error) = outcome {
            problems.push(format!("cannot set its {what}: {error}"));
        }
    };
    attempt("owner", owner(target, meta));
    if !is_link {
        let mode = Mode::from_raw_mode(meta.mode);
        attempt(
            "mode",
            match target {
                Target::Path(path) => chmodat(CWD, path, mode, AtFlags::empty()),
                Target::Open(file) => fchmod(file, mode),
            },
        );
    }
    for (name, value) in &meta.xattrs {
        let set = match target {
            Target::Path(path) => lsetxattr(path, &name[..], value, XattrFlags::empty()),
            Target::Open(file) => fsetxattr(file, &name[..], value, XattrFlags::empty()),
        };
        let label = format!("attribute {}", String::from_utf8_lossy(name));
        match set {
            // Namespaces that only root may write, and file systems without attributes.
            Err(Errno::PERM | Errno::NOTSUP) if !is_root() => {}
            outcome => attempt(&label, outcome),
        }
    }
    let time = Timespec { tv_sec: meta.modified.0, tv_nsec: meta.modified.1.into() };
    let times = Timestamps { last_access: time, last_modification: time };
    attempt(
        "time",
        match target {
            Target::Path(path) => utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW),
            Target::Open(file) => futimens(file, &times),
        },
    );
    problems
}

/// Only root can change the owner; for others, restored files are their own.
fn owner(target: Target<'_>, meta: &Meta) -> rustix::io::Result<()> {
    let (uid, gid) = (Uid::from_raw_unchecked(meta.uid), Gid::from_raw_unchecked(meta.gid));
    let set = match target {
        Target::Path(path) => chownat(CWD, path, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW),
        // A new file usually has the right owner, and asking is cheaper than setting it.
        Target::Open(file) => match fstat(file) {
            Ok(found) if (found.st_uid, found.st_gid) == (meta.uid, meta.gid) => Ok(()),
            _ => fchown(file, Some(uid), Some(gid)),
        },
    };
    match set {
        Err(Errno::PERM) if !is_root() => Ok(()),
        outcome => outcome,
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(super) fn special(path: &Path, node: &Node) -> Result<()> {
    let (kind, number) = match node.kind {
        NodeKind::Char(number) => (FileType::CharacterDevice, number),
        NodeKind::Block(number) => (FileType::BlockDevice, number),
        _ => (FileType::Fifo, 0),
    };
    let mode = Mode::from_raw_mode(node.meta.mode & 0o700);
    mknodat(CWD, path, kind, mode, number).map_err(|error| Error::at("create", path)(error.into()))
}
