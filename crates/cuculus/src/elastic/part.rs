//! One of several filters that share the keys of a larger one by the lowest bits of their paths: the
//! bits that choose segments first. Segment `i` of part `p` of `P` is segment `p + P · i` of the
//! whole, so a part is a filter like any other whose paths begin after these bits.

use super::address::{Address, PATH_BITS};
use super::batch;
use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::{Context, Level, PartialKey, Work};
use super::levels::Levels;
use super::policy::Settings;
use crate::filter::countable;
use crate::table::OutOfMemory;
use crate::wide::{self, Job};
use crate::{FullCause, KeyHash};

/// What all parts of a filter have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Division {
    /// The settings of the filter that the parts are.
    pub(super) whole: Settings,
    pub(super) part: Settings,
    /// There are 2^shift parts.
    pub(super) shift: u32,
}

/// A key as its part sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartKey(pub(super) Address);

impl Division {
    pub(super) fn new(whole: Settings, shift: u32) -> Self {
        Self { whole, part: whole.of_part(shift), shift }
    }

    /// For a filter as it was built, without its keys.
    pub(crate) fn of(filter: &ElasticFilter, shift: u32) -> Self {
        Self::new(filter.settings, shift)
    }

    pub(crate) fn parts(&self) -> usize {
        1 << self.shift
    }

    /// There are 2^shift parts.
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    pub(crate) fn rate(&self) -> f64 {
        self.whole.rate
    }

    /// The part of a key, and what is left of its address.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> (usize, PartKey) {
        let Address { path, home } = Address::of(hash);
        let part = path as usize & ((1 << self.shift) - 1);
        (part, PartKey(Address { path: path >> self.shift, home }))
    }

    /// What changing a part needs.
    #[inline(always)]
    pub(super) fn context<'a>(
        &'a self,
        lengths: &'a mut Lengths,
        work: &'a mut Work,
    ) -> Context<'a> {
        work.start();
        Context { settings: &self.part, lengths, work }
    }

    /// All that can be known of a key.
    #[inline(always)]
    fn whole_key(&self, key: PartKey) -> PartialKey {
        PartialKey { key: key.0, bits: PATH_BITS - self.shift }
    }
}

/// The keys of a part.
#[derive(Default)]
pub(crate) struct Part {
    pub(super) levels: Levels,
    pub(super) lengths: Lengths,
    pub(super) work: Work,
}

impl Part {
    #[inline(always)]
    pub(crate) fn contains(&self, key: PartKey, division: &Division) -> bool {
        wide::run_chosen(division.whole.chosen, Contains { levels: &self.levels, key })
    }

    /// Looks up some keys, each with whatever it comes with.
    pub(crate) fn contains_batch<T>(
        &self,
        keys: &[(T, PartKey)],
        division: &Division,
        hits: &mut [bool],
    ) {
        let address = |(_, key): &(T, PartKey)| key.0;
        let job = batch::Contains { levels: &self.levels, keys, address, hits };
        wide::run_chosen(division.whole.chosen, job);
    }

    /// Prefetches what some keys need.
    pub(crate) fn prefetch<T>(&self, keys: &[(T, PartKey)]) {
        batch::prefetch(&self.levels, keys, |(_, key)| key.0);
    }

    pub(crate) fn count(&self, key: PartKey) -> usize {
        countable(self.levels.count(key.0))
    }

    /// A copy with the same keys.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let (levels, lengths) = (self.levels.try_clone()?, self.lengths.try_clone()?);
        Ok(Self { levels, lengths, work: self.work })
    }

    /// Nothing has changed after an error.
    pub(crate) fn insert(&mut self, key: PartKey, division: &Division) -> Result<(), FullCause> {
        let new = division.whole_key(key);
        let Self { levels, lengths, work } = self;
        let cx = division.context(lengths, work);
        let inserted = wide::run_chosen(cx.settings.chosen, Insert { levels, cx, new });
        if inserted.is_err() {
            self.drop_if_empty();
        }
        inserted
    }

    /// Says whether there was one.
    pub(crate) fn remove(&mut self, key: PartKey, division: &Division) -> bool {
        let Self { levels, lengths, work } = self;
        let cx = division.context(lengths, work);
        let removed = wide::run_chosen(cx.settings.chosen, Remove { levels, cx, key });
        self.drop_if_empty();
        removed
    }

    /// Adds all keys of another part. After an error some of them may be there.
    pub(crate) fn merge(&mut self, other: &Part, division: &Division) -> Result<(), FullCause> {
        let before = self.work;
        let Self { levels, lengths, work } = self;
        let mut cx = division.context(lengths, work);
        let added = levels.add_all(&other.levels, &other.lengths, &mut cx);
        // Not one of the operations whose work is bounded.
        self.work = before;
        added
    }

    pub(super) fn drop_if_empty(&mut self) {
        if self.levels.main.len() == 0 && self.levels.overflow.is_empty() {
            self.levels = Levels::default();
            self.lengths = Lengths::default();
        }
    }

    pub(crate) fn len(&self) -> usize {
        countable(self.levels.len())
    }

    pub(crate) fn slots(&self) -> usize {
        self.levels.iter().map(Level::slots).sum()
    }

    /// Segments, and keys that are kept apart.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let overflow = countable(self.levels.overflow.iter().map(Level::len).sum());
        (self.levels.iter().map(Level::segment_count).sum(), overflow)
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

/// Looks a key up.
struct Contains<'a> {
    levels: &'a Levels,
    key: PartKey,
}

impl Contains<'_> {
    #[inline(always)]
    fn look_up<const WIDE: bool>(self) -> bool {
        let Self { levels, key: PartKey(key) } = self;
        let found = if levels.overflow.is_empty() { levels.main.hit::<WIDE>(key) } else { None };
        found.unwrap_or_else(|| levels.contains(key))
    }
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
    levels: &'a mut Levels,
    cx: Context<'a>,
    new: PartialKey,
}

impl Job for Insert<'_> {
    type Output = Result<(), FullCause>;

    #[inline(always)]
    fn run(mut self) -> Self::Output {
        self.levels.insert::<false>(self.new, &mut self.cx)
    }

    #[inline(always)]
    fn run_wide(mut self) -> Self::Output {
        self.levels.insert::<true>(self.new, &mut self.cx)
    }
}

struct Remove<'a> {
    levels: &'a mut Levels,
    cx: Context<'a>,
    key: PartKey,
}

impl Job for Remove<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        self.levels.remove::<false>(self.key.0, &mut self.cx)
    }

    #[inline(always)]
    fn run_wide(mut self) -> bool {
        self.levels.remove::<true>(self.key.0, &mut self.cx)
    }
}
