//! Threads at full speed on one filter, with an exact oracle: permanent keys are always found, a
//! thread always finds its own keys, `insert_absent` has one winner, snapshots and files hold what
//! they must, and in the end exactly what should be left is left. A foreign map whose values change
//! the filter when they are dropped is beside them.
//!
//! Three seconds by default; `CUCULUS_STRESS_SECONDS` says how long, and `cargo xtask soak-shared`
//! sets it.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_skiplist::SkipMap;
use cuculus::conformance::Random;
use cuculus::{ElasticFilter, Filter as _, Persist, SharedFilter};

const RATE: f64 = 1e-4;
const PERMANENT: u64 = 20_000;
const RACE: usize = 512;

fn seconds() -> f64 {
    std::env::var("CUCULUS_STRESS_SECONDS").map_or(3.0, |text| text.parse().expect("a number"))
}

/// Runs on one processor of its own from now on, so that threads really run at the same time: those of
/// a busy machine hardly ever meet.
#[cfg(target_os = "linux")]
fn pin_to(processor: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let allowed = sched_getaffinity(None).expect("allowed to ask");
    let ours: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let mut one = CpuSet::new();
    one.set(ours[processor % ours.len()]);
    sched_setaffinity(None, &one).expect("one of those that are allowed");
}

#[cfg(not(target_os = "linux"))]
fn pin_to(_: usize) {}

/// Keys of different users never meet.
fn key(user: u64, number: u64) -> u64 {
    user << 48 | number
}

/// The values of maps that are not dropped yet.
static HELD: AtomicU64 = AtomicU64::new(0);

/// A value that takes its key out of the filter when it is dropped.
struct Held(SharedFilter, u64);

impl Drop for Held {
    fn drop(&mut self) {
        assert!(self.0.remove(&self.1), "{} is lost", self.1);
        HELD.fetch_sub(1, Relaxed);
    }
}

struct Stress<'a> {
    filter: &'a SharedFilter,
    end: &'a AtomicBool,
    operations: &'a AtomicU64,
}

