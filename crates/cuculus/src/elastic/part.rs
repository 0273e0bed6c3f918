//! One of several filters that share the keys of a larger one by the lowest bits of their paths: the
//! bits that choose segments first. Segment `i` of part `p` of `P` is segment `p + P · i` of the
//! whole, so a part is a filter like any other whose paths begin after these bits.

use super::address::Address;
use super::copied::Copied;
use super::directory::Directory;
use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::{Context, Level, PartialKey, Work};
use super::levels::Levels;
use super::policy::Settings;
use super::segments::Segments;
use crate::table::OutOfMemory;
use crate::wide::{self, Chosen, Job};
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

    pub(crate) fn chosen(&self) -> Chosen {
        self.whole.chosen
    }

    /// Whether hashes are read as a filter reads them.
    pub(crate) fn reads_like(&self, filter: &ElasticFilter) -> bool {
        self.whole.scheme == filter.settings.scheme
    }

    /// The part of a key, and what is left of its address.
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> (usize, PartKey) {
        let Address { path, home } = self.whole.scheme.address(hash);
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
        PartialKey { key: key.0, bits: self.whole.scheme.path_bits() - self.shift }
    }
}

/// The keys of a part.
#[derive(Default)]
pub(crate) struct Part<D = Directory> {
    pub(super) levels: Levels<D>,
    pub(super) lengths: Lengths,
    pub(super) work: Work,
}

impl<D: Segments> Part<D> {
    #[inline(always)]
    pub(crate) fn contains(&self, key: PartKey) -> bool {
        self.levels.contains(key.0)
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
        self.levels.iter().map(Level::len).sum()
    }

    pub(crate) fn slots(&self) -> usize {
        self.levels.iter().map(Level::slots).sum()
    }

    /// Segments, and keys that are kept apart.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let overflow = self.levels.overflow.iter().map(Level::len).sum();
        (self.levels.iter().map(Level::segment_count).sum(), overflow)
    }

    /// The most entries that one operation has rewritten.
    pub(crate) fn most_work(&self) -> u32 {
        self.work.most
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.levels.heap_bytes() + self.lengths.heap_bytes()
    }

    pub(crate) fn rate(&self, division: &Division) -> f64 {
        self.lengths.rate(division.whole.scheme)
    }
}

impl Part<Copied> {
    /// [`insert`](Self::insert) where others see it, if that is possible and nothing else is due
    /// then. If it says no, nothing has changed.
    #[inline(always)]
    pub(super) fn insert_shown(&mut self, key: PartKey, division: &Division) -> bool {
        let new = division.whole_key(key);
        let Self { levels, lengths, work } = self;
        let level = &mut levels.main;
        let cx = division.context(lengths, work);
        wide::run_chosen(cx.settings.chosen, InsertShown { level, cx, new })
    }

    /// [`remove`](Self::remove) where others see it, if that is possible and nothing else is due
    /// then. If it says no, nothing has changed.
    #[inline(always)]
    pub(super) fn remove_shown(&mut self, key: PartKey, division: &Division) -> bool {
        let Self { levels, lengths, work } = self;
        // With other levels, all must be asked first; without keys, there are no segments.
        if !levels.overflow.is_empty() || levels.main.len() <= 1 {
            return false;
        }
        let level = &mut levels.main;
        let cx = division.context(lengths, work);
        wide::run_chosen(cx.settings.chosen, RemoveShown { level, cx, key })
    }
}

/// The same keys in segments of another kind.
pub(super) fn copy<A: Segments, B: Segments>(part: &Part<A>) -> Result<Part<B>, OutOfMemory> {
    let mut levels = Levels::<B>::default();
    for (at, level) in part.levels.iter().enumerate() {
        if at > 0 {
            levels.overflow.push(Level::overflow())?;
        }
        let to = levels.level_mut(at);
        (to.entries, to.counted, to.copies) = (level.entries, level.counted, level.copies);
        for segment in level.segments() {
            to.directory.push_copy(segment, segment.depth())?;
        }
    }
    Ok(Part { levels, lengths: part.lengths.try_clone()?, work: part.work })
}

struct Insert<'a, D> {
    levels: &'a mut Levels<D>,
    cx: Context<'a>,
    new: PartialKey,
}

impl<D: Segments> Job for Insert<'_, D> {
    type Output = Result<(), FullCause>;

    #[inline(always)]
    fn run(mut self) -> Self::Output {
        self.levels.insert(self.new, &mut self.cx)
    }
}

struct InsertShown<'a> {
    level: &'a mut Level<Copied>,
    cx: Context<'a>,
    new: PartialKey,
}

impl Job for InsertShown<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.run_as::<false>()
    }

    #[inline(always)]
    fn run_wide(self) -> bool {
        self.run_as::<true>()
    }
}

impl InsertShown<'_> {
    #[inline(always)]
    fn run_as<const WIDE: bool>(mut self) -> bool {
        !self.level.may_reshape(self.cx.settings)
            && self.level.insert_shown::<WIDE>(self.new, &mut self.cx)
    }
}

struct RemoveShown<'a> {
    level: &'a mut Level<Copied>,
    cx: Context<'a>,
    key: PartKey,
}

impl Job for RemoveShown<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.run_as::<false>()
    }

    #[inline(always)]
    fn run_wide(self) -> bool {
        self.run_as::<true>()
    }
}

impl RemoveShown<'_> {
    #[inline(always)]
    fn run_as<const WIDE: bool>(mut self) -> bool {
        !self.level.may_reshape(self.cx.settings)
            && self.level.remove_shown::<WIDE>(self.key.0, &mut self.cx)
    }
}

struct Remove<'a, D> {
    levels: &'a mut Levels<D>,
    cx: Context<'a>,
    key: PartKey,
}

impl<D: Segments> Job for Remove<'_, D> {
    type Output = bool;

    #[inline(always)]
    fn run(mut self) -> bool {
        self.levels.remove(self.key.0, &mut self.cx)
    }
}
