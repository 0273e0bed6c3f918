//! Elastic filters of many kinds for a long time, each beside the exact multiset of its keys.
//!
//! The set rises and falls in tides between nothing and some hundred thousand keys. Every key is
//! asked for before it is removed; now and then all keys are asked for, and the filter is saved and
//! loaded, made to fit, or merged with another.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;
use cuculus::{
    ElasticFilter, ElasticFilterBuilder, Filter, FullCause, Insert, KeyHash, Persist, Remove,
};

use crate::keys::WorkKey;
use cuculus_page::table::{Table, number, percent};

/// How long.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Keys inserted and removed, by all filters together.
    #[arg(long, default_value_t = 100_000_000)]
    pub operations: u64,
    /// Where the random numbers start.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The most keys in a filter.
    #[arg(long, default_value_t = 300_000)]
    pub items: usize,
}

/// The most entries that one operation may write.
const MOST_ENTRIES_WRITTEN: u32 = 8192;
/// Operations, in the mean, between events that concern all keys.
const BETWEEN_EVENTS: u64 = 60_000;
/// Operations that a loaded copy goes through beside the original.
const SIDE_BY_SIDE: u32 = 3000;
/// One of so many inserts is a copy of a key that is there.
const COPIES: u64 = 64;
const BATCH: usize = 256;

/// A filter and how it is called.
struct Kind {
    name: String,
    builder: ElasticFilterBuilder,
}

fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for rate in [0.05, 0.01, 0.001, 1e-4, 1e-5] {
        for (load, expected, spare) in [
            (0.915, 0, None),
            (0.915, 0, Some(0)),
            (0.915, 2000, Some(0)),
            (0.5, 0, None),
            (0.96, 0, Some(0)),
        ] {
            let builder = ElasticFilter::builder().false_positive_rate(rate).target_load(load);
            let builder = builder.expected_items(expected);
            let mut name = format!("{} % load {load}", percent(rate, 3));
            if expected > 0 {
                name += &format!(" expected {expected}");
            }
            let builder = match spare {
                None => builder,
                Some(bytes) => {
                    name += " spare 0";
                    builder.spare_bytes(bytes)
                }
            };
            kinds.push(Kind { name, builder });
        }
    }
    kinds
}

/// Runs all filters, prints a table of what they did, and tells whether nothing was wrong.
///
/// # Errors
/// If a filter cannot be built.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    let kinds = kinds();
    let start = Instant::now();
    let mut table = Table::new([
        "filter",
        "operations",
        "largest",
        "elders",
        "worst rate",
        "written",
        "loads",
        "merges",
        "lost",
        "refused",
        "not taken",
        "wrong",
    ]);
    let mut progress = Progress::new(options.operations);
    let (mut operations, mut faults, mut complaints) = (0, 0, Vec::new());
    for (number_of, kind) in (1..).zip(&kinds) {
        let share = options.operations / kinds.len() as u64;
        let seed = options.seed.wrapping_mul(1 << 20).wrapping_add(number_of);
        let mut tide = Tide::new(&kind.builder, seed, options.items)?;
        while tide.operations < share {
            tide.turn(share)?;
            progress.show(operations + tide.operations, &kind.name);
        }
        tide.end();
        operations += tide.operations;
        faults += tide.faults();
        complaints.extend(tide.complaint.take().map(|words| format!("{}: {words}", kind.name)));
        table.row(tide.row(&kind.name));
    }
    progress.clear();
    println!("{table}");
    for complaint in &complaints {
        println!("{complaint}");
    }
    let speed = operations as f64 / start.elapsed().as_secs_f64() / 1e6;
    let verdict = if faults == 0 { "PASS" } else { "MISS" };
    println!(
        "{verdict}: {operations} operations on {} filters, {faults} faults, {} million a second",
        kinds.len(),
        number(Some(speed), 2)
    );
    Ok(faults == 0)
}

