//! Elastic filters of many kinds for a long time, each beside the exact multiset of its keys.
//!
//! The set rises and falls in tides between nothing and the most keys. Every key is looked up before
//! it is removed; at random times all keys are looked up, or the filter is saved and loaded, shrunk
//! to fit, or merged with another. A short run is part of the tests; `cargo xtask soak` sets
//! `CUCULUS_SOAK_OPERATIONS`, `CUCULUS_SOAK_SEED` and `CUCULUS_SOAK_ITEMS` for a long one.

use std::time::Instant;

use cuculus::conformance::Random;
use cuculus::{ElasticFilter, ElasticFilterBuilder, Filter, Insert, KeyHash, Persist, Remove};

/// Keys inserted and removed in the short run, by all filters together.
const OPERATIONS: u64 = 1_500_000;
/// The most keys in a filter of the short run.
const ITEMS: u64 = 20_000;
/// The most keys in a filter of a long run.
const LONG_ITEMS: u64 = 300_000;
/// The most entries that one operation may write.
const MOST_ENTRIES_WRITTEN: u32 = 4096;
/// The mean number of operations between events that concern all keys, as a share of the most keys.
const BETWEEN_EVENTS: f64 = 0.2;
/// Operations that a loaded copy goes through beside the original.
const SIDE_BY_SIDE: u32 = 3000;
/// One insertion of this many is a copy of a key that is there.
const COPIES: usize = 64;
const BATCH: usize = 256;

#[test]
fn every_kind_of_filter() {
    let operations = number("CUCULUS_SOAK_OPERATIONS");
    let items = if operations.is_some() { LONG_ITEMS } else { ITEMS };
    let items = number("CUCULUS_SOAK_ITEMS").unwrap_or(items) as usize;
    let seed = number("CUCULUS_SOAK_SEED").unwrap_or(1);
    let (operations, start) = (operations.unwrap_or(OPERATIONS), Instant::now());
    let kinds = kinds();
    let share = operations / kinds.len() as u64;
    for (at, (name, builder)) in (1..).zip(kinds) {
        let seed = seed.wrapping_mul(1 << 20).wrapping_add(at);
        let mut tide = Tide::new(name, &builder, seed, items);
        while tide.operations < share {
            tide.turn(share);
        }
        tide.end();
        let Tide { name, operations, largest, worst, written, loads, merges, .. } = tide;
        println!(
            "{name}: {operations} operations, {largest} keys at most, {worst:.3} of the rate, \
             {written} entries written at once, {loads} loads, {merges} merges"
        );
    }
    println!("{operations} operations in {:.1} s", start.elapsed().as_secs_f64());
}

