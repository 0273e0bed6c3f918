//! How full a filter on a ring gets before it refuses a key, beside the thresholds that are to
//! foretell it (CCF paper, Theorem 4).

use std::path::PathBuf;

use clap::Args;
use cuculus::lab::Search;
use cuculus::papers::IndexIndependentCuckooFilter;
use cuculus::{CuckooFilter, Insert, analysis};
use serde::Serialize;
use serde_json::json;

use crate::keys::WorkKey;
use crate::report;
use crate::verdict::{self, Verdict};
use cuculus_page::table::{Table, number};

/// Which filters.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Candidate buckets of a key, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3, 4])]
    pub candidates: Vec<u32>,
    /// Slots in a bucket, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 3, 4])]
    pub slots: Vec<u32>,
    /// Nodes of a bucket on the ring, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 64])]
    pub nodes: Vec<u32>,
    /// Buckets.
    #[arg(long, default_value_t = 4096)]
    pub buckets: u64,
    /// Filters of each kind; the mean of them counts.
    #[arg(long, default_value_t = 3)]
    pub seeds: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

const MAX_KICKS: u32 = 500;
/// Long enough for no two of the keys to be alike.
const BITS: u32 = 30;
/// What a table of finite size may be off a threshold for infinite ones.
pub(crate) const FINITE: f64 = 0.005;

/// The loads of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Load {
    pub(crate) candidates: u32,
    pub(crate) slots: u32,
    pub(crate) nodes: u32,
    pub(crate) walk: f64,
    pub(crate) breadth_first: f64,
    /// A cuckoo filter as large, which has two candidates, all equally likely.
    pub(crate) even: Option<f64>,
    pub(crate) upper_threshold: f64,
    pub(crate) orientability: f64,
    pub(crate) ring_threshold: f64,
    pub(crate) planned: f64,
}

impl Load {
    /// By the better search.
    pub(crate) fn reached(&self) -> f64 {
        self.walk.max(self.breadth_first)
    }
}

/// Fills filters and prints how far each came.
///
/// # Errors
/// If a filter cannot be built, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    println!(
        "How full is a filter on a ring when it first refuses a key?\n\
         {} buckets, {MAX_KICKS} kicks, mean of {}. Thresholds as loads: T̂ as in the paper, the true one\n\
         for even shares, and T̂ for the uneven shares of a ring.\n",
        options.buckets,
        options.seeds.max(1)
    );
    let loads = measure_all(options, &|part| eprintln!("{part}"))?;
    println!("{}", table(&loads));
    let verdicts = verdicts(&loads);
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({ "buckets": options.buckets, "kicks": MAX_KICKS,
            "seeds": options.seeds });
        report::write(path, &asked, &json!(loads), &verdicts)?;
    }
    Ok(true)
}

/// All kinds.
pub(crate) fn measure_all(options: &Options, told: &dyn Fn(&str)) -> anyhow::Result<Vec<Load>> {
    let mut loads = Vec::new();
    for &candidates in &options.candidates {
        told(&format!("{candidates} candidates"));
        for &slots in &options.slots {
            for &nodes in &options.nodes {
                loads.push(measure(options, candidates, slots, nodes)?);
            }
        }
    }
    Ok(loads)
}

