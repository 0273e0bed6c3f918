//! Many keys at once: grouped by segment, each segment written once. Knows drafts and groups; how
//! long entries should be is decided by the policy.

use super::address::{PATH_BITS, Scheme};
use super::code::{Form, Step};
use super::directory::linear_index;
use super::draft::{self, Draft, Unfit};
use super::filter::ElasticFilter;
use super::lengths::Changes;
use super::level::{Context, Failure, Level, depth_of};
use super::policy::{Goal, segments_for};
use super::segments::Segments;
use crate::table::OutOfMemory;
use crate::wide::{self, Job};
use crate::{Filter, Full, FullCause, Insert, Key, KeyHash, Remove, memory};

/// Fewer keys are inserted in turn, and so are keys that are fewer than this part of the set:
/// segments would be rewritten for a few entries each.
const FEWEST: usize = 1024;
const LEAST_SHARE: usize = 12;
/// More keys than this are taken in several rounds: 128 MiB for the groups.
const MOST_AT_ONCE: usize = 1 << 24;
/// Segments in a first, coarse group, which stays in the cache while it is divided.
const COARSE: u32 = 7;

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
    /// and all that were before still are; its memory may be arranged differently.
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
                    self.insert_round(&hashes)
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

    /// Removes keys that were inserted a moment ago.
    fn take_back(&mut self, hashes: impl Iterator<Item = KeyHash>) {
        for hash in hashes {
            let removed = self.remove_hash(hash);
            debug_assert!(removed, "it was inserted");
        }
    }

    fn insert_round(&mut self, hashes: &[KeyHash]) -> Result<(), FullCause> {
        if hashes.len() < FEWEST.max(self.len() / LEAST_SHARE) {
            return self.insert_batch(hashes).map_err(|full| {
                self.take_back(hashes[..full.inserted].iter().copied());
                full.cause
            });
        }
        let scheme = self.settings.scheme;
        let is_new = self.levels.main.segment_count() == 0;
        let (levels, mut cx) = self.parts();
        let count = if is_new {
            segments_for(hashes.len() as u64) as usize
        } else {
            levels.prepare_for(hashes.len(), &mut cx);
            levels.main.segment_count()
        };
        let groups = Groups::new(hashes, scheme, count).map_err(|_| FullCause::OutOfMemory)?;
        let goal = cx.settings.bulk_goal(hashes.len() as u64, cx.lengths);
        let mut writing = Writing { scheme, goal, later: Vec::new(), left_out: Vec::new() };
        let mut done = 0;
        let mut outcome = groups.each(|index, keys| {
            if is_new {
                writing.write_new(&mut levels.main, (index, count), keys, &mut cx)?;
            } else {
                writing.write_more(&mut levels.main, index, keys, &mut cx)?;
            }
            done = index + 1;
            Ok(())
        });
        let Writing { later, left_out, .. } = writing;
        // What its segment did not take at once may need splits, which change where keys belong.
        let mut in_turn = 0;
        if outcome.is_ok() {
            for &hash in &later {
                if let Err(full) = self.insert_hash(hash) {
                    outcome = Err(full.cause);
                    break;
                }
                in_turn += 1;
            }
        }
        let Err(cause) = outcome else { return Ok(()) };
        if is_new {
            let refused = self.refused;
            self.clear();
            self.refused = refused;
            return Err(cause);
        }
        let was_written = |&hash: &KeyHash| {
            let index = index_of(hash, scheme, count);
            index < done && left_out.binary_search(&index).is_err()
        };
        self.take_back(hashes.iter().copied().filter(was_written));
        self.take_back(later[..in_turn].iter().copied());
        Err(cause)
    }
}

/// The segment of a hash among so many.
#[inline(always)]
fn index_of(hash: KeyHash, scheme: Scheme, count: usize) -> usize {
    linear_index(scheme.address(hash).path, count as u32)
}

/// Segments written from groups of keys.
struct Writing {
    scheme: Scheme,
    goal: Goal,
    /// Keys that are to be inserted in turn, and the segments that they belong to.
    later: Vec<KeyHash>,
    left_out: Vec<usize>,
}

impl Writing {
    /// Adds the next segment of a level that has none for the keys after it.
    fn write_new(
        &mut self,
        level: &mut Level,
        (index, count): (usize, usize),
        keys: &[KeyHash],
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        let depth = depth_of(index as u64, count as u64);
        let form = self.goal.form(index, depth);
        for keys in [keys, &[]] {
            match level.push_keys(keys, self.scheme, form, depth, cx) {
                Ok(()) => return Ok(()),
                Err(failure) => self.leave_out(index, keys, failure)?,
            }
        }
        Ok(())
    }

    /// Rewrites a segment with some keys more.
    fn write_more(
        &mut self,
        level: &mut Level,
        index: usize,
        keys: &[KeyHash],
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        if keys.is_empty() {
            return Ok(());
        }
        let form = self.goal.form(index, depth_of(index as u64, level.segment_count() as u64));
        match level.add_keys(index, keys, self.scheme, form, cx) {
            Ok(()) => Ok(()),
            Err(failure) => self.leave_out(index, keys, failure),
        }
    }

