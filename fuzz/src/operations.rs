//! A cuckoo filter beside an exact multiset of the same keys.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::{CuckooFilter, Filter, Full, FullCause, Insert, KeyHash, Persist, Remove};

use crate::judge;
use crate::parameters::{Keys, Parameters, all_of};

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: Parameters,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8),
    InsertEach(Keys),
    InsertBatch(Keys),
    Extend(Keys),
    Remove(u8),
    RemoveEach(Keys),
    ContainsBatch(Keys),
    Count(u8),
    Clear,
    SaveAndLoad,
}

/// Builds the filter and follows every operation with the multiset.
pub fn check(input: &Input) {
    let Ok(filter) = input.parameters.filter().build() else { return };
    if let Some(capacity) = input.parameters.capacity() {
        assert_eq!(filter.capacity(), capacity);
    }
    assert!(!input.parameters.sized_by_capacity() || filter.slots() >= filter.capacity());
    let mut pair = Pair { filter, exact: HashMap::new(), refused: 0 };
    for operation in &input.operations {
        pair.perform(operation);
        assert_eq!(pair.filter.len(), pair.exact.values().sum::<usize>());
    }
    pair.check_all();
    if let Some(rate) = input.parameters.rate() {
        let planned = pair.filter.len() <= pair.filter.capacity();
        let within = pair.filter.expected_false_positive_rate() <= rate * (1.0 + 1e-9);
        assert!(within || !planned || !input.parameters.sized_by_capacity());
    }
}

struct Pair {
    filter: CuckooFilter,
    exact: HashMap<u8, usize>,
    refused: u64,
}

impl Pair {
    fn perform(&mut self, operation: &Operation) {
        match *operation {
            Operation::Insert(key) => drop(self.insert(key)),
            Operation::InsertEach(keys) => {
                for key in keys.iter() {
                    let _ = self.insert(key);
                }
            }
            Operation::InsertBatch(keys) => self.insert_batch(&keys.to_vec()),
            Operation::Extend(keys) => self.extend(&keys.to_vec()),
            Operation::Remove(key) => self.remove(key),
            Operation::RemoveEach(keys) => keys.iter().for_each(|key| self.remove(key)),
            Operation::ContainsBatch(keys) => self.contains_batch(&keys.to_vec()),
            Operation::Count(key) => self.check_key(key),
            Operation::Clear => self.clear(),
            Operation::SaveAndLoad => self.save_and_load(),
        }
    }

    fn hash(&self, key: u8) -> KeyHash {
        self.filter.hasher().hash(&key)
    }

    fn hashes(&self, keys: &[u8]) -> Vec<KeyHash> {
        keys.iter().map(|&key| self.hash(key)).collect()
    }

    fn insert(&mut self, key: u8) -> Result<(), Full> {
        let before = self.filter.to_bytes();
        let inserted = judge::operation(&mut self.filter, |filter| filter.insert(&key));
        match inserted {
            Ok(()) => *self.exact.entry(key).or_default() += 1,
            Err(full) => {
                assert_eq!(self.filter.to_bytes(), before, "a refused key changed the filter");
                self.check_refusal(key, full);
            }
        }
        self.check_key(key);
        inserted
    }

    fn check_refusal(&self, key: u8, full: Full) {
        assert_eq!((full.len, full.slots), (self.filter.len(), self.filter.slots()));
        if let FullCause::EqualEntries { held } = full.cause {
            assert_eq!(self.filter.count(&key), held);
        }
        assert!(!full.to_string().is_empty());
    }

    /// A batch is the same as its keys one by one, up to the first that is refused.
    fn insert_batch(&mut self, keys: &[u8]) {
        let mut batched = self.filter.clone();
        let hashes = self.hashes(keys);
        let outcome = batched.insert_batch(&hashes);
        let mut one_by_one = Ok(());
        for (inserted, &key) in keys.iter().enumerate() {
            if let Err(full) = self.insert(key) {
                one_by_one = Err((inserted, full.cause));
                break;
            }
        }
        assert_eq!(outcome.map_err(|full| (full.inserted, full.cause)), one_by_one);
        assert_eq!(batched.to_bytes(), self.filter.to_bytes());
        self.filter = batched;
    }

    fn extend(&mut self, keys: &[u8]) {
        let mut extended = self.filter.clone();
        extended.extend(keys);
        for &key in keys {
            self.refused += u64::from(self.insert(key).is_err());
        }
        assert_eq!(extended.refused(), self.refused);
        assert_eq!(extended.len(), self.filter.len());
        self.filter = extended;
    }

    /// Removes a key that is there, or one that the filter knows is not.
    fn remove(&mut self, key: u8) {
        match self.exact.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                assert!(self.filter.remove(&key), "a key that was inserted cannot be removed");
            }
            None if !self.filter.contains(&key) => {
                let before = self.filter.to_bytes();
                assert!(!self.filter.remove(&key));
                assert_eq!(self.filter.to_bytes(), before);
            }
            None => {}
        }
        self.check_key(key);
    }

    fn contains_batch(&self, keys: &[u8]) {
        let mut hits = vec![true; 3];
        self.filter.contains_batch(&self.hashes(keys), &mut hits);
        let one_by_one: Vec<bool> = keys.iter().map(|key| self.filter.contains(key)).collect();
        assert_eq!(hits, one_by_one);
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.exact.clear();
        self.refused = 0;
        assert!(self.filter.is_empty());
        self.check_all();
    }

    fn save_and_load(&mut self) {
        let bytes = self.filter.to_bytes();
        self.filter = judge::saved(&self.filter);
        assert_eq!(self.filter.to_bytes(), bytes);
        assert_eq!(self.filter.refused(), self.refused);
        self.check_all();
    }

    fn check_key(&self, key: u8) {
        let exact = self.exact.get(&key).copied().unwrap_or(0);
        let count = self.filter.count(&key);
        assert!(
            count >= exact,
            "key {key} is counted {count} times and was inserted {exact} times"
        );
        assert_eq!(self.filter.contains(&key), count > 0);
    }

    fn check_all(&self) {
        for key in 0..=u8::MAX {
            self.check_key(key);
        }
        assert_eq!(self.filter.is_empty(), self.filter.len() == 0);
        assert!(self.filter.len() <= self.filter.slots());
        assert!((0.0..=1.0).contains(&self.filter.expected_false_positive_rate()));
    }
}
