//! Many keys at once: grouped by segment, each segment written once. How long entries should be is
//! decided by the policy.

use super::address::{Address, GROUPS, PATH_BITS};
use super::code::{Form, Step};
use super::filter::ElasticFilter;
use super::groups::{Groups, index_of};
use super::level::{Context, Failure, Level, Work, depth_of};
use super::policy::{Goal, segments_for};
use super::reshape::Commit;
use super::rewrite::{Draft, Unfit};
use super::segment::Counted;
use crate::{Filter, Full, FullCause, Insert, KeyHash, Remove};

/// Fewer keys are inserted in turn, and so are keys that are fewer than this part of the set:
/// segments would be rewritten for a few entries each.
const FEWEST: usize = 1024;
const LEAST_SHARE: usize = 8;
/// More keys than this are taken in several rounds: 128 MiB for the groups.
const MOST_AT_ONCE: usize = 1 << 24;

impl ElasticFilter {
    /// Inserts many keys at once, several times as fast as one by one: they are grouped by where they
    /// belong, and all that belongs together is written once. Worth it from an eighth of the set on;
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
        if self.engine.levels.main.segment_count() == 0 && self.is_empty() {
            return self.insert_into_new(hashes);
        }
        let (levels, mut cx) = self.engine.parts();
        levels.prepare_for(hashes.len(), &mut cx);
        let count = levels.main.segment_count();
        if count == 0 {
            return Err(FullCause::OutOfMemory);
        }
        let groups = Groups::new(hashes, count)?;
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let (mut later, mut room) = (Later::default(), Room::new());
        let mut done = 0;
        let mut outcome = groups.each(|index, keys| {
            levels.main.prefetch_next(index);
            if !keys.is_empty()
                && let Err(failure) = levels.main.add_keys(index, keys, goal, &mut room, &mut cx)
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
        let (levels, mut cx) = self.engine.parts();
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let (mut later, mut room) = (Later::default(), Room::new());
        groups.each(|index, keys| {
            let depth = depth_of(index as u64, count as u64);
            let form = goal.form(index, depth);
            if let Err(failure) = levels.main.push_keys(keys, form, depth, &mut room, &mut cx) {
                later.leave(index, keys, failure)?;
                levels.main.push_keys(&[], form, depth, &mut room, &mut cx)?;
            }
            Ok(())
        })?;
        // Not one of the operations whose work is bounded.
        self.engine.work = Work::default();
        self.insert_in_turn(&later.keys, &mut 0)
    }
}

/// Room for the work on one segment after the other.
struct Room {
    numbers: Vec<u64>,
    draft: Draft,
}

impl Room {
    fn new() -> Self {
        Self { numbers: Vec::new(), draft: Draft::new(Form { width: 1, ended: true }, 0) }
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
            (0..next.used_bits()).step_by(12 * 512).for_each(|bit| next.prefetch(bit));
        }
    }

    /// Adds a segment after the last, with keys.
    fn push_keys(
        &mut self,
        keys: &[KeyHash],
        form: Form,
        depth: u32,
        Room { numbers, draft }: &mut Room,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        draft.reset(form, depth);
        let length = number(keys, form, depth, numbers)?;
        Self::remake(&[], numbers, draft, cx)?;
        let added = (depth + length, keys.len() as u64);
        self.commit(&Commit::new_segment(draft, added), cx)
    }

    /// Rewrites a segment with keys.
    fn add_keys(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        goal: Goal,
        Room { numbers, draft }: &mut Room,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        cx.work.start();
        let segment = self.directory.get(index);
        let (held, depth) = (segment.form(), segment.depth());
        let keeps_form = goal.accepts(held, index, depth);
        let form = if keeps_form { held } else { goal.form(index, depth) };
        let length = number(keys, form, depth, numbers)?;
        draft.reset(form, depth);
        Self::remake(&[(segment, Step::Stay)], numbers, draft, cx)?;
        let added = (depth + length, keys.len() as u64);
        self.commit(&Commit { added, ..Commit::of(index, draft) }, cx)
    }
}

/// The homes and codes of keys, in the order of their groups, and how long the codes are: as long as the
/// form has them.
fn number(keys: &[KeyHash], form: Form, depth: u32, to: &mut Vec<u64>) -> Result<u32, Failure> {
    let length = form.longest().min(PATH_BITS - depth);
    if !form.ended && length < form.width {
        return Err(Failure::Unfit(Unfit::TooShort));
    }
    to.clear();
    to.try_reserve(keys.len()).map_err(|_| Failure::OutOfMemory)?;
    to.resize(keys.len(), 0);
    let mut next = [0; GROUPS];
    keys.iter().for_each(|&hash| next[Address::of(hash).group()] += 1);
    let mut all = 0;
    for first in &mut next {
        all += core::mem::replace(first, all);
    }
    for &hash in keys {
        let key = Address::of(hash);
        let at = &mut next[key.group()];
        to[*at] = Counted::key(key.home, form.encode(key.path >> depth, length));
        *at += 1;
    }
    Ok(length)
}
