//! A remote store with a local cache of objects that are read often and in small parts: index runs and
//! snapshots. They never change; each is fetched whole, once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;

use super::cache::{CacheDraft, ObjectCache};
use super::local::LocalObject;
use super::{Draft, GoOn, Object, ObjectKind, Pace, Place, Store};
use crate::error::{Error, Result, if_there};
use crate::id::Name;

const CONCURRENT_FETCHES: usize = 4;

/// A store behind a network, where every call is at least one round trip.
pub(super) trait Remote: Store + Place + 'static {
    type Draft: RemoteDraft;

    fn begin(&self, kind: ObjectKind, name: &Name) -> Result<Self::Draft>;

    fn fetch(&self, kind: ObjectKind, name: &Name, out: &mut dyn Write) -> Result<()>;
}

pub(super) trait RemoteDraft: Write + Send + 'static {
    fn finish(self) -> Result<()>;
}

impl<D: RemoteDraft> Draft for D {
    fn keep(self: Box<Self>) -> Result<()> {
        self.finish()
    }
}

pub(super) struct CachedStore<R>(Arc<Parts<R>>);

struct Parts<R> {
    remote: R,
    cache: ObjectCache,
}

impl<R: Remote> CachedStore<R> {
    pub(super) fn new(remote: R, cache: ObjectCache) -> Self {
        Self(Arc::new(Parts { remote, cache }))
    }

    /// Fetches what is not cached yet, several objects at a time. Ignores objects that are gone by
    /// now.
    fn fill(&self, kind: ObjectKind, names: &HashSet<Name>) -> Result<()> {
        let missing = names.iter().filter(|name| !self.0.cache.has(kind, name));
        let missing = Mutex::new(missing);
        let next = || missing.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<()> {
            while let Some(name) = next() {
                if_there(self.0.fetch(kind, name))?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..CONCURRENT_FETCHES).map(|_| scope.spawn(work)).collect();
            let own = work();
            others.into_iter().filter_map(|other| other.join().ok()).fold(own, Result::and)
        })
    }
}

impl<R: Remote> Parts<R> {
    fn fetch(&self, kind: ObjectKind, name: &Name) -> Result<()> {
        let mut copy = self.cache.begin()?;
        self.remote.fetch(kind, name, &mut copy)?;
        copy.keep(kind, name)
    }

    fn copy(&self, kind: ObjectKind, name: &Name) -> Result<LocalObject> {
        let copy = self.cache.get(kind, name);
        copy.ok_or_else(|| {
            self.cache.failed(io::Error::other("objects disappear as soon as they are stored"))
        })
    }
}

impl<R: Remote> Store for CachedStore<R> {
    fn draft(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Draft>> {
        if !kind.is_cached() {
            return self.0.remote.draft(kind, name);
        }
        let copy = Some(self.0.cache.begin()?);
        let upload = self.0.remote.begin(kind, name)?;
        Ok(Box::new(CachedDraft::<R> { upload, copy, kind, name: *name }))
    }

    /// Whoever lists runs or snapshots is about to read them all.
    fn list(&self, kind: ObjectKind) -> Result<Vec<(Name, u64)>> {
        let found = self.0.remote.list(kind)?;
        if kind.is_cached() {
            let names = found.iter().map(|(name, _)| *name).collect();
            self.0.cache.keep_only(kind, &names);
            self.fill(kind, &names)?;
        }
        Ok(found)
    }

    fn open(&self, kind: ObjectKind, name: &Name) -> Result<Box<dyn Object>> {
        if !kind.is_cached() {
            return self.0.remote.open(kind, name);
        }
        let parts = Arc::clone(&self.0);
        let copy = match parts.cache.get(kind, name) {
            Some(copy) => copy,
            None => {
                parts.fetch(kind, name)?;
                parts.copy(kind, name)?
            }
        };
        let (copy, refetched) = (RwLock::new(copy), AtomicBool::new(false));
        Ok(Box::new(CachedObject { parts, kind, name: *name, copy, refetched }))
    }

    fn open_sized(&self, kind: ObjectKind, name: &Name, len: u64) -> Result<Box<dyn Object>> {
        if kind.is_cached() {
            self.open(kind, name)
        } else {
            self.0.remote.open_sized(kind, name, len)
        }
    }

    fn get(&self, kind: ObjectKind, name: &Name) -> Result<Vec<u8>> {
        self.0.remote.get(kind, name)
    }

    fn remove_all(&self, kind: ObjectKind, names: &[Name], go_on: GoOn<'_>) -> Result<()> {
        self.0.remote.remove_all(kind, names, go_on)?;
        if kind.is_cached() {
            names.iter().for_each(|name| self.0.cache.remove(kind, name));
        }
        Ok(())
    }

    fn sweep_drafts(&self) -> Result<u64> {
        self.0.remote.sweep_drafts()
    }

    fn clear_cache(&self) {
        for kind in ObjectKind::ALL.into_iter().filter(|kind| kind.is_cached()) {
            self.0.cache.keep_only(kind, &HashSet::new());
        }
    }

    fn pace(&self) -> Pace {
        self.0.remote.pace()
    }

    fn is_settled(&self) -> bool {
        self.0.remote.is_settled()
    }
}

/// Writes to the remote store and to the cache, so that our own objects are not fetched.
struct CachedDraft<R: Remote> {
    upload: R::Draft,
    /// `None` if the cache could not be written; then the object is fetched when it is needed.
    copy: Option<CacheDraft>,
    kind: ObjectKind,
    name: Name,
}

impl<R: Remote> Write for CachedDraft<R> {
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

impl<R: Remote> RemoteDraft for CachedDraft<R> {
    fn finish(self) -> Result<()> {
        self.upload.finish()?;
        self.copy.map_or(Ok(()), |copy| copy.keep(self.kind, &self.name))
    }
}

struct CachedObject<R> {
    parts: Arc<Parts<R>>,
    kind: ObjectKind,
    name: Name,
    copy: RwLock<LocalObject>,
    refetched: AtomicBool,
}

impl<R: Remote> Object for CachedObject<R> {
    fn len(&self) -> u64 {
        self.copy.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn read_at(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let copy = self.copy.read().unwrap_or_else(PoisonError::into_inner);
        // A cached object that cannot be read is treated as damaged.
        copy.read_at(offset, len).map_err(|_| Error::damaged(self.kind, &self.name))
    }

    /// Only once: what is damaged again is damaged in the store.
    fn refetch(&self) -> Result<bool> {
        if self.refetched.swap(true, Ordering::AcqRel) {
            return Ok(false);
        }
        self.parts.fetch(self.kind, &self.name)?;
        let new = self.parts.copy(self.kind, &self.name)?;
        *self.copy.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }
}
