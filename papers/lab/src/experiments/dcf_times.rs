//! How long a key takes in a list of filters, by the number of keys and by the length of the list,
//! beside other filters: Figs. 10 to 15 of the Dynamic Cuckoo Filter paper.

use cuculus::lab::Search;
use cuculus::{CuckooFilter, ElasticFilter};
use cuculus_papers::DynamicCuckooFilterBuilder;
use cuculus_papers::baselines::DynamicBloomFilter;

use super::dcf_list::{
    FILTERS, KEYS, LINEAR, RATE, SLOTS, buckets_for, fingerprint_bits, paper_list,
};
use crate::candidate::planned;
use crate::line::Line;
use crate::prelude::*;
use crate::subject::Subject;

pub(super) const TIMES: Experiment = Experiment::paper(
    ("dcf-times", "Times of a list of filters"),
    "How long do an insertion, a lookup and a removal take, by the number of keys and by the \
     length of the list? (DCF Figs. 10-15; rate 1.17 %)",
    Chance::Clock,
    run,
);

/// An insertion is called independent of the length if it takes at most this many times as long as
/// in the shortest list.
const NEARLY_THE_SAME: f64 = 1.25;
/// A claimed gain holds if this share of it is measured.
const OF_THE_GAIN: f64 = 0.8;
/// A hit looks into half of the filters; its cost per filter is at most this share of a miss's.
const HIT_OVER_MISS: f64 = 0.6;
const NAMES: [&str; 5] = ["DCF", DBF, "CF", "elastic", ONE_LENGTH];
/// The one that cannot remove every key.
const DBF: &str = "DBF";
/// A list whose entries are as long as those of the longest list: with the same rate for all, they
/// get longer with the list, and some lengths are faster to search than others.
const ONE_LENGTH: &str = "DCF, 15 bits";
const LONGEST_ENTRY: u32 = 15;

/// Seeds that rates are measured with, in turn.
const SEEDS: usize = 5;
/// What is timed: its place in a list of times, and its name.
type Act = usize;
const ACTS: [&str; 6] = ["insert", "hit", "miss", "mixed", "batched", "remove"];
const INSERT: Act = 0;
const HIT: Act = 1;
const MISS: Act = 2;
const MIXED: Act = 3;
const REMOVE: Act = 5;

/// What the paper draws, and how much faster its DCF is than a DBF: half of the lookups are for
/// keys that are there.
const DRAWN: [(Act, &str, f64); 3] =
    [(INSERT, "insertion", 0.5), (MIXED, "lookup", 0.8), (REMOVE, "removal", 0.25)];

#[derive(Clone, Debug, Default, PartialEq)]
struct Times {
    by_act: [f64; ACTS.len()],
    /// Bits per key and false positives of each seed.
    by_seed: Vec<[f64; 2]>,
    /// Absent keys that were looked up with each seed.
    probes: usize,
    /// Keys that were taken and not found, or not taken.
    wrong: usize,
    /// Keys that stayed when all were removed.
    left: usize,
}

impl Times {
    fn of(&self, act: Act) -> f64 {
        self.by_act[act]
    }

    fn best(&self, other: &Self) -> Self {
        Self {
            by_act: std::array::from_fn(|at| self.by_act[at].min(other.by_act[at])),
            wrong: self.wrong.max(other.wrong),
            left: self.left.max(other.left),
            by_seed: self.by_seed.iter().chain(&other.by_seed).take(SEEDS).copied().collect(),
            probes: self.probes,
        }
    }

    /// Bits per key and the rate, in the mean over the seeds.
    fn means(&self) -> [f64; 2] {
        let count = self.by_seed.len().max(1) as f64;
        [0, 1].map(|at| self.by_seed.iter().map(|seen| seen[at]).sum::<f64>() / count)
    }

    fn false_positive_rate(&self) -> f64 {
        self.means()[1]
    }

    /// The rate without what chance may have added: three standard errors.
    fn certain_rate(&self) -> f64 {
        let (rate, all) = (self.false_positive_rate(), self.by_seed.len() * self.probes);
        rate - 3.0 * (rate / all.max(1) as f64).sqrt()
    }
}

struct Point {
    work: Workload,
    filters: usize,
    buckets: u64,
    seed: u64,
    times: Vec<Times>,
}

