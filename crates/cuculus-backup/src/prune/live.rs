//! What is in use: a bit for each entry of the index, 17 MiB for a terabyte of chunks. Knows the
//! order of the index, by which all look-ups go: an id alone would open a block of its own.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::id::{ChunkId, Name};
use crate::index::{Found, Index, Run};
use crate::reachable::Met;
use crate::tree::Piece;

/// Ids that are looked up together: some 10 MiB with their places.
const TOGETHER: usize = 128 * 1024;

/// Ids that were met, and what to do with a place of each.
pub(super) struct Gathered<'a, F> {
    index: &'a Index,
    /// Packs that are about to go.
    avoid: &'a HashSet<Name>,
    /// Gets each id, one place of it if there is any, not in a pack that is about to go if there is
    /// another, and whether it is of a tree.
    each: F,
    ids: Vec<(ChunkId, bool)>,
}

impl<'a, F: FnMut(&ChunkId, Option<Found>, bool) -> Result<()>> Gathered<'a, F> {
    pub(super) fn new(index: &'a Index, avoid: &'a HashSet<Name>, each: F) -> Self {
        Self { index, avoid, each, ids: Vec::new() }
    }

    pub(super) fn add(&mut self, met: Met<'_>) -> Result<()> {
        match met {
            Met::Tree(id) => self.ids.push((*id, true)),
            Met::File(_, pieces) => {
                let chunks = pieces.iter().filter_map(|piece| match piece {
                    Piece::Chunk(id) => Some((*id, false)),
                    Piece::Hole(_) => None,
                });
                self.ids.extend(chunks);
            }
        }
        if self.ids.len() < TOGETHER { Ok(()) } else { self.look_up() }
    }

    pub(super) fn look_up(&mut self) -> Result<()> {
        self.ids.sort_unstable();
        self.ids.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 |= same && next.1;
            same
        });
        let mut places: Vec<Option<Found>> = vec![None; self.ids.len()];
        let going = |found: &Found| self.avoid.contains(&found.location.pack);
        let ids = self.ids.iter().map(|(id, _)| *id);
        self.index.find_all(&ids, |number, found| {
            if let Some(place) = places.get_mut(number)
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
    /// Packs in which trees were found.
    trees: HashSet<Name>,
}

/// How much of a pack is in use.
#[derive(Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) used: u64,
    pub(super) unused: u64,
    /// Chunks in use.
    pub(super) chunks: usize,
}

impl Usage {
    pub(super) fn share_used(&self) -> f64 {
        self.used as f64 / (self.used + self.unused).max(1) as f64
    }
}

/// Chunks of one pack that are in use, each by its group and where it begins there; sorted.
pub(super) type Places = Vec<(u32, u32)>;

impl Live {
    pub(super) fn new(index: &Index) -> Self {
        let bits = |run: &Run| vec![0; usize::try_from(run.len().div_ceil(64)).unwrap_or(0)];
        Self { runs: index.runs().iter().map(bits).collect(), trees: HashSet::new() }
    }

    /// What is needed and nowhere is an error.
    pub(super) fn mark(&mut self, id: &ChunkId, found: Option<Found>, is_tree: bool) -> Result<()> {
        let found = found.ok_or_else(|| {
            Error::damaged(format!("the index (chunk {id} is not in it; nothing was removed)"))
        })?;
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
        for entry in index.entries() {
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

    /// What is in use of some packs.
    pub(super) fn places(&self, index: &Index, packs: &[Name]) -> Result<HashMap<Name, Places>> {
        let mut places: HashMap<Name, Places> =
            packs.iter().map(|pack| (*pack, Places::new())).collect();
        for entry in index.entries() {
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
