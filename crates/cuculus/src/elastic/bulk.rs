//! Many keys at once: grouped by segment, each segment written once. Knows drafts and groups; how
//! long entries should be is decided by the policy.

use super::address::PATH_BITS;
use super::code::{Form, Step};
use super::draft::{self, Draft, Unfit};
use super::filter::ElasticFilter;
use super::groups::{Groups, index_of};
use super::lengths::Changes;
use super::level::{Context, Failure, Level, Work, depth_of};
use super::policy::{Goal, segments_for};
use super::weave::{self, Loom};
use crate::wide::{self, Job};
use crate::{Filter, Full, FullCause, Insert, KeyHash, Remove};

/// Fewer keys are inserted in turn, and so are keys that are fewer than this part of the set:
/// segments would be rewritten for a few entries each.
const FEWEST: usize = 1024;
const LEAST_SHARE: usize = 12;
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
        let mut done = 0;
        for some in hashes.chunks(MOST_AT_ONCE) {
            if let Err(cause) = self.insert_round(some) {
                let full = self.full(cause);
                self.take_back(hashes[..done].iter().copied());
                return Err(full);
            }
            done += some.len();
        }
        Ok(())
    }

    /// Removes keys that were inserted a moment ago.
    fn take_back(&mut self, hashes: impl Iterator<Item = KeyHash>) {
        for hash in hashes {
            self.remove_hash(hash);
        }
    }

    fn insert_round(&mut self, hashes: &[KeyHash]) -> Result<(), FullCause> {
        if hashes.len() < FEWEST.max(self.len() / LEAST_SHARE) {
            return self.insert_batch(hashes).map_err(|full| {
                self.take_back(hashes[..full.inserted].iter().copied());
                full.cause
            });
        }
        // A file may have a first level without segments and keys on others.
        if self.levels.main.segment_count() == 0 && self.is_empty() {
            return self.insert_into_new(hashes);
        }
        let (levels, mut cx) = self.parts();
        levels.prepare_for(hashes.len(), &mut cx);
        let count = levels.main.segment_count();
        if count == 0 {
            return Err(FullCause::OutOfMemory);
        }
        let groups = Groups::new(hashes, count)?;
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let (mut later, mut loom) = (Later::default(), Loom::default());
        let mut done = 0;
        let mut outcome = groups.each(|index, keys| {
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

    /// Fills a filter without segments.
    fn insert_into_new(&mut self, hashes: &[KeyHash]) -> Result<(), FullCause> {
        let refused = self.refused;
        let filled = self.fill(hashes);
        if filled.is_err() {
            self.clear();
            self.refused = refused;
        }
        filled
    }

    fn fill(&mut self, hashes: &[KeyHash]) -> Result<(), FullCause> {
        let count = segments_for(hashes.len() as u64) as usize;
        let groups = Groups::new(hashes, count)?;
        let (levels, mut cx) = self.parts();
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let mut later = Later::default();
        groups.each(|index, keys| {
            let depth = depth_of(index as u64, count as u64);
            let form = goal.form(index, depth);
            if let Err(failure) = levels.main.push_keys(keys, form, depth, &mut cx) {
                later.leave(index, keys, failure)?;
                levels.main.push_keys(&[], form, depth, &mut cx)?;
            }
            Ok(())
        })?;
        // Not one of the operations whose work is bounded.
        self.work = Work::default();
        self.insert_in_turn(&later.keys, &mut 0)
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
