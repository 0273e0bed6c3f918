//! A level and what has become too short for it. An entry that knows too little of its path to
//! have a side when its segment is split goes to the next level, a smaller one of the same kind.
//! Only a key that was there before the set grew by a large factor ends up there, so most filters
//! have one level.

use super::address::Address;
use super::level::{Context, Level, Match, PartialKey};
use super::overflow::Overflow;
use crate::FullCause;
use crate::table::OutOfMemory;

/// Entries that come back from another level with each merge, at most.
const DRAINED: usize = 256;
/// Entries come back only as long as an operation has rewritten fewer than this.
const DRAIN_WORK: u32 = 2000;
/// Segments of other levels are split only as long as an operation has rewritten fewer than this.
const SPLIT_WORK: u32 = 2400;
/// Bits of the path, beyond those that choose a segment, that an entry needs to come back.
const DRAIN_MARGIN: u32 = 2;
/// The most levels, in memory and in files. A level is only begun when the set has grown at least
/// eightfold since the entries came that go there.
pub(super) const MAX_LEVELS: usize = 16;

#[derive(Default)]
pub(crate) struct Levels {
    pub(super) main: Level,
    pub(super) overflow: Overflow,
}

impl Levels {
    /// The main level and the others.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Level> {
        core::iter::once(&self.main).chain(&*self.overflow)
    }

    /// All copies of all keys.
    pub(super) fn len(&self) -> u64 {
        self.iter().map(Level::len).sum()
    }

    /// The entries that may be of a key, copies counted.
    pub(super) fn count(&self, key: Address) -> u64 {
        self.iter().map(|level| level.count(key)).sum()
    }

    /// All levels are read before any answer is used, so that the waits for memory overlap.
    pub(super) fn contains(&self, key: Address) -> bool {
        self.overflow.iter().for_each(|level| level.prefetch_segment(key));
        let in_main = self.main.contains(key);
        self.overflow.iter().fold(in_main, |found, level| found | level.contains(key))
    }

    /// Puts an entry where it belongs. Nothing has changed after an error.
    #[inline(always)]
    pub(super) fn insert<const WIDE: bool>(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        if !self.main.insert_at_once::<WIDE>(new, cx) && !self.insert_or_make_room(new, cx)? {
            // There is room now.
            self.main.insert(new, cx)?;
        }
        // Not after an operation that has rewritten a segment already.
        if self.main.wants_split(cx) && cx.work.now == 0 {
            self.split(0, cx);
            self.drop_empty();
        }
        Ok(())
    }

    /// Puts an entry where it belongs, or makes room for it; says whether it is there.
    #[inline(never)]
    fn insert_or_make_room(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<bool, FullCause> {
        if new.bits >= self.main.depth_at(new.key.path) {
            return self.main.insert_or_make_room(new, cx);
        }
        let inserted = self.insert_below(0, new, 1, cx);
        self.drop_empty();
        inserted.map(|()| true)
    }

    /// Splits segments until there are enough of them for some entries more.
    pub(super) fn prepare_for(&mut self, entries: usize, cx: &mut Context<'_>) {
        self.prepare_by(entries, usize::MAX, cx);
    }

    /// The same by so many splits at most.
    pub(super) fn prepare_by(&mut self, entries: usize, splits: usize, cx: &mut Context<'_>) {
        if entries > 0 && self.main.segment_count() == 0 && self.main.begin(0, cx).is_err() {
            return;
        }
        for _ in 0..splits {
            if !self.main.will_be_too_full(entries, cx) || self.try_split(0, cx).is_err() {
                break;
            }
        }
        self.drop_empty();
    }

    /// Merges segments as long as there are too many of them, and drops levels without entries.
    pub(super) fn merge_while_due(&mut self, cx: &mut Context<'_>) {
        self.drop_empty();
        while self.main.segment_count() > 1
            && cx.settings.are_few(self.main.weight(), self.main.segment_count())
            && let Some(merged) = self.main.merge(cx)
        {
            cx.work.start();
            if !self.overflow.is_empty() {
                self.drain(merged, cx);
            }
        }
    }

    /// Splits segments of a level until there are so many. After an error there are fewer.
    pub(super) fn split_to(
        &mut self,
        level: usize,
        segments: usize,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        while (1..segments).contains(&self.level_mut(level).segment_count()) {
            self.try_split(level, cx)?;
        }
        Ok(())
    }

    /// Splits segments until there are so many, or so many splits are done.
    pub(super) fn split_towards(&mut self, segments: usize, splits: usize, cx: &mut Context<'_>) {
        let now = self.main.segment_count();
        // What cannot be split stays as it is.
        let _ = self.split_to(0, segments.min(now.saturating_add(splits)), cx);
        self.drop_empty();
    }

    /// Puts copies of an entry where they belong, all or none.
    pub(super) fn insert_copies(
        &mut self,
        new: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        if new.bits < self.main.depth_at(new.key.path) {
            let inserted = self.insert_below(0, new, copies, cx);
            self.drop_empty();
            return inserted;
        }
        self.main.insert_copies(new, copies, cx)?;
        if self.main.wants_split(cx) {
            self.split(0, cx);
            self.drop_empty();
        }
        Ok(())
    }

    /// Puts copies of an entry into a level after the one given.
    #[cold]
    fn insert_below(
        &mut self,
        level: usize,
        new: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        let deep_enough = |level: &Level| new.bits >= level.depth_at(new.key.path);
        let at = self.overflow.iter().skip(level).position(deep_enough).map(|at| at + level);
        let at = match at {
            Some(at) => at,
            None if self.overflow.len() + 1 < MAX_LEVELS => {
                self.overflow.push(Level::overflow()).map_err(|_| FullCause::OutOfMemory)?;
                self.overflow.len() - 1
            }
            None => return Err(FullCause::Crowded),
        };
        let inserted = self.overflow[at].insert_copies(new, copies, cx);
        // Not after an operation that has rewritten much already: there will be another.
        let is_bounded = cx.work.now < SPLIT_WORK;
        let (held, path) = (&self.overflow[at], new.key.path);
        if inserted.is_ok() && is_bounded && (held.wants_split(cx) || held.is_crowded_at(path)) {
            self.split(at + 1, cx);
        }
        inserted
    }

    /// Drops levels after the last that has entries.
    pub(super) fn drop_empty(&mut self) {
        self.overflow.truncate(|level| level.len() == 0);
    }

    /// Splits a segment of a level, 0 being the main one, if that can be done.
    #[inline(never)]
    fn split(&mut self, level: usize, cx: &mut Context<'_>) {
        let _ = self.try_split(level, cx);
    }

    fn try_split(&mut self, level: usize, cx: &mut Context<'_>) -> Result<(), FullCause> {
        // Taken out, since other levels change while this one is being split.
        let mut taken = core::mem::take(self.level_mut(level));
        let split = taken.split(cx, |exhausted, cx| {
            for (done, &(known, copies)) in exhausted.iter().enumerate() {
                if let Err(cause) = self.insert_below(level, known, copies, cx) {
                    for &(known, copies) in &exhausted[..done] {
                        self.take_back(level + 1, known, copies, cx);
                    }
                    return Err(cause);
                }
            }
            Ok(())
        });
        *self.level_mut(level) = taken;
        split.map_err(FullCause::from)
    }

    pub(super) fn level_mut(&mut self, level: usize) -> &mut Level {
        match level.checked_sub(1) {
            None => &mut self.main,
            Some(at) => &mut self.overflow[at],
        }
    }

    /// Takes copies of an entry back that came as this, from a level on. What is held of it may be
    /// shorter by now: the longest that it can be is taken.
    pub(super) fn take_back(
        &mut self,
        first: usize,
        came: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) {
        let mut left = copies;
        while left > 0 {
            let levels = (first..).zip(self.iter().skip(first));
            let held = levels.filter_map(|(at, level)| Some((level.held_of(came)?, at)));
            let Some((bits, at)) = held.max() else { return };
            let now = self.level_mut(at).remove_copies(PartialKey { bits, ..came }, left, cx);
            if now == left {
                return;
            }
            left = now;
        }
    }

    /// The longest entry that may be of a key, on any level: the only one that can be removed
    /// without taking what another key needs.
    #[inline(always)]
    pub(super) fn longest_match<const WIDE: bool>(&self, key: Address) -> Option<(usize, Match)> {
        let found = self.main.longest_match::<WIDE>(key).map(|found| (0, found));
        if self.overflow.is_empty() { found } else { self.longest_of_all(found, key) }
    }

    #[cold]
    fn longest_of_all(
        &self,
        found: Option<(usize, Match)>,
        key: Address,
    ) -> Option<(usize, Match)> {
        let others = (1..).zip(&*self.overflow);
        let others =
            others.filter_map(|(at, level)| Some((at, level.longest_match::<false>(key)?)));
        // The first of the longest.
        others.fold(found, |best, other| match best {
            Some(best) if best.1.known >= other.1.known => Some(best),
            _ => Some(other),
        })
    }

    /// Removes the longest entry that may be of a key, and shrinks. Says whether there was one.
    #[inline(always)]
    pub(super) fn remove<const WIDE: bool>(&mut self, key: Address, cx: &mut Context<'_>) -> bool {
        let Some((level, found)) = self.longest_match::<WIDE>(key) else { return false };
        if level > 0 {
            return self.remove_in_overflow(level - 1, found, cx);
        }
        let removed = self.main.remove::<WIDE>(found, cx);
        self.shrink(removed, cx)
    }

    /// Merges two segments after a removal, if it is time.
    #[inline]
    fn shrink(&mut self, removed: bool, cx: &mut Context<'_>) -> bool {
        if self.main.wants_merge(cx)
            && cx.work.now == 0
            && let Some(merged) = self.main.merge(cx)
            && !self.overflow.is_empty()
        {
            self.drain(merged, cx);
        }
        removed
    }

    #[cold]
    fn remove_in_overflow(&mut self, at: usize, found: Match, cx: &mut Context<'_>) -> bool {
        let level = &mut self.overflow[at];
        let removed = level.remove::<false>(found, cx);
        if level.wants_merge(cx) && cx.work.now == 0 {
            level.merge(cx);
        }
        self.drop_empty();
        removed
    }

    /// Takes entries back from other levels that belong to a segment of the main one and know
    /// enough of their paths again, now that fewer bits choose it. Returns how many.
    #[cold]
    fn drain(&mut self, (index, depth): (usize, u32), cx: &mut Context<'_>) -> usize {
        let mut drained = 0;
        for at in 0..self.overflow.len() {
            if !self.main.has_room(index, DRAINED) {
                break;
            }
            let enough = depth + DRAIN_MARGIN;
            for (known, copies) in self.overflow[at].some_longer(enough, (index, depth), DRAINED) {
                if cx.work.now > DRAIN_WORK {
                    break;
                }
                if self.main.insert_copies(known, copies, cx).is_err() {
                    continue;
                }
                // Each entry is on one level only: what cannot be taken out there goes again here.
                let left = self.overflow[at].remove_copies(known, copies, cx);
                self.main.take_back(known, left, cx);
                drained += usize::from(left < copies);
            }
        }
        self.drop_empty();
        drained
    }

    pub(super) fn shrink_to_fit(&mut self, cx: &mut Context<'_>) {
        self.main.merge_all(cx);
        for segment in self.main.indices() {
            while !self.overflow.is_empty() && self.drain(segment, cx) > 0 {}
        }
        for level in core::iter::once(&mut self.main).chain(&mut *self.overflow) {
            level.merge_all(cx);
            level.pack(cx);
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let levels: usize = self.iter().map(Level::heap_bytes).sum();
        levels + self.overflow.heap_bytes()
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut overflow = Overflow::default();
        for level in &*self.overflow {
            overflow.push(level.try_clone()?)?;
        }
        Ok(Self { main: self.main.try_clone()?, overflow })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;
    use crate::{ElasticFilter, Filter, Insert};

    /// What runs out of bits comes from segments of which some low bits are the same, so it all goes
    /// to a few segments of the next level.
    #[test]
    fn entries_of_a_few_segments_that_run_out_of_bits_are_kept() {
        let mut filter = ElasticFilter::builder().seed(1).build().expect("usual");
        (0..500_000u64).for_each(|key| filter.insert(&key).expect("room"));
        let memory = filter.size_in_bytes();
        let mut random = Random::new(1);
        let keys: Vec<Address> = (0..12_000)
            .map(|_| Address {
                path: 5 + 16 * random.below(16) as u64,
                home: random.below(768) as u16,
            })
            .collect();
        let (levels, _) = filter.engine.parts();
        assert!(levels.main.depth_at(5) > 8);
        for &key in &keys {
            let (levels, mut cx) = filter.engine.parts();
            levels.insert_copies(PartialKey { key, bits: 8 }, 1, &mut cx).expect("room");
        }
        let stats = filter.stats();
        assert!(stats.overflow == keys.len() && stats.most_entries_written <= 4096, "{stats:?}");
        assert!(filter.size_in_bytes() < memory + 16 * keys.len(), "{}", filter.size_in_bytes());
        let (levels, mut cx) = filter.engine.parts();
        assert!(keys.iter().all(|&key| levels.contains(key)));
        for &key in &keys {
            levels.take_back(1, PartialKey { key, bits: 8 }, 1, &mut cx);
        }
        levels.drop_empty();
        assert!(levels.overflow.is_empty());
        assert!((0..500_000u64).all(|key| filter.contains(&key)));
    }
}
