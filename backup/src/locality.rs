//! The locality cache: the chunks of recently used packs. After a chunk that is stored, its
//! neighbours in the same pack usually follow, and one read of the pack's footer answers for all of
//! them. Knows packs and their chunks; nothing of the index.

use std::collections::HashMap;

use crate::id::{ChunkId, IdMap, Name};
use crate::pack::{Footer, Location};

/// About 10 MiB: a chunk takes 104 bytes.
pub(crate) const DEFAULT_CHUNKS: usize = 96 * 1024;

pub(crate) struct Locality {
    /// The largest number of chunks.
    room: usize,
    chunks: IdMap<Location>,
    packs: HashMap<Name, Cached>,
    clock: u64,
}

struct Cached {
    ids: Vec<ChunkId>,
    used: u64,
}

impl Locality {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, chunks: IdMap::default(), packs: HashMap::new(), clock: 0 }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.room > 0
    }

    pub(crate) fn get(&mut self, id: &ChunkId) -> Option<Location> {
        let location = *self.chunks.get(id)?;
        self.touch(&location.pack);
        Some(location)
    }

    pub(crate) fn has_pack(&self, pack: &Name) -> bool {
        self.packs.contains_key(pack)
    }

    fn touch(&mut self, pack: &Name) {
        self.clock += 1;
        if let Some(cached) = self.packs.get_mut(pack) {
            cached.used = self.clock;
        }
    }

    /// Adds the chunks of a pack, and evicts the least recently used packs.
    pub(crate) fn add(&mut self, pack: Name, footer: &Footer) {
        let ids: Vec<ChunkId> = footer.locations(pack).map(|(id, _)| id).collect();
        while self.chunks.len() + ids.len() > self.room {
            let Some(oldest) = self.packs.iter().min_by_key(|(_, pack)| pack.used) else { break };
            let oldest = *oldest.0;
            self.forget(&oldest);
        }
        self.chunks.extend(footer.locations(pack));
        self.packs.insert(pack, Cached { ids, used: 0 });
        self.touch(&pack);
    }

    pub(crate) fn forget(&mut self, pack: &Name) {
        for id in self.packs.remove(pack).map(|cached| cached.ids).unwrap_or_default() {
            // A chunk that is stored twice may have been added by the other pack since.
            if self.chunks.get(&id).is_some_and(|location| location.pack == *pack) {
                self.chunks.remove(&id);
            }
        }
    }
}
