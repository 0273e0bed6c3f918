//! Which chunks are in use: one bit per index entry, 17 MiB for a terabyte of chunks. Ids are
//! looked up in sorted batches, since each single id would open a block of its own.

use std::collections::{HashMap, HashSet};

use crate::error::{DamagedPart, Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{FoundEntry, Index, Run};
use crate::reachable::Visited;

/// Ids looked up together: about 10 MiB with their locations.
const BATCH_SIZE: usize = 128 * 1024;

/// Collects ids that snapshots need, and looks them up in sorted batches.
pub(super) struct LookupBatch<'a, F> {
    index: &'a Index,
    /// Packs about to be removed.
    avoid: &'a HashSet<Name>,
    /// Packs that are not there: what the index says of them does not count.
    absent: HashSet<Name>,
    /// Receives each id, its location if it has one (outside of `avoid` if possible), and whether
    /// it belongs to a tree.
    each: F,
    ids: Vec<(ChunkId, bool)>,
}

impl<'a, F: FnMut(&ChunkId, Option<FoundEntry>, bool) -> Result<()>> LookupBatch<'a, F> {
    pub(super) fn new(
        index: &'a Index,
        avoid: &'a HashSet<Name>,
        absent: HashSet<Name>,
        each: F,
    ) -> Self {
        Self { index, avoid, absent, each, ids: Vec::new() }
    }

    pub(super) fn add(&mut self, item: Visited<'_>) -> Result<()> {
        match item {
            Visited::Tree(id) => self.ids.push((*id, true)),
            Visited::Data { id, .. } => self.ids.push((*id, false)),
            Visited::File { .. } => {}
            Visited::Unreadable(error) => return Err(error),
        }
        if self.ids.len() < BATCH_SIZE { Ok(()) } else { self.look_up() }
    }

    pub(super) fn look_up(&mut self) -> Result<()> {
        self.ids.sort_unstable();
        self.ids.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 |= same && next.1;
            same
        });
        let mut places: Vec<Option<FoundEntry>> = vec![None; self.ids.len()];
        let going = |found: &FoundEntry| self.avoid.contains(&found.location.pack);
        let ids = self.ids.iter().map(|(id, _)| *id);
        self.index.find_all(&ids, |number, found| {
            if !self.absent.contains(&found.location.pack)
                && let Some(place) = places.get_mut(number)
                && place.is_none_or(|before| going(&before) && !going(&found))
            {
                *place = Some(found);
            }
        })?;
        for (place, (id, is_tree)) in places.into_iter().zip(self.ids.drain(..)) {
            (self.each)(&id, place, is_tree)?;
        }
        Ok(())
    }
}

pub(super) struct Live {
    runs: Vec<Vec<u64>>,
    trees: HashSet<Name>,
}

/// How much of a pack is in use.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) used: u64,
    pub(super) unused: u64,
    pub(super) chunks: usize,
}

impl Usage {
    pub(super) fn share_used(&self) -> f64 {
        self.used as f64 / (self.used + self.unused).max(1) as f64
    }
}

/// The chunks of one pack that are in use, each as its group and its offset there; sorted.
pub(super) type Offsets = Vec<(u32, u32)>;

impl Live {
    pub(super) fn new(index: &Index) -> Self {
        let bits = |run: &Run| vec![0; usize::try_from(run.len().div_ceil(64)).unwrap_or(0)];
        Self { runs: index.runs().iter().map(bits).collect(), trees: HashSet::new() }
    }

    /// A chunk that is needed and not stored is an error.
    pub(super) fn mark(
        &mut self,
        id: &ChunkId,
        found: Option<FoundEntry>,
        is_tree: bool,
    ) -> Result<()> {
        let found = found
            .ok_or_else(|| Error::damage(DamagedPart::MissingChunk(*id), "nothing was removed"))?;
        if is_tree {
            self.trees.insert(found.location.pack);
        }
        let word = self.runs.get_mut(found.run);
        if let Some(word) = word.and_then(|bits| bits.get_mut((found.rank / 64) as usize)) {
            *word |= 1 << (found.rank % 64);
        }
        Ok(())
    }

    pub(super) fn has_trees(&self, pack: &Name) -> bool {
        self.trees.contains(pack)
    }

    fn is_live(&self, run: usize, rank: u64) -> bool {
        let word = self.runs.get(run).and_then(|bits| bits.get((rank / 64) as usize));
        word.is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    pub(super) fn usage(&self, index: &Index) -> Result<HashMap<Name, Usage>> {
        let mut usage: HashMap<Name, Usage> =
            index.packs().map(|pack| (pack.name, Usage::default())).collect();
        for entry in index.entries_by_run() {
            let (run, rank, entry) = entry?;
            let usage = usage.entry(entry.location.pack).or_default();
            let bytes = u64::from(entry.location.len);
            if self.is_live(run, rank) {
                usage.used += bytes;
                usage.chunks += 1;
            } else {
                usage.unused += bytes;
            }
        }
        Ok(usage)
    }

    pub(super) fn places(&self, index: &Index, packs: &[Name]) -> Result<HashMap<Name, Offsets>> {
        let mut places: HashMap<Name, Offsets> =
            packs.iter().map(|pack| (*pack, Offsets::new())).collect();
        for entry in index.entries_by_run() {
            let (run, rank, entry) = entry?;
            if let Some(places) = places.get_mut(&entry.location.pack)
                && self.is_live(run, rank)
            {
                places.push((entry.location.group, entry.location.offset));
            }
        }
        places.values_mut().for_each(|places| places.sort_unstable());
        Ok(places)
    }
}
