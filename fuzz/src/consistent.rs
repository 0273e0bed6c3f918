//! A consistent filter, or an index-independent one, beside an exact multiset of the same keys, and
//! beside a twin that is never saved and loaded.

use std::collections::HashMap;

use arbitrary::Arbitrary;
use cuculus::papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter};
use cuculus::{Insert, Persist, Remove};

use crate::parameters::{RingParameters, all_of};

/// Parameters, and what is done to the filter that they make.
#[derive(Arbitrary, Debug)]
pub struct Input {
    parameters: RingParameters,
    /// An index-independent filter instead of a consistent one.
    single: bool,
    #[arbitrary(with = all_of)]
    operations: Vec<Operation>,
}

/// Keys in a row: many for few bytes, so that buckets and filters come and go.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Row {
    first: u8,
    count: u8,
}

impl Row {
    fn keys(self) -> impl Iterator<Item = u16> {
        (0..u16::from(self.count)).map(move |i| u16::from(self.first) * 2 + i)
    }
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u16),
    InsertRow(Row),
    Copies { key: u8, count: u8 },
    Remove(u16),
    RemoveRow(Row),
    ScaleUp(u8),
    ScaleDown(u8),
    ScaleOut,
    ScaleOutWith(RingParameters),
    Compact,
    Clear,
    SaveAndLoad,
    Clone,
    CheckAll,
}

/// What can be done to both kinds of filter, each in its way. False if it was refused, and nothing
/// has changed.
trait Resize {
    fn up(&mut self, buckets: u8) -> bool;
    fn down(&mut self, bucket: u8) -> bool;
    fn out(&mut self) -> bool;
    fn out_with(&mut self, part: &RingParameters) -> bool;
    fn compact_all(&mut self) -> bool;
}

impl Resize for ConsistentCuckooFilter {
    fn up(&mut self, buckets: u8) -> bool {
        let (before, least) = (self.buckets(), usize::from(buckets % 8));
        let added = self.scale_up(least);
        assert!(added.is_err() || added.is_ok_and(|added| added >= least));
        assert_eq!(self.buckets(), before + added.unwrap_or(0));
        added.is_ok()
    }

    fn down(&mut self, _: u8) -> bool {
        let before = self.buckets();
        let done = self.scale_down();
        assert_eq!(self.buckets(), before - usize::from(done));
        done
    }

    fn out(&mut self) -> bool {
        self.scale_out().is_ok()
    }

    fn out_with(&mut self, part: &RingParameters) -> bool {
        self.scale_out_with(&part.index_independent()).is_ok()
    }

    fn compact_all(&mut self) -> bool {
        let before = self.filters();
        let gone = self.compact();
        assert_eq!(self.filters(), before - gone);
        gone > 0
    }
}

impl Resize for IndexIndependentCuckooFilter {
    fn up(&mut self, _: u8) -> bool {
        let before = self.buckets();
        let added = self.add_bucket();
        assert_eq!(self.buckets(), before + added.unwrap_or(0));
        added.is_ok()
    }

    fn down(&mut self, bucket: u8) -> bool {
        let before = self.buckets();
        let done = match bucket {
            0 => self.remove_bucket(),
            number => self.remove_bucket_at(usize::from(number) - 1),
        };
        assert_eq!(self.buckets(), before - usize::from(done));
        done
    }

    fn out(&mut self) -> bool {
        self.remove_bucket()
    }

    fn out_with(&mut self, _: &RingParameters) -> bool {
        self.remove_bucket_at(usize::MAX)
    }

    fn compact_all(&mut self) -> bool {
        let before = self.buckets();
        while self.remove_bucket() {}
        self.buckets() < before
    }
}

/// Builds the filter and follows every operation with the multiset.
pub fn check(input: &Input) {
    let Input { parameters, single, operations } = input;
    if *single {
        if let Ok(filter) = parameters.index_independent().build() {
            Set::of(filter).perform_all(operations);
        }
    } else if let Ok(filter) = parameters.consistent().build() {
        Set::of(filter).perform_all(operations);
    }
}

