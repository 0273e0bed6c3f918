//! Which filter of the list takes a key, and when the list gets longer (Algorithm 1 of the paper,
//! corrected).
//!
//! The paper's walk swaps entries as it goes, before it looks for a free slot, and hands on to the
//! next filter whichever entry it held in its hand when it gave up. Here a path is found before
//! anything moves, so what finds no room in a filter is the new key itself: that is handed on, and
//! no entry of another key is ever without a place.

use super::block::Block;
use super::filter::DynamicCuckooFilter;
use cuculus::FullCause;
use cuculus::lab::placement::{Placement, PlacementKind};
use cuculus::lab::room::Candidates;

/// When a dynamic cuckoo filter goes on to the next filter of its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extension {
    /// At the first key that finds no room within the allowed kicks: the filter is full then, and
    /// the next becomes current. With few kicks inserts are fast and filters are left emptier. The
    /// default.
    #[default]
    Active,
    /// When the filter holds
    /// [`capacity_per_filter`](super::DynamicCuckooFilterBuilder::capacity_per_filter) keys. A key
    /// that finds no room before that goes to a later filter, and the current one stays current. So
    /// filters are filled to that number, at the price of searches that fail.
    Passive,
}

impl Extension {
    pub(super) const ALL: [Self; 2] = [Self::Active, Self::Passive];

    pub(super) fn id(self) -> u8 {
        self as u8
    }

    pub(super) fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|extension| extension.id() == id)
    }
}

/// What decides where a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) extension: Extension,
    /// The number of keys from which on a filter counts as full.
    pub(super) capacity_per_filter: usize,
    /// Whether filters other than the current one and those after it take keys.
    pub(super) reuse_holes: bool,
    /// Whether a key that seems to be there is not stored again.
    pub(super) filter_duplicates: bool,
}

/// A lookup reads two buckets of each filter, so longer lists are of no use.
pub(super) const MAX_FILTERS: usize = 4096;
/// Filters of the list that an insert searches with kicks, besides the current one.
const SEARCHED: usize = 8;
/// With this many kicks and more, fingerprints at least so long, and so many slots, a filter of two
/// slots per bucket or more takes keys until it is three quarters full; unless they were chosen.
const LEAST_KICKS: u32 = 100;
const LEAST_BITS: u32 = 8;
const LEAST_SLOTS: usize = 256;

impl DynamicCuckooFilter {
    /// Stores a key somewhere; nothing has changed after an error.
    #[inline(always)]
    pub(super) fn store(&mut self, key: &Candidates) -> Result<(), FullCause> {
        let current = self.current;
        if self.rules.extension == Extension::Active || self.is_below_capacity(current) {
            match self.blocks[current].insert(self.placement, self.kicks, key) {
                Ok(()) => Ok(()),
                Err(cause) => self.store_elsewhere(current, cause, key),
            }
        } else {
            self.store_in_next(key)
        }
    }

    /// Passive, and the counter of the current filter has reached the capacity: another becomes
    /// current.
    #[cold]
    fn store_in_next(&mut self, key: &Candidates) -> Result<(), FullCause> {
        let next = if self.rules.reuse_holes {
            self.emptiest_but(self.current)
        } else {
            self.after(self.current).next()
        };
        let Some(next) = next else {
            let appended = self.store_in_new(key)?;
            self.current = appended;
            return Ok(());
        };
        match self.blocks[next].insert(self.placement, self.kicks, key) {
            Ok(()) => {}
            // Nothing has changed so far: `current` moves only if the key finds a place.
            Err(cause) => self.store_elsewhere(next, cause, key)?,
        }
        self.current = next;
        Ok(())
    }

    /// The filter `full` has no room for the key.
    #[cold]
    fn store_elsewhere(
        &mut self,
        full: usize,
        cause: FullCause,
        key: &Candidates,
    ) -> Result<(), FullCause> {
        if cause == FullCause::OutOfMemory {
            return Err(cause);
        }
        if matches!(cause, FullCause::NoRoom { .. }) && self.refuses_while_empty(full) {
            return Err(FullCause::Crowded);
        }
        let found = match self.store_in_existing(full, key) {
            Some(found) => found,
            None => self.store_in_new(key)?,
        };
        // A filter in which a key has no room because of its own copies is not full.
        let is_full = matches!(cause, FullCause::NoRoom { .. });
        if self.rules.extension == Extension::Active && is_full {
            self.current = found;
        }
        Ok(())
    }

