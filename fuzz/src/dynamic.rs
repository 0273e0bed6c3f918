//! A dynamic cuckoo filter beside an exact multiset of the same keys.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::papers::DynamicCuckooFilter;
use cuculus::{Filter, Full, FullCause, Insert, KeyHash, Persist, Remove};

use crate::parameters::{DynamicParameters, all_of};

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: DynamicParameters,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

/// Keys in a row: many for few bytes, so that the list gets longer.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Row {
    first: u16,
    count: u8,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u16),
    InsertRow(Row),
    InsertBatch(Row),
    Extend(Row),
    Remove(u16),
    RemoveRow(Row),
    RemoveEveryOther(Row),
    ContainsBatch(Row),
    Copies { key: u16, count: u8 },
    Clear,
    SaveAndLoad,
    Clone,
    Compact,
    ShrinkToFit,
    CheckAll,
}

impl Row {
    fn keys(self) -> Vec<u16> {
        (0..u16::from(self.count)).map(|i| self.first.wrapping_add(i)).collect()
    }
}

/// A list of tiny filters is slow, and long before this it has shown what it does.
const MOST_FILTERS: usize = 600;

/// Builds the filter and follows every operation with the multiset.
pub fn check(input: &Input) {
    let Ok(filter) = input.parameters.filter().build() else { return };
    let twin = filter.clone();
    let mut set =
        Set { filter, twin, exact: HashMap::new(), len: 0, refused: 0, input: &input.parameters };
    for operation in &input.operations {
        set.perform(operation);
        assert_eq!(set.filter.len(), set.len);
        if set.filter.filters() > MOST_FILTERS {
            break;
        }
    }
    set.check_all();
}

struct Set<'a> {
    filter: DynamicCuckooFilter,
    /// Goes through the same operations, but for saving, loading and cloning.
    twin: DynamicCuckooFilter,
    exact: HashMap<u16, usize>,
    len: usize,
    refused: u64,
    input: &'a DynamicParameters,
}