struct Set<F> {
    filter: F,
    /// Goes through the same operations, but for saving, loading and cloning.
    twin: F,
    empty: Vec<u8>,
    exact: HashMap<u16, usize>,
    len: usize,
    refusals: u32,
}

/// Refusals may take long where the limit of kicks is high.
const MOST_REFUSALS: u32 = 200;

impl<F: Insert + Remove + Persist + Clone + Resize> Set<F> {
    fn of(filter: F) -> Self {
        let (twin, empty) = (filter.clone(), filter.to_bytes());
        Self { filter, twin, empty, exact: HashMap::new(), len: 0, refusals: 0 }
    }

    fn perform_all(mut self, operations: &[Operation]) {
        for operation in operations {
            self.perform(operation);
            assert_eq!(self.filter.len(), self.len);
            if self.refusals > MOST_REFUSALS {
                break;
            }
        }
        self.check_all();
    }

    fn perform(&mut self, operation: &Operation) {
        match operation {
            Operation::Insert(key) => self.insert(*key),
            Operation::InsertRow(row) => row.keys().for_each(|key| self.insert(key)),
            Operation::Copies { key, count } => {
                (0..*count).for_each(|_| self.insert(u16::from(*key)));
            }
            Operation::Remove(key) => self.remove(*key),
            Operation::RemoveRow(row) => row.keys().for_each(|key| self.remove(key)),
            Operation::ScaleUp(buckets) => self.resize(|filter| filter.up(*buckets)),
            Operation::ScaleDown(bucket) => self.resize(|filter| filter.down(*bucket)),
            Operation::ScaleOut => self.resize(F::out),
            Operation::ScaleOutWith(part) => self.resize(|filter| filter.out_with(part)),
            Operation::Compact => self.resize(F::compact_all),
            Operation::Clear => {
                self.filter.clear();
                self.twin.clear();
                self.exact.clear();
                self.len = 0;
                assert!(self.filter.to_bytes() == self.empty, "a cleared filter is not a new one");
            }
            Operation::SaveAndLoad => {
                let bytes = self.filter.to_bytes();
                assert!(bytes == self.twin.to_bytes(), "the same operations, and other bytes");
                self.filter = F::from_bytes(&bytes).expect("what was saved is loaded");
                assert!(self.filter.to_bytes() == bytes);
            }
            Operation::Clone => self.filter = self.filter.clone(),
            Operation::CheckAll => self.check_all(),
        }
    }

    /// Both resize, or the first refuses and is still like the second.
    fn resize(&mut self, operation: impl Fn(&mut F) -> bool) {
        let done = operation(&mut self.filter);
        if !done {
            self.unchanged();
        }
        assert_eq!(operation(&mut self.twin), done);
    }

    fn unchanged(&self) {
        assert!(self.filter.to_bytes() == self.twin.to_bytes(), "a refusal changed the filter");
    }

    fn insert(&mut self, key: u16) {
        let outcome = self.filter.insert(&key);
        match outcome {
            Ok(()) => {
                *self.exact.entry(key).or_default() += 1;
                self.len += 1;
                assert!(self.filter.contains(&key));
            }
            Err(full) => {
                self.refusals += 1;
                assert_eq!((full.len, full.inserted), (self.len, 0));
                self.unchanged();
            }
        }
        assert_eq!(self.twin.insert(&key), outcome);
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

    fn check_all(&self) {
        for (key, &exact) in &self.exact {
            let count = self.filter.count(key);
            assert!(count >= exact, "key {key} is counted {count} times, inserted {exact} times");
            assert_eq!(self.filter.contains(key), count > 0);
        }
        assert!(self.filter.len() <= self.filter.slots());
        assert!(self.filter.to_bytes() == self.twin.to_bytes());
    }
}
