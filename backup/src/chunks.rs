//! Reads chunks back. Looks up where they are, caches recently opened groups, and returns no chunk
//! whose bytes do not match its id.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;

use crate::codec::Malformed;
use crate::config::Parameters;
use crate::error::{DamagedPart, Error, Result};
use crate::id::{ChunkId, Name};
use crate::locality::{self, Locality};
use crate::lookup::Lookup;
use crate::pack::{Decompressor, Location};
use crate::store::{Object, ObjectKind};

/// Groups kept in memory, about 24 MiB. The chunks of one version of a tree are in as many places
/// as there were versions, and each place is read in order.
const OPEN_GROUPS: NonZeroUsize = NonZeroUsize::new(96).unwrap();
/// Groups that several readers keep together, about 40 MiB, and what each has at least.
const GROUPS_OF_ALL_READERS: usize = 160;
const MIN_OPEN_GROUPS: NonZeroUsize = NonZeroUsize::new(24).unwrap();
const OPEN_PACKS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

pub(crate) struct Chunks {
    pub(crate) lookup: Lookup,
    decompressor: Decompressor,
    groups: LruCache<(Name, u32), Arc<Vec<u8>>>,
    packs: LruCache<Name, Arc<dyn Object>>,
}

impl Chunks {
    pub(crate) fn new(lookup: Lookup, parameters: &Parameters) -> Result<Self> {
        let decompressor = Decompressor::new(parameters)?;
        let (groups, packs) = (LruCache::new(OPEN_GROUPS), LruCache::new(OPEN_PACKS));
        Ok(Self { lookup, decompressor, groups, packs })
    }

    /// With smaller caches, for one of several readers at the same time.
    pub(crate) fn one_of(mut self, readers: usize) -> Self {
        if readers > 1 {
            let share = NonZeroUsize::new(GROUPS_OF_ALL_READERS / readers);
            let groups = share.unwrap_or(MIN_OPEN_GROUPS).clamp(MIN_OPEN_GROUPS, OPEN_GROUPS);
            self.groups = LruCache::new(groups);
            self.lookup.cache = Locality::new(locality::DEFAULT_CHUNKS / readers);
        }
        self
    }

    /// Appends the bytes of a chunk.
    pub(crate) fn read(&mut self, id: &ChunkId, out: &mut Vec<u8>) -> Result<()> {
        let Some(location) = self.lookup.locate(id)? else {
            return Err(Error::damage(DamagedPart::MissingChunk(*id), ""));
        };
        let group = self.group(&location)?;
        let bytes = slice(&group, &location).filter(|it| self.lookup.keys.chunk_id(it) == *id);
        let bytes = bytes.ok_or_else(|| {
            Error::damaged(ObjectKind::Pack, &location.pack).with_detail(format!("chunk {id}"))
        })?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn group(&mut self, location: &Location) -> Result<Arc<Vec<u8>>> {
        let key = (location.pack, location.group);
        if let Some(group) = self.groups.get(&key) {
            return Ok(Arc::clone(group));
        }
        let pack = match self.packs.get(&location.pack) {
            Some(pack) => Arc::clone(pack),
            None => {
                let (store, name) = (&self.lookup.store, &location.pack);
                let opened = match self.lookup.index.pack(name) {
                    Some(info) => store.open_sized(ObjectKind::Pack, name, info.size)?,
                    None => store.open(ObjectKind::Pack, name)?,
                };
                let opened: Arc<dyn Object> = Arc::from(opened);
                self.packs.put(location.pack, Arc::clone(&opened));
                opened
            }
        };
        let sealed = pack.read_at(location.group.into(), location.group_len.into())?;
        let group = self.decompressor.open(&self.lookup.keys, sealed).map_err(|Malformed| {
            let detail = format!("the group at offset {}", location.group);
            Error::damaged(ObjectKind::Pack, &location.pack).with_detail(detail)
        })?;
        let group = Arc::new(group);
        // A group of one chunk is not read for another one.
        if group.len() != location.len as usize {
            self.groups.put(key, Arc::clone(&group));
        }
        Ok(group)
    }
}

pub(crate) fn slice<'a>(group: &'a [u8], location: &Location) -> Option<&'a [u8]> {
    let start = location.offset as usize;
    group.get(start..start.checked_add(location.len as usize)?)
}
