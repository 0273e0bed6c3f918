//! One filter that follows the set: changed key by key, timed, and measured at every stop. A broken
//! promise ends the demo.
//!
//! Two equal filters do every operation, and the shorter of the two times counts: interruptions by
//! other programs are rarely in both. No operation counts for more than the processor time of its
//! group of operations. The twins also show that the same operations give the same bytes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cuculus::{Filter, KeyHash};
use serde::Serialize;

use super::clock;
use super::contestants::{Contestant, Entry};
use super::keys::{Course, Stop};
use super::{PROBES, RATE};
use crate::sample;
use crate::text::percent;

/// Keys per batch of lookups; their hashes fit the L1 cache.
const BATCH: usize = 1 << 10;

/// Operations per reading of the processor time, which costs as much as several operations.
const GROUP: u64 = 16;

/// The state of a filter at a stop.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Moment {
    /// Operations on the set from the start.
    pub(super) operations: u64,
    /// Keys in the filter.
    pub(super) keys: u64,
    pub(super) bytes: usize,
    pub(super) bits_per_key: f64,
    pub(super) utilization: f64,
    pub(super) expected_rate: f64,
    pub(super) measured_rate: f64,
    /// The longest operation since the previous stop.
    pub(super) longest_nanoseconds: u64,
}

/// Lookups and times of the whole run. All times are per operation.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Totals {
    pub(super) held_keys_asked: u64,
    pub(super) held_keys_missed: u64,
    pub(super) absent_keys_asked: u64,
    pub(super) insert_nanoseconds: f64,
    pub(super) remove_nanoseconds: f64,
    pub(super) lookup_nanoseconds: f64,
    pub(super) longest_nanoseconds: u64,
}

#[derive(Serialize)]
pub(super) struct Follower {
    pub(super) name: &'static str,
    pub(super) note: String,
    pub(super) takes_every: u64,
    pub(super) moments: Vec<Moment>,
    pub(super) totals: Totals,
    #[serde(skip)]
    course: Course,
    #[serde(skip)]
    twins: [Box<dyn Contestant>; 2],
    /// Operations done so far.
    #[serde(skip)]
    at: u64,
    #[serde(skip)]
    spent: Spent,
}

#[derive(Default)]
struct Spent {
    inserting: Sum,
    removing: Sum,
    looking_up: Sum,
    longest: Duration,
    longest_of_group: Duration,
}

impl Spent {
    fn note(&mut self, time: Duration) {
        self.longest_of_group = self.longest_of_group.max(time);
    }
}

#[derive(Default)]
struct Sum {
    time: Duration,
    operations: u64,
}

impl Sum {
    fn add(&mut self, operations: u64, time: Duration) {
        self.time += time;
        self.operations += operations;
    }

    fn each(&self) -> f64 {
        self.time.as_nanos() as f64 / self.operations.max(1) as f64
    }
}

impl Follower {
    pub(super) fn new(entry: Entry, course: Course) -> Self {
        let Entry { name, note, takes_every, twins } = entry;
        Self {
            name,
            note,
            takes_every,
            moments: Vec::new(),
            totals: Totals::default(),
            course,
            twins,
            at: 0,
            spent: Spent::default(),
        }
    }

    /// Does the operations up to the next stop and measures the filter there.
    ///
    /// # Errors
    /// A key that is refused or not found, or a false positive rate above the promised one.
    pub(super) fn go(&mut self, stop: Stop) -> Result<Moment> {
        self.spent.longest = Duration::ZERO;
        let end = self.course.operations(stop);
        while self.at < end {
            let operations = self.at..end.min(self.at + GROUP * self.takes_every);
            self.at = operations.end;
            self.as_a_group(|all| {
                operations.clone().try_for_each(|operation| all.step(operation))
            })?;
        }
        if stop.all && !stop.growing {
            self.as_a_group(Self::tidy)?;
        }
        if stop.all {
            self.look_up_all(stop)?;
        }
        if stop.keys == self.course.most() {
            self.check_the_twins_are_equal()?;
        }
        let moment = self.measure(end);
        self.moments.push(moment);
        self.check_the_rate(moment)?;
        Ok(moment)
    }