impl Point {
    fn keys(&self) -> usize {
        self.work.keys.len()
    }

    fn of(&self, name: &str, act: Act) -> f64 {
        NAMES.iter().zip(&self.times).find(|(of, _)| **of == name).map_or(0.0, |(_, of)| of.of(act))
    }

    /// Wrong answers; a dynamic Bloom filter may keep what was removed.
    fn wrong_answers(&self) -> usize {
        let wrong = |(name, times): (&&str, &Times)| {
            times.wrong + if *name == DBF { 0 } else { times.left }
        };
        NAMES.iter().zip(&self.times).map(wrong).sum()
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let items = [8064, 16_128, 32_256, 46_080, 64_512];
    let lengths = settings.pick(&[3, 6, 12, 24, 48][..], &[3, 6, 12, 24, 48, 96]);
    let cases = items.iter().map(|&keys| (keys, FILTERS));
    let cases = cases.chain(lengths.iter().map(|&filters| (KEYS, filters)));
    let (rounds, queries) = settings.pick((9, 50_000), (15, 100_000));
    let mut by_keys = measure(settings, &cases.collect::<Vec<_>>(), rounds, queries)?;
    let by_length = by_keys.split_off(items.len());
    let plots = DRAWN.into_iter().flat_map(|drawn| {
        let sizes = plot(&by_keys, drawn, "keys", |point| point.keys() as f64);
        [sizes, plot(&by_length, drawn, "filters in the list", |point| point.filters as f64)]
    });
    Ok(Outcome::of(findings(&by_keys, &by_length))
        .plots(plots)
        .table("six filters, by the number of keys; nanoseconds", table(&by_keys))
        .table("46,080 keys, by the number of filters; nanoseconds", table(&by_length))
        .table("what one more filter costs", lines(&by_length))
        .note(
            "`left` are keys that were removed and stayed: a dynamic Bloom filter cannot tell in \
             which of its filters they are. CF and elastic are not lists and show what a list \
             costs; the cuckoo filter of fixed size has as many slots as the whole list.",
        )
        .note(format!(
            "Time on the processor, the best of all rounds; a round measures every number of keys \
             and every length once, so that a busy minute hits all alike. \
             The DCF has the shortest fingerprints that keep the rate, from 11 bits to \
             {LONGEST_ENTRY}; {ONE_LENGTH}, has the same length in every list. Both move entries by \
             our walk, which does not return to a bucket: the walk as printed is tried on paper \
             before an entry moves, and takes longer than its moves would."
        ))
        .wrong(by_keys.iter().chain(&by_length).map(Point::wrong_answers).sum()))
}

impl Point {
    /// The list with filters of this round's seed.
    fn list(&self, seed: u64) -> DynamicCuckooFilterBuilder {
        let list = paper_list(self.work.keys.len(), self.filters, self.buckets);
        // The walk as printed is tried on paper first, and that time is not the algorithm's.
        list.search(Search::RandomWalk).seed(seed)
    }

