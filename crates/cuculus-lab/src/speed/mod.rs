//! One workload over many filters: speed, with memory and errors beside it, and the limits of the
//! machine in the same run.

mod adapter;
mod baselines;
mod case;
mod contest;
mod contestant;
mod options;
pub(crate) mod ours;
mod phase;
mod ratios;
mod report;

pub use adapter::{Adapter, Batches, Built, Deletes, Grows};
pub use contestant::{Contestant, Counted, Entry};
pub use options::{KeyKind, Options};

use std::fs;

use anyhow::{Context, bail};

use crate::heap::Mark;
use crate::keys::{WorkKey, Workload};
use crate::memory::Lines;
use crate::peers::{self, FuseKey};
pub(crate) use case::Row;
pub(crate) use phase::Phase;

use case::Case;
use contest::Contest;

/// The large table for the machine's limits, the same in every run.
const LARGE_TABLE_BYTES: usize = 256 << 20;
/// Fewer absent keys would leave the false positive rate to chance.
const MIN_QUERIES: usize = 1 << 20;

/// Measures our filters and those of other crates, and prints a table for each size and rate, and
/// the ratios against their targets.
///
/// Returns whether our filters gave no wrong answer.
///
/// # Errors
/// If a filter cannot be built, nothing is left to measure, or the report cannot be written.
pub fn run<K: WorkKey + FuseKey>(options: &Options) -> anyhow::Result<bool> {
    let contestants = |rate| {
        let mut contestants = ours::contestants::<K>(rate, options.all);
        contestants.extend(peers::contestants(rate));
        contestants
    };
    measure(Contest::Fixed, options, contestants)
}

/// Measures our elastic filter, grown from nothing, beside ours of the right size, and prints the
/// same.
///
/// # Errors
/// As [`run`].
pub fn run_elastic<K: WorkKey>(options: &Options) -> anyhow::Result<bool> {
    measure(Contest::Elastic, options, ours::elastic_contestants::<K>)
}

/// Our filters and those of other crates at one size and rate, without the machine's limits.
pub(crate) fn side_by_side(
    work: &Workload<u64>,
    rate: f64,
    rounds: usize,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Vec<Row>> {
    let mut contestants = ours::main_contestants(rate);
    contestants.extend(peers::contestants(rate));
    let case = Case::measure(Contest::Fixed, work, rate, contestants, rounds, None, progress)?;
    Ok(case.rows)
}

fn measure<K: WorkKey>(
    contest: Contest,
    options: &Options,
    contestants: impl Fn(f64) -> Vec<Box<dyn Contestant<K>>>,
) -> anyhow::Result<bool> {
    if Mark::now().is_none() {
        bail!("the counting allocator is not installed, so memory cannot be measured");
    }
    println!("{}", report::head::<K>(contest, options));
    let large = Lines::of_bytes(LARGE_TABLE_BYTES);
    let mut cases = Vec::new();
    let progress = |part: &str| eprintln!("{part}");
    for &items in &options.items {
        eprintln!("making {items} keys");
        let queries = options.queries.max(MIN_QUERIES);
        let work = Workload::<K>::new(options.seed, items, queries);
        for &rate in &options.fpr {
            let mut contestants = contestants(rate);
            contestants.retain(|contestant| options.wants(&contestant.label()));
            if contestants.is_empty() {
                bail!("no filter has {:?} in its name", options.only);
            }
            let rounds = options.rounds;
            let case =
                Case::measure(contest, &work, rate, contestants, rounds, Some(&large), &progress)?;
            println!("{}", report::case(&case));
            cases.push(case);
        }
    }
    let verdicts: Vec<_> = cases.iter().flat_map(|case| contest.claims(case)).collect();
    println!("{}", report::ratios(&verdicts));
    if let Some(path) = &options.json {
        let text = report::json::<K>(options, &cases, &verdicts);
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let wrong = report::wrong_answers(&cases);
    for line in &wrong {
        eprintln!("WRONG ANSWERS: {line}");
    }
    Ok(wrong.is_empty())
}