    #[cold]
    fn leave_out(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        failure: Failure,
    ) -> Result<(), FullCause> {
        if FullCause::from(failure) == FullCause::OutOfMemory || keys.is_empty() {
            return Err(failure.into());
        }
        let reserved = self.later.try_reserve(keys.len());
        reserved.and(self.left_out.try_reserve(1)).map_err(|_| FullCause::OutOfMemory)?;
        self.later.extend_from_slice(keys);
        self.left_out.push(index);
        Ok(())
    }
}

impl Level {
    /// Adds a segment after the last, with keys.
    fn push_keys(
        &mut self,
        keys: &[KeyHash],
        scheme: Scheme,
        form: Form,
        depth: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let (mut draft, mut changes) = (Draft::new(form), Changes::new());
        let held = depth + form.longest().min(scheme.path_bits() - depth);
        let to = &mut draft;
        wide::run_chosen(cx.chosen, AddKeys { keys, scheme, depth, changes: &mut changes, to })?;
        if !cx.settings.allows(cx.lengths.sum_after(&changes) + weight_of(keys, held)) {
            return Err(Failure::Rate);
        }
        let plan = draft.plan(depth, 0)?;
        cx.lengths.reserve(held)?;
        self.directory.push_draft(&draft, &plan, cx.chosen)?;
        self.count_keys(keys, held, (0, &draft), &changes, cx);
        Ok(())
    }

    /// Rewrites a segment with keys.
    fn add_keys(
        &mut self,
        index: usize,
        keys: &[KeyHash],
        scheme: Scheme,
        form: Form,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        cx.work.start();
        let segment = self.directory.get(index);
        let (depth, counted) = (segment.depth(), segment.counted_codes());
        let (mut draft, mut changes) = (Draft::new(form), Changes::new());
        if segment.form().is_near(form) {
            wide::run_chosen(cx.chosen, draft::Read { segment, to: &mut draft })?;
            cx.work.add(draft.len());
        } else {
            self.remake(&[(index, Step::Stay)], depth, &mut changes, &mut draft, cx)?;
        }
        let held = depth + draft.form.longest().min(scheme.path_bits() - depth);
        let to = &mut draft;
        wide::run_chosen(cx.chosen, AddKeys { keys, scheme, depth, changes: &mut changes, to })?;
        if !cx.settings.allows(cx.lengths.sum_after(&changes) + weight_of(keys, held)) {
            return Err(Failure::Rate);
        }
        let plan = draft.plan(depth, 0)?;
        cx.lengths.reserve(held)?;
        cx.lengths.reserve_for(&changes)?;
        let prepared = self.directory.prepare(index, &draft, &plan, cx.chosen)?;
        self.directory.install(prepared);
        self.count_keys(keys, held, (counted, &draft), &changes, cx);
        Ok(())
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
    scheme: Scheme,
    depth: u32,
    changes: &'a mut Changes,
    to: &'a mut Draft,
}

impl Job for AddKeys<'_> {
    type Output = Result<(), Unfit>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { keys, scheme, depth, changes, to } = self;
        to.add_keys(keys, scheme, depth, changes)
    }
}

/// Hashes in groups of 2^[`COARSE`] segments.
struct Groups {
    hashes: Vec<KeyHash>,
    /// Where each group ends.
    ends: Vec<usize>,
    scheme: Scheme,
    segments: usize,
}

impl Groups {
    fn new(hashes: &[KeyHash], scheme: Scheme, segments: usize) -> Result<Self, OutOfMemory> {
        let group = |hash: KeyHash| index_of(hash, scheme, segments) >> COARSE;
        let mut ends = memory::filled(0usize, (segments >> COARSE) + 1)?;
        hashes.iter().for_each(|&hash| ends[group(hash)] += 1);
        let mut start = 0;
        for end in &mut ends {
            start += core::mem::replace(end, start);
        }
        let mut sorted = memory::filled(KeyHash::new(0), hashes.len())?;
        for &hash in hashes {
            let next = &mut ends[group(hash)];
            sorted[*next] = hash;
            *next += 1;
        }
        Ok(Self { hashes: sorted, ends, scheme, segments })
    }

    /// Calls a function with every segment and its keys, in turn, until it fails.
    fn each(
        &self,
        mut see: impl FnMut(usize, &[KeyHash]) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        let mut sorted = Vec::new();
        let mut start = 0;
        for (group, &end) in self.ends.iter().enumerate() {
            let first = group << COARSE;
            let among = |hash: KeyHash| index_of(hash, self.scheme, self.segments) - first;
            let keys = &self.hashes[start..end];
            start = end;
            let mut ends = [0; 1 << COARSE];
            keys.iter().for_each(|&hash| ends[among(hash)] += 1);
            let mut next = 0;
            for end in &mut ends {
                next += core::mem::replace(end, next);
            }
            sorted.clear();
            sorted.try_reserve(keys.len()).map_err(|_| FullCause::OutOfMemory)?;
            sorted.resize(keys.len(), KeyHash::new(0));
            for &hash in keys {
                let next = &mut ends[among(hash)];
                sorted[*next] = hash;
                *next += 1;
            }
            let mut from = 0;
            for (at, &to) in ends.iter().enumerate().take(self.segments - first) {
                see(first + at, &sorted[from..to])?;
                from = to;
            }
        }
        Ok(())
    }
}
