//! One filter for several threads: what a lock costs, and what doing without one does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use cuculus::{ElasticFilter, Filter, Insert, KeyHash, Remove, SharedFilter};
use foldhash::fast::FixedState;

use crate::pauses::Pauses;
use crate::prelude::*;

pub(super) const THREADS: Experiment = Experiment::ours(
    ("threads", "One filter for several threads"),
    "How long does an operation take if one thread, or two, use the same filter? (wall time, so \
     nothing else should run)",
    Chance::Clock,
    run,
)
.with(&[choices::ITEMS, choices::ROUNDS, choices::ONLY]);

const RATE: f64 = 0.01;
const SHARDS: usize = 64;
/// Keys of its own that a thread leaves in the filter.
const WINDOW: u64 = 200;
/// Percent of the operations that insert or remove, and how many times as much two threads should do
/// as one.
const MIXES: [(&str, u64, Option<f64>); 4] = [
    ("reads", 0, Some(1.7)),
    ("95/5", 5, Some(1.6)),
    ("50/50", 50, Some(1.3)),
    ("updates", 100, None),
];
/// The most that sharing should cost one thread, as a multiple of the plain filter's time.
const MOST_FOR_ONE: [(usize, &str, f64); 2] = [(0, "lookups", 1.25), (3, "updates", 1.4)];
const PLAIN: &str = "ElasticFilter, one thread";
const SHARED: &str = "SharedFilter";

trait Target {
    fn has(&self, hash: KeyHash) -> bool;
    fn add(&mut self, hash: KeyHash);
    fn remove(&mut self, hash: KeyHash) -> bool;
}

/// One thread's own filter, or a handle to a shared one: the same code takes both.
struct Ours<F>(F);

impl<F: Insert + Remove> Target for Ours<F> {
    fn has(&self, hash: KeyHash) -> bool {
        self.0.contains_hash(hash)
    }
    fn add(&mut self, hash: KeyHash) {
        let _ = self.0.insert_hash(hash);
    }
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.0.remove_hash(hash)
    }
}

/// Filters behind locks, each with its share of the keys.
#[derive(Clone, Copy)]
struct Locked<'a>(&'a [RwLock<ElasticFilter>]);

impl Locked<'_> {
    fn shard(&self, hash: KeyHash) -> &RwLock<ElasticFilter> {
        // Other bits than those by which filters place keys.
        let bits = hash.get().wrapping_mul(0xd6e8_feb8_6659_fd93) >> 58;
        &self.0[bits as usize % self.0.len()]
    }
}

impl Target for Locked<'_> {
    fn has(&self, hash: KeyHash) -> bool {
        self.shard(hash).read().unwrap_or_else(PoisonError::into_inner).contains_hash(hash)
    }
    fn add(&mut self, hash: KeyHash) {
        let _ = self.shard(hash).write().unwrap_or_else(PoisonError::into_inner).insert_hash(hash);
    }
    fn remove(&mut self, hash: KeyHash) -> bool {
        self.shard(hash).write().unwrap_or_else(PoisonError::into_inner).remove_hash(hash)
    }
}

/// Cannot remove.
impl Target for &fastbloom::AtomicBloomFilter<FixedState> {
    fn has(&self, hash: KeyHash) -> bool {
        self.contains(&hash.get())
    }
    fn add(&mut self, hash: KeyHash) {
        self.insert(&hash.get());
    }
    fn remove(&mut self, _: KeyHash) -> bool {
        true
    }
}

impl Target for &dashmap::DashSet<u64, FixedState> {
    fn has(&self, hash: KeyHash) -> bool {
        self.contains(&hash.get())
    }
    fn add(&mut self, hash: KeyHash) {
        self.insert(hash.get());
    }
    fn remove(&mut self, hash: KeyHash) -> bool {
        dashmap::DashSet::remove(self, &hash.get()).is_some()
    }
}

fn hash(number: u64) -> KeyHash {
    KeyHash::new(nth_key(0, number))
}

