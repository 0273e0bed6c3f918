//! Locks, identity, owner and permissions of files. On systems other than Unix there are no locks, so
//! two writers at the same time are not prevented.

#[cfg(not(unix))]
pub(crate) use other::{Identity, create_new, keep_permissions, open_existing};
#[cfg(not(unix))]
pub use other::{sync_directory, try_lock};
#[cfg(unix)]
pub(crate) use unix::{Identity, create_new, keep_permissions, open_existing};
#[cfg(unix)]
pub use unix::{sync_directory, try_lock};

#[cfg(unix)]
mod unix {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{FlockOperation, Gid, OFlags, Uid, fchown, flock};

    /// Identifies a file whatever its name.
    #[derive(PartialEq, Eq)]
    pub(crate) struct Identity(u64, u64);

    impl Identity {
        pub(crate) fn of(metadata: &Metadata) -> Self {
            Self(metadata.dev(), metadata.ino())
        }
    }

    /// Creates a file for writing that must not exist. A private one is for its owner only.
    pub(crate) fn create_new(path: &Path, is_private: bool) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        if is_private {
            options.mode(0o600);
        }
        options.open(path)
    }

    /// Opens an existing file for writing; never through a symbolic link, which somebody else may have
    /// placed there.
    pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path)
    }

    /// Takes the lock of a file, which ends with the process; false if another process has it.
    ///
    /// # Errors
    ///
    /// If the file system has no locks.
    pub fn try_lock(file: &File) -> io::Result<bool> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a new file the permissions of the old one and, where that is allowed, its owner.
    pub(crate) fn keep_permissions(new: &File, old: &Metadata) -> io::Result<()> {
        let is = new.metadata()?;
        if (is.uid(), is.gid()) != (old.uid(), old.gid()) {
            // Only root may change the owner. For others the new file is their own.
            let owner = (Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
            let _ = fchown(new, owner.0, owner.1);
        }
        // After the owner, since changing the owner clears permission bits.
        new.set_permissions(old.permissions())
    }

    /// Fsyncs a directory, so that a new name survives a power failure.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub fn sync_directory(path: &Path) -> io::Result<()> {
        match File::open(path)?.sync_all() {
            // Some file systems do not support it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

#[cfg(not(unix))]
mod other {
    use std::fs::{File, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    #[derive(PartialEq, Eq)]
    pub(crate) struct Identity;

    impl Identity {
        pub(crate) fn of(_: &Metadata) -> Self {
            Self
        }
    }

    pub(crate) fn create_new(path: &Path, _: bool) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).open(path)
    }

    /// There are no locks here: true.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn try_lock(_: &File) -> io::Result<bool> {
        Ok(true)
    }

    pub(crate) fn keep_permissions(new: &File, old: &Metadata) -> io::Result<()> {
        new.set_permissions(old.permissions())
    }

    /// Directories are not fsynced here.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn sync_directory(_: &Path) -> io::Result<()> {
        Ok(())
    }
}