fn measure(options: &Options, candidates: u32, slots: u32, nodes: u32) -> anyhow::Result<Load> {
    let ring = |search, seed| {
        let builder = IndexIndependentCuckooFilter::builder()
            .buckets(options.buckets)
            .candidates(candidates)
            .slots_per_bucket(slots)
            .virtual_nodes(nodes)
            .fingerprint_bits(BITS)
            .max_kicks(MAX_KICKS)
            .search(search)
            .seed(seed);
        Ok(first_refusal(builder.build()?, seed))
    };
    let even = |seed| {
        let builder = CuckooFilter::builder()
            .buckets(options.buckets)
            .slots_per_bucket(slots)
            .fingerprint_bits(BITS)
            .max_kicks(MAX_KICKS)
            .search(Search::RandomWalk)
            .seed(seed);
        Ok(first_refusal(builder.build()?, seed))
    };
    let mean = |load: &dyn Fn(u64) -> anyhow::Result<f64>| -> anyhow::Result<f64> {
        let seeds = options.seeds.max(1);
        Ok((0..seeds).map(load).sum::<anyhow::Result<f64>>()? / seeds as f64)
    };
    let of_slots = |keys: f64| keys / f64::from(slots);
    Ok(Load {
        candidates,
        slots,
        nodes,
        walk: mean(&|seed| ring(Search::RandomWalk, seed))?,
        breadth_first: mean(&|seed| ring(Search::BreadthFirst, seed))?,
        even: (candidates == 2).then(|| mean(&even)).transpose()?,
        upper_threshold: of_slots(analysis::upper_threshold_limit(candidates, slots)),
        orientability: analysis::orientability_threshold(candidates, slots),
        ring_threshold: of_slots(analysis::ring_threshold(candidates, slots, nodes)),
        planned: analysis::planned_ring_load(candidates, slots, nodes),
    })
}

fn first_refusal(mut filter: impl Insert, seed: u64) -> f64 {
    let mut keys = (0..).map(|number| u64::nth(seed, number));
    while keys.next().is_some_and(|key| filter.insert(&key).is_ok()) {}
    filter.utilization()
}

pub(crate) fn table(loads: &[Load]) -> Table {
    let mut table = Table::new([
        "k, b, v",
        "walk",
        "bfs",
        "planned",
        "T̂ of the ring",
        "true, even",
        "T̂",
        "even, walk",
    ]);
    for load in loads {
        table.row([
            format!("{}, {}, {}", load.candidates, load.slots, load.nodes),
            number(Some(load.walk), 4),
            number(Some(load.breadth_first), 4),
            number(Some(load.planned), 4),
            number(Some(load.ring_threshold), 4),
            number(Some(load.orientability), 4),
            number(Some(load.upper_threshold), 4),
            number(load.even, 4),
        ]);
    }
    table
}

fn verdicts(loads: &[Load]) -> Vec<Verdict> {
    let most = |of: fn(&Load) -> f64| loads.iter().map(of).max_by(f64::total_cmp);
    // With one slot and two candidates the threshold is not sharp.
    let sharp = loads.iter().filter(|load| (load.candidates, load.slots) != (2, 1));
    let beyond = sharp.map(|load| load.reached() - load.orientability).max_by(f64::total_cmp);
    vec![
        Verdict::at_most(
            "load beyond T̂ of the ring, at most",
            most(|load| load.reached() - load.ring_threshold),
            FINITE,
        ),
        Verdict::at_most("load beyond the true threshold, at most", beyond, FINITE),
        Verdict::at_most(
            "T̂ as a threshold (the paper's claim): load short of it, at most",
            most(|load| load.upper_threshold - load.reached()),
            FINITE,
        ),
        Verdict::at_most(
            "planned load beyond what is reached, at most",
            most(|load| load.planned - load.walk.min(load.breadth_first)),
            0.0,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_stay_below_the_thresholds() {
        let (candidates, slots, nodes) = (vec![2], vec![4], vec![10]);
        let options = Options { candidates, slots, nodes, buckets: 512, seeds: 2, json: None };
        let load = measure(&options, 2, 4, 10).unwrap();
        assert!(0.7 < load.breadth_first && load.breadth_first < load.ring_threshold, "{load:?}");
        assert!(load.ring_threshold < load.upper_threshold);
        assert!(load.even.is_some_and(|even| even > load.walk));
        let words: Vec<_> = verdicts(&[load]).iter().map(Verdict::word).collect();
        assert_eq!(words, ["PASS", "PASS", "MISS", "PASS"]);
    }
}
