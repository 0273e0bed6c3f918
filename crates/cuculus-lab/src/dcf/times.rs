//! How long a key takes in a list of filters, by the number of keys and by the length of the list
//! (Figs. 10 to 15), beside filters that are no lists.

use std::hint::black_box;
use std::path::PathBuf;

use clap::Args;
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Resizing};
use cuculus::{CuckooFilter, ElasticFilter, Insert, Remove};
use cuculus_baselines::DynamicBloomFilter;
use serde::Serialize;
use serde_json::json;

use super::{Line, RATE, SLOTS, buckets_for, fingerprint_bits, paper_list};
use crate::clock::{nanoseconds, timed};
use crate::keys::Workload;
use crate::machine::processor;
use crate::report;
use crate::verdict::{self, Verdict};
use cuculus_page::table::{Table, number, percent};

/// How much.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of keys for a list of six filters, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [8064, 16_128, 32_256, 46_080, 64_512])]
    pub items: Vec<usize>,
    /// Lengths of the list for 46,080 keys, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [3, 6, 12, 24, 48, 96])]
    pub lengths: Vec<usize>,
    /// Rounds; the best of them counts.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// Questions of each kind in a round.
    #[arg(long, default_value_t = 100_000)]
    pub queries: usize,
    /// The seed of the keys and of the filters.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The paper's number of keys while the list gets longer.
pub(crate) const KEYS: usize = 46_080;
/// And of filters while the keys get more.
pub(crate) const FILTERS: usize = 6;
/// Times as long as the shortest list's that an insertion may take to be called independent of it.
pub(crate) const NEARLY_THE_SAME: f64 = 1.25;
/// The share of the variance that a line must explain for times to be called linear.
pub(crate) const LINEAR: f64 = 0.98;
pub(crate) const NAMES: [&str; 5] = ["DCF", DBF, "CuckooFilter", "CCF_B", "ElasticFilter"];
/// The one that cannot remove every key.
const DBF: &str = "DBF";

/// What a filter took, in nanoseconds a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Times {
    pub(crate) insert: f64,
    pub(crate) hit: f64,
    pub(crate) miss: f64,
    pub(crate) mixed: f64,
    /// The mixed questions, many at a time.
    pub(crate) batched: f64,
    /// All keys in random order.
    pub(crate) remove: f64,
    pub(crate) bits_per_key: f64,
    pub(crate) false_positive_rate: f64,
    /// Keys that were taken and not found, or not taken.
    pub(crate) wrong: usize,
    /// Keys that stayed when all were removed.
    pub(crate) left: usize,
}

impl Times {
    fn best(&self, other: &Self) -> Self {
        Self {
            insert: self.insert.min(other.insert),
            hit: self.hit.min(other.hit),
            miss: self.miss.min(other.miss),
            mixed: self.mixed.min(other.mixed),
            batched: self.batched.min(other.batched),
            remove: self.remove.min(other.remove),
            wrong: self.wrong.max(other.wrong),
            left: self.left.max(other.left),
            ..*self
        }
    }
}

/// The same keys in every filter.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) keys: usize,
    pub(crate) filters: usize,
    pub(crate) buckets: u64,
    /// In the order of the names.
    pub(crate) times: Vec<Times>,
}

/// Times the filters and prints what a key takes.
///
/// Returns whether no filter gave a wrong answer.
///
/// # Errors
/// If a filter cannot be built, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    println!(
        "How long does a key take in a list of filters, by its keys and by its length?\n\
         Nanoseconds a key, one thread, best of {}, on {}.\n",
        options.rounds.max(1),
        processor()
    );
    let told = |part: &str| eprintln!("{part}");
    let (by_keys, by_length) = (by_keys(options, &told)?, by_length(options, &told)?);
    println!("Six filters, more and more keys\n{}", table(&by_keys));
    println!("{KEYS} keys, more and more filters\n{}", table(&by_length));
    println!("{}", lines(&by_length));
    let verdicts = verdicts(&by_keys, &by_length);
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({ "rounds": options.rounds, "queries": options.queries, "rate": RATE,
            "seed": options.seed });
        let results = json!({ "filters": NAMES, "by_keys": by_keys, "by_length": by_length });
        report::write(path, &asked, &results, &verdicts)?;
    }
    let right =
        |(name, times): (&&str, &Times)| times.wrong == 0 && (times.left == 0 || *name == DBF);
    let mut points = by_keys.iter().chain(&by_length);
    Ok(points.all(|point| NAMES.iter().zip(&point.times).all(right)))
}

/// Lists of six filters with more and more keys.
pub(crate) fn by_keys(options: &Options, told: &dyn Fn(&str)) -> anyhow::Result<Vec<Point>> {
    options.items.iter().map(|&keys| measure(options, keys, FILTERS, told)).collect()
}