    /// Every filter in turn, in the order of the names; the best of all rounds stays. Rounds have
    /// several seeds in turn: times do not depend on them, rates do.
    fn round(&mut self, round: usize) -> anyhow::Result<()> {
        let Self { work, filters, buckets, .. } = self;
        let seed = self.seed.wrapping_add((round % SEEDS) as u64);
        let (keys, filters) = (work.keys.len(), *filters);
        // The same keys in as many filters, and the same rate.
        let bloom = planned!(DynamicBloomFilter, keys, RATE);
        let bloom = bloom.capacity_per_filter(keys.div_ceil(filters)).seed(seed);
        // As many slots as the whole list, of as many bits.
        let bits = fingerprint_bits(filters);
        let fixed = CuckooFilter::builder().buckets(*buckets * filters as u64);
        let fixed = fixed.slots_per_bucket(SLOTS).fingerprint_bits(bits).seed(seed);
        let elastic = ElasticFilter::builder().false_positive_rate(RATE).seed(seed);
        let one_length = self.list(seed).fingerprint_bits(LONGEST_ENTRY.max(bits));
        let times = vec![
            time(&mut self.list(seed).build()?, &self.work),
            time(&mut bloom.build()?, &self.work),
            time(&mut fixed.build()?, &self.work),
            time(&mut elastic.build()?, &self.work),
            time(&mut one_length.build()?, &self.work),
        ];
        if round == 0 {
            self.times = times;
        } else {
            self.times.iter_mut().zip(&times).for_each(|(best, of)| *best = best.best(of));
        }
        Ok(())
    }
}

/// Every case once within a round, so that a busy minute hits all alike.
fn measure(
    settings: &Settings<'_>,
    cases: &[(usize, usize)],
    rounds: usize,
    queries: usize,
) -> anyhow::Result<Vec<Point>> {
    let seed = settings.seed;
    let point = |&(keys, filters): &(usize, usize)| {
        let buckets = buckets_for(keys.div_ceil(filters));
        let work = Workload::new(seed, keys, queries);
        Point { work, filters, buckets, seed, times: Vec::new() }
    };
    let mut points: Vec<Point> = cases.iter().map(point).collect();
    for round in 0..rounds {
        (settings.progress)(&format!("round {} of {rounds}", round + 1));
        points.iter_mut().try_for_each(|point| point.round(round))?;
    }
    Ok(points)
}

fn time(filter: &mut dyn Subject, work: &Workload) -> Times {
    let keys = work.keys.len();
    let (insert, refused) = timed(|| filter.insert_all(&work.keys));
    let taken = keys - refused.len();
    let bits_per_key = filter.bits_per_key() * filter.held() as f64 / keys as f64;
    let lost = taken.saturating_sub(filter.count(&work.keys));
    let (hit, _) = timed(|| filter.count(&work.present));
    let (miss, found) = timed(|| filter.count(&work.absent));
    let (mixed, _) = timed(|| filter.count(&work.mixed));
    let (batched, _) = timed(|| filter.count_batch(&work.mixed));
    let (remove, removed) = timed(|| filter.remove_all(&work.shuffled));
    let lookups = work.mixed.len();
    Times {
        by_act: [
            nanoseconds(keys, insert),
            nanoseconds(lookups, hit),
            nanoseconds(lookups, miss),
            nanoseconds(lookups, mixed),
            nanoseconds(lookups, batched),
            nanoseconds(keys, remove),
        ],
        by_seed: vec![[bits_per_key, found as f64 / lookups.max(1) as f64]],
        probes: lookups,
        wrong: (keys - taken) + lost,
        left: taken - removed.unwrap_or(0),
    }
}

fn table(points: &[Point]) -> Table {
    let head = ["filter", "keys", "filters", "buckets"].into_iter().chain(ACTS);
    let mut table = Table::new(head.chain(["bits/key", "FPR %", "wrong", "left"]));
    for point in points {
        for (name, times) in NAMES.iter().zip(&point.times) {
            let is_list = [NAMES[0], DBF, ONE_LENGTH].contains(name);
            let size = |size: u64, shown| if shown { size.to_string() } else { "-".to_owned() };
            let mut cells = vec![(*name).to_owned(), point.keys().to_string()];
            cells.push(size(point.filters as u64, is_list));
            cells.push(size(point.buckets, is_list && *name != DBF));
            cells.extend(times.by_act.map(|nanoseconds| number(nanoseconds, 1)));
            let [bits, rate] = times.means();
            cells.extend([number(bits, 2), percent(rate, 3)]);
            cells.extend([times.wrong, times.left].map(|count| count.to_string()));
            table.row(cells);
        }
    }
    table
}

fn line(points: &[Point], name: &str, act: Act) -> Option<Line> {
    let times = |point: &Point| (point.filters as f64, point.of(name, act));
    Line::through(&points.iter().map(times).collect::<Vec<_>>())
}

fn lines(by_length: &[Point]) -> Table {
    let mut table = Table::new(["list", "by its length", "ns per filter", "ns with none", "R²"]);
    for list in [NAMES[0], ONE_LENGTH, DBF] {
        for (act, name) in ACTS.into_iter().enumerate() {
            let line = line(by_length, list, act);
            table.row([
                list.to_owned(),
                name.to_owned(),
                number(line.map(|line| line.slope), 3),
                number(line.map(|line| line.start), 1),
                number(line.map(|line| line.r_squared), 4),
            ]);
        }
    }
    table
}

fn plot(
    points: &[Point],
    (act, name, gain): (Act, &str, f64),
    x: &str,
    at: fn(&Point) -> f64,
) -> Plot {
    let title = format!("{name}, by the number of {x}");
    let y = Axis::logarithmic("nanoseconds per key");
    let plot = NAMES.into_iter().enumerate().fold(
        Plot::new(title, Axis::logarithmic(x), y),
        |plot, (series, name)| {
            let line = points.iter().map(|point| (at(point), point.times[series].of(act)));
            plot.line(name, line)
        },
    );
    // The paper prints how much faster a DCF is, not how fast.
    let paper = points.iter().map(|point| (at(point), point.of(DBF, act) / (1.0 + gain)));
    plot.dashed("DCF by the paper, from our DBF", paper)
}

fn findings(by_keys: &[Point], by_length: &[Point]) -> Vec<Finding> {
    let [insert, lookup, remove] = DRAWN;
    let mut findings = vec![
        faster("inserts", insert, by_keys, BY_KEYS),
        faster("answers", lookup, by_keys, BY_KEYS),
        faster("removes", remove, by_keys, BY_KEYS),
        faster("inserts", insert, by_length, BY_LENGTH),
    ];
    findings.extend(by_keys.iter().find(|point| point.keys() == KEYS).and_then(smaller));
    findings.extend(shapes(by_length));
    let points = by_keys.iter().chain(by_length);
    let most =
        |of: fn(&Times) -> f64| points.clone().map(|point| of(&point.times[0])).fold(0.0, f64::max);
    let (rate, certain) = (most(Times::false_positive_rate), most(Times::certain_rate));
    let seeds = by_keys.first().map_or(0, |point| point.times[0].by_seed.len());
    findings.push(claim!("a DCF keeps the rate of {} % (every list, less three standard errors)",
            percent(RATE, 2);
            "at most {} %, {} % less three, over {seeds} seeds", percent(rate, 3),
            percent(certain, 3); certain <= RATE => rate));
    findings
}

/// What is different from point to point, and its number.
type By = (&'static str, fn(&Point) -> usize);
const BY_KEYS: By = ("keys", Point::keys);
const BY_LENGTH: By = ("filters in the list", |point| point.filters);

/// Runs on a quiet machine differ by so much; a difference below it must not decide.
const NOISE: f64 = 0.05;

/// What a DBF takes over what a DCF takes, on average and at least.
fn faster(
    verb: &str,
    (act, _, claimed): (Act, &str, f64),
    points: &[Point],
    (by, of): By,
) -> Finding {
    let ratios =
        || points.iter().map(|point| (of(point), point.times[1].of(act) / point.times[0].of(act)));
    let logs = ratios().map(|(_, ratio)| ratio.ln()).sum::<f64>();
    let mean = (logs / points.len().max(1) as f64).exp();
    let least = ratios().min_by(|one, other| one.1.total_cmp(&other.1));
    let (number, least) = least.unwrap_or((0, 0.0));
    let enough = 1.0 + OF_THE_GAIN * claimed;
    let more = |ratio: f64| format!("{:+.0} %", 100.0 * (ratio - 1.0));
    claim!("a DCF {verb} {} % faster than a DBF (holds if slower with no number of {by} and faster \
         by {} % on average, in part if faster on average; {} % are noise)", percent(claimed, 0),
        percent(enough - 1.0, 0), percent(NOISE, 0);
        "{} on average, {} with {number} {by}", more(mean), more(least);
        Holds::graded(mean >= enough && least >= 1.0 - NOISE, mean > 1.0 + NOISE);
        "a filter that is nearly full moves entries; with most numbers of keys, rounding the \
         buckets up to a power of two leaves many slots empty, and nothing moves")
    .timed()
}

/// With every seed.
fn smaller(point: &Point) -> Option<Finding> {
    let pairs = point.times[0].by_seed.iter().zip(&point.times[1].by_seed);
    Finding::over_seeds(&pairs.map(|(ours, theirs)| saving(*ours, *theirs)).collect::<Vec<_>>())
}

/// What bits and rate of a DCF are against those of a DBF.
fn saving([bits, rate]: [f64; 2], [their_bits, their_rate]: [f64; 2]) -> Finding {
    let saved = 1.0 - bits / their_bits;
    // A saving counts at no higher rate, but for chance.
    let same_rate = rate <= their_rate.max(RATE) * 1.1;
    claim!("a DCF takes 75 % less memory than a DBF with a rate of {} % ({KEYS} keys; holds from \
         70 % at no higher rate, in part if less at all)", percent(RATE, 2);
        "{} % less: {bits:.1} bits per key and {} % false positives against {their_bits:.1} and {} \
         %", percent(saved, 0), percent(rate, 2), percent(their_rate, 2);
        Holds::graded(saved >= 0.7 && same_rate, saved >= 0.0) => saved)
}

/// How the times change with the length of the list. What one more filter costs is judged by lists
/// whose entries all have one length, since nothing else may change with the length of the list.
fn shapes(by_length: &[Point]) -> Vec<Finding> {
    let [Some(first), Some(last)] = [by_length.first(), by_length.last()] else {
        return Vec::new();
    };
    let explained = |list, act| line(by_length, list, act).map_or(0.0, |line| line.r_squared);
    let linear = explained(ONE_LENGTH, MIXED);
    let removals: Vec<f64> = by_length.iter().map(|of| of.of(ONE_LENGTH, REMOVE)).collect();
    let slower = removals.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let mut findings = vec![
        Finding::at_most(
            "insertion into a DCF is nearly independent of the length of the list: longest over \
             shortest",
            last.times[0].of(INSERT) / first.times[0].of(INSERT),
            NEARLY_THE_SAME,
        )
        .because("small filters that are full to their limit move more entries"),
        claim!("a lookup in a DCF is linear in the length of the list (R² at least {LINEAR}, with \
             entries of {LONGEST_ENTRY} bits in every list)";
            "R² {linear:.3}; {:.3} with the shortest entries that keep the rate, of which some \
             lengths are faster to search than others", explained(NAMES[0], MIXED);
            linear >= LINEAR;
            "several filters of the list are searched at the same time"),
        Finding::at_least(
            "a lookup in a DBF is linear in the length of the list: R²",
            explained(DBF, MIXED),
            LINEAR,
        ),
        claim!("a removal from a DCF is slower, the longer the list is (at every step)";
            "{}",
            removals.iter().map(|time| format!("{time:.0}")).collect::<Vec<_>>().join(", ") + " ns";
            Holds::in_cases(slower, removals.len().saturating_sub(1))),
    ];
    let [hit, miss] = [HIT, MISS].map(|act| line(by_length, ONE_LENGTH, act));
    if let Some((hit, miss)) = hit.zip(miss) {
        let claim = "a hit looks into half of the filters: its cost per filter over a miss's";
        findings.push(Finding::at_most(claim, hit.slope / miss.slope, HIT_OVER_MISS));
    }
    findings.into_iter().map(Finding::timed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn small_lists_are_timed_and_give_no_wrong_answer() {
        let points = measure(&QUICK, &[(2000, 4), (3000, 3)], 2, 2000).unwrap();
        assert_eq!((points.len(), points[1].keys(), points[1].filters), (2, 3000, 3));
        let point = &points[0];
        assert_eq!((point.times.len(), point.wrong_answers()), (NAMES.len(), 0));
        assert!(point.times.iter().all(|times| times.of(INSERT) > 0.0));
        assert!(point.times.iter().all(|times| times.false_positive_rate() < 0.03));
        // Two rounds, two seeds.
        assert!(point.times.iter().all(|times| times.by_seed.len() == 2));
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let point = |filters: usize, insert, each: f64| {
            let miss = 10.0 + each * filters as f64;
            let times =
                Times { by_act: [insert, miss / 2.0, miss, miss, miss, miss], ..Times::default() };
            let work = Workload::new(1, 1, 1);
            Point { work, filters, buckets: 1, seed: 1, times: vec![times; NAMES.len()] }
        };
        let holds = |points: &[Point]| -> Vec<_> {
            shapes(points).iter().map(|finding| finding.holds).collect()
        };
        let good = [point(3, 50.0, 2.0), point(6, 51.0, 2.0), point(12, 55.0, 2.0)];
        assert_eq!(holds(&good), [Holds::Yes; 5]);
        let bad = [point(3, 50.0, 2.0), point(6, 51.0, 9.0), point(12, 90.0, 1.0)];
        assert_eq!(holds(&bad)[..3], [Holds::No; 3]);
        assert_eq!(holds(&bad)[3], Holds::Partly);
    }
}
