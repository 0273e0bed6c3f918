//! An elastic filter beside an exact multiset of the same keys, grown and shrunk by the thousand.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::{ElasticFilter, Filter, Full, Insert, KeyHash, MergeError, Persist, Remove};

use crate::parameters::{ElasticParameters, all_of};

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: ElasticParameters,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

/// Keys in a row: many for few bytes, so that segments are split and merged.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Row {
    first: u16,
    count: u8,
    /// Whether the count is one of hundreds.
    long: bool,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u16),
    InsertRow(Row),
    InsertBatch(Row),
    Extend(Row),
    Remove(u16),
    RemoveRow(Row),
    RemoveRowBackwards(Row),
    ContainsBatch(Row),
    Copies { key: u16, count: u8 },
    Clear,
    SaveAndLoad,
    Clone,
    ShrinkToFit,
    Merge { row: Row, other_seed: bool },
    CheckAll,
}

impl Row {
    fn keys(self) -> Vec<u16> {
        let count = u16::from(self.count) * if self.long { 16 } else { 1 };
        (0..count).map(|i| self.first.wrapping_add(i)).collect()
    }
}

/// Entries that one operation may write.
const MOST_ENTRIES_WRITTEN: u32 = 8192;

/// Builds the filter and follows every operation with the multiset.
pub fn check(input: &Input) {
    let Ok(filter) = input.parameters.filter().build() else { return };
    let twin = filter.clone();
    let mut set = Set {
        filter,
        twin,
        exact: HashMap::new(),
        len: 0,
        refused: 0,
        written_at_once: false,
        input: &input.parameters,
    };
    for operation in &input.operations {
        set.perform(operation);
        assert_eq!(set.filter.len(), set.len);
        assert!(set.filter.expected_false_positive_rate() <= set.filter.false_positive_rate());
    }
    set.check_all();
}

struct Set<'a> {
    filter: ElasticFilter,
    /// Goes through the same operations, but for saving, loading and cloning.
    twin: ElasticFilter,
    exact: HashMap<u16, usize>,
    len: usize,
    refused: u64,
    /// Whether all entries were rewritten at once.
    written_at_once: bool,
    input: &'a ElasticParameters,
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
            Operation::RemoveRowBackwards(row) => {
                row.keys().into_iter().rev().for_each(|key| self.remove(key));
            }
            Operation::ContainsBatch(row) => self.contains_batch(&row.keys()),
            Operation::Copies { key, count } => self.copies(key, count),
            Operation::Clear => self.clear(),
            Operation::SaveAndLoad => self.save_and_load(),
            Operation::Clone => self.filter = self.filter.clone(),
            Operation::ShrinkToFit => self.shrink_to_fit(),
            Operation::Merge { row, other_seed } => self.merge(&row.keys(), other_seed),
            Operation::CheckAll => self.check_all(),
        }
    }

    fn hashes(&self, keys: &[u16]) -> Vec<KeyHash> {
        keys.iter().map(|key| self.filter.hasher().hash(key)).collect()
    }

    fn took(&mut self, key: u16) {
        *self.exact.entry(key).or_default() += 1;
        self.len += 1;
    }

    fn insert(&mut self, key: u16) -> Result<(), Full> {
        let inserted = self.filter.insert(&key);
        assert_eq!(self.twin.insert(&key), inserted);
        match inserted {
            Ok(()) => {
                self.took(key);
                assert!(self.filter.contains(&key));
            }
            Err(full) => {
                assert_eq!((full.len, full.slots), (self.filter.len(), self.filter.slots()));
                assert!(!full.to_string().contains('\n'));
            }
        }
        inserted
    }

    fn insert_watched(&mut self, key: u16) {
        let before = self.filter.to_bytes();
        if self.insert(key).is_err() {
            assert!(self.filter.to_bytes() == before, "a refused key changed the filter");
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
            self.took(key);
        }
        assert_eq!(outcome.map_err(|full| (full.inserted, full.cause)), one_by_one);
    }

    fn extend(&mut self, keys: &[u16]) {
        self.filter.extend(keys);
        for &key in keys {
            match self.twin.insert(&key) {
                Ok(()) => self.took(key),
                Err(_) => self.refused += 1,
            }
        }
        assert_eq!(self.filter.refused(), self.refused);
        // Refusals are counted by the filter that they were counted for.
        self.twin = self.filter.clone();
    }

    /// Removes a key that is there, or one that the filter knows is not.
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

    /// The same key again and again: refused sooner or later, and never a reason to grow.
    fn copies(&mut self, key: u16, count: u8) {
        for _ in 0..count {
            if self.insert(key).is_err() {
                let before = (self.filter.to_bytes(), self.filter.size_in_bytes());
                assert!(self.insert(key).is_err());
                let after = (self.filter.to_bytes(), self.filter.size_in_bytes());
                assert!(before == after, "a refused copy changed the filter");
                break;
            }
        }
        assert!(self.exact.get(&key).is_none_or(|&count| count <= 8));
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.twin.clear();
        self.exact.clear();
        (self.len, self.refused, self.written_at_once) = (0, 0, false);
        let new = self.input.filter().build().expect("built before");
        assert!(self.filter.to_bytes() == new.to_bytes());
    }

    fn save_and_load(&mut self) {
        let bytes = self.filter.to_bytes();
        assert!(bytes == self.twin.to_bytes(), "the same operations, and other bytes");
        self.filter = ElasticFilter::from_bytes(&bytes).expect("what was saved is loaded");
        assert!(self.filter.to_bytes() == bytes);
        assert_eq!(self.filter.refused(), self.refused);
    }

    fn shrink_to_fit(&mut self) {
        self.filter.shrink_to_fit();
        self.twin.shrink_to_fit();
        self.written_at_once = true;
    }

    /// Adds the keys of another filter, or nothing.
    fn merge(&mut self, keys: &[u16], other_seed: bool) {
        let builder = self.input.filter();
        let builder = if other_seed { builder.seed(0x5eed_0f0f_0f0f) } else { builder };
        let mut other = builder.build().expect("built before");
        let mut taken = keys.to_vec();
        taken.retain(|key| other.insert(key).is_ok());
        let before = self.filter.to_bytes();
        let outcome = self.filter.merge(&other);
        assert_eq!(self.twin.merge(&other), outcome);
        match outcome {
            Ok(()) => taken.iter().for_each(|&key| self.took(key)),
            Err(error) => {
                assert!(self.filter.to_bytes() == before, "a refused merge changed the filter");
                let same_hash = self.filter.hasher() == other.hasher();
                assert_eq!(error == MergeError::OtherHash, !same_hash);
            }
        }
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
        let bounded = stats.most_entries_written <= MOST_ENTRIES_WRITTEN;
        assert!(bounded || self.written_at_once, "{stats:?}");
        assert_eq!(stats.entry_lengths.iter().map(|entry| entry.1).sum::<u64>(), self.len as u64);
    }
}
