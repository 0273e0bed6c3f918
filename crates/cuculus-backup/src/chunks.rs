//! Chunks read back. Knows where they are (by asking), keeps groups that were opened lately, and
//! hands out no chunk whose bytes do not give its id.

use std::collections::HashMap;
use std::sync::Arc;

use crate::codec::Malformed;
use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::lookup::{Answer, Lookup};
use crate::pack::{Decompressor, Location};
use crate::store::{Kind, Object};

/// Groups kept open: some 24 MiB. The chunks of one version of a tree lie in as many places as
/// there were versions, and each place is read in order.
const GROUPS: usize = 96;
/// Bytes of a directory: some ten million names.
const MOST_DIRECTORY: usize = 1 << 30;
/// Packs kept open.
const PACKS: usize = 64;

pub(crate) struct Chunks {
    pub(crate) lookup: Lookup,
    decompressor: Decompressor,
    groups: Recent<(Name, u32), Arc<Vec<u8>>>,
    packs: Recent<Name, Arc<dyn Object>>,
}

impl Chunks {
    pub(crate) fn new(lookup: Lookup, parameters: &Parameters) -> Result<Self> {
        let decompressor = Decompressor::new(parameters)?;
        let (groups, packs) = (Recent::new(GROUPS), Recent::new(PACKS));
        Ok(Self { lookup, decompressor, groups, packs })
    }

    /// Appends the bytes of a chunk.
    pub(crate) fn read(&mut self, id: &ChunkId, out: &mut Vec<u8>) -> Result<()> {
        let Answer::At(location) = self.lookup.locate(id)? else {
            return Err(Error::damaged(format!("the index (chunk {id} is not in it)")));
        };
        let group = self.group(&location)?;
        let bytes =
            slice(&group, &location).filter(|bytes| self.lookup.keys.chunk_id(bytes) == *id);
        let bytes = bytes.ok_or_else(|| {
            Error::damaged(format!("{} (chunk {id})", Kind::Pack.describe(&location.pack)))
        })?;
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes of a whole list of chunks, for what must fit in memory: a directory.
    pub(crate) fn read_all(&mut self, ids: &[ChunkId]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for id in ids {
            self.read(id, &mut bytes)?;
            // The same chunk can be named any number of times by who wants to fill our memory.
            if bytes.len() > MOST_DIRECTORY {
                return Err(Error::damaged("a stored directory (more than a GiB)"));
            }
        }
        Ok(bytes)
    }

    /// A group's bytes.
    pub(crate) fn group(&mut self, location: &Location) -> Result<Arc<Vec<u8>>> {
        let key = (location.pack, location.group);
        if let Some(group) = self.groups.get(&key) {
            return Ok(group);
        }
        let pack = match self.packs.get(&location.pack) {
            Some(pack) => pack,
            None => {
                let (store, name) = (&self.lookup.store, &location.pack);
                let opened = match self.lookup.index.pack(name) {
                    Some(info) => store.open_sized(Kind::Pack, name, info.size)?,
                    None => store.open(Kind::Pack, name)?,
                };
                self.packs.put(location.pack, Arc::from(opened))
            }
        };
        let sealed = pack.read_at(location.group.into(), location.group_len.into())?;
        let group = self.decompressor.open(&self.lookup.keys, sealed).map_err(|Malformed| {
            let pack = Kind::Pack.describe(&location.pack);
            Error::damaged(format!("{pack} (the group at {})", location.group))
        })?;
        Ok(self.groups.put(key, Arc::new(group)))
    }
}

pub(crate) fn slice<'a>(group: &'a [u8], location: &Location) -> Option<&'a [u8]> {
    let start = location.offset as usize;
    group.get(start..start.checked_add(location.len as usize)?)
}

/// A few values, of which the one that was not used for the longest time makes room.
struct Recent<K, V> {
    room: usize,
    values: HashMap<K, (V, u64)>,
    clock: u64,
}

impl<K: std::hash::Hash + Eq + Copy, V: Clone> Recent<K, V> {
    fn new(room: usize) -> Self {
        Self { room, values: HashMap::new(), clock: 0 }
    }

    fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let (value, used) = self.values.get_mut(key)?;
        *used = self.clock;
        Some(value.clone())
    }

    fn put(&mut self, key: K, value: V) -> V {
        if self.values.len() >= self.room {
            let oldest = self.values.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                self.values.remove(&oldest);
            }
        }
        self.clock += 1;
        self.values.insert(key, (value.clone(), self.clock));
        value
    }
}
