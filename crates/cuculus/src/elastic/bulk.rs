//! Many keys at once: grouped by segment, each segment written once. Knows drafts and groups; how
//! long entries should be is decided by the policy.

use core::ops::Range;

use super::address::{Address, PATH_BITS};
use super::code::{Form, Step};
use super::directory::PAGE;
use super::draft::{self, Draft, Unfit};
use super::filter::ElasticFilter;
use super::groups::{Groups, MOST_THREADS, in_threads, index_of};
use super::lengths::{Changes, Lengths};
use super::level::{Context, Failure, Level, Work, depth_of};
use super::policy::{Goal, Settings, segments_for};
use super::weave::{self, Loom};
use crate::wide::{self, Job};
use crate::{BuildError, Filter, Full, FullCause, Insert, Key, KeyHash, Remove};

/// Fewer keys are inserted in turn, and so are keys that are fewer than this part of the set:
/// segments would be rewritten for a few entries each.
const FEWEST: usize = 1024;
const LEAST_SHARE: usize = 12;
/// Fewer keys of a segment are removed one after the other.
const FEWEST_WOVEN: usize = 8;
/// More keys than this are taken in several rounds: 128 MiB for the groups.
const MOST_AT_ONCE: usize = 1 << 24;

impl ElasticFilter {
    /// Inserts many keys at once, several times as fast as one by one: they are grouped by where they
    /// belong, and all that belongs together is written once. Worth it from a twelfth of the set on;
    /// fewer are inserted as [`insert_batch`](Insert::insert_batch) does.
    ///
    /// The filter then holds the same keys as after inserting them in turn, and is no larger, but its
    /// bytes differ. It needs eight bytes for each key, for at most 16 million of them at a time.
    ///
    /// # Errors
    /// [`Full`] if there is no memory, or a key is refused. None of the keys is in the filter then,
    /// and all that were before still are; its memory may be arranged differently. (A key can stay if
    /// taking it back needs memory, which is rare, and that is refused as well.)
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter, KeyHash};
    ///
    /// let mut filter = ElasticFilter::builder().build()?;
    /// let hashes: Vec<KeyHash> = (0..100_000u64).map(|key| filter.hasher().hash(&key)).collect();
    /// filter.insert_bulk(&hashes)?;
    /// assert_eq!(filter.len(), 100_000);
    /// assert!(filter.contains(&77_777u64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_bulk(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_bulk_with(hashes, 1)
    }

    /// [`insert_bulk`](Self::insert_bulk) by several threads, 64 at most. They share the work in a filter
    /// that was empty; the bytes are the same for any number of them.
    ///
    /// # Errors
    /// As there. The standard library aborts if there is no memory to start a thread.
    pub fn insert_bulk_with(&mut self, hashes: &[KeyHash], threads: usize) -> Result<(), Full> {
        let mut done = 0;
        for some in hashes.chunks(MOST_AT_ONCE) {
            if let Err(cause) = self.insert_round(some, threads.clamp(1, MOST_THREADS)) {
                let full = self.full(cause);
                self.take_back(hashes[..done].iter().copied());
                return Err(full);
            }
            done += some.len();
        }
        Ok(())
    }

    /// [`insert_bulk`](Self::insert_bulk) for keys.
    ///
    /// # Errors
    /// As there.
    pub fn insert_bulk_keys<K: Key>(&mut self, keys: &[K]) -> Result<(), Full> {
        let mut hashes = Vec::new();
        let mut done = 0;
        for some in keys.chunks(MOST_AT_ONCE) {
            hashes.clear();
            let reserved = hashes.try_reserve_exact(some.len());
            let inserted = match reserved {
                Ok(()) => {
                    hashes.extend(some.iter().map(|key| self.hasher.hash(key)));
                    self.insert_round(&hashes, 1)
                }
                Err(_) => Err(FullCause::OutOfMemory),
            };
            if let Err(cause) = inserted {
                let full = self.full(cause);
                let hasher = self.hasher.clone();
                self.take_back(keys[..done].iter().map(|key| hasher.hash(key)));
                return Err(full);
            }
            done += some.len();
        }
        Ok(())
    }

    /// Removes one occurrence of each of many keys, and says how many there were. In a large filter it
    /// is about twice as fast as [`remove_batch`](Remove::remove_batch), since keys that belong
    /// together are removed together.
    /// As with [`remove`](Remove::remove), all must have been inserted.
    ///
    /// The filter then holds the same keys as after removing them in turn; its bytes may differ. It
    /// needs eight bytes for each key, for at most 16 million of them at a time; without that memory
    /// they are removed in turn.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter, KeyHash};
    ///
    /// let mut filter = ElasticFilter::from_keys(0.001, &["one", "two", "three"])?;
    /// let old = ["one", "three"].map(|key| filter.hasher().hash(key));
    /// assert_eq!(filter.remove_bulk(&old), 2);
    /// assert!(filter.contains("two") && filter.len() == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_bulk(&mut self, hashes: &[KeyHash]) -> usize {
        let mut removed = 0;
        for some in hashes.chunks(MOST_AT_ONCE) {
            removed += self.remove_round(some).unwrap_or_else(|| {
                let mut remove = |&&hash: &&KeyHash| self.remove_hash(hash);
                some.iter().filter(&mut remove).count()
            });
        }
        removed
    }

    /// Segment by segment, each made smaller once. `None` if that cannot be done: nothing has
    /// changed.
    fn remove_round(&mut self, hashes: &[KeyHash]) -> Option<usize> {
        // With other levels, all must be asked for each key.
        let is_in_main = self.levels.main.len() > 0 && self.levels.overflow.is_empty();
        if hashes.len() < FEWEST || !is_in_main {
            return None;
        }
        let before = self.work;
        let (levels, mut cx) = self.parts();
        let main = &mut levels.main;
        let count = main.segment_count();
        let groups = Groups::new(hashes, count, 1).ok()?;
        let (mut removed, mut loom) = (0, Loom::default());
        let each = groups.each(0..count, |index, keys| {
            main.prefetch_next(index);
            if let Some(taken) = main.unweave_keys(index, keys, &mut loom, &mut cx) {
                removed += taken;
                return Ok(());
            }
            let job = RemoveKeys { level: main, index, keys, cx: &mut cx };
            removed += wide::run_chosen(job.cx.settings.chosen, job);
            Ok(())
        });
        each.ok()?;
        while cx.settings.are_few(main.weight(), main.segment_count())
            && main.merge(&mut cx).is_some()
        {
            cx.work.start();
        }
        // Not one of the operations whose work is bounded.
        self.work = before;
        self.drop_if_empty();
        Some(removed)
    }

    /// A filter of some keys, with nothing to spare for more.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter};
    ///
    /// let filter = ElasticFilter::from_keys(0.01, &[3u64, 5, 8])?;
    /// assert!(filter.contains(&5u64) && filter.len() == 3);
    /// # Ok::<(), cuculus::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the rate is out of range, or there is no memory.
    pub fn from_keys<K: Key>(false_positive_rate: f64, keys: &[K]) -> Result<Self, BuildError> {
        let mut filter = Self::builder().false_positive_rate(false_positive_rate).build()?;
        filter.insert_bulk_keys(keys).map_err(BuildError::Refused)?;
        Ok(filter)
    }

    /// Removes keys that were inserted a moment ago.
    fn take_back(&mut self, hashes: impl Iterator<Item = KeyHash>) {
        for hash in hashes {
            self.remove_hash(hash);
        }
    }

    fn insert_round(&mut self, hashes: &[KeyHash], threads: usize) -> Result<(), FullCause> {
        if hashes.len() < FEWEST.max(self.len() / LEAST_SHARE) {
            return self.insert_batch(hashes).map_err(|full| {
                self.take_back(hashes[..full.inserted].iter().copied());
                full.cause
            });
        }
        // A file may have a first level without segments and keys on others.
        if self.levels.main.segment_count() == 0 && self.is_empty() {
            return self.insert_into_new(hashes, threads);
        }
        let (levels, mut cx) = self.parts();
        levels.prepare_for(hashes.len(), &mut cx);
        let count = levels.main.segment_count();
        if count == 0 {
            return Err(FullCause::OutOfMemory);
        }
        let groups = Groups::new(hashes, count, threads)?;
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let (mut later, mut loom) = (Later::default(), Loom::default());
        let mut done = 0;
        let mut outcome = groups.each(0..count, |index, keys| {
            levels.main.prefetch_next(index);
            if !keys.is_empty()
                && let Err(failure) = levels.main.add_keys(index, keys, goal, &mut loom, &mut cx)
            {
                later.leave(index, keys, failure)?;
            }
            done = index + 1;
            Ok(())
        });
        let mut in_turn = 0;
        if outcome.is_ok() {
            outcome = self.insert_in_turn(&later.keys, &mut in_turn);
        }
        let Err(cause) = outcome else { return Ok(()) };
        let was_written = |&hash: &KeyHash| {
            let index = index_of(hash, count);
            index < done && later.segments.binary_search(&index).is_err()
        };
        self.take_back(hashes.iter().copied().filter(was_written));
        self.take_back(later.keys[..in_turn].iter().copied());
        Err(cause)
    }

    /// What its segment did not take at once may need splits, which change where keys belong.
    fn insert_in_turn(&mut self, keys: &[KeyHash], done: &mut usize) -> Result<(), FullCause> {
        for &hash in keys {
            self.insert_hash(hash).map_err(|full| full.cause)?;
            *done += 1;
        }
        Ok(())
    }

    /// Fills a filter without segments. Each thread makes some of them, in memory of its own.
    fn insert_into_new(&mut self, hashes: &[KeyHash], threads: usize) -> Result<(), FullCause> {
        let settings = &self.settings;
        let count = segments_for(hashes.len() as u64) as usize;
        let goal = settings.bulk_goal(hashes.len() as u64, &self.lengths);
        let groups = Groups::new(hashes, count, threads)?;
        let making = Making { groups, settings, goal };
        let each = count.div_ceil(threads.max(1)).next_multiple_of(PAGE);
        let mut made = Vec::new();
        made.try_reserve_exact(count.div_ceil(each)).map_err(|_| FullCause::OutOfMemory)?;
        if count <= each {
            made.push(making.segments(0..count));
        } else {
            let starts = (0..count).step_by(each);
            let ranges = starts.map(|first| first..(first + each).min(count));
            in_threads(ranges, |range| making.segments(range), &mut made);
        }
        let refused = self.refused;
        let filled = self.take_made(made.into_iter());
        if filled.is_err() {
            self.clear();
            self.refused = refused;
        }
        filled
    }

    fn take_made(
        &mut self,
        made: impl Iterator<Item = Result<Made, FullCause>>,
    ) -> Result<(), FullCause> {
        let mut later = Vec::new();
        for segments in made {
            let Made { level, lengths, later: more } = segments?;
            let main = &mut self.levels.main;
            let appended = main.directory.append(level.directory);
            appended.map_err(|_| FullCause::OutOfMemory)?;
            main.entries += level.entries;
            main.counted += level.counted;
            main.copies += level.copies;
            for (length, entries) in lengths.iter() {
                self.lengths.reserve(length).map_err(|_| FullCause::OutOfMemory)?;
                self.lengths.add_many(length, entries);
            }
            let reserved = later.try_reserve(more.keys.len());
            reserved.map_err(|_| FullCause::OutOfMemory)?;
            later.extend(more.keys);
        }
        // Each thread saw its own entries only.
        if !self.settings.allows(self.lengths.sum()) {
            return Err(FullCause::RateReached);
        }
        self.insert_in_turn(&later, &mut 0)
    }
}