/// Looks up keys of which half are there, and inserts and removes its own. Returns the keys lost.
fn work(target: &mut impl Target, keys: u64, operations: u64, writes: u64, me: u64) -> usize {
    let (mut random, mut lost) = (fastrand::Rng::with_seed(me), 0);
    let (mut low, mut high) = (me << 40, me << 40);
    for number in 0..operations {
        if number % 100 < writes {
            if high - low >= WINDOW {
                lost += usize::from(!target.remove(hash(low)));
                low += 1;
            } else {
                target.add(hash(high));
                high += 1;
            }
        } else {
            let key = random.u64(..2 * keys);
            let found = target.has(hash(key));
            lost += usize::from(key < keys && !found);
        }
    }
    lost + (low..high).filter(|&key| !target.remove(hash(key))).count()
}

struct Measured {
    name: &'static str,
    insert: f64,
    bits: f64,
    /// By mix, for one thread and for two.
    times: Vec<[f64; 2]>,
    lost: usize,
}

struct Bench {
    keys: u64,
    operations: u64,
    rounds: usize,
}

impl Bench {
    fn measure<T: Target + Send>(
        &self,
        name: &'static str,
        mut handles: Vec<T>,
        bytes: impl FnOnce(&[T]) -> usize,
    ) -> Measured {
        let start = Instant::now();
        (0..self.keys).for_each(|key| handles[0].add(hash(key)));
        let insert = start.elapsed().as_nanos() as f64 / self.keys as f64;
        let bits = bytes(&handles) as f64 * 8.0 / self.keys as f64;
        let (mut times, mut lost) = (vec![[f64::INFINITY; 2]; MIXES.len()], 0);
        for round in 0..self.rounds as u64 {
            for (times, (_, writes, _)) in times.iter_mut().zip(MIXES) {
                for threads in 1..=handles.len() {
                    let start = Instant::now();
                    lost += thread::scope(|scope| {
                        let run = |(me, target)| {
                            let Self { keys, operations, .. } = *self;
                            let me = me + 4 * round;
                            scope.spawn(move || work(target, keys, operations, writes, me))
                        };
                        let all = (1u64..).zip(handles.iter_mut().take(threads));
                        let all: Vec<_> = all.map(run).collect();
                        all.into_iter().map(|one| one.join().unwrap_or(1)).sum::<usize>()
                    });
                    let time = start.elapsed().as_nanos() as f64;
                    let time = time / (threads as u64 * self.operations) as f64;
                    times[threads - 1] = times[threads - 1].min(time);
                }
            }
        }
        Measured { name, insert, bits, times, lost }
    }

    fn all(&self, settings: &Settings<'_>) -> anyhow::Result<Vec<Measured>> {
        let plain = || ElasticFilter::builder().false_positive_rate(RATE).seed(1).build();
        let mut all = Vec::new();
        let wants = |name: &str| {
            (settings.progress)(&format!("{name}, {} keys", self.keys));
            settings.wants(name)
        };
        let name = PLAIN;
        if wants(name) {
            let bytes = |handles: &[Ours<ElasticFilter>]| handles[0].0.size_in_bytes();
            all.push(self.measure(name, vec![Ours(plain()?)], bytes));
        }
        let name = SHARED;
        if wants(name) {
            let filter = SharedFilter::builder().false_positive_rate(RATE).seed(1).build()?;
            let handles = vec![Ours(&filter), Ours(&filter)];
            all.push(self.measure(name, handles, |_| filter.size_in_bytes()));
        }
        for (name, shards) in [("RwLock<ElasticFilter>", 1), ("64 shards, each an RwLock", SHARDS)]
        {
            if wants(name) {
                let filters = (0..shards).map(|_| plain().map(RwLock::new));
                let filters = &filters.collect::<Result<Vec<_>, _>>()?[..];
                let size = |filter: &RwLock<ElasticFilter>| {
                    filter.read().unwrap_or_else(PoisonError::into_inner).size_in_bytes()
                };
                let bytes = |_: &[_]| filters.iter().map(size).sum();
                all.push(self.measure(name, vec![Locked(filters); 2], bytes));
            }
        }
        let name = "fastbloom, atomic (no removal)";
        if wants(name) {
            let filter = fastbloom::AtomicBloomFilter::with_false_pos(RATE);
            let filter = filter.hasher(FixedState::default()).expected_items(self.keys as usize);
            all.push(self.measure(name, vec![&filter; 2], |_| filter.num_bits() / 8));
        }
        let name = "DashSet<u64>";
        if wants(name) {
            let set = dashmap::DashSet::with_hasher(FixedState::default());
            all.push(self.measure(name, vec![&set; 2], |_| set.capacity() * 9));
        }
        Ok(all)
    }

