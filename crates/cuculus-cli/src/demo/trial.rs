//! One filter in use: filled, asked about keys that are in it and keys that are not, and half
//! emptied. A promise that is not kept ends the demo.

use std::ops::Range;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cuculus::{Insert, KeyHash, Remove};
use serde::Serialize;

use super::keys::{absent, inserted, probes, timed};
use crate::progress::Progress;
use crate::text::percent;

/// What came out. Speeds are keys a second on one thread, with hashing.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) promised_false_positive_rate: f64,
    pub(super) expected_false_positive_rate: f64,
    pub(super) measured_false_positive_rate: f64,
    pub(super) absent_keys_asked: u64,
    pub(super) false_negatives: u64,
    pub(super) keys: usize,
    pub(super) slots: usize,
    pub(super) load: f64,
    pub(super) size_in_bytes: usize,
    pub(super) bits_per_key: f64,
    pub(super) inserts_per_second: f64,
    pub(super) lookups_per_second: f64,
    pub(super) batched_lookups_per_second: f64,
    pub(super) deletes_per_second: f64,
}

/// Keys hashed and asked at once; their hashes stay in the fastest cache.
const BATCH: u64 = 1 << 10;

/// The keys that pass through a trial, for the progress display.
pub(super) fn units(items: u64) -> u64 {
    items + 2 * (items + probes(items)) + items / 2 * 2
}

pub(super) struct Trial<'a, F> {
    pub(super) filter: F,
    outcome: Outcome,
    progress: &'a Progress,
}

impl<'a, F: Insert + Remove> Trial<'a, F> {
    pub(super) fn new(name: &'static str, rate: f64, filter: F, progress: &'a Progress) -> Self {
        let outcome = Outcome { name, promised_false_positive_rate: rate, ..Outcome::default() };
        Self { filter, outcome, progress }
    }

    /// Inserts every key and notes what the full filter is like.
    pub(super) fn fill(&mut self, items: u64) -> Result<()> {
        self.announce("inserting");
        let filter = &mut self.filter;
        let insert = |piece: Range<u64>| {
            for i in piece {
                filter.insert(&inserted(i))?;
            }
            Ok(())
        };
        let time = timed(items, insert, |done| self.progress.advance(done));
        let time = time.with_context(|| format!("{} refused a key", self.outcome.name))?;
        self.outcome.inserts_per_second = per_second(items, time);
        self.outcome.keys = self.filter.len();
        self.outcome.slots = self.filter.slots();
        self.outcome.load = self.filter.utilization();
        self.outcome.size_in_bytes = self.filter.size_in_bytes();
        self.outcome.bits_per_key = self.filter.size_in_bytes() as f64 * 8.0 / items as f64;
        self.outcome.expected_false_positive_rate = self.filter.expected_false_positive_rate();
        Ok(())
    }

    /// Asks for every key and as many others, one by one and in batches.
    pub(super) fn ask(&mut self, items: u64) -> Result<()> {
        let probes = probes(items);
        self.announce("looking up, one by one");
        let (found, present_time) = self.count_single(items, inserted)?;
        let (mistaken, absent_time) = self.count_single(probes, absent)?;
        self.outcome.lookups_per_second = per_second(items + probes, present_time + absent_time);
        self.no_key_is_missed(items - found)?;

        self.announce("looking up, in batches");
        let (batch_found, present_time) = self.count_batched(items, inserted)?;
        let (batch_mistaken, absent_time) = self.count_batched(probes, absent)?;
        self.outcome.batched_lookups_per_second =
            per_second(items + probes, present_time + absent_time);
        ensure!(
            (found, mistaken) == (batch_found, batch_mistaken),
            "{}: batches gave other answers than single lookups; please report this defect",
            self.outcome.name
        );
        self.outcome.absent_keys_asked = probes;
        self.outcome.measured_false_positive_rate = mistaken as f64 / probes as f64;
        self.the_rate_is_kept()
    }

    /// Deletes every other key; the rest must stay.
    pub(super) fn delete(&mut self, items: u64) -> Result<()> {
        self.announce("deleting half of the keys");
        let filter = &mut self.filter;
        let mut failed = 0;
        let delete = |piece: Range<u64>| {
            failed += piece.filter(|i| !filter.remove(&inserted(2 * i))).count() as u64;
            Ok(())
        };
        let time = timed(items / 2, delete, |done| self.progress.advance(done))?;
        self.outcome.deletes_per_second = per_second(items / 2, time);
        self.no_key_is_missed(failed)?;
        self.announce("looking for the other half");
        let rest = items / 2;
        let (found, _) = self.count_batched(rest, |i| inserted(2 * i + 1))?;
        self.no_key_is_missed(rest - found)
    }

    pub(super) fn end(self) -> (Outcome, F) {
        (self.outcome, self.filter)
    }

    fn announce(&self, part: &str) {
        self.progress.part(format!("{}: {part}", self.outcome.name));
    }

