//! An exact set of 64-bit hashes that only grows: what `uniq` remembers of lines if nothing has to be
//! saved. Two keys look the same only if all 64 bits do. Knows hashes, nothing of lines.
//!
//! New hashes go into a small table; when it is full, all of it is merged into a packed array in one
//! pass. A table of the whole set would be faster by that pass, and take two to four times the memory.

mod packed; // all but the last ones, in few bits each
mod recent; // the last ones, in a table

use cuculus::{BuildError, Filter, Full, FullCause, Insert, KeyHash, KeyHasher};

use packed::Packed;
use recent::Recent;

/// The table has room for this part of the packed hashes. A pass reads and writes all of these, so
/// each hash is moved some eight times, at two to three nanoseconds; the table takes 13 bytes for each
/// hash in it, which is at most 1.7 bytes for each of all.
const PART: usize = 8;
/// The least that the table has room for.
const FEWEST: usize = 8192;
/// Hashes that are looked up together, so that waits for memory overlap.
const TOGETHER: usize = 64;

pub(crate) struct Hashes {
    hasher: KeyHasher,
    packed: Packed,
    recent: Recent,
}

impl Hashes {
    pub(crate) fn new() -> Result<Self, BuildError> {
        Ok(Self {
            hasher: KeyHasher::random()?,
            packed: Packed::default(),
            recent: Recent::default(),
        })
    }

    /// Makes room for some more hashes in the table.
    fn make_room(&mut self, more: usize) -> Result<(), Full> {
        if self.recent.len() + more <= self.recent.capacity() {
            return Ok(());
        }
        if self.packed.most_after() < self.recent.len() {
            // With 2^32 different keys half a collision is expected.
            return Err(self.full(FullCause::RateReached));
        }
        let merged = self.packed.merge(&self.recent);
        merged.map_err(|_| self.full(FullCause::OutOfMemory))?;
        let room = (self.packed.len() / PART).max(FEWEST);
        let renewed = self.recent.renew(room);
        renewed.map_err(|_| self.full(FullCause::OutOfMemory))
    }

    fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len(), self.slots())
    }
}

/// No hash is zero here: the table says so of empty slots.
fn number(hash: KeyHash) -> u64 {
    hash.get().max(1)
}

impl Filter for Hashes {
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.recent.contains(number(hash)) || self.packed.contains(number(hash))
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        usize::from(self.contains_hash(hash))
    }

    fn len(&self) -> usize {
        self.recent.len() + self.packed.len()
    }

    fn slots(&self) -> usize {
        self.recent.capacity() + self.packed.len()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.recent.heap_bytes() + self.packed.heap_bytes()
    }

    fn expected_false_positive_rate(&self) -> f64 {
        self.len() as f64 * 0.5f64.powi(64)
    }
}

impl Insert for Hashes {
    /// A hash that is there is not inserted again: it is a set.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert_absent_batch(&[hash], &mut Vec::new())
    }

    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        let mut inserted = 0;
        let (mut numbers, mut hits) = ([0; TOGETHER], [false; TOGETHER]);
        for some in hashes.chunks(TOGETHER) {
            if let Err(mut full) = self.make_room(some.len()) {
                full.inserted = inserted;
                return Err(full);
            }
            let (numbers, hits) = (&mut numbers[..some.len()], &mut hits[..some.len()]);
            for (to, &hash) in numbers.iter_mut().zip(some) {
                *to = number(hash);
            }
            self.recent.touch(numbers);
            self.packed.look_up(numbers, hits);
            for (&number, &hit) in numbers.iter().zip(&*hits) {
                let is_absent = !hit && self.recent.insert(number);
                inserted += usize::from(is_absent);
                absent.push(is_absent);
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        (self.packed, self.recent) = (Packed::default(), Recent::default());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Some of `of` different numbers that begin alike if `alike` bits are given.
    fn numbers(count: u64, of: u64, alike: u32) -> Vec<KeyHash> {
        let number = |i: u64| crate::sample::key(crate::sample::key(i) % of) >> alike;
        (0..count).map(|i| KeyHash::new(number(i))).collect()
    }

    /// Over many merges and divisions of buckets, also for hashes that are not spread, and whatever the batches
    /// are.
    #[test]
    fn answers_are_those_of_an_exact_set() {
        for (count, of, alike) in [(600_000, 400_000, 0), (60_000, 30_000, 0), (12_000, 10_000, 40)]
        {
            let mut set = Hashes::new().expect("a seed");
            let mut exact = HashSet::new();
            let mut absent = Vec::new();
            for (i, some) in numbers(count, of, alike).chunks(997).enumerate() {
                let some = &some[..if i % 3 == 0 { 1 } else { some.len() }];
                set.insert_absent_batch(some, &mut absent).expect("room");
                let expected: Vec<bool> = some.iter().map(|&hash| exact.insert(hash)).collect();
                assert!(absent == expected, "batch {i} of {count}");
            }
            assert_eq!(set.len(), exact.len());
            assert!(exact.iter().all(|&hash| set.contains_hash(hash)), "no false negatives");
            let others = (0..10_000).map(|i| KeyHash::new(crate::sample::key(i + (1 << 40))));
            assert!(
                others.into_iter().all(|hash| exact.contains(&hash) || !set.contains_hash(hash))
            );
        }
    }

    #[test]
    fn the_smallest_and_the_largest_number_are_hashes_too() {
        let mut set = Hashes::new().expect("a seed");
        let ends = [0, 2, u64::MAX, u64::MAX - 1].map(KeyHash::new);
        let mut absent = Vec::new();
        for round in 0..3 {
            set.insert_absent_batch(&ends, &mut absent).expect("room");
            assert_eq!(absent, [round == 0; 4]);
            set.insert_absent_batch(&numbers(20_000, 1 << 40, 0), &mut absent).expect("room");
        }
        assert_eq!(set.len(), 20_004);
        set.clear();
        assert!(set.is_empty() && !set.contains_hash(ends[0]));
    }

    #[test]
    fn a_hash_takes_some_seven_bytes() {
        let mut set = Hashes::new().expect("a seed");
        set.insert_absent_batch(&numbers(2_000_000, 1 << 60, 0), &mut Vec::new()).expect("room");
        let bytes = set.size_in_bytes() as f64 / set.len() as f64;
        assert!((5.5..8.5).contains(&bytes), "{bytes}");
    }
}