/// A filter, its keys, and what was seen of both.
struct Tide {
    builder: ElasticFilterBuilder,
    filter: ElasticFilter,
    /// What was loaded, and for how many operations it still goes beside the original.
    beside: Option<(ElasticFilter, u32)>,
    random: fastrand::Rng,
    seed: u64,
    most: usize,
    /// Every occurrence of a key.
    keys: Vec<u64>,
    /// The number of the next key that never was there.
    next: u64,
    rate: f64,
    operations: u64,
    largest: usize,
    elders: usize,
    worst: f64,
    written: u32,
    loads: u64,
    merges: u64,
    lost: u64,
    refused: u64,
    not_taken: u64,
    wrong: u64,
    /// The first thing that went wrong.
    complaint: Option<String>,
}

/// Which keys go first.
#[derive(Clone, Copy)]
enum Order {
    Any,
    Newest,
    Oldest,
}

impl Tide {
    fn new(builder: &ElasticFilterBuilder, seed: u64, most: usize) -> anyhow::Result<Self> {
        let builder = builder.clone().seed(seed);
        let filter = builder.build()?;
        Ok(Self {
            rate: filter.false_positive_rate(),
            builder,
            filter,
            beside: None,
            random: fastrand::Rng::with_seed(seed),
            seed,
            most,
            keys: Vec::new(),
            next: 0,
            operations: 0,
            largest: 0,
            elders: 0,
            worst: 0.0,
            written: 0,
            loads: 0,
            merges: 0,
            lost: 0,
            refused: 0,
            not_taken: 0,
            wrong: 0,
            complaint: None,
        })
    }

    fn faults(&self) -> u64 {
        self.lost + self.refused + self.not_taken + self.wrong
    }

    #[cold]
    fn complain(&mut self, words: impl Display) {
        if self.complaint.is_none() {
            let (operation, len) = (self.operations, self.keys.len());
            self.complaint = Some(format!("{words} (operation {operation}, {len} keys)"));
        }
    }

    #[cold]
    fn is_wrong(&mut self, words: impl Display) {
        self.wrong += 1;
        self.complain(words);
    }

    /// One tide, to a size of any order of magnitude, with events on the way.
    fn turn(&mut self, share: u64) -> anyhow::Result<()> {
        let high = (self.most as f64).log2();
        let goal =
            if self.random.u8(..8) == 0 { 0 } else { (self.random.f64() * high).exp2() as usize };
        let order = [Order::Any, Order::Newest, Order::Oldest][self.random.usize(..3)];
        let rising = goal > self.keys.len();
        // Some tides go straight, others to and fro.
        let straight = self.random.u8(50..=100);
        while self.operations < share
            && rising == (goal > self.keys.len())
            && goal != self.keys.len()
        {
            let for_now = self.random.u64(1..2 * BETWEEN_EVENTS);
            for _ in 0..for_now {
                if (self.random.u8(..100) < straight) == rising {
                    self.insert();
                } else {
                    self.remove(order);
                }
                if self.keys.len() == goal {
                    break;
                }
            }
            self.event()?;
        }
        self.look();
        Ok(())
    }

    fn fresh(&mut self) -> u64 {
        self.next += 1;
        u64::nth(self.seed, self.next)
    }

    fn insert(&mut self) {
        self.operations += 1;
        let copy = self.random.u64(..COPIES) == 0 && !self.keys.is_empty();
        let key = if copy { self.keys[self.random.usize(..self.keys.len())] } else { self.fresh() };
        let outcome = self.filter.insert(&key);
        match outcome {
            Ok(()) => self.keys.push(key),
            // As often as it fits.
            Err(full) if copy && matches!(full.cause, FullCause::EqualEntries { .. }) => {}
            Err(full) => {
                self.not_taken += 1;
                self.complain(full);
            }
        }
        let same = self.beside.as_mut().is_none_or(|(beside, _)| beside.insert(&key) == outcome);
        self.stepped(same);
    }

