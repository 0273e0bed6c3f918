//! Segments that hold entries, as many segments as the entries need: they are split and merged
//! one after the other (linear hashing), and each is as large as its own entries want it. Knows
//! entries and forms; what becomes of an entry too short for its segment is the filter's matter.

use super::address::Address;
use super::code::{Form, MAX_WIDTH, Step, mask};
use super::directory::Directory;
use super::lengths::Lengths;
use super::policy::Settings;
use super::pool::UNIT;
use super::probe::{self, Probe};
use super::reshape::Commit;
use super::rewrite::{Draft, Shape, Unfit};
use super::segment::{
    COUNTED, Counted, Found, MAX_SLOTS, MAX_UNITS, MOST_EQUAL, Obstacle, Segment,
};
use crate::FullCause;
use crate::table::OutOfMemory;

/// Segments of another level that are searched for entries that can come back.
const MOST_DRAINED_FROM: usize = 2;
/// When a block becomes longer than a multiple of so many units, its codes may get another form.
const ASKED_EVERY: usize = 4;
/// A segment of another level with more slots than this is crowded.
const CROWDED: usize = MAX_SLOTS * 5 / 8;
/// Such a level is split further only if it has so many entries for each segment.
const LEAST_SPREAD: usize = 16;

/// What an operation needs besides the segments.
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) lengths: &'a mut Lengths,
    pub(super) work: &'a mut Work,
}

/// Entries rewritten by an operation, and the most by any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub(super) now: u32,
    pub(super) most: u32,
}

impl Work {
    #[inline]
    pub(super) fn start(&mut self) {
        self.now = 0;
    }

    pub(super) fn add(&mut self, entries: usize) {
        crate::work::add(entries);
        self.now += entries as u32;
        self.most = self.most.max(self.now);
    }
}

/// All that is known of a key: its home, and the lowest `bits` of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartialKey {
    pub(super) key: Address,
    pub(super) bits: u32,
}

/// An entry that may be of a key, as long as nothing changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    key: Address,
    found: Found,
    /// The bits of the path that the entry knows.
    pub(super) known: u32,
}

/// Why a segment could not be rewritten. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    OutOfMemory,
    Unfit(Unfit),
    Rate,
    /// What had to leave the level found no place on another.
    Elsewhere(FullCause),
}

impl From<OutOfMemory> for Failure {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl From<Unfit> for Failure {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

impl From<Failure> for FullCause {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OutOfMemory | Failure::Unfit(Unfit::OutOfMemory) => Self::OutOfMemory,
            Failure::Unfit(_) => Self::Crowded,
            Failure::Rate => Self::RateReached,
            Failure::Elsewhere(cause) => cause,
        }
    }
}

/// Segments by the lowest bits of the path.
#[derive(Default)]
pub(crate) struct Level {
    pub(super) directory: Directory,
    /// Entries that have slots.
    pub(super) entries: usize,
    /// Codes of which further copies are counted, and these copies.
    pub(super) counted: usize,
    pub(super) copies: u64,
    /// Whether it holds what has become too short for the level before. Its entries are never
    /// shortened, since there are few, and add nothing to the rate that they did not add before.
    pub(super) is_overflow: bool,
}

impl Level {
    pub(super) fn overflow() -> Self {
        Self { is_overflow: true, ..Self::default() }
    }

    /// Whether entries are taken as long as they are, without regard to the rate.
    pub(super) fn set_loading(&mut self, is_loading: bool) {
        self.is_overflow = is_loading;
    }

    /// All copies of all keys: more than a `usize` counts, where that has 32 bits.
    pub(super) fn len(&self) -> u64 {
        self.entries as u64 + self.copies
    }

    /// The slots that its memory has room for.
    pub(super) fn slots(&self) -> usize {
        self.directory.capacity()
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.directory.iter()
    }

    pub(super) fn segment_count(&self) -> usize {
        self.directory.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.directory.heap_bytes()
    }

    /// The depth of the deepest segment.
    pub(super) fn depth(&self) -> u32 {
        self.directory.len().saturating_sub(1).checked_ilog2().map_or(0, |depth| depth + 1)
    }

    /// How many bits of a path choose its segment.
    #[inline]
    pub(super) fn depth_at(&self, path: u64) -> u32 {
        if self.directory.len() == 0 { 0 } else { self.directory.find(path).depth() }
    }

