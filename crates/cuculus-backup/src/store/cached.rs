//! A bucket with a local cache of objects that are read often and in small parts: index runs,
//! snapshots and the digest. Knows which objects never change; each is fetched whole, once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use super::cache::{CacheDraft, ObjectCache};
use super::local::LocalObject;
use super::s3::{CONCURRENT_TRANSFERS, S3Draft, S3Store};
use super::{Draft, GoOn, Object, ObjectKind, Store};
use crate::error::{Error, Result};
use crate::id::Name;

pub(crate) struct CachedStore(Arc<Parts>);

struct Parts {
    bucket: S3Store,
    cache: ObjectCache,
}

impl CachedStore {
    pub(super) fn new(bucket: S3Store, cache: ObjectCache) -> Self {
        Self(Arc::new(Parts { bucket, cache }))
    }

    /// The name in the cache: that of the object, except for the digest, which has versions.
    fn cache_name(&self, kind: ObjectKind, name: &Name) -> Result<Name> {
        if !kind.is_single() {
            return Ok(*name);
        }
        let (_, tag) = self.0.bucket.look(kind, name)?;
        Ok(Name::of(tag.as_bytes()))
    }

    /// Fetches what is not cached yet, several objects at a time. Ignores objects that are gone by
    /// now.
    fn fill(&self, kind: ObjectKind, names: &HashSet<Name>) -> Result<()> {
        let missing = names.iter().filter(|name| !self.0.cache.has(kind, name));
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
            let others: Vec<_> = (1..CONCURRENT_TRANSFERS).map(|_| scope.spawn(work)).collect();
            let own = work();
            others.into_iter().filter_map(|other| other.join().ok()).fold(own, Result::and)
        })
    }
}

impl Parts {
    fn fetch(&self, kind: ObjectKind, name: &Name, cache_name: &Name) -> Result<()> {
        let mut copy = self.cache.begin()?;
        self.bucket.fetch(kind, name, &mut copy)?;
        if kind.is_single() {
            self.cache.keep_only(kind, &HashSet::new());
        }
        copy.keep(kind, cache_name)
    }
}

impl Store for CachedStore {
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
        if !kind.is_cached() {
            return self.0.bucket.draft(kind, name);
        }
        let copy = Some(self.0.cache.begin()?);
        let upload = self.0.bucket.begin(kind, name);
        Ok(Box::new(CachedDraft { parts: Arc::clone(&self.0), upload, copy, kind, name: *name }))
    }

    /// Whoever lists runs or snapshots is about to read them all.
    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        let found = self.0.bucket.list(kind)?;
        if kind.is_cached() && !kind.is_single() {
            let names = found.iter().map(|(name, _)| *name).collect();
            self.0.cache.keep_only(kind, &names);
            self.fill(kind, &names)?;
        }
        Ok(found)
    }

    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
        if !kind.is_cached() {
            return self.0.bucket.open(kind, name);
        }
        let cache_name = self.cache_name(kind, name)?;
        let parts = Arc::clone(&self.0);
        let copy = match parts.cache.get(kind, &cache_name) {
            Some(copy) => copy,
            None => {
                parts.fetch(kind, name, &cache_name)?;
                parts.copy(kind, &cache_name)?
            }
        };
        let (copy, refetched) = (RwLock::new(copy), AtomicBool::new(false));
        Ok(Box::new(CachedObject { parts, kind, name: *name, cache_name, copy, refetched }))
    }

    fn open_sized(&self, kind: ObjectKind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        if kind.is_cached() {
            self.open(kind, name)
        } else {
            self.0.bucket.open_sized(kind, name, len)
        }
    }

    fn get(&self, kind: ObjectKind, name: &Name) -> Result<Vec<u8>> {
        self.0.bucket.get(kind, name)
    }

    fn remove(&self, kind: ObjectKind, name: &Name) -> Result<()> {
        self.remove_all(kind, &[*name], &|| Ok(()))
    }

    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
        self.0.bucket.remove_all(kind, names, go_on)?;
        if kind.is_cached() {
            names.iter().for_each(|name| self.0.cache.remove(kind, name));
        }
        Ok(())
    }

    fn sweep_drafts(&self) -> Result<u64> {
        self.0.bucket.sweep_drafts()
    }

    fn clear_cache(&self) {
        for kind in ObjectKind::ALL.into_iter().filter(|kind| kind.is_cached()) {
            self.0.cache.keep_only(kind, &HashSet::new());
        }
    }

    fn concurrent_writes(&self) -> usize {
        self.0.bucket.concurrent_writes()
    }

    fn late_writes(&self) -> Duration {
        self.0.bucket.late_writes()
    }

    fn is_settled(&self) -> bool {
        self.0.bucket.is_settled()
    }
}

impl Parts {
    fn copy(&self, kind: ObjectKind, cache_name: &Name) -> Result<LocalObject> {
        let copy = self.cache.get(kind, cache_name);
        copy.ok_or_else(|| {
            self.cache.failed(io::Error::other("objects disappear as soon as they are stored"))
        })
    }
}

/// Writes to the bucket and to the cache, so that our own objects are not fetched.
struct CachedDraft {
    parts: Arc<Parts>,
    upload: S3Draft,
    /// `None` if the cache could not be written; then the object is fetched when it is needed.
    copy: Option<CacheDraft>,
    kind: ObjectKind,
    name: Name,
}

impl Write for CachedDraft {
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

impl Draft for CachedDraft {
    fn keep(self: Box<Self>) -> Result<()> {
        let tag = self.upload.finish()?;
        let cache_name = match (self.kind.is_single(), tag) {
            (false, _) => self.name,
            (true, Some(tag)) => Name::of(tag.as_bytes()),
            (true, None) => return Ok(()),
        };
        if self.kind.is_single() {
            self.parts.cache.keep_only(self.kind, &HashSet::new());
        }
        self.copy.map_or(Ok(()), |copy| copy.keep(self.kind, &cache_name))
    }
}

struct CachedObject {
    parts: Arc<Parts>,
    kind: ObjectKind,
    name: Name,
    cache_name: Name,
    copy: RwLock<LocalObject>,
    refetched: AtomicBool,
}

impl Object for CachedObject {
    fn len(&self) -> u64 {
        self.copy.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let copy = self.copy.read().unwrap_or_else(PoisonError::into_inner);
        // A cached object that cannot be read is treated as damaged.
        copy.read_at(offset, len).map_err(|_| Error::damaged(self.kind, &self.name))
    }

    /// Only once: what is damaged again is damaged in the bucket.
    fn refetch(&self) -> Result<bool> {
        if self.refetched.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        self.parts.fetch(self.kind, &self.name, &self.cache_name)?;
        let new = self.parts.copy(self.kind, &self.cache_name)?;
        *self.copy.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }
}