/// Longer and longer lists of the same keys.
pub(crate) fn by_length(options: &Options, told: &dyn Fn(&str)) -> anyhow::Result<Vec<Point>> {
    options.lengths.iter().map(|&filters| measure(options, KEYS, filters.max(1), told)).collect()
}

/// Every filter in turn within a round, so that a slow minute hits all alike.
fn measure(
    options: &Options,
    keys: usize,
    filters: usize,
    told: &dyn Fn(&str),
) -> anyhow::Result<Point> {
    let buckets = buckets_for(keys.div_ceil(filters));
    told(&format!("{keys} keys, {filters} filters of {buckets} buckets"));
    let work = Workload::<u64>::new(options.seed, keys, options.queries);
    let list = paper_list(keys, filters, buckets).seed(options.seed);
    // The same keys in as many filters, and the same rate.
    let bloom = DynamicBloomFilter::builder()
        .capacity(keys)
        .capacity_per_filter(keys.div_ceil(filters))
        .false_positive_rate(RATE)
        .seed(options.seed);
    // As many slots as the whole list, of as many bits.
    let fixed = CuckooFilter::builder()
        .buckets(buckets * filters as u64)
        .slots_per_bucket(SLOTS)
        .fingerprint_bits(fingerprint_bits(filters))
        .seed(options.seed);
    let consistent = ConsistentCuckooFilter::builder()
        .capacity(keys)
        .false_positive_rate(RATE)
        .resizing(Resizing::Buckets)
        .seed(options.seed);
    let elastic = ElasticFilter::builder().false_positive_rate(RATE).seed(options.seed);
    let mut best: Vec<Times> = Vec::new();
    for _ in 0..options.rounds.max(1) {
        let times = vec![
            time::<DynamicCuckooFilter>(list.build()?, &work),
            time::<DynamicBloomFilter>(bloom.build()?, &work),
            time::<CuckooFilter>(fixed.build()?, &work),
            time::<ConsistentCuckooFilter>(consistent.build()?, &work),
            time::<ElasticFilter>(elastic.build()?, &work),
        ];
        best = match best.is_empty() {
            true => times,
            false => best.iter().zip(&times).map(|(best, times)| best.best(times)).collect(),
        };
    }
    Ok(Point { keys, filters, buckets, times: best })
}

fn time<F: Insert + Remove>(mut filter: F, work: &Workload<u64>) -> Times {
    let count = |filter: &F, keys: &[u64]| {
        black_box(keys.iter().filter(|key| filter.contains(*key)).count())
    };
    let keys = work.keys.len();
    let (insert, taken) =
        timed(|| work.keys.iter().filter(|key| filter.insert(*key).is_ok()).count());
    let bits_per_key = filter.size_in_bytes() as f64 * 8.0 / keys as f64;
    let lost = taken - count(&filter, &work.keys);
    let (hit, _) = timed(|| count(&filter, &work.present));
    let (miss, found) = timed(|| count(&filter, &work.absent));
    let (mixed, _) = timed(|| count(&filter, &work.mixed));
    let mut hits = Vec::with_capacity(work.mixed.len());
    let (batched, ()) = timed(|| filter.contains_keys(black_box(&work.mixed), &mut hits));
    let (remove, removed) =
        timed(|| work.shuffled().iter().filter(|key| filter.remove(*key)).count());
    Times {
        insert: nanoseconds(keys, insert),
        hit: nanoseconds(work.present.len(), hit),
        miss: nanoseconds(work.absent.len(), miss),
        mixed: nanoseconds(work.mixed.len(), mixed),
        batched: nanoseconds(work.mixed.len(), batched),
        remove: nanoseconds(keys, remove),
        bits_per_key,
        false_positive_rate: found as f64 / work.absent.len() as f64,
        wrong: (keys - taken) + lost,
        left: taken - removed,
    }
}

pub(crate) fn table(points: &[Point]) -> Table {
    let mut table = Table::new([
        "filter", "keys", "filters", "buckets", "insert", "hit", "miss", "mixed", "batched",
        "remove", "bits/key", "FPR %", "wrong", "left",
    ]);
    for point in points {
        for (name, times) in NAMES.iter().zip(&point.times) {
            let is_list = [NAMES[0], DBF].contains(name);
            let size = |size: u64, shown| if shown { size.to_string() } else { "-".to_owned() };
            let mut cells = vec![(*name).to_owned(), point.keys.to_string()];
            cells.extend([
                size(point.filters as u64, is_list),
                size(point.buckets, *name == NAMES[0]),
            ]);
            let Times { insert, hit, miss, mixed, batched, remove, .. } = *times;
            let speeds = [insert, hit, miss, mixed, batched, remove];
            cells.extend(speeds.map(|nanoseconds| number(Some(nanoseconds), 1)));
            cells.push(number(Some(times.bits_per_key), 2));
            cells.push(percent(times.false_positive_rate, 3));
            cells.extend([times.wrong, times.left].map(|count| count.to_string()));
            table.row(cells);
        }
    }
    table
}

