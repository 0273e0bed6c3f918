//! Filters that grow, side by side: all start with room for 1,024 keys and take many more.

mod grower;
mod report;

pub use grower::{Grower, Grown, Waits};
pub(crate) use report::table;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::heap::Mark;
use crate::keys::Workload;
use crate::peers;
use crate::speed::ours::{Dynamic, Elastic, Ours};
use crate::verdict;

/// How far to grow.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The number of keys.
    #[arg(long, default_value_t = 16_000_000)]
    pub keys: usize,
    /// False positive rates to ask for, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [0.01, 0.001])]
    pub rates: Vec<f64>,
    /// Rounds; the best of them counts.
    #[arg(long, default_value_t = 2)]
    pub rounds: usize,
    /// Questions of each kind in a round.
    #[arg(long, default_value_t = 4_000_000)]
    pub queries: usize,
    /// The seed of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The keys that every filter has room for at first.
pub(crate) const FIRST: usize = 1024;

/// The numbers of one rate; ours are the first.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Case {
    pub(crate) keys: usize,
    pub(crate) rate: f64,
    pub(crate) rows: Vec<Grown>,
}

/// Grows our filters and the peers, and prints what each costs and what it loses.
///
/// Returns whether ours gave no wrong answer.
///
/// # Errors
/// If a filter cannot be made, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    if Mark::now().is_none() {
        bail!("the counting allocator is not installed, so memory cannot be measured");
    }
    println!("{}", report::head(options));
    eprintln!("making {} keys", options.keys);
    let work = Workload::<u64>::new(options.seed, options.keys, options.queries);
    let growers = growers();
    let mut cases = Vec::new();
    let progress = |part: &str| eprintln!("{part}");
    for &rate in &options.rates {
        let case = measure(&growers, &work, rate, options.rounds.max(1), &progress)?;
        println!("{} keys, rate {} %\n{}", case.keys, 100.0 * case.rate, table(&case));
        cases.push(case);
    }
    let verdicts: Vec<_> = cases.iter().flat_map(report::verdicts).collect();
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({
            "keys": options.keys,
            "first": FIRST,
            "rounds": options.rounds,
            "queries": options.queries,
            "seed": options.seed,
        });
        crate::report::write(path, &asked, &json!(cases), &verdicts)?;
    }
    Ok(cases.iter().all(|case| case.rows[0].wrong_answers() == 0))
}

/// Ours, the elastic one first, and those of other crates.
pub(crate) fn growers() -> Vec<Grower> {
    let ours = [Grower::of::<Ours<Elastic>>(), Grower::of::<Ours<Dynamic>>()];
    ours.into_iter().chain(peers::growers()).collect()
}

/// Every filter in turn within a round, so that a slow minute hits all alike.
pub(crate) fn measure(
    growers: &[Grower],
    work: &Workload<u64>,
    rate: f64,
    rounds: usize,
    progress: &dyn Fn(&str),
) -> anyhow::Result<Case> {
    let mut rows: Vec<Option<Grown>> = vec![None; growers.len()];
    for round in 1..=rounds {
        for (grower, row) in growers.iter().zip(&mut rows) {
            progress(&format!("{} %, round {round} of {rounds}: {}", 100.0 * rate, grower.label()));
            let grown = grower.grow(FIRST, work, rate)?;
            *row = Some(row.take().map_or_else(|| grown.clone(), |best| best.best(&grown)));
        }
    }
    for (grower, row) in growers.iter().zip(rows.iter_mut().flatten()) {
        progress(&format!("{} %, single insertions: {}", 100.0 * rate, grower.label()));
        row.waits = Some(grower.waits(FIRST, work, rate)?);
    }
    Ok(Case { keys: work.keys.len(), rate, rows: rows.into_iter().flatten().collect() })
}
