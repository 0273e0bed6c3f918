//! The locality cache: the chunks of recently used packs. After a chunk that is stored, its
//! neighbours in the same pack usually follow, and one read of the pack's footer answers for all of
//! them. Knows packs and their chunks; nothing of the index.

use lru::LruCache;

use crate::id::{ChunkId, IdMap, Name};
use crate::pack::{Footer, Location};

/// About 10 MiB: a chunk takes 104 bytes.
pub(crate) const DEFAULT_CHUNKS: usize = 96 * 1024;

pub(crate) struct Locality {
    /// In chunks; 0 turns it off.
    pub(crate) room: usize,
    chunks: IdMap<Location>,
    packs: LruCache<Name, Vec<ChunkId>>,
}

impl Locality {
    pub(crate) fn new(room: usize) -> Self {
        Self { room, chunks: IdMap::default(), packs: LruCache::unbounded() }
    }

    pub(crate) fn get(&mut self, id: &ChunkId) -> Option<Location> {
        let location = *self.chunks.get(id)?;
        self.packs.promote(&location.pack);
        Some(location)
    }

    pub(crate) fn has_pack(&self, pack: &Name) -> bool {
        self.packs.contains(pack)
    }

    /// Adds the chunks of a pack, and evicts the least recently used packs.
    pub(crate) fn add(&mut self, pack: Name, footer: &Footer) {
        let ids: Vec<ChunkId> = footer.locations(pack).map(|(id, _)| id).collect();
        while self.chunks.len() + ids.len() > self.room
            && let Some((oldest, ids)) = self.packs.pop_lru()
        {
            for id in ids {
                // A chunk that is stored twice may have been added by the other pack since.
                if self.chunks.get(&id).is_some_and(|location| location.pack == oldest) {
                    self.chunks.remove(&id);
                }
            }
        }
        self.chunks.extend(footer.locations(pack));
        self.packs.put(pack, ids);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::FooterGroup;

    fn footer(ids: &[u8]) -> Footer {
        let chunks = ids.iter().map(|id| (ChunkId([*id; ChunkId::LEN]), 1)).collect();
        Footer { groups: vec![FooterGroup { offset: 8, len: 100, chunks }] }
    }

    #[test]
    fn the_pack_that_was_used_least_recently_goes() {
        let mut cache = Locality::new(7);
        let [a, b, c, d, e] = [1, 2, 3, 4, 5].map(|pack| Name([pack; Name::LEN]));
        let id = |id: u8| ChunkId([id; ChunkId::LEN]);
        cache.add(a, &footer(&[1, 2, 10]));
        // Chunk 2 is stored twice.
        cache.add(b, &footer(&[2, 3]));
        assert_eq!(cache.get(&id(1)).map(|at| at.pack), Some(a));
        cache.add(c, &footer(&[4, 5, 6, 7]));
        assert!(cache.has_pack(&a) && !cache.has_pack(&b) && cache.has_pack(&c));
        assert!([2, 3].iter().all(|gone| cache.get(&id(*gone)).is_none()));
        // A chunk of the pack that goes belongs to another one by now, and stays.
        cache.add(d, &footer(&[1]));
        cache.get(&id(4));
        cache.add(e, &footer(&[8, 9]));
        assert!(!cache.has_pack(&a) && cache.get(&id(10)).is_none());
        assert_eq!(cache.get(&id(1)).map(|at| at.pack), Some(d));
    }
}