/// Segments that are made of keys alone.
struct Making<'a> {
    groups: Groups,
    settings: &'a Settings,
    goal: Goal,
}

/// Some of them, in turn.
struct Made {
    level: Level,
    lengths: Lengths,
    later: Later,
}

impl Making<'_> {
    fn segments(&self, range: Range<usize>) -> Result<Made, FullCause> {
        let count = self.groups.count;
        let mut made =
            Made { level: Level::default(), lengths: Lengths::default(), later: Later::default() };
        let Made { level, lengths, later } = &mut made;
        let mut work = Work::default();
        let mut cx = Context { settings: self.settings, lengths, work: &mut work };
        self.groups.each(range, |index, keys| {
            let depth = depth_of(index as u64, count as u64);
            let form = self.goal.form(index, depth);
            if let Err(failure) = level.push_keys(keys, form, depth, &mut cx) {
                later.leave(index, keys, failure)?;
                level.push_keys(&[], form, depth, &mut cx)?;
            }
            Ok(())
        })?;
        Ok(made)
    }
}

/// Keys that are to be inserted in turn, and the segments that they belong to.
#[derive(Default)]
struct Later {
    keys: Vec<KeyHash>,
    segments: Vec<usize>,
}

impl Later {
    #[cold]
    fn leave(&mut self, index: usize, keys: &[KeyHash], failure: Failure) -> Result<(), FullCause> {
        if FullCause::from(failure) == FullCause::OutOfMemory {
            return Err(failure.into());
        }
        let reserved = self.keys.try_reserve(keys.len());
        reserved.and(self.segments.try_reserve(1)).map_err(|_| FullCause::OutOfMemory)?;
        self.keys.extend_from_slice(keys);
        self.segments.push(index);
        Ok(())
    }
}

