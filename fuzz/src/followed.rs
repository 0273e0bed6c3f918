//! A filter that can grow, beside an exact multiset of the same keys and beside a twin that goes
//! through the same operations. Knows what every such filter promises; what one kind adds is in the
//! module of its target.

use std::collections::HashMap;

use arbitrary::{Arbitrary, Unstructured};
use cuculus::{Full, FullCause, Insert, KeyHash, Persist, Remove};

use crate::judge;
use crate::parameters::all_of;

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input<P, O> {
    pub(crate) parameters: P,
    #[arbitrary(with = all_of)]
    pub(crate) operations: Vec<Operation<O>>,
}

/// What is done to a filter.
#[derive(Debug)]
pub enum Operation<O> {
    /// To any filter.
    Common(Common),
    /// To this kind only.
    Own(O),
}

/// A third of the operations are the kind's own.
impl<'a, O: Arbitrary<'a>> Arbitrary<'a> for Operation<O> {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        if u.ratio(1u8, 3u8)? {
            O::arbitrary(u).map(Self::Own)
        } else {
            Common::arbitrary(u).map(Self::Common)
        }
    }
}

/// What can be done to any filter.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Common {
    Insert(u16),
    InsertRow(Row),
    InsertBatch(Row),
    Extend(Row),
    Remove(u16),
    RemoveRow(Row),
    RemoveRowBackwards(Row),
    RemoveEveryOther(Row),
    ContainsBatch(Row),
    Clear,
    SaveAndLoad,
    Clone,
    CheckAll,
}

/// Consecutive keys: many keys from few bytes, so that filters grow and shrink.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Row {
    first: u8,
    count: u8,
    /// Thousands of keys, for the filters that are fast enough.
    long: bool,
}

impl Row {
    pub(crate) fn keys(self, limits: Limits) -> Vec<u16> {
        let scale = if self.long && limits.long_rows { 16 } else { 1 };
        let first = u16::from(self.first) * 2 * scale;
        (first..first + u16::from(self.count) * scale).collect()
    }
}

/// What differs between the kinds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) long_rows: bool,
    /// Whether the filter may take a key without storing it, because one that looks the same is
    /// there.
    pub(crate) skips_duplicates: bool,
    /// If set, only copies are refused, of a key or of one that looks the same, and only when the
    /// filter holds this many.
    pub(crate) copies_refused_from: Option<usize>,
    /// Whether copies may be counted, so that there are more keys than slots.
    pub(crate) counts_copies: bool,
    /// Whether the filter may hold more memory after a refusal, or after `clear`, than before.
    pub(crate) holds_spare_memory: bool,
}

pub(crate) struct Followed<F> {
    pub(crate) filter: F,
    /// Goes through the same operations except saving, loading and cloning.
    pub(crate) twin: F,
    pub(crate) exact: HashMap<u16, usize>,
    pub(crate) len: usize,
    pub(crate) limits: Limits,
    /// Inserts that failed.
    pub(crate) failures: u32,
    /// Whether all entries were rewritten at once.
    pub(crate) written_at_once: bool,
    /// Keys that `extend` has dropped.
    dropped: u64,
    /// The bytes of the filter when it was new, and its size.
    new: (Vec<u8>, usize),
}

/// A filter that can be followed, and what its kind adds.
pub(crate) trait Follow:
    Insert + Remove + Persist + Clone + for<'a> Extend<&'a u16>
{
    type Parameters;
    /// What is done to this kind only.
    type Own;

    /// The keys that `extend` has dropped.
    const DROPPED: fn(&Self) -> u64;

    fn perform(set: &mut Followed<Self>, own: &Self::Own, parameters: &Self::Parameters);

    /// What holds after each operation. False if there should be no more.
    fn goes_on(_: &Followed<Self>) -> bool {
        true
    }

    /// What holds besides, whenever everything is checked.
    fn check(_: &Followed<Self>) {}
}