    /// Whether a filter that has just refused a key, after a search that deserves the name, has most
    /// of its slots free. Keys that were chosen to fall together do that; with a filter for every few
    /// of them, all others would be looked up in thousands of filters.
    fn refuses_while_empty(&self, full: usize) -> bool {
        let searched = self.kicks.max >= LEAST_KICKS
            && self.shape.slots_per_bucket > 1
            && self.shape.fingerprint_bits >= LEAST_BITS
            && self.placement.kind() != PlacementKind::Simplified;
        let slots = self.slots_per_filter();
        searched && slots >= LEAST_SLOTS && self.blocks[full].len < slots * 2 / 5
    }

    /// Tries the filters below their capacity: those after `full` one by one, as the paper does; or,
    /// if holes are used again, all others. Then the emptiest, which most likely has room, is
    /// searched with kicks, and the rest is only looked at, so that an insert opens no more than
    /// twice the allowed buckets however long the list is.
    fn store_in_existing(&mut self, full: usize, key: &Candidates) -> Option<usize> {
        let (placement, kicks) = (self.placement, self.kicks);
        if !self.rules.reuse_holes {
            let mut searched = 0;
            let mut later = full + 1..self.blocks.len();
            return later.find(|&next| {
                if !self.is_below_capacity(next) {
                    return false;
                }
                searched += 1;
                let block = &mut self.blocks[next];
                if searched > kicks.others(SEARCHED) {
                    return block.place(key);
                }
                block.insert(placement, kicks, key).is_ok()
            });
        }
        let emptiest = self.emptiest_but(full)?;
        if self.blocks[emptiest].insert(placement, kicks, key).is_ok() {
            return Some(emptiest);
        }
        (0..self.blocks.len()).find(|&other| {
            other != full && self.is_below_capacity(other) && self.blocks[other].place(key)
        })
    }

    /// Appends a filter for the key, unless 2b equal entries are there already: what comes so often
    /// is most likely one key again and again, which is no reason to grow.
    fn store_in_new(&mut self, key: &Candidates) -> Result<usize, FullCause> {
        let held = self.count(key);
        if held >= 2 * self.shape.slots_per_bucket as usize {
            return Err(FullCause::EqualEntries { held });
        }
        let at = self.blocks.len();
        if at >= MAX_FILTERS {
            return Err(FullCause::NoRoom { max_kicks: self.kicks.max });
        }
        let mut block =
            Block::new(self.shape, self.placement.buckets()).map_err(|_| FullCause::OutOfMemory)?;
        // An empty table has room for any key, so this does not fail, and nothing was changed yet.
        block.insert(self.placement, self.kicks, key)?;
        // One at a time: moving some hundred bytes per filter is nothing beside its table.
        self.blocks.try_reserve_exact(1).map_err(|_| FullCause::OutOfMemory)?;
        self.blocks.push(block);
        self.appended = self.appended.saturating_add(1);
        Ok(at)
    }

    pub(super) fn is_below_capacity(&self, at: usize) -> bool {
        self.blocks.get(at).is_some_and(|block| block.len < self.rules.capacity_per_filter)
    }

    /// The filters below their capacity after one in the list.
    fn after(&self, at: usize) -> impl Iterator<Item = usize> {
        (at + 1..self.blocks.len()).filter(|&next| self.is_below_capacity(next))
    }

    /// The emptiest of the others, the first of several, if it is below its capacity.
    fn emptiest_but(&self, at: usize) -> Option<usize> {
        let others = (0..self.blocks.len()).filter(|&other| other != at);
        let emptiest = others.min_by_key(|&other| self.blocks[other].len)?;
        self.is_below_capacity(emptiest).then_some(emptiest)
    }

    /// Starts again with the first filter that is below its capacity, or with the last, where holes
    /// are used again. The paper's list only goes forwards.
    pub(super) fn restart(&mut self) {
        if !self.rules.reuse_holes {
            return;
        }
        let first = (0..self.blocks.len()).find(|&at| self.is_below_capacity(at));
        self.current = first.unwrap_or(self.blocks.len() - 1);
    }
}