/// A kind of operation, and where its time is.
pub(crate) type Operation = (&'static str, fn(&Times) -> f64);

pub(crate) const OPERATIONS: [Operation; 6] = [
    ("insert", |times| times.insert),
    ("hit", |times| times.hit),
    ("miss", |times| times.miss),
    ("mixed", |times| times.mixed),
    ("batched", |times| times.batched),
    ("remove", |times| times.remove),
];

/// The time of the list against its length.
pub(crate) fn line(points: &[Point], of: fn(&Times) -> f64) -> Option<Line> {
    let times = |point: &Point| Some((point.filters as f64, of(point.times.first()?)));
    Line::through(&points.iter().filter_map(times).collect::<Vec<_>>())
}

/// What one more filter costs the list.
pub(crate) fn lines(by_length: &[Point]) -> Table {
    let mut table = Table::new(["DCF, by its length", "ns a filter", "ns with none", "R²"]);
    for (name, of) in OPERATIONS {
        let line = line(by_length, of);
        table.row([
            name.to_owned(),
            number(line.map(|line| line.slope), 3),
            number(line.map(|line| line.start), 1),
            number(line.map(|line| line.r_squared), 4),
        ]);
    }
    table
}

fn verdicts(by_keys: &[Point], by_length: &[Point]) -> Vec<Verdict> {
    let dcf: Vec<&Times> = by_length.iter().filter_map(|point| point.times.first()).collect();
    let ends = dcf.first().zip(dcf.last());
    let longer = ends.map(|(first, last)| last.insert / first.insert);
    let mut verdicts = vec![Verdict::at_most(
        "insert nearly independent of s: longest over shortest list",
        longer,
        NEARLY_THE_SAME,
    )];
    for (name, of) in OPERATIONS.into_iter().filter(|(name, _)| *name != "insert") {
        let r_squared = line(by_length, of).map(|line| line.r_squared);
        verdicts.push(Verdict::at_least(format!("{name} linear in s: R²"), r_squared, LINEAR));
    }
    let slopes = line(by_length, |times| times.hit).zip(line(by_length, |times| times.miss));
    let half = slopes.map(|(hit, miss)| hit.slope / miss.slope);
    verdicts.push(Verdict::at_most(
        "a hit asks half of the filters: slope over a miss's",
        half,
        0.6,
    ));
    let rate = by_keys.iter().chain(by_length).filter_map(|point| point.times.first());
    let rate = rate.map(|times| times.false_positive_rate).fold(0.0, f64::max);
    verdicts.push(Verdict::at_most(
        "DCF: largest false positive rate in %",
        Some(100.0 * rate),
        100.0 * RATE,
    ));
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_lists_are_timed_and_give_no_wrong_answer() {
        let (items, lengths) = (vec![2000], vec![2, 4]);
        let options = Options { items, lengths, rounds: 2, queries: 2000, seed: 1, json: None };
        let point = measure(&options, 2000, 4, &|_| ()).unwrap();
        assert_eq!(point.times.len(), NAMES.len());
        assert!(point.times.iter().all(|times| times.wrong == 0 && times.insert > 0.0));
        let mut named = NAMES.iter().zip(&point.times);
        assert!(named.all(|(name, times)| times.left == 0 || *name == DBF));
        assert!(point.times.iter().all(|times| times.false_positive_rate < 0.03));
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let point = |filters: usize, insert, each: f64| {
            let miss = 10.0 + each * filters as f64;
            let (hit, mixed, batched, remove) = (miss / 2.0, miss, miss, miss);
            let times = Times { insert, hit, miss, mixed, batched, remove, ..Times::default() };
            Point { keys: 1, filters, buckets: 1, times: vec![times] }
        };
        let words = |points: &[Point]| -> Vec<_> {
            verdicts(&[], points).iter().map(Verdict::word).collect()
        };
        let good = [point(3, 50.0, 2.0), point(6, 51.0, 2.0), point(12, 55.0, 2.0)];
        assert_eq!(words(&good), ["PASS"; 8]);
        let bad = [point(3, 50.0, 2.0), point(6, 51.0, 9.0), point(12, 90.0, 1.0)];
        assert_eq!(words(&bad)[..3], ["MISS"; 3]);
    }
}
