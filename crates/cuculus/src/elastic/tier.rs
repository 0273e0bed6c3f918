//! A level and what has become too old for it. An entry that knows too little of its path to have
//! a side when its segment is split goes to the *elder* tier, a smaller one of the same kind.
//! Only a key that was there before the set grew by a large factor ends up there, and one that
//! finds no room because its place is taken by many copies of another; so most filters have no
//! elder.

use super::address::Address;
use super::level::{Context, Known, Level, Match};
use super::pool::Ladder;
use crate::FullCause;

/// Entries that come back from the elder with each merge.
const DRAINED: usize = 32;
/// Copies of a key that fill its two buckets.
const MOST_COPIES: u32 = 8;
/// Bits of the path, beyond those that choose a segment, that an entry needs to come back.
const DRAIN_MARGIN: u32 = 2;

#[derive(Default)]
pub(super) struct Tier {
    pub(super) level: Level,
    pub(super) elder: Option<Box<Tier>>,
}

impl Tier {
    /// This tier and its elders.
    pub(super) fn levels(&self) -> impl Iterator<Item = &Level> {
        let tiers = core::iter::successors(Some(self), |tier| tier.elder.as_deref());
        tiers.map(|tier| &tier.level)
    }

    #[inline(always)]
    pub(super) fn contains(&self, key: Address) -> bool {
        self.level.contains(key)
            || self.elder.as_deref().is_some_and(|elder| elder.contains_elder(key))
    }

    #[inline(never)]
    fn contains_elder(&self, key: Address) -> bool {
        self.contains(key)
    }

    /// Puts an entry where it belongs. Nothing has changed after an error.
    #[inline(always)]
    pub(super) fn insert(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        if !new.is_whole() && new.bits < self.level.depth_at(new.key.path, cx.settings) {
            return self.insert_elder(new, cx);
        }
        match self.level.insert(new, cx) {
            Ok(()) => {}
            Err(FullCause::Crowded) => return self.insert_crowded(new, cx),
            Err(cause) => return Err(cause),
        }
        if self.level.wants_split(cx) {
            self.split(cx);
        }
        Ok(())
    }

    /// What finds no room here because too many keys, or copies of keys, have the same place goes
    /// to the elder, unless they are copies of the key itself.
    #[cold]
    fn insert_crowded(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        let held: u32 = self.levels().map(|level| level.count(new.key)).sum();
        if held >= MOST_COPIES {
            return Err(FullCause::EqualEntries { held: held as usize });
        }
        let new = self.level.as_long_as_others(new);
        if !cx.settings.allows(cx.lengths, new.bits) {
            return Err(FullCause::RateReached);
        }
        self.insert_elder(new, cx)
    }

    #[cold]
    fn insert_elder(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        let elder =
            self.elder.get_or_insert_with(|| Box::new(Self { level: Level::elder(), elder: None }));
        let inserted = elder.insert_older(new, cx);
        self.drop_empty_elder();
        inserted
    }

    #[cold]
    fn insert_older(&mut self, new: Known, cx: &mut Context<'_>) -> Result<(), FullCause> {
        self.insert(new, cx)
    }

    fn drop_empty_elder(&mut self) {
        if self.elder.as_ref().is_some_and(|elder| elder.level.len() == 0 && elder.elder.is_none())
        {
            self.elder = None;
        }
    }

    #[inline(never)]
    fn split(&mut self, cx: &mut Context<'_>) {
        // Taken apart, since the elder changes while the level is being split.
        let mut level = core::mem::take(&mut self.level);
        level.split(cx, |exhausted, cx| {
            for (done, &known) in exhausted.iter().enumerate() {
                if self.insert_elder(known, cx).is_err() {
                    exhausted[..done].iter().for_each(|&known| self.remove_elder(known, cx));
                    return false;
                }
            }
            true
        });
        self.level = level;
    }

    /// Takes back an entry that was given to the elder.
    fn remove_elder(&mut self, known: Known, cx: &mut Context<'_>) {
        let Some(elder) = &mut self.elder else { return };
        match elder.level.exact_match(known) {
            Some(found) => elder.level.remove(found, cx),
            None => elder.remove_elder(known, cx),
        }
        self.drop_empty_elder();
    }

    /// The longest entry that may be of a key, on any level: the only one that can be removed
    /// without taking what another key needs.
    #[inline(always)]
    pub(super) fn longest_match(&self, key: Address) -> Option<(usize, Match)> {
        let found = self.level.longest_match(key).map(|found| (0, found));
        match &self.elder {
            None => found,
            Some(elder) => {
                let older = elder.longest_older(key).map(|(tier, found)| (tier + 1, found));
                match (found, older) {
                    (Some(a), Some(b)) => Some(if a.1.known >= b.1.known { a } else { b }),
                    (a, b) => a.or(b),
                }
            }
        }
    }

    #[cold]
    fn longest_older(&self, key: Address) -> Option<(usize, Match)> {
        self.longest_match(key)
    }

    /// Removes what was found so many tiers up, and shrinks.
    #[inline(always)]
    pub(super) fn remove(&mut self, (tier, found): (usize, Match), cx: &mut Context<'_>) {
        if tier > 0 {
            return self.remove_older((tier - 1, found), cx);
        }
        self.level.remove(found, cx);
        if self.wants_merge(cx) {
            self.merge(cx);
        }
    }

    fn wants_merge(&self, cx: &Context<'_>) -> bool {
        let segments = self.level.segment_count();
        segments > 1
            && cx.settings.wants_merge(self.level.len(), segments)
            && self.level.depth() > cx.settings.least_depth()
    }

    #[cold]
    fn remove_older(&mut self, found: (usize, Match), cx: &mut Context<'_>) {
        if let Some(elder) = &mut self.elder {
            elder.remove(found, cx);
        }
        self.drop_empty_elder();
    }

    #[inline(never)]
    fn merge(&mut self, cx: &mut Context<'_>) {
        self.level.merge(cx);
        self.drain(cx);
    }

    /// Takes entries back from the elder that know enough of their paths again, now that fewer
    /// bits choose a segment. Returns how many.
    fn drain(&mut self, cx: &mut Context<'_>) -> usize {
        let Some(elder) = &mut self.elder else { return 0 };
        let mut drained = 0;
        for known in elder.level.some_longer(self.level.depth() + DRAIN_MARGIN, DRAINED) {
            // An entry may have been shortened since it was listed.
            if elder.level.exact_match(known).is_none() || self.level.insert(known, cx).is_err() {
                continue;
            }
            if let Some(found) = elder.level.exact_match(known) {
                elder.remove((0, found), cx);
                drained += 1;
            }
        }
        self.drop_empty_elder();
        drained
    }

    /// The same once more.
    pub(super) fn duplicate(&self, ladder: Ladder) -> Self {
        let elder = self.elder.as_ref().map(|elder| Box::new(elder.duplicate(ladder)));
        Self { level: self.level.duplicate(ladder), elder }
    }

    pub(super) fn shrink_to_fit(&mut self, cx: &mut Context<'_>) {
        self.level.shrink_to_fit(cx);
        while self.drain(cx) > 0 {}
        if let Some(elder) = &mut self.elder {
            elder.shrink_to_fit(cx);
        }
        self.level.shrink_to_fit(cx);
    }
}