    /// What splits and merges go by: a counted code takes the room of several slots.
    pub(super) fn weight(&self) -> usize {
        self.entries + 4 * self.counted
    }

    pub(super) fn contains(&self, key: Address) -> bool {
        self.directory.len() > 0 && probe::contains(self.segment(key), key)
    }

    /// [`contains`](Self::contains), if that can be said fast.
    #[inline(always)]
    pub(super) fn hit<const WIDE: bool>(&self, key: Address) -> Option<bool> {
        if self.directory.len() == 0 {
            return None;
        }
        Probe::new(self.segment(key), key).hit::<WIDE>()
    }

    /// The segment of a key. There must be one.
    #[inline]
    pub(super) fn segment(&self, key: Address) -> &Segment {
        self.directory.find(key.path)
    }

    /// Prefetches the group of a key. There must be a segment.
    #[inline]
    pub(super) fn prefetch_group(&self, key: Address) {
        probe::prefetch(self.directory.find(key.path), key);
    }

    /// Prefetches the description of a key's segment.
    #[inline]
    pub(super) fn prefetch_segment(&self, key: Address) {
        self.directory.prefetch(key.path);
    }

    pub(super) fn count(&self, key: Address) -> u64 {
        if self.entries == 0 {
            return 0;
        }
        copies_in(self.directory.find(key.path), key)
    }

    /// Whether a segment should be split now.
    #[inline]
    pub(super) fn wants_split(&self, cx: &Context<'_>) -> bool {
        cx.settings.wants_split(self.weight(), self.directory.len())
    }

    /// Whether the segment of a path is much fuller than others, so that more of them would help: keys
    /// by chance are spread evenly, but not what runs out of bits. Not many for few entries.
    pub(super) fn is_crowded_at(&self, path: u64) -> bool {
        let (slots, segments) = (self.directory.find(path).slots(), self.directory.len());
        slots > CROWDED && segments < self.entries / LEAST_SPREAD
    }

    /// Whether its segments are too few for some entries more.
    pub(super) fn will_be_too_full(&self, entries: usize, cx: &Context<'_>) -> bool {
        let segments = self.directory.len();
        segments > 0 && cx.settings.are_many(self.weight() + entries, segments)
    }

    pub(super) fn wants_merge(&self, cx: &Context<'_>) -> bool {
        let segments = self.directory.len();
        segments > 1 && cx.settings.wants_merge(self.weight(), segments)
    }

    /// The longest entry that may be of a key.
    #[inline(always)]
    pub(super) fn longest_match<const WIDE: bool>(&self, key: Address) -> Option<Match> {
        if self.directory.len() == 0 {
            return None;
        }
        let segment = self.directory.find(key.path);
        let found = segment.longest_match::<WIDE>(key)?;
        Some(Match { key, found, known: segment.depth() + found.length })
    }

    /// Takes an entry out, and shrinks its segment if that is due. Says whether it is gone: only
    /// without memory it can happen that it is not.
    #[inline(always)]
    pub(super) fn remove<const WIDE: bool>(
        &mut self,
        Match { key, found, known }: Match,
        cx: &mut Context<'_>,
    ) -> bool {
        let segment = self.directory.find_mut(key.path);
        if segment.is_wide()
            && let Some(ended) = segment.count_down(key.home, found.code)
        {
            self.copies -= 1;
            if ended {
                self.counted -= 1;
                self.shrink_if_due(self.directory.index(key.path), cx);
            }
            return true;
        }
        if !segment.take::<WIDE>(key.group(), found) && !self.take_from_wide(key, found) {
            return false;
        }
        self.entries -= 1;
        cx.lengths.remove(known);
        self.shrink_if_due(self.directory.index(key.path), cx);
        true
    }

    /// Takes an entry out whose segment has to be wide for that.
    #[cold]
    fn take_from_wide(&mut self, key: Address, found: Found) -> bool {
        let index = self.directory.index(key.path);
        self.make_wide(index, 0).is_ok()
            && self.directory.get_mut(index).take::<false>(key.group(), found)
    }