/// Two runs with the same seed do the same, to the byte.
#[test]
fn a_tide_is_the_same_every_time() {
    let run = |seed| {
        let mut tide = Tide::new("default".to_owned(), &ElasticFilter::builder(), seed, 3000);
        while tide.operations < 20_000 {
            tide.turn(20_000);
        }
        tide.filter.to_bytes()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// A filter that loses a key is found out.
#[test]
#[should_panic(expected = "1 keys were not found")]
fn a_lost_key_is_seen() {
    let mut tide = Tide::new("default".to_owned(), &ElasticFilter::builder(), 3, 1000);
    (0..100).for_each(|_| tide.insert());
    let key = tide.keys[7];
    assert!(tide.filter.remove(&key));
    tide.look_up_all();
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is {text:?}; expected a number")))
}

fn kinds() -> Vec<(String, ElasticFilterBuilder)> {
    let mut kinds = Vec::new();
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5] {
        for (load, expected, spare) in [
            (0.915, 0, None),
            (0.915, 0, Some(0)),
            (0.915, 2000, Some(0)),
            (0.5, 0, None),
            (0.98, 0, Some(0)),
        ] {
            let builder = ElasticFilter::builder().false_positive_rate(rate).target_load(load);
            let builder = builder.expected_items(expected);
            let name = format!("rate {rate}, load {load}, expected {expected}, spare {spare:?}");
            let builder = spare.into_iter().fold(builder, ElasticFilterBuilder::spare_bytes);
            kinds.push((name, builder));
        }
    }
    kinds
}

/// A filter, its keys, and what was seen of both.
struct Tide {
    name: String,
    builder: ElasticFilterBuilder,
    filter: ElasticFilter,
    /// What was loaded, and for how many operations it still goes beside the original.
    beside: Option<(ElasticFilter, u32)>,
    random: Random,
    seed: u64,
    most: usize,
    /// Every occurrence of a key.
    keys: Vec<u64>,
    /// The number of the next key that was never inserted.
    next: u64,
    rate: f64,
    operations: u64,
    largest: usize,
    /// The highest expected rate, as a share of the one that it was built for.
    worst: f64,
    written: u32,
    loads: u64,
    merges: u64,
}

/// Which keys are removed first.
#[derive(Clone, Copy)]
enum Order {
    Any,
    Newest,
    Oldest,
}

impl Tide {
    fn new(name: String, builder: &ElasticFilterBuilder, seed: u64, most: usize) -> Self {
        let builder = builder.clone().seed(seed);
        let filter = builder.build().expect("valid parameters");
        Self {
            name,
            rate: filter.false_positive_rate(),
            builder,
            filter,
            beside: None,
            random: Random::new(seed),
            seed,
            most,
            keys: Vec::new(),
            next: 0,
            operations: 0,
            largest: 0,
            worst: 0.0,
            written: 0,
            loads: 0,
            merges: 0,
        }
    }

    #[track_caller]
    fn check(&self, right: bool, what: impl FnOnce() -> String) {
        let Self { name, seed, operations, .. } = self;
        let held = self.keys.len();
        assert!(right, "{}: {name}, seed {seed}, operation {operations}, {held} keys", what());
    }

    /// A number below one.
    fn share(&mut self) -> f64 {
        (self.random.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One tide, to a size of any order of magnitude, with events on the way.
    fn turn(&mut self, share: u64) {
        let high = (self.most as f64).log2();
        let goal = match self.random.below(8) {
            0 => 0,
            _ => (self.share() * high).exp2() as usize,
        };
        let order = [Order::Any, Order::Newest, Order::Oldest][self.random.below(3)];
        let rising = goal > self.keys.len();
        // Some tides go straight, others to and fro.
        let straight = 50 + self.random.below(51);
        let between = (2.0 * BETWEEN_EVENTS * self.most as f64) as usize;
        while self.operations < share
            && rising == (goal > self.keys.len())
            && goal != self.keys.len()
        {
            for _ in 0..=self.random.below(between.max(1)) {
                if (self.random.below(100) < straight) == rising {
                    self.insert();
                } else {
                    self.remove(order);
                }
                if self.keys.len() == goal {
                    break;
                }
            }
            self.event();
        }
        self.look();
    }

    /// A key that was never inserted.
    fn fresh(&mut self) -> u64 {
        self.next += 1;
        // One to one, so keys do not repeat.
        let x = (self.seed << 40).wrapping_add(self.next).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 32)
    }

    fn insert(&mut self) {
        self.operations += 1;
        let copy = self.random.below(COPIES) == 0 && !self.keys.is_empty();
        let key = match copy {
            // Half of them of a few keys, which so have hundreds.
            true => {
                let most = if self.random.below(2) == 0 { 4 } else { usize::MAX };
                self.keys[self.random.below(self.keys.len().min(most))]
            }
            false => self.fresh(),
        };
        let outcome = self.filter.insert(&key);
        match &outcome {
            Ok(()) => self.keys.push(key),
            Err(full) => self.check(false, || full.to_string()),
        }
        let same = self.beside.as_mut().is_none_or(|(beside, _)| beside.insert(&key) == outcome);
        self.after_an_operation(same);
    }

    fn remove(&mut self, order: Order) {
        let Some(last) = self.keys.len().checked_sub(1) else { return };
        self.operations += 1;
        let at = match order {
            Order::Any => self.random.below(last + 1),
            Order::Newest => last,
            Order::Oldest => self.random.below(last / 32 + 1),
        };
        let key = self.keys.swap_remove(at);
        let hash = self.filter.hasher().hash(&key);
        self.check(self.filter.contains_hash(hash), || "a key was not found".to_owned());
        let removed = self.filter.remove_hash(hash);
        self.check(removed, || "a key could not be removed".to_owned());
        let same = self.beside.as_mut().is_none_or(|(beside, _)| beside.remove_hash(hash));
        self.after_an_operation(same);
    }

    fn after_an_operation(&mut self, same: bool) {
        let held = self.filter.len();
        self.check(held == self.keys.len(), || format!("a length of {held}"));
        self.check(same, || "the loaded copy answered otherwise".to_owned());
        if let Some((_, left)) = &mut self.beside {
            *left -= 1;
            if *left == 0 {
                self.compare();
            }
        }
    }

    /// Goes on with what was loaded, which must be the same to the byte.
    fn compare(&mut self) {
        if let Some((beside, _)) = self.beside.take() {
            let same = beside.to_bytes() == self.filter.to_bytes();
            self.check(same, || "the loaded copy went another way".to_owned());
            self.note_written();
            self.filter = beside;
        }
    }

    /// The figures that must stay in their bounds.
    fn look(&mut self) {
        let rate = self.filter.expected_false_positive_rate();
        self.largest = self.largest.max(self.filter.len());
        self.worst = self.worst.max(rate / self.rate);
        self.check(rate <= self.rate, || format!("a rate of {rate}"));
        self.note_written();
    }

    fn note_written(&mut self) {
        let written = self.filter.stats().most_entries_written;
        self.check(written <= MOST_ENTRIES_WRITTEN, || {
            format!("{written} entries written at once")
        });
        self.written = self.written.max(written);
    }

    fn event(&mut self) {
        self.look();
        self.compare();
        match self.random.below(6) {
            0 => self.look_up_all(),
            1 | 2 => self.beside = Some((self.loaded(), SIDE_BY_SIDE)),
            3 => {
                self.filter.shrink_to_fit();
                // That may write all entries. What is loaded counts from zero.
                self.filter = self.loaded();
                self.look();
            }
            4 => self.merge(),
            _ => self.insert_batches(),
        }
    }

    fn loaded(&mut self) -> ElasticFilter {
        self.loads += 1;
        ElasticFilter::from_bytes(&self.filter.to_bytes()).expect("its own bytes")
    }

    fn look_up_all(&mut self) {
        let mut hits = Vec::new();
        self.filter.contains_keys(&self.keys, &mut hits);
        let missing = hits.iter().filter(|&&hit| !hit).count();
        self.check(missing == 0, || format!("{missing} keys were not found"));
    }

    fn merge(&mut self) {
        let mut other = self.builder.build().expect("valid parameters");
        let count = (self.share() * 12.0).exp2() as usize;
        let mut keys: Vec<u64> = (0..count).map(|_| self.fresh()).collect();
        keys.retain(|key| other.insert(key).is_ok());
        let room = self.rate
            >= self.filter.expected_false_positive_rate() + other.expected_false_positive_rate();
        match self.filter.merge(&other) {
            Ok(()) => {
                self.merges += 1;
                self.operations += count as u64;
                self.keys.append(&mut keys);
                self.check(room, || "merged beyond the rate".to_owned());
            }
            Err(error) => self.check(!room, || error.to_string()),
        }
    }

    fn insert_batches(&mut self) {
        for _ in 0..8 {
            let keys: Vec<u64> = (0..BATCH).map(|_| self.fresh()).collect();
            let hasher = self.filter.hasher();
            let hashes: Vec<KeyHash> = keys.iter().map(|key| hasher.hash(key)).collect();
            let outcome = self.filter.insert_batch(&hashes);
            self.check(outcome.is_ok(), || format!("{outcome:?}"));
            self.operations += keys.len() as u64;
            self.keys.extend(keys);
        }
    }

    /// All keys are looked up and removed; an empty filter is left, the same as a new one.
    fn end(&mut self) {
        self.compare();
        self.look_up_all();
        self.look();
        while !self.keys.is_empty() {
            self.remove(Order::Any);
        }
        self.look();
        let new = self.builder.build().expect("valid parameters");
        let same = self.filter.clone().to_bytes() == new.to_bytes();
        self.check(same, || "something stayed behind".to_owned());
    }
}
