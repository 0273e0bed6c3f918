//! One workload over many filters: speed, with memory and errors beside it, and the limits of the
//! machine in the same run.

mod case;
mod claims;
mod phase;

use std::path::Path;

use anyhow::ensure;

use crate::candidate::{self, Candidate};
use crate::foreign::{self, Foreign};
use crate::heap::Mark;
use crate::memory::{Lines, READS};
use crate::peers;
use crate::prelude::*;
use case::Case;
use phase::Phase;

pub(super) const SPEED: Experiment = Experiment::ours(
    ("speed", "Beside other crates"),
    "How do our filters compare with the crates that one would pick, for the same keys and rate: \
     speed, memory, errors? (the columns of CF Table 3)",
    Chance::Clock,
    |settings| run(Contest::Fixed, settings),
)
.with(OPTIONS);

pub(super) const ELASTIC_SPEED: Experiment = Experiment::ours(
    ("elastic-speed", "What growing costs in time"),
    "How fast is the elastic filter, grown from nothing, beside our filter of fixed size?",
    Chance::Clock,
    |settings| run(Contest::Elastic, settings),
)
// The last one adds other filters, of which there are none here.
.with(OPTIONS.split_at(OPTIONS.len() - 1).0);

const REFERENCE: Choice = Choice::new(
    "reference",
    "PATH.so",
    "a shared library with filters of another language (papers/lab/peer.h)",
);
const OPTIONS: &[Choice] =
    &[choices::ITEMS, choices::FPR, choices::ROUNDS, choices::QUERIES, choices::ONLY, REFERENCE];

/// The large table for the machine's limits, the same in every run.
const LARGE_TABLE_BYTES: usize = 256 << 20;
/// Fewer absent keys would leave the false positive rate to chance.
const MIN_QUERIES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contest {
    /// Our filters beside those of other crates.
    Fixed,
    /// Our elastic filter beside ours of fixed size.
    Elastic,
}

impl Contest {
    /// A filter that grows is built and emptied as a whole.
    fn phases(self) -> Vec<Phase> {
        Phase::all_but(match self {
            Self::Fixed => &[Phase::Dependent, Phase::DeleteAll],
            Self::Elastic => &[Phase::Mixed, Phase::Delete, Phase::DeleteBatched],
        })
    }

    /// What a speed is printed in. Ratios between two of ours are of times, those to others of
    /// speeds, so that what is claimed is above one.
    fn unit(self) -> &'static str {
        match self {
            Self::Fixed => "millions of operations per second",
            Self::Elastic => "nanoseconds per operation",
        }
    }

    fn in_unit(self, mops: f64) -> f64 {
        match self {
            Self::Fixed => mops,
            Self::Elastic => 1000.0 / mops,
        }
    }

    fn candidates(self, rate: f64, foreign: &[Foreign]) -> Vec<Candidate> {
        match self {
            Self::Elastic => vec![candidate::cuckoo(), candidate::elastic()],
            Self::Fixed => {
                let mut list = vec![candidate::cuckoo(), candidate::semi_sorted()];
                list.extend([candidate::elastic(), candidate::elastic_sized()]);
                let foreign = foreign.iter().filter(|of| of.keeps(rate));
                list.extend(foreign.map(|of| of.candidate()));
                list.extend(peers::all(rate));
                list
            }
        }
    }
}

/// Memory is measured by the allocator, for ours as for others'.
pub(super) fn memory_is_counted() -> anyhow::Result<()> {
    ensure!(Mark::now().is_some(), "this program does not count its memory");
    Ok(())
}