    /// Makes a segment wide, with room for so many bytes more.
    fn make_wide(&mut self, index: usize, more: usize) -> Result<(), FullCause> {
        let segment = self.directory.get(index);
        let missing = segment.missing_for_wide(more);
        let units = segment.units() + missing.div_ceil(UNIT);
        if units > MAX_UNITS {
            return Err(FullCause::Crowded);
        }
        if missing > 0 {
            self.directory.resize(index, units).map_err(|_| FullCause::OutOfMemory)?;
        }
        self.directory.get_mut(index).widen();
        Ok(())
    }

    /// How the codes of a segment should be made. Those of another level stay as they are: entries
    /// that are shortened there are not found when they come back.
    pub(super) fn goal_form(&self, index: usize, depth: u32, cx: &Context<'_>) -> Form {
        if self.is_overflow {
            return self.directory.get(index).form();
        }
        cx.settings.goal(0, cx.lengths).form(index, depth)
    }

    /// Puts an entry into its segment, if that takes no more than moving what is behind it: what nearly
    /// every insert does. Otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn insert_at_once<const WIDE: bool>(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> bool {
        if self.directory.len() == 0 {
            return false;
        }
        let segment = self.directory.find(new.key.path);
        let (form, depth) = (segment.form(), segment.depth());
        if new.bits < depth || segment.is_packed() || !self.serves(form, depth, new, cx) {
            return false;
        }
        let length = (new.bits - depth).min(form.longest());
        let code = form.encode(new.key.path >> depth, length);
        if !cx.lengths.counts(depth + length)
            || !self.directory.find_mut(new.key.path).put::<WIDE>(new.key, code)
        {
            return false;
        }
        self.entries += 1;
        cx.lengths.add(depth + length);
        true
    }

    /// Puts an entry into its segment, which grows if it must. Nothing has changed after an error.
    #[inline(always)]
    pub(super) fn insert(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        // Room is made once, and then there is some.
        for _ in 0..2 {
            if self.insert_at_once::<false>(new, cx) || self.insert_or_make_room(new, cx)? {
                return Ok(());
            }
        }
        Err(FullCause::Crowded)
    }

    /// Puts an entry into its segment with more ado than moving what is behind it, or makes that possible.
    /// Says whether the entry is there.
    pub(super) fn insert_or_make_room(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<bool, FullCause> {
        if self.directory.len() == 0 {
            self.begin(new.bits, cx)?;
        }
        let index = self.directory.index(new.key.path);
        let segment = self.directory.get(index);
        let (form, depth) = (segment.form(), segment.depth());
        if segment.is_packed() || !self.serves(form, depth, new, cx) {
            return self.insert_by_rewriting(index, new, cx).map(|()| true);
        }
        let length = (new.bits - depth).min(form.longest());
        cx.lengths.reserve(depth + length).map_err(|_| FullCause::OutOfMemory)?;
        let code = form.encode(new.key.path >> depth, length);
        match segment.obstacle(new.key, code) {
            None => {}
            Some(Obstacle::Equal) => {
                self.count_copies(index, new.key.home, code, 1)?;
                return Ok(true);
            }
            Some(Obstacle::Strained) => self.make_wide(index, form.step().div_ceil(8))?,
            Some(Obstacle::NoRoom) if segment.slots() >= MAX_SLOTS => {
                return Err(FullCause::Crowded);
            }
            Some(Obstacle::NoRoom) => {
                let held = segment.units();
                let units = (held + cx.settings.growth(held)).min(MAX_UNITS);
                // The policy is asked now and then.
                let is_kept = held / ASKED_EVERY == units / ASKED_EVERY
                    || self.form_for(index, new, cx).is_near(form);
                if !(is_kept && units > held && self.directory.resize(index, units).is_ok()) {
                    return self.insert_by_rewriting(index, new, cx).map(|()| true);
                }
            }
        }
        Ok(false)
    }

    /// Counts copies of a code of which as many as can be are in slots.
    fn count_copies(
        &mut self,
        index: usize,
        home: u16,
        code: u64,
        copies: u32,
    ) -> Result<(), FullCause> {
        const TOO_MANY: FullCause = FullCause::EqualEntries { held: u32::MAX as usize };
        let held = self.directory.get(index).more_copies(home, code);
        held.checked_add(copies).ok_or(TOO_MANY)?;
        if held == 0 {
            self.make_wide(index, COUNTED)?;
        }
        let segment = self.directory.get_mut(index);
        let is_new = segment.count_up(home, code, copies).ok_or(TOO_MANY)?;
        self.counted += usize::from(is_new);
        self.copies += u64::from(copies);
        Ok(())
    }

    /// Puts several copies of an entry into its segment, all or none.
    pub(super) fn insert_copies(
        &mut self,
        new: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        // One more than have slots is counted, and the others with it.
        let singly = copies.min(MOST_EQUAL as u64 + 1);
        for done in 0..singly {
            if let Err(cause) = self.insert(new, cx) {
                self.take_back(new, done, cx);
                return Err(cause);
            }
        }
        let more = match u32::try_from(copies - singly) {
            Ok(0) => return Ok(()),
            Ok(more) => more,
            Err(_) => {
                self.take_back(new, singly, cx);
                return Err(FullCause::EqualEntries { held: u32::MAX as usize });
            }
        };
        let index = self.directory.index(new.key.path);
        let segment = self.directory.get(index);
        let (form, depth) = (segment.form(), segment.depth());
        let code = form.encode(new.key.path >> depth, new.bits - depth);
        let counted = self.count_copies(index, new.key.home, code, more);
        if counted.is_err() {
            self.take_back(new, singly, cx);
        }
        counted
    }

    /// Takes copies of an entry out, as many as there are, and says how many there were too few.
    /// Without memory it may take fewer.
    pub(super) fn remove_copies(
        &mut self,
        known: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) -> u64 {
        let mut left = copies;
        while left > 0 {
            let Some(found) = self.exact_match(known) else { break };
            let index = self.directory.index(found.key.path);
            // Counted copies at once but for the last, which is removed as any entry is.
            let most = u32::try_from(left).unwrap_or(u32::MAX);
            let segment = self.directory.get_mut(index);
            let counted = segment.uncount(found.key.home, found.found.code, most);
            self.copies -= u64::from(counted);
            left -= u64::from(counted);
            if left > 0 && !self.remove::<false>(found, cx) {
                break;
            }
            left = left.saturating_sub(1);
        }
        left
    }

    /// Takes copies of an entry back that came as this, and may be held shorter.
    pub(super) fn take_back(&mut self, came: PartialKey, copies: u64, cx: &mut Context<'_>) {
        let mut left = copies;
        while left > 0
            && let Some(bits) = self.held_of(came)
        {
            let now = self.remove_copies(PartialKey { bits, ..came }, left, cx);
            if now == left {
                break;
            }
            left = now;
        }
    }

    /// How many bits the longest entry knows that an entry can have become which came as this. Never
    /// more than came: a longer one that begins like it is another key's.
    pub(super) fn held_of(&self, came: PartialKey) -> Option<u32> {
        if self.entries == 0 {
            return None;
        }
        let segment = self.directory.find(came.key.path);
        let most = came.bits.checked_sub(segment.depth())?;
        let mut longest = None;
        segment.each_match(came.key, |found| {
            if found.length <= most {
                longest = longest.max(Some(found.length));
            }
        });
        Some(segment.depth() + longest?)
    }

    /// Whether codes of a form can hold an entry as it should be held.
    #[inline]
    fn serves(&self, form: Form, depth: u32, new: PartialKey, cx: &Context<'_>) -> bool {
        let length = new.bits - depth;
        if self.is_overflow {
            return form.ended && length.min(MAX_WIDTH - 1) <= form.longest();
        }
        takes(form, depth, new, self.entries, cx)
            && cx.settings.allows(cx.lengths.sum_with(depth + length.min(form.longest())))
    }

    /// The form in which a segment is to be rewritten for one entry more.
    pub(super) fn form_for(&self, index: usize, new: PartialKey, cx: &Context<'_>) -> Form {
        let segment = self.directory.get(index);
        if self.is_overflow {
            let longest = segment.form().longest().max(new.bits - segment.depth());
            return Form { width: (longest + 1).min(MAX_WIDTH), ended: true };
        }
        cx.settings.goal(1, cx.lengths).form(index, segment.depth())
    }

    /// Rewrites a segment with one entry more.
    #[inline(never)]
    fn insert_by_rewriting(
        &mut self,
        index: usize,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        let goal = self.form_for(index, new, cx);
        let segment = self.directory.get(index);
        let (form, depth) = (segment.form(), segment.depth());
        let mut failed = match self.rewrite_with(index, goal, new, cx) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        // Plain codes do not serve entries of several lengths; and a wider form than there is
        // may be too large.
        let ended = Form { width: (goal.width + 1).min(MAX_WIDTH), ended: true };
        let is_too_short = failed == Failure::Unfit(Unfit::TooShort);
        let serves = !self.directory.get(index).is_packed() && self.serves(form, depth, new, cx);
        let others = [is_too_short.then_some(ended), serves.then_some(form)];
        for form in others.into_iter().flatten().filter(|&form| form != goal) {
            match self.rewrite_with(index, form, new, cx) {
                Ok(()) => return Ok(()),
                Err(again) => failed = again,
            }
        }
        // If shortening the others takes too much of the rate, they stay as they are.
        let kept = form.keeping(goal.longest().min(new.bits - depth), 0);
        if failed == Failure::Rate && kept != goal && !others.contains(&Some(kept)) {
            return Ok(self.rewrite_with(index, kept, new, cx)?);
        }
        Err(failed.into())
    }

    /// Rewrites a segment in a form, with one entry more.
    fn rewrite_with(
        &mut self,
        index: usize,
        form: Form,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let segment = self.directory.get(index);
        let (depth, units) = (segment.depth(), segment.needed_units());
        let length = (new.bits - depth).min(form.longest());
        if !form.ended && length < form.width {
            return Err(Failure::Unfit(Unfit::TooShort));
        }
        let code = form.encode(new.key.path >> depth, length);
        let added = [Counted::key(new.key.home, code)];
        let mut draft = Draft::new(form, depth);
        Self::remake(&[(segment, Step::Stay)], &added, &mut draft, cx)?;
        let free = (cx.settings.growth(units) - 1) * UNIT * 8;
        self.commit(&Commit { added: (depth + length, 1), free, ..Commit::of(index, &draft) }, cx)
    }

    /// Makes the first segment, empty, for entries that know some bits of their path.
    #[cold]
    pub(super) fn begin(&mut self, bits: u32, cx: &mut Context<'_>) -> Result<(), FullCause> {
        let form = if self.is_overflow {
            Form { width: bits + 1, ended: true }
        } else {
            cx.settings.goal(1, cx.lengths).form(0, 0)
        };
        self.begin_with(Form { width: form.width.min(MAX_WIDTH), ..form })
    }

    /// Makes the first segment, empty, with codes of a form.
    pub(super) fn begin_with(&mut self, form: Form) -> Result<(), FullCause> {
        let mut draft = Draft::new(form, 0);
        draft.fill_empty();
        let plan = draft.plan(0).map_err(|_| FullCause::Crowded)?;
        self.directory.push(&draft, &plan).map_err(|_| FullCause::OutOfMemory)
    }

    /// Some entries that know at least `bits` of their path, of those that belong to segment
    /// `index` of another level, which `depth` bits choose; each with the number of its copies.
    pub(super) fn some_longer(
        &self,
        bits: u32,
        (index, depth): (usize, u32),
        most: usize,
    ) -> Vec<(PartialKey, u64)> {
        let mut longer = Vec::new();
        if self.entries == 0 || longer.try_reserve_exact(most).is_err() {
            return longer;
        }
        // The segments of this level that such entries are in: those that agree with the index in
        // the bits that choose both.
        let low = self.directory.index(index as u64);
        let low_depth = self.directory.get(low).depth().min(depth);
        let step = 1usize << low_depth;
        for at in (low % step..self.directory.len()).step_by(step).take(MOST_DRAINED_FROM) {
            let segment = self.directory.get(at);
            each_partial_key(segment, at, |known, copies| {
                let is_there = (known.key.path ^ index as u64) & mask(depth) == 0;
                if is_there && known.bits >= bits && longer.len() < most {
                    longer.push((known, copies));
                }
            });
        }
        longer
    }

    /// Calls `visit` for everything that is known of the keys, with the number of copies.
    pub(super) fn each_known(
        &self,
        mut visit: impl FnMut(PartialKey, u64) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        for index in 0..self.directory.len() {
            let mut result = Ok(());
            each_partial_key(self.directory.get(index), index, |known, copies| {
                if result.is_ok() {
                    result = visit(known, copies);
                }
            });
            result?;
        }
        Ok(())
    }

    /// An entry that is exactly this.
    pub(super) fn exact_match(&self, known: PartialKey) -> Option<Match> {
        if self.entries == 0 {
            return None;
        }
        let segment = self.directory.find(known.key.path);
        let length = known.bits.checked_sub(segment.depth())?;
        let mut found = None;
        segment.each_match(known.key, |at| {
            if at.length == length {
                found = Some(Match { key: known.key, found: at, known: known.bits });
            }
        });
        found
    }

    /// Adds a segment from a file after the last.
    pub(super) fn load(
        &mut self,
        draft: &Draft,
        shape: Shape,
        settings: &Settings,
    ) -> Result<(), LoadError> {
        let most = |units| settings.most_units_in_files(units);
        let plan = draft.plan_as(shape, most).map_err(|_| LoadError::Unfit)?;
        self.directory.push(draft, &plan).map_err(LoadError::OutOfMemory)?;
        // Each counted code is in as many slots as can be: nobody else has counted it.
        let segment = self.directory.get(self.directory.len() - 1);
        if !segment.counts_only_full_codes() {
            self.directory.pop();
            return Err(LoadError::Unfit);
        }
        self.count_in(draft.len(), draft.about.counted.len(), draft.more_copies());
        Ok(())
    }

    /// Counts the entries of a segment that was added.
    pub(super) fn count_in(&mut self, entries: usize, counted: usize, copies: u64) {
        self.entries += entries;
        self.counted += counted;
        self.copies += copies;
    }

    /// The segments, each with its depth.
    pub(super) fn indices(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let count = self.directory.len();
        (0..count).map(move |index| (index, depth_of(index as u64, count as u64)))
    }

    /// Whether a segment has room for some entries from another level.
    pub(super) fn has_room(&self, index: usize, entries: usize) -> bool {
        self.directory.get(index).slots() + entries <= MAX_SLOTS / 2
    }

    /// The directory, whose memory somebody moves.
    pub(super) fn directory_mut(&mut self) -> &mut Directory {
        &mut self.directory
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let Self { entries, counted, copies, is_overflow, .. } = *self;
        let directory = self.directory.try_clone()?;
        Ok(Self { directory, entries, counted, copies, is_overflow })
    }
}

