//! A cuckoo maplet beside an exact multimap of the same keys and values.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::{CuckooMaplet, Filter, FullCause, Persist, ValueError};

use crate::judge;
use crate::parameters::{Keys, Parameters, all_of};

/// Parameters, and what is done to the maplet that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: Parameters,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8, Value),
    InsertEach(Keys, Value),
    /// Removes one of the key's values, if it has any.
    Remove(u8, u8),
    /// Removes a value that the maplet does not show for the key.
    RemoveAbsent(u8, Value),
    RemoveEach(Keys),
    Clear,
    SaveAndLoad,
}

/// Small values repeat and fit often; large ones use every bit or do not fit.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Value {
    Small(u8),
    Any(u64),
    AllOnes,
}

impl Value {
    fn get(self, bits: u32) -> u64 {
        match self {
            Self::Small(value) => u64::from(value),
            Self::Any(value) => value,
            Self::AllOnes => u64::MAX >> (64 - bits),
        }
    }
}

/// Builds the maplet and follows every operation with the multimap.
pub fn check(input: &Input) {
    let Ok(maplet) = input.parameters.maplet().build() else { return };
    let mut pair = Pair { maplet, exact: HashMap::new() };
    for operation in &input.operations {
        pair.perform(operation);
        assert_eq!(pair.maplet.len(), pair.exact.values().map(Vec::len).sum::<usize>());
    }
    pair.check_all();
}

struct Pair {
    maplet: CuckooMaplet,
    exact: HashMap<u8, Vec<u64>>,
}

impl Pair {
    fn perform(&mut self, operation: &Operation) {
        let bits = self.maplet.value_bits();
        match *operation {
            Operation::Insert(key, value) => self.insert(key, value.get(bits)),
            Operation::InsertEach(keys, value) => {
                for key in keys.iter() {
                    let value = value.get(bits) ^ u64::from(key & 1);
                    self.insert(key, value);
                }
            }
            Operation::Remove(key, which) => self.remove(key, usize::from(which)),
            Operation::RemoveAbsent(key, value) => self.remove_absent(key, value.get(bits)),
            Operation::RemoveEach(keys) => keys.iter().for_each(|key| self.remove(key, 0)),
            Operation::Clear => {
                self.maplet.clear();
                self.exact.clear();
                self.check_all();
            }
            Operation::SaveAndLoad => self.save_and_load(),
        }
    }

    fn insert(&mut self, key: u8, value: u64) {
        let before = self.maplet.to_bytes();
        let largest = u64::MAX >> (64 - self.maplet.value_bits());
        match self.maplet.insert(&key, value) {
            Ok(()) => {
                assert!(value <= largest);
                self.exact.entry(key).or_default().push(value);
            }
            Err(error) => {
                assert_eq!(self.maplet.to_bytes(), before, "a refused value changed the maplet");
                self.check_refusal(key, value, error);
            }
        }
        self.check_key(key);
    }

    fn check_refusal(&self, key: u8, value: u64, error: ValueError) {
        let largest = u64::MAX >> (64 - self.maplet.value_bits());
        match error {
            ValueError::TooLarge { got, max } => {
                assert_eq!((got, max), (value, largest));
                assert!(value > largest);
            }
            ValueError::Full(full) => {
                assert!(value <= largest);
                assert_eq!((full.len, full.slots), (self.maplet.len(), self.maplet.slots()));
                if let FullCause::EqualEntries { held } = full.cause {
                    assert_eq!(self.maplet.count(&key), held);
                }
            }
            other => panic!("an error that an insert does not have: {other}"),
        }
    }

    fn remove(&mut self, key: u8, which: usize) {
        let values = self.exact.entry(key).or_default();
        if let Some(which) = which.checked_rem(values.len()) {
            let value = values.swap_remove(which);
            assert!(self.maplet.remove(&key, value), "a value that was stored cannot be removed");
        }
        self.check_key(key);
    }

    fn remove_absent(&mut self, key: u8, value: u64) {
        if self.maplet.values(&key).all(|shown| shown != value) {
            let before = self.maplet.to_bytes();
            assert!(!self.maplet.remove(&key, value));
            assert_eq!(self.maplet.to_bytes(), before);
        }
    }

    fn save_and_load(&mut self) {
        let bytes = self.maplet.to_bytes();
        self.maplet = judge::saved(&self.maplet);
        assert_eq!(self.maplet.to_bytes(), bytes);
        self.check_all();
    }

    /// Every value stored with the key is shown, as often as it was stored.
    fn check_key(&self, key: u8) {
        let mut shown: Vec<u64> = self.maplet.values(&key).collect();
        assert_eq!(self.maplet.count(&key), shown.len());
        assert_eq!(self.maplet.contains(&key), !shown.is_empty());
        for value in self.exact.get(&key).into_iter().flatten() {
            let at = shown.iter().position(|shown| shown == value);
            shown.swap_remove(at.unwrap_or_else(|| panic!("key {key} lost its value {value}")));
        }
    }

    fn check_all(&self) {
        for key in 0..=u8::MAX {
            self.check_key(key);
        }
        assert!(self.maplet.len() <= self.maplet.slots());
    }
}
