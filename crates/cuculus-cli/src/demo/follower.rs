//! One filter on its way through the course: changed key by key, timed, and asked at every stop. A
//! promise that is not kept ends the demo.
//!
//! Every operation is done by two equal filters, and the shorter of the two times counts: what
//! other programs take from the processor is rarely in both. And no operation counts for more than
//! the time that the thread was on a processor for it and its neighbours. The twins also show that
//! the same operations give the same bytes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cuculus::{Filter, KeyHash};
use cuculus_lab::clock;
use serde::Serialize;

use super::contestants::{Contestant, Entry};
use super::keys::{Course, Stop, absent, inserted};
use super::{PROBES, RATE};
use crate::text::percent;

/// Keys hashed and asked at once; their hashes stay in the fastest cache.
const BATCH: usize = 1 << 10;

/// Operations between two looks at the time on the processor, which costs as much as some of them.
const NEIGHBOURS: u64 = 16;

/// A filter at a stop.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Moment {
    /// Keys of the set inserted and removed until then.
    pub(super) operations: u64,
    /// Keys in the filter.
    pub(super) keys: u64,
    pub(super) bytes: usize,
    pub(super) bits_per_key: f64,
    pub(super) utilization: f64,
    pub(super) expected_rate: f64,
    pub(super) measured_rate: f64,
    /// The longest operation since the stop before.
    pub(super) longest_nanoseconds: u64,
}

/// What a filter was asked, and how long everything took. All times are of single operations.
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
    /// Where the set was at the last stop.
    #[serde(skip)]
    at: u64,
    #[serde(skip)]
    spent: Spent,
}

#[derive(Default)]
struct Spent {
    inserting: Sum,
    removing: Sum,
    asking: Sum,
    longest: Duration,
    longest_of_some: Duration,
}

impl Spent {
    fn took(&mut self, time: Duration) {
        self.longest_of_some = self.longest_of_some.max(time);
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

    /// Goes on to the next stop and looks around there.
    ///
    /// # Errors
    /// A key that is refused or not found, or a rate above the one that was promised.
    pub(super) fn go(&mut self, stop: Stop) -> Result<Moment> {
        self.spent.longest = Duration::ZERO;
        let end = self.course.operations(stop);
        while self.at < end {
            let operations = self.at..end.min(self.at + NEIGHBOURS * self.takes_every);
            self.at = operations.end;
            self.together(|all| operations.clone().try_for_each(|operation| all.step(operation)))?;
        }
        if stop.all && !stop.growing {
            self.together(Self::tidy)?;
        }
        if stop.all {
            self.ask_for_all(stop)?;
        }
        if stop.keys == self.course.most() {
            self.twins_are_the_same()?;
        }
        let moment = self.look(end);
        self.moments.push(moment);
        self.the_rate_is_kept(moment)?;
        Ok(moment)
    }

    /// Does some operations; the longest of them counts for no more than all of them took on the
    /// processor.
    fn together(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.spent.longest_of_some = Duration::ZERO;
        let (on_the_processor, done) = clock::timed(|| work(self));
        let longest = self.spent.longest_of_some.min(on_the_processor);
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
        self.spent.took(shorter(|| first.tidy(), || second.tidy()).1);
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
        let hash = first.hasher().hash(&inserted(number));
        let (done, time) = shorter(|| first.insert_hash(hash), || second.insert_hash(hash));
        done.with_context(|| format!("{} refused a key", self.name))?;
        self.spent.inserting.add(1, time);
        self.spent.took(time);
        Ok(())
    }

    fn remove(&mut self, number: u64) -> Result<()> {
        if !self.takes(number) {
            return Ok(());
        }
        let [first, second] = &mut self.twins;
        let hash = first.hasher().hash(&inserted(number));
        let (done, time) = shorter(|| first.remove_hash(hash), || second.remove_hash(hash));
        self.spent.removing.add(1, time);
        self.spent.took(time);
        self.no_key_is_missed(u64::from(!done))
    }

    /// Asks for every key that is held.
    fn ask_for_all(&mut self, stop: Stop) -> Result<()> {
        let held = self.course.held(stop).filter(|&number| self.takes(number)).map(inserted);
        let (asked, found, time) = ask(&*self.twins[0], held);
        self.spent.asking.add(asked, time);
        self.totals.held_keys_asked += asked;
        self.no_key_is_missed(asked - found)
    }

    fn look(&mut self, operations: u64) -> Moment {
        let [filter, _] = &self.twins;
        let first = self.totals.absent_keys_asked;
        let (asked, found, _) = ask(&**filter, (first..first + PROBES).map(absent));
        self.totals.absent_keys_asked += asked;
        let longest = self.spent.longest.as_nanos() as u64;
        let totals = &mut self.totals;
        totals.longest_nanoseconds = totals.longest_nanoseconds.max(longest);
        totals.insert_nanoseconds = self.spent.inserting.each();
        totals.remove_nanoseconds = self.spent.removing.each();
        totals.lookup_nanoseconds = self.spent.asking.each();
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

    fn no_key_is_missed(&mut self, missed: u64) -> Result<()> {
        self.totals.held_keys_missed += missed;
        ensure!(
            missed == 0,
            "{}: {missed} inserted keys were not found; please report this defect",
            self.name
        );
        Ok(())
    }

    fn the_rate_is_kept(&self, moment: Moment) -> Result<()> {
        ensure!(
            kept(moment.measured_rate),
            "{}: {} of the absent keys were found, more than promised; please report this defect",
            self.name,
            percent(moment.measured_rate, 3)
        );
        Ok(())
    }

    fn twins_are_the_same(&self) -> Result<()> {
        let [first, second] = &self.twins;
        ensure!(
            first.bytes() == second.bytes(),
            "{}: the same operations gave other bytes; please report this defect",
            self.name
        );
        Ok(())
    }
}

/// Whether a rate measured at a stop is the one that was promised: chance alone stays within five
/// sigmas.
pub(super) fn kept(measured_rate: f64) -> bool {
    let sigma = (RATE * (1.0 - RATE) / PROBES as f64).sqrt();
    measured_rate <= RATE + 5.0 * sigma
}

/// Does the same twice; what came out the second time, and the shorter time.
fn shorter<T>(first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    first();
    let between = Instant::now();
    let done = second();
    let end = Instant::now();
    (done, (between - start).min(end - between))
}

/// How many keys were asked for, how many of them were found, and the time that it took.
fn ask(filter: &dyn Contestant, keys: impl Iterator<Item = u64>) -> (u64, u64, Duration) {
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

    /// The way of a liar; its twin has a seed of its own.
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
    fn the_truth_is_fine() {
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
    fn a_follower_of_some_keys_has_those() {
        let follower = follow(|truth, _| truth, [1, 1], 8).unwrap();
        let top = follower.moments.iter().max_by_key(|moment| moment.keys).unwrap();
        assert_eq!((top.keys, top.operations), (MOST / 8, MOST));
    }

    #[test]
    fn a_single_lost_key_ends_the_demo() {
        let lie = |truth, hash| truth && hash != KeyHasher::xxh3(1).hash(&inserted(1234));
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
        assert!(error.to_string().contains("other bytes"), "{error}");
    }
}