impl Level {
    /// Prefetches the segment after one.
    fn prefetch_next(&self, index: usize) {
        if index + 1 < self.directory.len() {
            let next = self.directory.get(index + 1);
            next.prefetch(0, next.used_bits());
        }
    }

    /// Adds a segment after the last, with keys.
    fn push_keys(
        &mut self,
        keys: &[KeyHash],
        form: Form,
        depth: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (mut draft, mut changes) = (Draft::new(form), Changes::new());
        let held = depth + form.longest().min(PATH_BITS - depth);
        let to = &mut draft;
        wide::run_chosen(cx.settings.chosen, AddKeys { keys, depth, changes: &mut changes, to })?;
        if !cx.settings.allows(cx.lengths.sum_after(&changes) + weight_of(keys, held)) {
            return Err(Failure::Rate);
        }
        let plan = draft.plan(depth, 0)?;
        cx.lengths.reserve(held)?;
        self.directory.push_draft(&draft, &plan, cx.settings.chosen)?;
        self.count_keys(keys, held, (0, &draft), &changes, cx);
        Ok(())
    }

    /// Rewrites a segment with keys.
    fn add_keys(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        goal: Goal,
        loom: &mut Loom,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        cx.work.start();
        let segment = self.directory.get(index);
        let (depth, counted) = (segment.depth(), segment.counted_codes());
        let keeps_form = goal.accepts(segment.form(), index, depth);
        if keeps_form && self.weave_keys(index, keys, loom, cx)? {
            return Ok(());
        }
        let segment = self.directory.get(index);
        let form = goal.form(index, depth);
        let (mut draft, mut changes) = (Draft::new(form), Changes::new());
        if keeps_form {
            wide::run_chosen(cx.settings.chosen, draft::Read { segment, to: &mut draft })?;
            cx.work.add(draft.len());
        } else {
            self.remake(&[(index, Step::Stay)], depth, &mut changes, &mut draft, cx)?;
        }
        let held = depth + draft.form.longest().min(PATH_BITS - depth);
        let to = &mut draft;
        wide::run_chosen(cx.settings.chosen, AddKeys { keys, depth, changes: &mut changes, to })?;
        if !cx.settings.allows(cx.lengths.sum_after(&changes) + weight_of(keys, held)) {
            return Err(Failure::Rate);
        }
        let plan = draft.plan(depth, 0)?;
        cx.lengths.reserve(held)?;
        cx.lengths.reserve_for(&changes)?;
        let prepared = self.directory.prepare(index, &draft, &plan, cx.settings.chosen)?;
        self.directory.install(prepared);
        self.count_keys(keys, held, (counted, &draft), &changes, cx);
        Ok(())
    }