    fn remove(&mut self, order: Order) {
        let Some(last) = self.keys.len().checked_sub(1) else { return };
        self.operations += 1;
        let at = match order {
            Order::Any => self.random.usize(..=last),
            Order::Newest => last,
            Order::Oldest => self.random.usize(..=last / 32),
        };
        let key = self.keys.swap_remove(at);
        let hash = self.filter.hasher().hash(&key);
        if !self.filter.contains_hash(hash) {
            self.lost += 1;
            self.complain("a key was not found");
        }
        if !self.filter.remove_hash(hash) {
            self.refused += 1;
            self.complain("a key could not be removed");
        }
        let same = self.beside.as_mut().is_none_or(|(beside, _)| beside.remove_hash(hash));
        self.stepped(same);
    }

    /// What holds after every operation.
    fn stepped(&mut self, same: bool) {
        if self.filter.len() != self.keys.len() {
            let held = self.filter.len();
            self.is_wrong(format_args!("a length of {held}"));
        }
        if !same {
            self.is_wrong("what was loaded answers otherwise");
        }
        if let Some((_, left)) = &mut self.beside {
            *left -= 1;
            if *left == 0 {
                self.compare();
            }
        }
    }

    /// Goes on with what was loaded, if it is the same to the byte.
    fn compare(&mut self) {
        if let Some((beside, _)) = self.beside.take() {
            if beside.to_bytes() == self.filter.to_bytes() {
                self.note_written();
                self.filter = beside;
            } else {
                self.is_wrong("what was loaded went another way");
            }
        }
    }

    /// The figures that must stay in their bounds.
    fn look(&mut self) {
        let stats = self.filter.stats();
        self.largest = self.largest.max(stats.len);
        self.elders = self.elders.max(stats.elders);
        self.worst = self.worst.max(stats.expected_false_positive_rate / self.rate);
        if stats.expected_false_positive_rate > self.rate {
            self.is_wrong(format_args!("a rate of {}", stats.expected_false_positive_rate));
        }
        self.note_written();
    }

    fn note_written(&mut self) {
        let written = self.filter.stats().most_entries_written;
        if written > MOST_ENTRIES_WRITTEN && written > self.written {
            self.is_wrong(format_args!("{written} entries written at once"));
        }
        self.written = self.written.max(written);
    }

    fn event(&mut self) -> anyhow::Result<()> {
        self.look();
        self.compare();
        match self.random.u8(..6) {
            0 => self.ask_for_all(),
            1 | 2 => {
                if let Some(loaded) = self.loaded() {
                    self.beside = Some((loaded, SIDE_BY_SIDE));
                }
            }
            3 => {
                self.filter.shrink_to_fit();
                // That may write all entries. What is loaded starts to count anew.
                match self.loaded() {
                    Some(loaded) => self.filter = loaded,
                    None => self.filter = self.filter.clone(),
                }
                self.look();
            }
            4 => self.merge()?,
            _ => self.insert_batches(),
        }
        Ok(())
    }

