//! A filter for threads, used by one, beside an exact multiset: batches, snapshots, other numbers of
//! parts, files.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::{ElasticFilter, KeyHash, MergeError, Persist, SharedFilter};

use crate::followed::{Limits, Row};
use crate::judge;
use crate::parameters::{ElasticParameters, all_of};

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: ElasticParameters,
    parts: u8,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Operation {
    Insert(u16),
    InsertBatch(Row),
    InsertAbsent(u16),
    InsertAbsentBatch(Row),
    Remove(u16),
    RemoveBatch(Row),
    ContainsBatch(Row),
    Merge(Row),
    OtherParts(u8),
    SaveAndLoad,
    Clear,
    CheckAll,
}

/// Builds the filter and follows every operation with the multiset.
pub fn check(input: &Input) {
    let Ok(empty) = input.parameters.filter().build() else { return };
    let filter = SharedFilter::from_filter(empty.clone(), parts(input.parts)).expect("memory");
    let mut pair = Pair { filter, empty, exact: HashMap::new(), len: 0 };
    for operation in &input.operations {
        pair.perform(*operation);
        assert_eq!(pair.filter.len(), pair.len);
        let rate = pair.filter.expected_false_positive_rate();
        assert!(rate <= pair.filter.false_positive_rate(), "{rate}");
    }
    pair.check_all();
}

fn parts(number: u8) -> usize {
    1 << (number % 8)
}

fn keys(row: Row) -> Vec<u16> {
    row.keys(Limits { long_rows: true, ..Limits::default() })
}

struct Pair {
    filter: SharedFilter,
    /// What it was before any operation.
    empty: ElasticFilter,
    exact: HashMap<u16, usize>,
    /// Keys in the filter: more than in the multiset by none.
    len: usize,
}

impl Pair {
    fn perform(&mut self, operation: Operation) {
        match operation {
            Operation::Insert(key) => {
                let (filter, before) = (&mut self.filter, self.len);
                match judge::operation(filter, |filter| filter.insert(&key)) {
                    Ok(()) => self.count(key),
                    Err(full) => assert_eq!((full.len, full.inserted), (before, 0)),
                }
            }
            Operation::InsertBatch(row) => self.insert_batch(&keys(row)),
            Operation::InsertAbsent(key) => {
                let was_there = self.filter.contains(&key);
                if let Ok(inserted) = self.filter.insert_absent(&key) {
                    assert_eq!(inserted, !was_there);
                    if inserted {
                        self.count(key);
                    }
                }
            }
            Operation::InsertAbsentBatch(row) => self.insert_absent_batch(&keys(row)),
            Operation::Remove(key) => self.remove(key),
            Operation::RemoveBatch(row) => self.remove_batch(&keys(row)),
            Operation::ContainsBatch(row) => {
                let (keys, mut hits) = (keys(row), vec![true; 3]);
                self.filter.contains_batch(&self.hashes(&keys), &mut hits);
                let each: Vec<bool> = keys.iter().map(|key| self.filter.contains(key)).collect();
                assert_eq!(hits, each);
            }
            Operation::Merge(row) => self.merge(&keys(row)),
            Operation::OtherParts(number) => {
                let whole = self.filter.snapshot();
                self.filter = SharedFilter::from_filter(whole, parts(number)).expect("memory");
            }
            Operation::SaveAndLoad => {
                let whole = judge::saved(&self.filter.snapshot());
                self.filter = SharedFilter::from_bytes(&whole.to_bytes()).expect("own bytes");
            }
            Operation::Clear => {
                self.filter.clear();
                self.exact.clear();
                self.len = 0;
            }
            Operation::CheckAll => self.check_all(),
        }
    }

    fn count(&mut self, key: u16) {
        *self.exact.entry(key).or_default() += 1;
        self.len += 1;
        assert!(self.filter.contains(&key));
    }

    fn hashes(&self, keys: &[u16]) -> Vec<KeyHash> {
        keys.iter().map(|key| self.filter.hasher().hash(key)).collect()
    }

    /// All keys went in, or the filter is as it was, since nobody can say which.
    fn insert_batch(&mut self, keys: &[u16]) {
        let before = self.filter.snapshot();
        match self.filter.insert_batch(&self.hashes(keys)) {
            Ok(()) => keys.iter().for_each(|&key| self.count(key)),
            Err(full) => {
                assert_eq!(self.filter.len(), self.len + full.inserted);
                self.filter = SharedFilter::from_filter(before, 4).expect("memory");
            }
        }
    }

    fn insert_absent_batch(&mut self, keys: &[u16]) {
        let mut absent = Vec::new();
        let outcome = self.filter.insert_absent_batch(&self.hashes(keys), &mut absent);
        let inserted = absent.iter().filter(|&&absent| absent).count();
        assert!(outcome.is_ok() || outcome.is_err_and(|full| full.inserted == inserted));
        for (&key, _) in keys.iter().zip(&absent).filter(|&(_, &absent)| absent) {
            self.count(key);
        }
        assert!(outcome.is_err() || keys.iter().all(|key| self.filter.contains(key)));
    }

    /// Removes a key that is there, or one that the filter knows is not.
    fn remove(&mut self, key: u16) {
        match self.exact.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                self.len -= 1;
                assert!(judge::operation(&mut self.filter, |filter| filter.remove(&key)));
            }
            None => assert!(self.filter.contains(&key) || !self.filter.remove(&key)),
        }
    }

    fn remove_batch(&mut self, keys: &[u16]) {
        let there: Vec<u16> =
            keys.iter().copied().filter(|key| self.exact.get(key) > Some(&0)).collect();
        let mut removed = Vec::new();
        self.filter.remove_batch(&self.hashes(&there), &mut removed);
        assert!(removed.len() == there.len() && removed.iter().all(|&removed| removed));
        for key in there {
            *self.exact.entry(key).or_default() -= 1;
            self.len -= 1;
        }
    }

    /// Adds the keys of another filter, all or none.
    fn merge(&mut self, keys: &[u16]) {
        let mut other = self.empty.clone();
        let taken = keys.iter().filter(|&key| cuculus::Insert::insert(&mut other, key).is_ok());
        let taken: Vec<u16> = taken.copied().collect();
        match self.filter.merge(&other) {
            Ok(()) => taken.iter().for_each(|&key| self.count(key)),
            Err(error) => assert!(matches!(error, MergeError::Rate { .. } | MergeError::Full(_))),
        }
    }

    fn check_all(&self) {
        for (key, &exact) in &self.exact {
            let count = self.filter.count(key);
            assert!(count >= exact, "key {key} is counted {count} times, inserted {exact} times");
            assert_eq!(self.filter.contains(key), count > 0);
        }
        let whole = judge::saved(&self.filter.snapshot());
        assert_eq!(whole.to_bytes(), self.filter.to_bytes());
    }
}