    /// Puts keys into a segment while it is copied, if nothing but that is to be done. Says whether it
    /// did; if not, nothing has changed.
    fn weave_keys(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        loom: &mut Loom,
        cx: &mut Context<'_>,
    ) -> Result<bool, Failure> {
        let segment = self.directory.get(index);
        let (form, depth, units) = (segment.form(), segment.depth(), segment.units());
        let length = form.longest().min(PATH_BITS - depth);
        let are_few = keys.len() <= weave::MOST.min(segment.slots() / 2);
        let are_long = form.ended || length >= form.width;
        if segment.is_wide() || !are_few || !are_long {
            return Ok(false);
        }
        if !cx.settings.allows(cx.lengths.sum() + weight_of(keys, depth + length)) {
            return Err(Failure::Rate);
        }
        let job = weave::Insert { segment, keys, loom };
        let Some(woven) = wide::run_chosen(cx.settings.chosen, job) else { return Ok(false) };
        cx.work.add(segment.slots());
        cx.lengths.reserve(depth + length)?;
        if woven.plan.units > units {
            self.directory.resize(index, woven.plan.units)?;
        }
        let segment = self.directory.get_mut(index);
        segment.set_groups(&woven.plan, loom.groups(&woven));
        cx.lengths.add_many(depth + length, keys.len() as u64);
        self.entries += keys.len();
        Ok(true)
    }