    fn loaded(&mut self) -> Option<ElasticFilter> {
        self.loads += 1;
        match ElasticFilter::from_bytes(&self.filter.to_bytes()) {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                self.is_wrong(error);
                None
            }
        }
    }

    fn ask_for_all(&mut self) {
        let mut hits = Vec::new();
        self.filter.contains_keys(&self.keys, &mut hits);
        let missing = hits.iter().filter(|&&hit| !hit).count();
        if missing > 0 {
            self.lost += missing as u64;
            self.complain(format_args!("{missing} keys were not found"));
        }
    }

    fn merge(&mut self) -> anyhow::Result<()> {
        let mut other = self.builder.build()?;
        let count = (self.random.f64() * 12.0).exp2() as usize;
        let mut keys: Vec<u64> = (0..count).map(|_| self.fresh()).collect();
        keys.retain(|key| other.insert(key).is_ok());
        let room = self.rate
            >= self.filter.expected_false_positive_rate() + other.expected_false_positive_rate();
        match self.filter.merge(&other) {
            Ok(()) => {
                self.merges += 1;
                self.operations += count as u64;
                self.keys.append(&mut keys);
                if !room {
                    self.is_wrong("merged beyond the rate");
                }
            }
            Err(error) if room => {
                self.not_taken += 1;
                self.complain(error);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn insert_batches(&mut self) {
        for _ in 0..8 {
            let keys: Vec<u64> = (0..BATCH).map(|_| self.fresh()).collect();
            let hashes: Vec<KeyHash> =
                keys.iter().map(|key| self.filter.hasher().hash(key)).collect();
            let taken = match self.filter.insert_batch(&hashes) {
                Ok(()) => keys.len(),
                Err(full) => {
                    self.not_taken += 1;
                    self.complain(full);
                    full.inserted
                }
            };
            self.operations += taken as u64;
            self.keys.extend(&keys[..taken]);
        }
    }

    /// Everything once more, and then all keys are removed.
    fn end(&mut self) {
        self.compare();
        self.ask_for_all();
        self.look();
        while !self.keys.is_empty() {
            self.remove(Order::Any);
        }
        self.look();
        let new = self.builder.build().map(|filter| filter.to_bytes());
        if self.filter.clone().to_bytes() != new.unwrap_or_default() {
            self.is_wrong("something stayed behind");
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let numbers = [self.operations, self.largest as u64, self.elders as u64];
        let mut cells = vec![name.to_owned()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.push(number(Some(self.worst), 3));
        cells.push(self.written.to_string());
        let faults = [self.lost, self.refused, self.not_taken, self.wrong];
        let counts = [self.loads, self.merges].into_iter().chain(faults);
        cells.extend(counts.map(|number| number.to_string()));
        cells
    }
}

/// A line on standard error that says how far it is, where somebody is watching.
struct Progress {
    all: u64,
    shown: Option<Instant>,
}

impl Progress {
    fn new(all: u64) -> Self {
        Self { all, shown: io::stderr().is_terminal().then(Instant::now) }
    }

    fn show(&mut self, done: u64, name: &str) {
        if let Some(shown) = &mut self.shown
            && shown.elapsed() > Duration::from_millis(200)
        {
            *shown = Instant::now();
            let share = percent(done as f64 / self.all as f64, 0);
            let _ = write!(io::stderr(), "\r\x1b[K{share} %  {name}");
        }
    }

    fn clear(&self) {
        if self.shown.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short run, to see that the experiment itself works and is repeatable.
    #[test]
    fn a_tide_is_the_same_every_time() {
        let run = |seed| {
            let builder = ElasticFilter::builder();
            let mut tide = Tide::new(&builder, seed, 3000).expect("valid");
            while tide.operations < 20_000 {
                tide.turn(20_000).expect("valid");
            }
            tide.ask_for_all();
            assert_eq!((tide.lost, tide.refused), (0, 0), "{:?}", tide.complaint);
            (tide.filter.to_bytes(), tide.row(""))
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1).0, run(2).0);
    }

    /// A filter that loses a key is found out.
    #[test]
    fn a_lost_key_is_counted() {
        let mut tide = Tide::new(&ElasticFilter::builder(), 3, 1000).expect("valid");
        (0..100).for_each(|_| tide.insert());
        let key = tide.keys[7];
        assert!(tide.filter.remove(&key));
        tide.ask_for_all();
        assert_eq!(tide.lost, 1);
        while !tide.keys.is_empty() {
            tide.remove(Order::Newest);
        }
        assert!(tide.lost == 2 && tide.refused == 1 && tide.wrong > 0 && tide.faults() > 3);
        assert!(tide.complaint.is_some());
    }
}
