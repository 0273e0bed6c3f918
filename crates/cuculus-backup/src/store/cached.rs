//! A bucket with copies of what is read here and there, again and again: the runs of the index, the
//! snapshots and the digest. Knows which objects never change; each is fetched whole, once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use super::copies::{Copies, CopyDraft};
use super::local::LocalObject;
use super::s3::{AT_ONCE, S3Draft, S3Store};
use super::{Draft, Kind, Object, Store};
use crate::error::{Error, Result};
use crate::id::Name;

pub(crate) struct Cached(Arc<Parts>);

struct Parts {
    bucket: S3Store,
    copies: Copies,
}

impl Cached {
    pub(super) fn new(bucket: S3Store, copies: Copies) -> Self {
        Self(Arc::new(Parts { bucket, copies }))
    }

    /// What a copy is called: as its object, but for the digest, of which there are versions.
    fn copy_name(&self, kind: Kind, name: &Name) -> Result<Name> {
        if !kind.is_single() {
            return Ok(*name);
        }
        let (_, tag) = self.0.bucket.look(kind, name)?;
        Ok(Name::of(tag.as_bytes()))
    }

    /// Fetches what is not there yet, several at a time. What is gone meanwhile is no harm.
    fn fill(&self, kind: Kind, names: &HashSet<Name>) -> Result<()> {
        let missing = names.iter().filter(|name| !self.0.copies.has(kind, name));
        let missing = Mutex::new(missing);
        let next = || missing.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<()> {
            while let Some(name) = next() {
                match self.0.fetch(kind, name, name) {
                    Err(error) if error.is_missing() => {}
                    outcome => outcome?,
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..AT_ONCE).map(|_| scope.spawn(work)).collect();
            let own = work();
            others.into_iter().filter_map(|other| other.join().ok()).fold(own, Result::and)
        })
    }
}

impl Parts {
    fn fetch(&self, kind: Kind, name: &Name, copy_name: &Name) -> Result<()> {
        let mut copy = self.copies.begin()?;
        self.bucket.fetch(kind, name, &mut copy)?;
        if kind.is_single() {
            self.copies.keep_only(kind, &HashSet::new());
        }
        copy.keep(kind, copy_name)
    }
}

impl Store for Cached {
    fn draft(&self, kind: Kind, name: &Name) -> Result<Box<dyn Draft>> {
        if !kind.is_copied() {
            return self.0.bucket.draft(kind, name);
        }
        let copy = Some(self.0.copies.begin()?);
        let upload = self.0.bucket.begin(kind, name);
        Ok(Box::new(CopiedDraft { parts: Arc::clone(&self.0), upload, copy, kind, name: *name }))
    }

    /// Who lists runs or snapshots is about to read them all.
    fn list(&self, kind: Kind) -> Result<Vec<(Name, u64)>> {
        let found = self.0.bucket.list(kind)?;
        if kind.is_copied() && !kind.is_single() {
            let names = found.iter().map(|(name, _)| *name).collect();
            self.0.copies.keep_only(kind, &names);
            self.fill(kind, &names)?;
        }
        Ok(found)
    }

    fn open(&self, kind: Kind, name: &Name) -> Result<Box<dyn Object>> {
        if !kind.is_copied() {
            return self.0.bucket.open(kind, name);
        }
        let copy_name = self.copy_name(kind, name)?;
        let parts = Arc::clone(&self.0);
        let copy = match parts.copies.get(kind, &copy_name) {
            Some(copy) => copy,
            None => {
                parts.fetch(kind, name, &copy_name)?;
                parts.copy(kind, &copy_name)?
            }
        };
        let (copy, renewed) = (RwLock::new(copy), AtomicBool::new(false));
        Ok(Box::new(CopiedObject { parts, kind, name: *name, copy_name, copy, renewed }))
    }

    fn open_sized(&self, kind: Kind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        if kind.is_copied() {
            self.open(kind, name)
        } else {
            self.0.bucket.open_sized(kind, name, len)
        }
    }

    fn get(&self, kind: Kind, name: &Name) -> Result<Vec<u8>> {
        self.0.bucket.get(kind, name)
    }

    fn remove(&self, kind: Kind, name: &Name) -> Result<()> {
        self.remove_all(kind, &[*name], &|| Ok(()))
    }

    fn remove_all(&self, kind: Kind, names: &[Name], go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        self.0.bucket.remove_all(kind, names, go_on)?;
        if kind.is_copied() {
            names.iter().for_each(|name| self.0.copies.remove(kind, name));
        }
        Ok(())
    }

    fn sweep_drafts(&self) -> Result<u64> {
        self.0.bucket.sweep_drafts()
    }

    fn drop_copies(&self) {
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_copied()) {
            self.0.copies.keep_only(kind, &HashSet::new());
        }
    }

    fn writes_at_once(&self) -> usize {
        self.0.bucket.writes_at_once()
    }

    fn lag(&self) -> Duration {
        self.0.bucket.lag()
    }

    fn is_settled(&self) -> bool {
        self.0.bucket.is_settled()
    }
}

impl Parts {
    fn copy(&self, kind: Kind, copy_name: &Name) -> Result<LocalObject> {
        let copy = self.copies.get(kind, copy_name);
        copy.ok_or_else(|| {
            Error::refused(format!(
                "copies in {} vanish as soon as they are made; --cache-dir names another place",
                self.copies.folder().display()
            ))
        })
    }
}

/// Goes to the bucket and to the copy at once, so that what we write is not fetched.
struct CopiedDraft {
    parts: Arc<Parts>,
    upload: S3Draft,
    /// `None` when the disk is full or broken; then the object is fetched when it is needed.
    copy: Option<CopyDraft>,
    kind: Kind,
    name: Name,
}

impl Write for CopiedDraft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.upload.write_all(bytes)?;
        if self.copy.as_mut().is_some_and(|copy| copy.write_all(bytes).is_err()) {
            self.copy = None;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Draft for CopiedDraft {
    fn keep(self: Box<Self>) -> Result<()> {
        let tag = self.upload.finish()?;
        let copy_name = match (self.kind.is_single(), tag) {
            (false, _) => self.name,
            (true, Some(tag)) => Name::of(tag.as_bytes()),
            (true, None) => return Ok(()),
        };
        if self.kind.is_single() {
            self.parts.copies.keep_only(self.kind, &HashSet::new());
        }
        self.copy.map_or(Ok(()), |copy| copy.keep(self.kind, &copy_name))
    }
}

struct CopiedObject {
    parts: Arc<Parts>,
    kind: Kind,
    name: Name,
    copy_name: Name,
    copy: RwLock<LocalObject>,
    renewed: AtomicBool,
}

impl Object for CopiedObject {
    fn len(&self) -> u64 {
        self.copy.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let copy = self.copy.read().unwrap_or_else(PoisonError::into_inner);
        // A copy that cannot be read is as good as a damaged one.
        copy.read_at(offset, len).map_err(|_| Error::damaged(self.kind.describe(&self.name)))
    }

    /// Once: what is damaged again is damaged in the bucket.
    fn renew(&self) -> Result<bool> {
        if self.renewed.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        self.parts.fetch(self.kind, &self.name, &self.copy_name)?;
        let new = self.parts.copy(self.kind, &self.copy_name)?;
        *self.copy.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }
}