    /// Takes keys out of a segment while it is copied, if that is all that is to be done, and makes it
    /// smaller if that is due. Says how many there were; `None` if nothing has changed.
    fn unweave_keys(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        loom: &mut Loom,
        cx: &mut Context<'_>,
    ) -> Option<usize> {
        let segment = self.directory.get(index);
        if segment.is_wide() || !(FEWEST_WOVEN..=weave::MOST).contains(&keys.len()) {
            return None;
        }
        cx.work.start();
        let job = weave::Remove { segment, keys, loom };
        let taken = wide::run_chosen(cx.settings.chosen, job)?;
        let depth = segment.depth();
        self.directory.get_mut(index).set_groups(&taken.woven.plan, loom.groups(&taken.woven));
        let mut removed = 0;
        for (length, &entries) in (depth..).zip(&taken.lengths).filter(|held| *held.1 > 0) {
            cx.lengths.remove_many(length, entries.into());
            removed += usize::from(entries);
        }
        self.entries -= removed;
        self.shrink_if_due(index, cx);
        Some(removed)
    }

    /// Counts keys that were written, as if each had a slot, and then what became of equal ones.
    fn count_keys(
        &mut self,
        keys: &[KeyHash],
        held: u32,
        (counted, draft): (usize, &Draft),
        changes: &Changes,
        cx: &mut Context<'_>,
    ) {
        cx.lengths.add_many(held, keys.len() as u64);
        cx.lengths.apply(changes);
        self.entries += keys.len();
        self.recount(counted, draft.counted().len(), changes);
    }
}

/// What keys of a length add to the sum of [`Lengths`](super::lengths::Lengths).
fn weight_of(keys: &[KeyHash], length: u32) -> u128 {
    (keys.len() as u128) << (PATH_BITS - length)
}

/// Removes one entry of each key that belongs to a segment; says how many there were.
struct RemoveKeys<'a, 'b> {
    level: &'a mut Level,
    index: usize,
    keys: &'a [KeyHash],
    cx: &'a mut Context<'b>,
}

impl Job for RemoveKeys<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { level, index, keys, cx } = self;
        let mut removed = 0;
        for &hash in keys {
            cx.work.start();
            let key = Address::of(hash);
            let is_gone = level.take_quickly(key, cx).is_some()
                || level.longest_match(key).is_some_and(|found| level.remove(found, cx));
            removed += usize::from(is_gone);
        }
        cx.work.start();
        level.shrink_if_due(index, cx);
        removed
    }
}

struct AddKeys<'a> {
    keys: &'a [KeyHash],
    depth: u32,
    changes: &'a mut Changes,
    to: &'a mut Draft,
}

impl Job for AddKeys<'_> {
    type Output = Result<(), Unfit>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { keys, depth, changes, to } = self;
        to.add_keys(keys, depth, changes)
    }
}