    fn count_single(&self, count: u64, key: impl Fn(u64) -> u64) -> Result<(u64, Duration)> {
        let mut hits = 0;
        let ask = |piece: Range<u64>| {
            hits += piece.filter(|&i| self.filter.contains(&key(i))).count() as u64;
            Ok(())
        };
        let time = timed(count, ask, |done| self.progress.advance(done))?;
        Ok((hits, time))
    }

    fn count_batched(&self, count: u64, key: impl Fn(u64) -> u64) -> Result<(u64, Duration)> {
        let mut hits = 0;
        let mut hashes: Vec<KeyHash> = Vec::new();
        let mut answers = Vec::new();
        let ask = |piece: Range<u64>| {
            for start in piece.clone().step_by(BATCH as usize) {
                let batch = start..piece.end.min(start + BATCH);
                hashes.clear();
                hashes.extend(batch.map(|i| self.filter.hasher().hash(&key(i))));
                self.filter.contains_batch(&hashes, &mut answers);
                hits += answers.iter().filter(|&&hit| hit).count() as u64;
            }
            Ok(())
        };
        let time = timed(count, ask, |done| self.progress.advance(done))?;
        Ok((hits, time))
    }

    fn no_key_is_missed(&mut self, missed: u64) -> Result<()> {
        self.outcome.false_negatives += missed;
        ensure!(
            missed == 0,
            "{}: {missed} inserted keys were not found; please report this defect",
            self.outcome.name
        );
        Ok(())
    }

    /// Chance alone stays within five sigmas.
    fn the_rate_is_kept(&self) -> Result<()> {
        let promised = self.outcome.promised_false_positive_rate;
        let measured = self.outcome.measured_false_positive_rate;
        let sigma = (promised * (1.0 - promised) / self.outcome.absent_keys_asked as f64).sqrt();
        ensure!(
            measured <= promised + 5.0 * sigma,
            "{}: {} of the absent keys were found, more than promised; please report this defect",
            self.outcome.name,
            percent(measured, 4)
        );
        Ok(())
    }
}

fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use cuculus::{CuckooFilter, Filter, Full, KeyHasher};

    use super::*;

    const ITEMS: u64 = 5000;

    /// A filter that answers `lie(truth, hash)`.
    struct Liar<L>(CuckooFilter, L);

    impl<L: Fn(bool, KeyHash) -> bool> Filter for Liar<L> {
        fn hasher(&self) -> &KeyHasher {
            self.0.hasher()
        }
        fn contains_hash(&self, hash: KeyHash) -> bool {
            (self.1)(self.0.contains_hash(hash), hash)
        }
        fn count_hash(&self, hash: KeyHash) -> usize {
            self.0.count_hash(hash)
        }
        fn len(&self) -> usize {
            self.0.len()
        }
        fn slots(&self) -> usize {
            self.0.slots()
        }
        fn size_in_bytes(&self) -> usize {
            self.0.size_in_bytes()
        }
        fn expected_false_positive_rate(&self) -> f64 {
            self.0.expected_false_positive_rate()
        }
    }

    impl<L: Fn(bool, KeyHash) -> bool> Insert for Liar<L> {
        fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
            self.0.insert_hash(hash)
        }
        fn clear(&mut self) {
            self.0.clear();
        }
    }

    impl<L> Remove for Liar<L>
    where
        Self: Filter,
    {
        fn remove_hash(&mut self, hash: KeyHash) -> bool {
            self.0.remove_hash(hash)
        }
    }

    fn outcome_with(lie: impl Fn(bool, KeyHash) -> bool) -> Result<Outcome> {
        let filter = CuckooFilter::builder().capacity(ITEMS as usize).seed(1).build()?;
        let progress = Progress::new(units(ITEMS));
        let mut trial = Trial::new("liar", 0.01, Liar(filter, lie), &progress);
        trial.fill(ITEMS)?;
        trial.ask(ITEMS)?;
        trial.delete(ITEMS)?;
        Ok(trial.end().0)
    }

    #[test]
    fn the_truth_is_fine() {
        let outcome = outcome_with(|truth, _| truth).unwrap();
        assert_eq!((outcome.keys as u64, outcome.false_negatives), (ITEMS, 0));
        let rate = outcome.measured_false_positive_rate;
        let expected = outcome.expected_false_positive_rate;
        let sigma = (expected / probes(ITEMS) as f64).sqrt();
        assert!((rate - expected).abs() < 5.0 * sigma, "{rate} {expected}");
    }

    #[test]
    fn a_single_lost_key_ends_the_demo() {
        let lost = KeyHasher::xxh3(1).hash(&inserted(1234));
        let error = outcome_with(|truth, hash| truth && hash != lost).unwrap_err();
        assert!(error.to_string().contains("1 inserted keys were not found"), "{error}");
    }

    #[test]
    fn a_rate_above_the_promise_ends_the_demo() {
        let error = outcome_with(|truth, hash| truth || hash.get() < u64::MAX / 100).unwrap_err();
        assert!(error.to_string().contains("more than promised"), "{error}");
    }
}
