//! New keys on their way into an elastic filter, in a table. They are inserted in bulk when they are an eighth of
//! all: then a segment is written once for many of them, which takes half the time of one by one. Knows
//! hashes, nothing of lines.

use std::hint::black_box;

use anyhow::Result;
use cuculus::{ElasticFilter, Filter, Full, FullCause, Insert, KeyHash};

use crate::keys::Block;
use crate::lossless::{insert_absent, insert_absent_by};
use crate::saved::{AnyFilter, Saved};

/// The least that there is room for, and the part of the filter from which on a bulk is fast.
const FEWEST: usize = 8192;
const PART: usize = 8;
/// Slots for five keys, of which three may be in use.
const SLOTS: usize = 5;
const USED: usize = 3;
/// Marks an empty slot. A key with this hash is inserted at once.
const EMPTY: KeyHash = KeyHash::new(0);
/// Keys that are looked up together, so that waits for memory overlap.
const TOGETHER: usize = 64;

/// A key is at the place that its hash has between zero and 2^64, or after it: a bulk finds them nearly sorted.
#[derive(Default)]
pub(crate) struct Gathered {
    slots: Vec<KeyHash>,
    len: usize,
}

impl Gathered {
    /// Inserts the keys of a block that are not there yet; `absent` says which.
    pub(crate) fn insert_absent(
        &mut self,
        saved: &mut Saved,
        block: &Block,
        absent: &mut Vec<bool>,
    ) -> Result<()> {
        match &mut saved.filter {
            AnyFilter::Elastic(filter) => {
                insert_absent_by(block, absent, |hashes, absent| self.take(filter, hashes, absent))
            }
            _ => insert_absent(saved.as_insert()?, block, absent),
        }
    }

    /// Inserts all that were gathered, before the filter is saved.
    pub(crate) fn finish(&mut self, saved: &mut Saved) -> Result<()> {
        match &mut saved.filter {
            AnyFilter::Elastic(filter) => Ok(self.insert_all(filter)?),
            _ => Ok(()),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<KeyHash>()
    }

    pub(crate) fn take(
        &mut self,
        filter: &mut ElasticFilter,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        if self.len + hashes.len() > self.slots.len() / SLOTS * USED {
            // A block that is longer than those before.
            self.insert_all(filter)?;
            self.renew((filter.len() / PART).max(FEWEST) + 2 * hashes.len(), filter)?;
        }
        filter.contains_batch(hashes, absent);
        for (hashes, absent) in hashes.chunks(TOGETHER).zip(absent.chunks_mut(TOGETHER)) {
            black_box(hashes.iter().fold(0, |sum, &hash| sum ^ self.slots[self.slot(hash)].get()));
            for (&hash, absent) in hashes.iter().zip(absent) {
                *absent = !*absent
                    && match hash {
                        EMPTY => !filter.contains_hash(hash) && filter.insert_hash(hash).is_ok(),
                        _ => self.insert(hash),
                    };
            }
        }
        match self.len < (filter.len() / PART).max(FEWEST) {
            true => Ok(()),
            false => self.insert_all(filter),
        }
    }

    pub(crate) fn insert_all(&mut self, filter: &mut ElasticFilter) -> Result<(), Full> {
        self.slots.retain(|&hash| hash != EMPTY);
        filter.insert_bulk(&self.slots)?;
        self.slots.clear();
        self.len = 0;
        Ok(())
    }

    /// Makes room in an empty table.
    fn renew(&mut self, keys: usize, filter: &ElasticFilter) -> Result<(), Full> {
        let slots = (keys / USED + 1) * SLOTS;
        if self.slots.try_reserve_exact(slots).is_err() {
            return Err(Full::new(FullCause::OutOfMemory, filter.len(), filter.slots()));
        }
        self.slots.resize(slots, EMPTY);
        Ok(())
    }

    /// Where a key belongs.
    fn slot(&self, hash: KeyHash) -> usize {
        ((u128::from(hash.get()) * self.slots.len() as u128) >> 64) as usize
    }

    /// Whether the key was not there.
    fn insert(&mut self, hash: KeyHash) -> bool {
        let mut at = self.slot(hash);
        while self.slots[at] != EMPTY {
            if self.slots[at] == hash {
                return false;
            }
            at = if at + 1 < self.slots.len() { at + 1 } else { 0 };
        }
        self.slots[at] = hash;
        self.len += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::lossless;

    /// Over many bulks, whatever the batches are, and with keys that come again.
    #[test]
    fn gathered_keys_are_those_of_an_exact_set() {
        let mut filter = lossless::filter(None).expect("a filter");
        let (mut gathered, mut absent) = (Gathered::default(), Vec::new());
        let mut exact = HashSet::new();
        let number = |i: u64| crate::sample::key(crate::sample::key(i) % 200_000);
        let keys: Vec<KeyHash> =
            [0, u64::MAX].into_iter().chain((0..300_000).map(number)).map(KeyHash::new).collect();
        for (i, some) in keys.chunks(997).chain([&keys[..2]]).enumerate() {
            let some = &some[..if i % 3 == 1 { 1 } else { some.len() }];
            gathered.take(&mut filter, some, &mut absent).expect("room");
            let expected: Vec<bool> = some.iter().map(|&hash| exact.insert(hash)).collect();
            assert!(absent == expected, "batch {i}");
        }
        assert!(!filter.is_empty() && filter.len() < exact.len(), "some are still gathered");
        gathered.insert_all(&mut filter).expect("room");
        assert_eq!(filter.len(), exact.len());
        assert!(exact.iter().all(|&hash| filter.contains_hash(hash)));
    }
}