fn run(contest: Contest, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    memory_is_counted()?;
    // The last number of keys is there because the first two flatter tables that are a power of
    // two.
    let items = settings.pick(&[1_000_000][..], &[1_000_000, 16_000_000, 1_300_000]);
    let items: Vec<usize> = settings.list(choices::ITEMS, items)?;
    let rates = settings.list(choices::FPR, settings.pick(&[0.001][..], &[0.01, 0.001]))?;
    let rounds = settings.value(choices::ROUNDS, settings.pick(2, 4))?.max(1);
    let queries = settings.value(choices::QUERIES, settings.pick(1 << 21, 4_000_000))?;
    let path = settings.value(REFERENCE, String::new())?;
    let foreign = if path.is_empty() { Vec::new() } else { foreign::load(Path::new(&path))? };
    let large = Lines::of_bytes(LARGE_TABLE_BYTES);
    let mut cases = Vec::new();
    for items in items {
        (settings.progress)(&format!("generating {items} keys"));
        let work = Workload::new(settings.seed, items, queries.max(MIN_QUERIES));
        for &rate in &rates {
            let mut candidates = contest.candidates(rate, &foreign);
            candidates.retain(|candidate| settings.wants(&candidate.label()));
            ensure!(!candidates.is_empty(), "--only matches no filter");
            let case = Case::measure(contest, &work, rate, &candidates, rounds, &large, settings)?;
            cases.push(case);
        }
    }
    let no_reference = contest == Contest::Fixed && foreign.is_empty();
    let largest = cases.iter().max_by_key(|case| case.items);
    let largest = largest.filter(|_| contest == Contest::Fixed);
    Ok(Outcome::of(cases.iter().flat_map(claims::of))
        .plots(largest.into_iter().flat_map(plots))
        .tables(cases.iter().flat_map(tables))
        .note(format!(
            "One thread, hashing of u64 keys included, the best of {rounds} rounds in which every \
             filter has its turn. Bits are counted by the allocator. Each crate is used as its \
             documentation shows first. The elastic filter is given no size and builds by growing. \
             Lost keys could not be removed, or were gone after others were removed."
        ))
        .notes(no_reference.then(|| NO_REFERENCE.to_owned()))
        .wrong(cases.iter().map(Case::wrong_answers_of_ours).sum()))
}

const NO_REFERENCE: &str = "Left out: the C++ reference of the Cuckoo Filter paper, since no \
                            library was named by --reference.";

fn tables(case: &Case) -> [(String, Table); 2] {
    let name = format!("{} keys, rate {} %", case.items, 100.0 * case.rate);
    let phases = case.contest.phases();
    let head = ["filter"].into_iter().chain(phases.iter().map(|phase| phase.name()));
    let errors = ["bits/key", "over bound", "FPR %", "refused %", "false neg", "lost"];
    let mut table = Table::new(head.chain(errors));
    for row in &case.rows {
        let speed = |&phase| row.speeds.get(phase).map(|mops| case.contest.in_unit(mops));
        let speeds = phases.iter().map(|phase| number(speed(phase), 1));
        let errors = [
            number(row.bits_per_key, 2),
            number(row.over_the_bound(), 2),
            percent(row.false_positive_rate, 4),
            percent(row.refused as f64 / case.items.max(1) as f64, 4),
            row.false_negatives.to_string(),
            if row.removes() { row.lost.to_string() } else { number(None, 0) },
        ];
        table.row([row.label.clone()].into_iter().chain(speeds).chain(errors));
    }
    if case.contest == Contest::Elastic {
        let times = phases.iter().map(|&phase| number(claims::elastic_times(case, phase), 2));
        table.row(["times as long".to_owned()].into_iter().chain(times));
    }
    let mut limits = Table::new(["the machine's limit"].into_iter().chain(READS));
    for of in case.limits.iter().chain([&case.large_limits]) {
        let speeds = of.mops.map(|mops| number(mops, 1));
        let mebibytes = of.bytes as f64 / f64::from(1 << 20);
        limits.row([format!("table of {mebibytes:.1} MiB")].into_iter().chain(speeds));
    }
    [
        (format!("{name}; {}", case.contest.unit()), table),
        (format!("{name}: random reads, millions per second"), limits),
    ]
}

fn plots(case: &Case) -> [Plot; 2] {
    let (x, y) = (Axis::logarithmic("false positive rate"), Axis::from_zero("bits per key"));
    let mut space = Plot::new("space by the measured rate", x, y);
    let (x, y) = (Axis::from_zero("bits per key"), Axis::from_zero("million hits per second"));
    let mut time = Plot::new("lookups by space", x, y);
    for row in &case.rows {
        let at = (row.false_positive_rate, row.bits_per_key);
        space = space.dots(row.name, [at]);
        let hits = row.speeds.get(Phase::Present).unwrap_or(0.0);
        time = time.dots(row.name, [(row.bits_per_key, hits)]);
    }
    let rates = (4..=17).map(|bits| (f64::from(-bits).exp2(), f64::from(bits)));
    [space.dashed("lower bound, log2(1/ε)", rates), time]
}