impl Stress<'_> {
    fn is_running(&self, done: u64) -> bool {
        self.operations.fetch_add(done, Relaxed);
        !self.end.load(Relaxed)
    }

    /// Reads permanent keys, one by one and in batches.
    fn read(&self, seed: u64) {
        let (mut random, mut hits) = (Random::new(seed), Vec::new());
        while self.is_running(2000) {
            for _ in 0..1000 {
                let number = random.bits() % PERMANENT;
                assert!(self.filter.contains(&key(0, number)), "permanent key {number} is lost");
            }
            let hash = |_| self.filter.hasher().hash(&key(0, random.bits() % PERMANENT));
            let hashes: Vec<_> = (0..1000).map(hash).collect();
            self.filter.contains_batch(&hashes, &mut hits);
            assert!(hits.iter().all(|&hit| hit), "a permanent key is lost in a batch");
        }
    }

    /// Its own keys, in tides that split and merge segments.
    fn write(&self, user: u64, most: u64) {
        let (mut random, mut low, mut high) = (Random::new(user), 0, 0);
        let mut rising = true;
        let mut flags = Vec::new();
        while self.is_running(64) {
            rising = if high - low >= most { false } else { rising || high - low < most / 16 };
            let batch = random.below(4) == 0;
            let hash = |number| self.filter.hasher().hash(&key(user, number));
            if rising {
                if batch {
                    let hashes: Vec<_> = (high..high + 64).map(hash).collect();
                    self.filter.insert_batch(&hashes).expect("room");
                } else {
                    (high..high + 64)
                        .for_each(|number| self.filter.insert(&key(user, number)).expect("room"));
                }
                high += 64;
            } else {
                if batch {
                    let hashes: Vec<_> = (low..low + 64).map(hash).collect();
                    self.filter.remove_batch(&hashes, &mut flags);
                    assert!(flags.iter().all(|&removed| removed), "user {user} lost a key");
                } else {
                    for number in low..low + 64 {
                        assert!(self.filter.remove(&key(user, number)), "{user} lost {number}");
                    }
                }
                low += 64;
            }
            if high > low {
                for _ in 0..16 {
                    let number = low + random.bits() % (high - low);
                    assert!(self.filter.contains(&key(user, number)), "{user} lost {number}");
                    assert!(self.filter.count(&key(user, number)) >= 1);
                }
            }
        }
        (low..high).for_each(|number| assert!(self.filter.remove(&key(user, number))));
    }

    /// Several threads want the same new keys; returns in how many races nobody won.
    fn race(&self, me: usize, barrier: &Barrier, winners: &[AtomicU8], go: &AtomicBool) -> u64 {
        let (mut round, mut without) = (0u64, 0);
        // Told at the end: the others wait for this thread at the barrier.
        let mut wrong = None;
        loop {
            if barrier.wait().is_leader() {
                winners.iter().for_each(|winners| winners.store(0, Relaxed));
                go.store(self.is_running(RACE as u64), Relaxed);
            }
            barrier.wait();
            if !go.load(Relaxed) {
                assert_eq!(wrong, None);
                return without;
            }
            let keys = (0..RACE as u64).map(|number| key(60_000, round * RACE as u64 + number));
            for (key, winners) in keys.clone().zip(winners) {
                if self.filter.insert_absent(&key) == Ok(true) {
                    winners.fetch_add(1, Relaxed);
                }
                if !self.filter.contains(&key) {
                    wrong = Some("a key that somebody inserted is not there");
                }
            }
            barrier.wait();
            if me == 0 {
                for (key, winners) in keys.zip(winners) {
                    let winners = winners.load(Relaxed);
                    if winners > 1 {
                        wrong = Some("two threads inserted the same key");
                    }
                    // Nobody, if it looks like another key.
                    without += u64::from(winners == 0);
                    if winners == 1 && !self.filter.remove(&key) {
                        wrong = Some("a key with one winner is lost");
                    }
                }
            }
            round += 1;
        }
    }

    /// A map of `crossbeam`, each value of which takes its key out of the filter when some thread drops
    /// it, whenever that is.
    fn map(&self, user: u64) {
        let map = SkipMap::new();
        let mut number = 0;
        while self.is_running(256) {
            for number in number..number + 256 {
                self.filter.insert(&key(user, number)).expect("room");
                HELD.fetch_add(1, Relaxed);
                map.insert(number % 4096, Held(self.filter.clone(), key(user, number)));
            }
            number += 256;
        }
    }

    /// Snapshots, files and figures.
    fn look(&self) -> u64 {
        let mut snapshots = 0;
        while self.is_running(1) {
            let snapshot = self.filter.snapshot();
            let rate = snapshot.expected_false_positive_rate();
            assert!(rate <= RATE && self.filter.expected_false_positive_rate() <= RATE);
            assert!((0..PERMANENT).all(|number| snapshot.contains(&key(0, number))));
            if snapshots % 4 == 0 {
                let again = ElasticFilter::from_bytes(&snapshot.to_bytes()).expect("own bytes");
                assert_eq!(again.len(), snapshot.len());
            }
            assert!(self.filter.stats().poisoned_parts == 0);
            snapshots += 1;
            thread::sleep(Duration::from_millis(5));
        }
        snapshots
    }
}

fn stress(parts: usize, seconds: f64) {
    let filter = SharedFilter::builder().false_positive_rate(RATE).parts(parts).seed(9).build();
    let filter = &filter.expect("valid");
    (0..PERMANENT).for_each(|number| filter.insert(&key(0, number)).expect("room"));
    let (end, operations) = (&AtomicBool::new(false), &AtomicU64::new(0));
    let (barrier, go) = (&Barrier::new(3), &AtomicBool::new(true));
    let winners: &Vec<_> = &(0..RACE).map(|_| AtomicU8::new(0)).collect();
    let make = || Stress { filter, end, operations };
    let (without, snapshots) = thread::scope(|scope| {
        scope.spawn(move || make().read(1));
        scope.spawn(move || make().read(2));
        scope.spawn(move || make().map(3));
        for (user, most) in [(1, 4000), (2, 60_000)] {
            scope.spawn(move || {
                pin_to(user as usize);
                make().write(user, most);
            });
        }
        let racers: Vec<_> =
            (0..3).map(|me| scope.spawn(move || make().race(me, barrier, winners, go))).collect();
        let looker = scope.spawn(move || make().look());
        let start = Instant::now();
        while start.elapsed().as_secs_f64() < seconds && !looker.is_finished() {
            thread::sleep(Duration::from_millis(20));
        }
        end.store(true, Relaxed);
        let without: u64 = racers.into_iter().map(|racer| racer.join().expect("no panic")).sum();
        (without, looker.join().expect("no panic"))
    });
    while HELD.load(Relaxed) > 0 {
        crossbeam_epoch::pin().flush();
    }
    assert_eq!(filter.len(), PERMANENT as usize);
    assert!((0..PERMANENT).all(|number| filter.remove(&key(0, number))));
    assert!(filter.is_empty() && snapshots > 0);
    let operations = operations.load(Relaxed);
    println!(
        "{parts} parts: {operations} operations, {snapshots} snapshots, no key lost, no two \
         winners, {without} races without a winner"
    );
    assert!((without as f64) < 10.0 + 5.0 * RATE * operations as f64, "{without} without a winner");
}