impl<P, O> Input<P, O> {
    pub(crate) fn follow<F>(&self, filter: F, limits: Limits) -> Followed<F>
    where
        F: Follow<Parameters = P, Own = O>,
    {
        let mut set = Followed::new(filter, limits);
        for operation in &self.operations {
            match operation {
                Operation::Common(common) => set.perform(*common),
                Operation::Own(own) => F::perform(&mut set, own, &self.parameters),
            }
            if !F::goes_on(&set) {
                break;
            }
        }
        set.check_all();
        set
    }
}

impl<F: Follow> Followed<F> {
    pub(crate) fn new(filter: F, limits: Limits) -> Self {
        let (twin, new) = (filter.clone(), (filter.to_bytes(), filter.size_in_bytes()));
        let (exact, len, failures, dropped) = (HashMap::new(), 0, 0, 0);
        let written_at_once = false;
        Self { filter, twin, exact, len, limits, failures, written_at_once, dropped, new }
    }

    pub(crate) fn perform(&mut self, operation: Common) {
        let limits = self.limits;
        let keys = |row: Row| row.keys(limits);
        match operation {
            Common::Insert(key) => _ = self.insert(key),
            Common::InsertRow(row) => keys(row).into_iter().for_each(|key| _ = self.insert(key)),
            Common::InsertBatch(row) => self.insert_batch(&keys(row)),
            Common::Extend(row) => self.extend(&keys(row)),
            Common::Remove(key) => self.remove(key),
            Common::RemoveRow(row) => keys(row).into_iter().for_each(|key| self.remove(key)),
            Common::RemoveRowBackwards(row) => {
                keys(row).into_iter().rev().for_each(|key| self.remove(key));
            }
            Common::RemoveEveryOther(row) => {
                keys(row).into_iter().step_by(2).for_each(|key| self.remove(key));
            }
            Common::ContainsBatch(row) => self.contains_batch(&keys(row)),
            Common::Clear => self.clear(),
            Common::SaveAndLoad => self.save_and_load(),
            Common::Clone => self.filter = self.filter.clone(),
            Common::CheckAll => self.check_all(),
        }
        assert_eq!(self.filter.len(), self.len);
    }

    fn hashes(&self, keys: &[u16]) -> Vec<KeyHash> {
        keys.iter().map(|key| self.filter.hasher().hash(key)).collect()
    }

    /// Counts a key that was inserted into a filter that now holds `len` keys.
    pub(crate) fn count_inserted(&mut self, key: u16, len: usize) {
        match len - self.len {
            0 => assert!(self.limits.skips_duplicates, "a key was not stored"),
            more => {
                assert_eq!(more, 1);
                *self.exact.entry(key).or_default() += 1;
            }
        }
        self.len = len;
    }

    /// Inserts a key. A filter that refuses it must not change.
    pub(crate) fn insert(&mut self, key: u16) -> Result<(), Full> {
        let size = self.filter.size_in_bytes();
        let outcome = judge::operation(&mut self.filter, |filter| filter.insert(&key));
        match outcome {
            Ok(()) => {
                self.count_inserted(key, self.filter.len());
                assert!(self.filter.contains(&key));
            }
            Err(full) => {
                self.failures += 1;
                self.check_refusal(key, full);
                self.is_like_twin("a key that was refused changed the filter");
                self.has_size(size);
            }
        }
        assert_eq!(self.twin.insert(&key), outcome);
        outcome
    }

    fn check_refusal(&self, key: u16, full: Full) {
        assert_eq!((full.len, full.inserted), (self.len, 0));
        assert_eq!(full.slots, self.filter.slots());
        assert!(!full.to_string().contains('\n'));
        if let FullCause::EqualEntries { held } = full.cause {
            assert_eq!(self.filter.count(&key), held);
        }
        if let Some(least) = self.limits.copies_refused_from {
            let held = self.filter.count(&key);
            // Copies of other keys may fill all buckets of a key.
            let has_copies = self.exact.values().any(|&copies| copies >= least / 2);
            if full.cause == FullCause::Crowded && has_copies {
                return;
            }
            assert_eq!(full.cause, FullCause::EqualEntries { held });
            assert!(held >= least, "refused with {held} copies");
        }
    }