impl Set<'_> {
    fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Insert(key) => self.insert_watched(key),
            Operation::InsertRow(row) => row.keys().into_iter().for_each(|key| {
                let _ = self.insert(key);
            }),
            Operation::InsertBatch(row) => self.insert_batch(&row.keys()),
            Operation::Extend(row) => self.extend(&row.keys()),
            Operation::Remove(key) => self.remove(key),
            Operation::RemoveRow(row) => row.keys().into_iter().for_each(|key| self.remove(key)),
            Operation::RemoveEveryOther(row) => {
                row.keys().into_iter().step_by(2).for_each(|key| self.remove(key));
            }
            Operation::ContainsBatch(row) => self.contains_batch(&row.keys()),
            Operation::Copies { key, count } => self.copies(key, count),
            Operation::Clear => self.clear(),
            Operation::SaveAndLoad => self.save_and_load(),
            Operation::Clone => self.filter = self.filter.clone(),
            Operation::Compact => self.shorten(DynamicCuckooFilter::compact),
            Operation::ShrinkToFit => self.shorten(DynamicCuckooFilter::shrink_to_fit),
            Operation::CheckAll => self.check_all(),
        }
    }

    fn hashes(&self, keys: &[u16]) -> Vec<KeyHash> {
        keys.iter().map(|key| self.filter.hasher().hash(key)).collect()
    }

    /// A key went in; if duplicates are filtered, perhaps without being stored.
    fn took(&mut self, key: u16, len: usize) {
        match len - self.len {
            0 => assert!(self.input.filter_duplicates, "a key was not stored"),
            more => {
                assert_eq!(more, 1);
                *self.exact.entry(key).or_default() += 1;
            }
        }
        self.len = len;
    }

    fn insert(&mut self, key: u16) -> Result<(), Full> {
        let inserted = self.filter.insert(&key);
        assert_eq!(self.twin.insert(&key), inserted);
        match inserted {
            Ok(()) => {
                self.took(key, self.filter.len());
                assert!(self.filter.contains(&key));
            }
            Err(full) => self.check_refusal(key, full),
        }
        inserted
    }

    /// The list is never full: only copies, of a key or of its looks, are refused.
    fn check_refusal(&self, key: u16, full: Full) {
        let held = self.filter.count(&key);
        assert_eq!(full.cause, FullCause::EqualEntries { held });
        assert!(held >= self.input.most_copies(), "refused with {held} copies");
        assert_eq!((full.len, full.slots), (self.filter.len(), self.filter.slots()));
        assert!(!full.to_string().contains('\n'));
    }

    fn insert_watched(&mut self, key: u16) {
        let before = (self.filter.to_bytes(), self.filter.size_in_bytes());
        if self.insert(key).is_err() {
            let after = (self.filter.to_bytes(), self.filter.size_in_bytes());
            assert!(after == before, "a refused key changed the filter");
        }
    }

    /// A batch is the same as its keys one by one, up to the first that is refused.
    fn insert_batch(&mut self, keys: &[u16]) {
        let outcome = self.filter.insert_batch(&self.hashes(keys));
        let mut one_by_one = Ok(());
        for (inserted, &key) in keys.iter().enumerate() {
            if let Err(full) = self.twin.insert(&key) {
                one_by_one = Err((inserted, full.cause));
                break;
            }
            self.took(key, self.twin.len());
        }
        assert_eq!(outcome.map_err(|full| (full.inserted, full.cause)), one_by_one);
    }

    fn extend(&mut self, keys: &[u16]) {
        self.filter.extend(keys);
        for &key in keys {
            match self.twin.insert(&key) {
                Ok(()) => self.took(key, self.twin.len()),
                Err(_) => self.refused += 1,
            }
        }
        assert_eq!(self.filter.refused(), self.refused);
        // Refusals are counted by the filter that they were counted for.
        self.twin = self.filter.clone();
    }

    /// Removes a key that is there, or one that the filter knows is not. (With duplicates filtered a
    /// key that was stored is still the one that its entry is of: nothing else is removed here.)
    fn remove(&mut self, key: u16) {
        match self.exact.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                self.len -= 1;
                assert!(self.filter.remove(&key), "a key that was inserted cannot be removed");
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

    /// The same key again and again: from 2b copies on it is no reason to grow.
    fn copies(&mut self, key: u16, count: u8) {
        for _ in 0..count {
            let (held, filters) = (self.filter.count(&key), self.filter.filters());
            let inserted = self.insert(key).is_ok();
            let grown = self.filter.filters() > filters;
            assert!(!grown || held < self.input.most_copies(), "a filter for a copy");
            if !inserted {
                self.insert_watched(key);
                break;
            }
        }
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.twin.clear();
        self.exact.clear();
        (self.len, self.refused) = (0, 0);
        let new = self.input.filter().build().expect("built before");
        assert!(self.filter.to_bytes() == new.to_bytes());
        assert_eq!(self.filter.size_in_bytes(), new.size_in_bytes());
    }

    fn save_and_load(&mut self) {
        let bytes = self.filter.to_bytes();
        assert!(bytes == self.twin.to_bytes(), "the same operations, and other bytes");
        self.filter = DynamicCuckooFilter::from_bytes(&bytes).expect("what was saved is loaded");
        assert!(self.filter.to_bytes() == bytes);
        assert_eq!(self.filter.refused(), self.refused);
    }

    fn shorten(&mut self, way: impl Fn(&mut DynamicCuckooFilter) -> usize) {
        let filters = self.filter.filters();
        let freed = way(&mut self.filter);
        assert_eq!(way(&mut self.twin), freed);
        assert_eq!(self.filter.filters(), filters - freed);
        assert_eq!(way(&mut self.filter), 0, "something more could be freed");
        assert!(self.filter.to_bytes() == self.twin.to_bytes(), "something was moved in vain");
    }

    fn check_all(&self) {
        for (key, &exact) in &self.exact {
            let count = self.filter.count(key);
            assert!(count >= exact, "key {key} is counted {count} times, inserted {exact} times");
            assert_eq!(self.filter.contains(key), count > 0);
        }
        assert!(self.filter.len() <= self.filter.slots());
        assert!(self.filter.to_bytes() == self.twin.to_bytes());
        let stats = self.filter.stats();
        assert_eq!(stats.counts.iter().sum::<usize>(), self.len);
        assert_eq!(stats.appended + 1 - stats.freed, stats.filters as u64);
        assert!(stats.current < stats.filters && !stats.to_string().is_empty());
        assert!((0.0..=1.0).contains(&stats.expected_false_positive_rate));
    }
}