#[test]
fn one_part_is_enough_for_many_threads() {
    stress(1, seconds() / 3.0);
}

#[test]
fn few_parts_keep_all_promises() {
    stress(4, seconds() / 3.0);
}

#[test]
fn many_parts_keep_all_promises() {
    stress(64, seconds() / 3.0);
}

/// A reader and a writer on two processors and in the same few segments, at rates at which lookups go
/// all of their ways: codes of 4 to 30 bits, homes with many codes, counted copies.
fn pinned_pair(rate: f64, seconds: f64) -> u64 {
    const KEPT: u64 = 300;
    let builder = SharedFilter::builder().false_positive_rate(rate).parts(1).seed(11);
    let filter = &builder.build().expect("valid");
    (0..KEPT).for_each(|number| filter.insert(&key(0, number)).expect("room"));
    (0..9).for_each(|_| filter.insert(&key(0, 0)).expect("counted"));
    let (end, barrier) = (&AtomicBool::new(false), &Barrier::new(2));
    let reads = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            pin_to(0);
            barrier.wait();
            let (mut reads, mut lost) = (0u64, 0u64);
            while !end.load(Relaxed) {
                let is_lost = |&number: &u64| !filter.contains(&key(0, number));
                lost += (0..KEPT).filter(is_lost).count() as u64;
                lost += u64::from(filter.count(&key(0, 0)) < 10);
                reads += KEPT + 1;
            }
            assert_eq!(lost, 0, "of {reads} lookups at a rate of {rate}");
            reads
        });
        scope.spawn(move || {
            pin_to(1);
            barrier.wait();
            let (start, mut round) = (Instant::now(), 0);
            while start.elapsed().as_secs_f64() < seconds {
                // A tide that splits and merges, then ripples in one segment.
                for (most, times) in [(4000, 1), (40, 100)] {
                    for _ in 0..times {
                        let own = round..round + most;
                        own.clone().for_each(|at| filter.insert(&key(1, at)).expect("room"));
                        own.for_each(|at| assert!(filter.remove(&key(1, at)), "{at} is lost"));
                        round += most;
                    }
                }
            }
            end.store(true, Relaxed);
        });
        reader.join().expect("no key is lost")
    });
    assert_eq!(filter.len() as u64, KEPT + 9);
    reads
}

#[test]
fn a_reader_and_a_writer_on_two_processors_meet() {
    for rate in [0.5, 0.05, 0.01, 1e-4, 1e-6] {
        let reads = pinned_pair(rate, seconds() / 6.0);
        println!("pinned pair at a rate of {rate}: {reads} lookups, none lost");
        assert!(reads > 0);
    }
}

/// Who clears while others insert: afterwards a key is there or not, and all of the filter works.
#[test]
fn clearing_while_others_insert_loses_nothing_later() {
    let filter = &SharedFilter::builder().parts(2).seed(4).build().expect("valid");
    for round in 0..20u64 {
        thread::scope(|scope| {
            for user in 1..3 {
                scope.spawn(move || {
                    for number in 0..3000 {
                        filter.insert(&key(user, round * 3000 + number)).expect("room");
                    }
                });
            }
            scope.spawn(|| (0..20).for_each(|_| filter.clear()));
        });
        filter.clear();
        assert!(filter.is_empty());
        filter.insert(&round).expect("room");
        assert!(filter.contains(&round) && filter.len() == 1);
    }
}