    /// Every lookup's time while another thread inserts as fast as it can.
    fn pauses(&self) -> anyhow::Result<[Pauses; 2]> {
        let filter = &SharedFilter::builder().false_positive_rate(RATE).seed(1).build()?;
        (0..self.keys).for_each(|key| Ours(filter).add(hash(key)));
        let is_done = &AtomicBool::new(false);
        let lookups = |pauses: &mut Pauses| {
            for number in 0..self.operations {
                let hash = hash(number.wrapping_mul(0x9e37_79b9) % (2 * self.keys));
                pauses.time(|| std::hint::black_box(filter.contains_hash(hash)));
            }
        };
        let mut all = [(); 2].map(|()| Pauses::with_capacity(self.operations as usize));
        lookups(&mut all[0]);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut next = 1 << 50;
                while !is_done.load(Ordering::Relaxed) {
                    Ours(filter).add(hash(next));
                    next += 1;
                }
            });
            lookups(&mut all[1]);
            is_done.store(true, Ordering::Relaxed);
        });
        Ok(all)
    }
}

/// What sharing costs one thread, and in memory.
fn beside_plain(keys: u64, plain: &Measured, shared: &Measured) -> Vec<Finding> {
    let mut findings: Vec<_> = MOST_FOR_ONE
        .iter()
        .map(|&(mix, what, most)| {
            let longer = shared.times[mix][0] / plain.times[mix][0];
            claim!("{keys} keys, one thread: {what} take at most {most} times the plain";
                "{longer:.2} times"; longer <= most;
                "every call takes a lock")
        })
        .collect();
    let more = (shared.bits / plain.bits - 1.0) * 100.0;
    findings.push(claim!("{keys} keys: at most 2 % more memory than the plain filter";
            "{more:.1} %"; more <= 2.0;
            "each part is as full as it happens to be"));
    findings
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let default = settings.pick(&[100_000][..], &[500_000, 16_000_000]);
    let (mut tables, mut findings, mut wrong_answers) = (Vec::new(), Vec::new(), 0);
    let mut pauses = Table::new(["keys", "beside", "p50", "p99", "p99.99", "longest"]);
    for keys in settings.list(choices::ITEMS, default)? {
        let rounds = settings.value(choices::ROUNDS, settings.pick(1, 3))?;
        let bench = Bench { keys, operations: settings.pick(100_000, 2_000_000), rounds };
        let all = bench.all(settings)?;
        let mut columns = vec!["filter".to_owned(), "bits per key".into(), "insert".into()];
        for (mix, ..) in MIXES {
            columns.extend([1, 2].map(|threads| format!("{mix}, {threads} threads")));
        }
        let mut table = Table::new(columns);
        for one in &all {
            let times = one.times.iter().flatten();
            let times = times.map(|&time| number(Some(time).filter(|time| time.is_finite()), 1));
            let first = [one.name.to_owned(), number(one.bits, 2), number(one.insert, 1)];
            table.row(first.into_iter().chain(times));
        }
        tables.push((format!("{keys} keys, wall nanoseconds per operation"), table));
        let of = |name: &str| all.iter().find(|one| one.name == name);
        if let (Some(plain), Some(shared)) = (of(PLAIN), of(SHARED)) {
            findings.extend(beside_plain(keys, plain, shared));
        }
        if let Some(shared) = of(SHARED) {
            wrong_answers += shared.lost;
            findings.extend(MIXES.iter().zip(&shared.times).filter_map(|(mix, times)| {
                let (wanted, faster) = (mix.2?, times[0] / times[1]);
                let finding = claim!("{keys} keys, {}: two threads do {wanted} times as much as \
                     one", mix.0;
                    "{faster:.2} times"; faster >= wanted);
                Some(finding.because("both cores share the memory, and whatever else runs"))
            }));
            for (beside, times) in ["nothing", "inserts"].into_iter().zip(bench.pauses()?) {
                let of = times.summary();
                let cells = [of.p50, of.p99, of.p9999, of.max].map(|time| time.to_string());
                pauses.row([keys.to_string(), beside.into()].into_iter().chain(cells));
            }
        }
    }
    tables.push(("one lookup of a SharedFilter, nanoseconds with the clock's".to_owned(), pauses));
    Ok(Outcome::of(findings).tables(tables).wrong(wrong_answers))
}
