//! The entries of a filter, and what changing them needs: hashes in, answers out. Or of one of several filters that
//! share the keys of a larger one by the lowest bits of their paths, the bits that choose segments first: segment
//! `i` of part `p` of `P` is segment `p + P · i` of the whole, so a part is a filter like any other whose paths
//! begin after these bits.

use super::address::{Address, PATH_BITS};
use super::batch;
use super::lengths::Lengths;
use super::level::{Context, Level, PartialKey, Work};
use super::levels::Levels;
use super::policy::Settings;
use crate::filter::countable;
use crate::table::OutOfMemory;
use crate::wide::{self, Job};
use crate::{FullCause, KeyHash};

pub(crate) struct Engine {
    pub(crate) settings: Settings,
    pub(super) levels: Levels,
    pub(super) lengths: Lengths,
    pub(super) work: Work,
}

impl Engine {
    pub(super) fn new(settings: Settings) -> Self {
        let (levels, lengths, work) = Default::default();
        Self { settings, levels, lengths, work }
    }

    /// One of 2^shift parts of a filter, without keys.
    pub(crate) fn part_of(whole: &Settings, shift: u32) -> Self {
        Self::new(whole.of_part(shift))
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.settings);
    }

    /// A key as its part sees it.
    #[inline(always)]
    pub(super) fn address(&self, hash: KeyHash) -> Address {
        Address::of_part(hash, self.settings.no_path())
    }

    /// The entries, and what changing them needs; a new operation starts.
    #[inline(always)]
    pub(super) fn parts(&mut self) -> (&mut Levels, Context<'_>) {
        let Self { settings, levels, lengths, work } = self;
        work.start();
        (levels, Context { settings, lengths, work })
    }

    #[inline]
    pub(crate) fn contains(&self, hash: KeyHash) -> bool {
        // Two words, which go in registers.
        wide::run_chosen(self.settings.chosen, Contains { engine: self, hash })
    }

    #[inline(always)]
    pub(crate) fn contains_each<K>(
        &self,
        keys: &[K],
        hash: impl Fn(&K) -> KeyHash,
        hits: &mut [bool],
    ) {
        let address = |key: &K| self.address(hash(key));
        let job = batch::Contains { levels: &self.levels, keys, address, hits };
        wide::run_chosen(self.settings.chosen, job);
    }

    /// Prefetches what some keys need.
    #[inline(always)]
    pub(crate) fn prefetch<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash) {
        batch::prefetch(&self.levels, keys, |key| self.address(hash(key)));
    }

    pub(crate) fn count(&self, hash: KeyHash) -> usize {
        countable(self.levels.count(self.address(hash)))
    }

    /// Nothing has changed after an error.
    #[inline]
    pub(crate) fn insert(&mut self, hash: KeyHash) -> Result<(), FullCause> {
        let inserted = wide::run_chosen(self.settings.chosen, Insert { engine: self, hash });
        inserted.inspect_err(|_| self.drop_if_empty())
    }

    /// Removes the longest entry that may be of a key. Says whether there was one.
    #[inline]
    pub(crate) fn remove(&mut self, hash: KeyHash) -> bool {
        let removed = wide::run_chosen(self.settings.chosen, Remove { engine: self, hash });
        self.drop_if_empty();
        removed
    }

    /// Adds all keys of another. After an error some of them may be there.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), FullCause> {
        let before = self.work;
        let (levels, mut cx) = self.parts();
        let added = levels.add_all(&other.levels, &other.lengths, &mut cx);
        // Not one of the operations whose work is bounded.
        self.work = before;
        added
    }

    /// Gives everything back if nothing is left that could be worth keeping.
    #[inline]
    pub(super) fn drop_if_empty(&mut self) {
        if self.levels.main.len() == 0 && self.levels.overflow.is_empty() {
            self.levels = Levels::default();
            self.lengths = Lengths::default();
        }
    }

    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let (levels, lengths) = (self.levels.try_clone()?, self.lengths.try_clone()?);
        Ok(Self { levels, lengths, ..*self })
    }

    pub(crate) fn len(&self) -> usize {
        countable(self.levels.len())
    }

    pub(crate) fn slots(&self) -> usize {
        self.levels.iter().map(Level::slots).sum()
    }

    pub(crate) fn segments(&self) -> usize {
        self.levels.iter().map(Level::segment_count).sum()
    }

    /// Keys whose entries have become too short for the set's size.
    pub(crate) fn kept_apart(&self) -> usize {
        countable(self.levels.overflow.iter().map(Level::len).sum())
    }

    /// The most entries that one operation has rewritten.
    pub(crate) fn most_work(&self) -> u32 {
        self.work.most
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.levels.heap_bytes() + self.lengths.heap_bytes()
    }

    pub(crate) fn rate(&self) -> f64 {
        self.lengths.rate()
    }
}

struct Contains<'a> {
    engine: &'a Engine,
    hash: KeyHash,
}

impl Contains<'_> {
    /// The usual case needs few registers if all others go to one function that takes no more than
    /// these two words.
    #[inline(always)]
    fn look_up<const WIDE: bool>(self) -> bool {
        let Self { engine, hash } = self;
        let Levels { main, overflow } = &engine.levels;
        let found = if overflow.is_empty() { main.hit::<WIDE>(engine.address(hash)) } else { None };
        found.unwrap_or_else(|| contains_slowly(engine, hash))
    }
}

#[inline(never)]
fn contains_slowly(engine: &Engine, hash: KeyHash) -> bool {
    engine.levels.contains(engine.address(hash))
}

impl Job for Contains<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.look_up::<false>()
    }

    #[inline(always)]
    fn run_wide(self) -> bool {
        self.look_up::<true>()
    }
}

struct Insert<'a> {
    engine: &'a mut Engine,
    hash: KeyHash,
}

impl Insert<'_> {
    #[inline(always)]
    fn insert<const WIDE: bool>(self) -> Result<(), FullCause> {
        let Self { engine, hash } = self;
        let (key, bits) = (engine.address(hash), PATH_BITS - engine.settings.shift());
        let (levels, mut cx) = engine.parts();
        levels.insert::<WIDE>(PartialKey { key, bits }, &mut cx)
    }
}

impl Job for Insert<'_> {
    type Output = Result<(), FullCause>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.insert::<false>()
    }

    #[inline(always)]
    fn run_wide(self) -> Self::Output {
        self.insert::<true>()
    }
}

struct Remove<'a> {
    engine: &'a mut Engine,
    hash: KeyHash,
}

impl Remove<'_> {
    #[inline(always)]
    fn remove<const WIDE: bool>(self) -> bool {
        let Self { engine, hash } = self;
        let key = engine.address(hash);
        let (levels, mut cx) = engine.parts();
        levels.remove::<WIDE>(key, &mut cx)
    }
}

impl Job for Remove<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.remove::<false>()
    }

    #[inline(always)]
    fn run_wide(self) -> bool {
        self.remove::<true>()
    }
}