    /// Does a group of operations; the longest of them counts for no more than the processor time
    /// of the group.
    fn as_a_group(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.spent.longest_of_group = Duration::ZERO;
        let (processor_time, done) = clock::timed(|| work(self));
        let longest = self.spent.longest_of_group.min(processor_time);
        self.spent.longest = self.spent.longest.max(longest);
        done
    }

    fn step(&mut self, operation: u64) -> Result<()> {
        match operation.checked_sub(self.course.most()) {
            None => self.insert(operation),
            Some(at) => self.remove(self.course.removed(at)),
        }
    }

    fn tidy(&mut self) -> Result<()> {
        let [first, second] = &mut self.twins;
        self.spent.note(shorter(|| first.tidy(), || second.tidy()).1);
        Ok(())
    }

    fn takes(&self, number: u64) -> bool {
        number.is_multiple_of(self.takes_every)
    }

    fn insert(&mut self, number: u64) -> Result<()> {
        if !self.takes(number) {
            return Ok(());
        }
        let [first, second] = &mut self.twins;
        let hash = first.hasher().hash(&sample::key(number));
        let (done, time) = shorter(|| first.insert_hash(hash), || second.insert_hash(hash));
        done.with_context(|| format!("{} refused a key", self.name))?;
        self.spent.inserting.add(1, time);
        self.spent.note(time);
        Ok(())
    }

    fn remove(&mut self, number: u64) -> Result<()> {
        if !self.takes(number) {
            return Ok(());
        }
        let [first, second] = &mut self.twins;
        let hash = first.hasher().hash(&sample::key(number));
        let (done, time) = shorter(|| first.remove_hash(hash), || second.remove_hash(hash));
        self.spent.removing.add(1, time);
        self.spent.note(time);
        self.check_no_key_is_missed(u64::from(!done))
    }

    /// Looks up every key in the set.
    fn look_up_all(&mut self, stop: Stop) -> Result<()> {
        let held = self.course.held(stop).filter(|&number| self.takes(number)).map(sample::key);
        let (asked, found, time) = look_up(&*self.twins[0], held);
        self.spent.looking_up.add(asked, time);
        self.totals.held_keys_asked += asked;
        self.check_no_key_is_missed(asked - found)
    }

    fn measure(&mut self, operations: u64) -> Moment {
        let [filter, _] = &self.twins;
        let first = self.totals.absent_keys_asked;
        let (asked, found, _) = look_up(&**filter, (first..first + PROBES).map(sample::absent_key));
        self.totals.absent_keys_asked += asked;
        let longest = self.spent.longest.as_nanos() as u64;
        let totals = &mut self.totals;
        totals.longest_nanoseconds = totals.longest_nanoseconds.max(longest);
        totals.insert_nanoseconds = self.spent.inserting.each();
        totals.remove_nanoseconds = self.spent.removing.each();
        totals.lookup_nanoseconds = self.spent.looking_up.each();
        let (keys, bytes) = (filter.len() as u64, filter.size_in_bytes());
        Moment {
            operations,
            keys,
            bytes,
            bits_per_key: bytes as f64 * 8.0 / keys.max(1) as f64,
            utilization: filter.utilization(),
            expected_rate: filter.expected_false_positive_rate(),
            measured_rate: found as f64 / asked.max(1) as f64,
            longest_nanoseconds: longest,
        }
    }

    fn check_no_key_is_missed(&mut self, missed: u64) -> Result<()> {
        self.totals.held_keys_missed += missed;
        ensure!(
            missed == 0,
            "{}: {missed} inserted keys were not found; please report this bug",
            self.name
        );
        Ok(())
    }

    fn check_the_rate(&self, moment: Moment) -> Result<()> {
        ensure!(
            kept(moment.measured_rate),
            "{}: the false positive rate is {}, more than promised; please report this bug",
            self.name,
            percent(moment.measured_rate, 3)
        );
        Ok(())
    }

    fn check_the_twins_are_equal(&self) -> Result<()> {
        let [first, second] = &self.twins;
        ensure!(
            first.bytes() == second.bytes(),
            "{}: the same operations gave different bytes; please report this bug",
            self.name
        );
        Ok(())
    }
}

/// Whether a measured rate keeps the promise, within five standard deviations.
pub(super) fn kept(measured_rate: f64) -> bool {
    let sigma = (RATE * (1.0 - RATE) / PROBES as f64).sqrt();
    measured_rate <= RATE + 5.0 * sigma
}