    /// A batch equals its keys one by one, up to the first that is refused.
    fn insert_batch(&mut self, keys: &[u16]) {
        let outcome = self.filter.insert_batch(&self.hashes(keys));
        let mut one_by_one = Ok(());
        for (inserted, &key) in keys.iter().enumerate() {
            if let Err(full) = self.twin.insert(&key) {
                self.failures += 1;
                one_by_one = Err((inserted, full.cause));
                break;
            }
            self.count_inserted(key, self.twin.len());
        }
        assert_eq!(outcome.map_err(|full| (full.inserted, full.cause)), one_by_one);
    }

    fn extend(&mut self, keys: &[u16]) {
        self.filter.extend(keys);
        for &key in keys {
            match self.twin.insert(&key) {
                Ok(()) => self.count_inserted(key, self.twin.len()),
                Err(_) => {
                    self.failures += 1;
                    self.dropped += 1;
                }
            }
        }
        assert_eq!((F::DROPPED)(&self.filter), self.dropped);
        // Only the filter has counted what it dropped.
        self.twin = self.filter.clone();
    }

    /// Removes a key that is there, or one that the filter knows is not. (Where duplicates are
    /// skipped, the entry of a key that was stored is still its own: nothing else is removed here.)
    pub(crate) fn remove(&mut self, key: u16) {
        match self.exact.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                self.len -= 1;
                let is_removed = judge::operation(&mut self.filter, |filter| filter.remove(&key));
                assert!(is_removed, "a key that was inserted cannot be removed");
                assert!(self.twin.remove(&key));
            }
            None if !self.filter.contains(&key) => {
                assert!(!self.filter.remove(&key) && !self.twin.remove(&key));
            }
            None => {}
        }
    }

    fn contains_batch(&self, keys: &[u16]) {
        let (mut hits, mut same) = (vec![true; 3], Vec::new());
        self.filter.contains_batch(&self.hashes(keys), &mut hits);
        self.filter.contains_keys(keys, &mut same);
        let one_by_one: Vec<bool> = keys.iter().map(|key| self.filter.contains(key)).collect();
        assert_eq!(hits, one_by_one);
        assert_eq!(same, one_by_one);
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.twin.clear();
        self.exact.clear();
        (self.len, self.dropped, self.written_at_once) = (0, 0, false);
        assert!(self.filter.to_bytes() == self.new.0, "a cleared filter differs from a new one");
        self.has_size(self.new.1);
    }

    fn has_size(&self, expected: usize) {
        let size = self.filter.size_in_bytes();
        assert!(size == expected || self.limits.holds_spare_memory, "{size}, not {expected} bytes");
    }

    fn save_and_load(&mut self) {
        let bytes = self.filter.to_bytes();
        assert!(bytes == self.twin.to_bytes(), "the same operations gave different bytes");
        self.filter = judge::saved(&self.filter);
        assert_eq!((F::DROPPED)(&self.filter), self.dropped);
    }

    pub(crate) fn is_like_twin(&self, otherwise: &str) {
        assert!(self.filter.to_bytes() == self.twin.to_bytes(), "{otherwise}");
    }

    pub(crate) fn check_all(&self) {
        for (key, &exact) in &self.exact {
            let count = self.filter.count(key);
            assert!(count >= exact, "key {key} is counted {count} times, inserted {exact} times");
            assert_eq!(self.filter.contains(key), count > 0);
        }
        judge::saved(&self.filter);
        assert!(self.limits.counts_copies || self.filter.len() <= self.filter.slots());
        self.is_like_twin("the same operations gave different bytes");
        F::check(self);
    }
}