/// Why a segment from a file is none.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoadError {
    Unfit,
    OutOfMemory(OutOfMemory),
}

/// Whether a level with so many entries may take one more in codes of a form. Plain codes serve entries
/// of their own length, up to the number of keys expected.
#[inline]
pub(super) fn takes(
    form: Form,
    depth: u32,
    new: PartialKey,
    entries: usize,
    cx: &Context<'_>,
) -> bool {
    let is_expected = || (entries as u64) < cx.settings.expected_items;
    new.bits >= depth && (form.ended || new.bits - depth >= form.width && is_expected())
}

/// The entries of a segment that may be of a key, copies counted.
fn copies_in(segment: &Segment, key: Address) -> u64 {
    let (mut count, mut more) = (0, 0);
    segment.each_match(key, |found| {
        count += 1;
        if segment.is_wide() {
            more += u64::from(segment.more_copies(key.home, found.code));
        }
    });
    // A code with counted copies has all the slots that it can have.
    count + more / MOST_EQUAL as u64
}

/// Calls `visit` for each code of a segment, once for all its copies, with what is known of the
/// key and the number of copies.
pub(super) fn each_partial_key(
    segment: &Segment,
    index: usize,
    mut visit: impl FnMut(PartialKey, u64),
) {
    let (form, depth) = (segment.form(), segment.depth());
    let mut put = |home: u16, code: u64, slots: u64| {
        let more = segment.more_copies(home, code);
        let length = form.length(code);
        let path = index as u64 | (code & mask(length)) << depth;
        let known = PartialKey { key: Address { path, home }, bits: depth + length };
        visit(known, slots + u64::from(more));
    };
    let mut last = None;
    segment.each_code(|home, code| {
        last = match last {
            Some((of, held, slots)) if (of, held) == (home, code) => Some((of, held, slots + 1)),
            other => {
                if let Some((of, held, slots)) = other {
                    put(of, held, slots);
                }
                Some((home, code, 1))
            }
        };
    });
    if let Some((home, code, slots)) = last {
        put(home, code, slots);
    }
}

/// How many bits of a path choose segment `index` of `count`.
pub(super) fn depth_of(index: u64, count: u64) -> u32 {
    let depth = count.max(1).ilog2();
    let split = count - (1 << depth);
    // Those that were split already, and their other halves.
    depth + u32::from(index < split || index >= 1 << depth)
}