/// Does an operation on both twins; returns the result of the second and the shorter time.
fn shorter<T>(first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    first();
    let between = Instant::now();
    let done = second();
    let end = Instant::now();
    (done, (between - start).min(end - between))
}

/// Looks up keys; returns how many there were, how many were found, and the time it took.
fn look_up(filter: &dyn Contestant, keys: impl Iterator<Item = u64>) -> (u64, u64, Duration) {
    let mut keys = keys.peekable();
    let (mut asked, mut found, mut time) = (0, 0, Duration::ZERO);
    let mut hashes: Vec<KeyHash> = Vec::with_capacity(BATCH);
    let mut hits = Vec::with_capacity(BATCH);
    while keys.peek().is_some() {
        hashes.clear();
        hashes.extend(keys.by_ref().take(BATCH).map(|key| filter.hasher().hash(&key)));
        let start = Instant::now();
        filter.contains_batch(&hashes, &mut hits);
        time += start.elapsed();
        asked += hashes.len() as u64;
        found += hits.iter().filter(|&&hit| hit).count() as u64;
    }
    (asked, found, time)
}

#[cfg(test)]
mod tests {
    use cuculus::{CuckooFilter, Full, Insert, KeyHasher, Persist, Remove};

    use super::*;

    const MOST: u64 = 10_000;

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

    impl<L: Fn(bool, KeyHash) -> bool + Send> Contestant for Liar<L> {
        fn bytes(&self) -> Vec<u8> {
            self.0.to_bytes()
        }
    }

    /// A run of a liar; the twins may have different seeds.
    fn follow(
        lie: fn(bool, KeyHash) -> bool,
        seeds: [u64; 2],
        takes_every: u64,
    ) -> Result<Follower> {
        let course = Course::new(MOST);
        let twins = seeds.map(|seed| {
            let filter = CuckooFilter::builder().capacity(MOST as usize).seed(seed).build();
            let twin: Box<dyn Contestant> = Box::new(Liar(filter.expect("built"), lie));
            twin
        });
        let entry = Entry { name: "liar", note: String::new(), takes_every, twins };
        let mut follower = Follower::new(entry, course);
        course.stops().into_iter().try_for_each(|stop| follower.go(stop).map(drop))?;
        Ok(follower)
    }

    #[test]
    fn a_filter_that_keeps_its_promises_passes() {
        let follower = follow(|truth, _| truth, [1, 1], 1).unwrap();
        let top = follower.moments.iter().max_by_key(|moment| moment.keys).unwrap();
        assert_eq!(top.keys, MOST);
        let sigma = (top.expected_rate / PROBES as f64).sqrt();
        assert!((top.measured_rate - top.expected_rate).abs() < 5.0 * sigma, "{top:?}");
        assert_eq!(follower.moments.last().unwrap().keys, 1000);
        assert_eq!(follower.totals.held_keys_missed, 0);
        assert!(follower.totals.held_keys_asked > 5 * MOST);
    }

    #[test]
    fn a_follower_of_some_keys_holds_only_these() {
        let follower = follow(|truth, _| truth, [1, 1], 8).unwrap();
        let top = follower.moments.iter().max_by_key(|moment| moment.keys).unwrap();
        assert_eq!((top.keys, top.operations), (MOST / 8, MOST));
    }

    #[test]
    fn a_single_lost_key_ends_the_demo() {
        let lie = |truth, hash| truth && hash != KeyHasher::fold_xxh3(1).hash(&sample::key(1234));
        let error = follow(lie, [1, 1], 1).err().expect("an error");
        assert!(error.to_string().contains("1 inserted keys were not found"), "{error}");
    }

    #[test]
    fn a_rate_above_the_promise_ends_the_demo() {
        let lie = |truth, hash: KeyHash| truth || hash.get() < u64::MAX / 50;
        let error = follow(lie, [1, 1], 1).err().expect("an error");
        assert!(error.to_string().contains("more than promised"), "{error}");
    }

    #[test]
    fn twins_that_differ_end_the_demo() {
        // With another seed the removals would fail, so the difference is seen before.
        let error = follow(|truth, _| truth, [1, 2], 1).err().expect("an error");
        assert!(error.to_string().contains("different bytes"), "{error}");
    }
}
