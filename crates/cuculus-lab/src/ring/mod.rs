//! The ring of the consistent filter beside other ways to find the next node: what a lookup and a
//! change cost, and what a node weighs.

mod course;
mod layouts;
// The library's own, which stands alone so that it can be measured.
#[allow(dead_code, reason = "the allocator counts the memory here")]
#[path = "../../../cuculus/src/papers/ring/nodes.rs"]
mod nodes;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use serde_json::json;

use crate::machine::processor;
use crate::report;
use crate::verdict::{self, Verdict};
use course::{Cost, Course};
use cuculus_page::table::{Table, number};
use layouts::{Eytzinger, Interpolated, Sorted};
use nodes::Nodes;

/// How large.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of nodes, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [640, 24_000, 240_000, 4_000_000])]
    pub nodes: Vec<usize>,
    /// Lookups of each kind in a round.
    #[arg(long, default_value_t = 1_000_000)]
    pub lookups: usize,
    /// Rounds; the best of them counts.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// The seed of the nodes and points.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

const NAMES: [&str; 5] =
    ["ours", "BTreeMap", "sorted, binary search", "sorted, interpolation", "Eytzinger"];

/// Measures every ring and prints what it costs.
///
/// Returns whether all gave the same answers.
///
/// # Errors
/// If a number of nodes is zero, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    ensure!(options.nodes.iter().all(|&nodes| nodes > 0), "a ring needs a node at least");
    println!(
        "Which is the next node on a ring, and what does it cost to know?\n\
         Nanoseconds, one thread, best of {}, on {}. Dependent: the next point follows from the\n\
         answer. A change adds a node and takes it away again.\n",
        options.rounds.max(1),
        processor()
    );
    let mut table =
        Table::new(["ring", "nodes", "lookup", "dependent", "a change", "bytes a node", "wrong"]);
    let (mut sizes, mut verdicts, mut wrong) = (Vec::new(), Vec::new(), 0);
    for &count in &options.nodes {
        eprintln!("{count} nodes");
        let course = Course::new(count, options.lookups.max(1), options.seed);
        let costs = measure(&course, options.rounds.max(1));
        for (name, cost) in NAMES.iter().zip(&costs) {
            table.row([
                (*name).to_owned(),
                count.to_string(),
                number(Some(cost.lookup), 1),
                number(Some(cost.dependent), 1),
                number(cost.change, 1),
                number(cost.bytes_per_node, 2),
                cost.wrong.to_string(),
            ]);
            wrong += cost.wrong;
        }
        let best = costs[1..].iter().map(|cost| cost.lookup).fold(f64::MAX, f64::min);
        let claim = format!("{count} nodes: lookup of ours over the fastest other");
        verdicts.push(Verdict::at_most(claim, Some(costs[0].lookup / best), 1.0));
        let claim = format!("{count} nodes: change of ours over BTreeMap's");
        let ratio = costs[0].change.zip(costs[1].change).map(|(ours, tree)| ours / tree);
        verdicts.push(Verdict::at_most(claim, ratio, 1.0));
        sizes.push(json!({ "nodes": count, "costs": costs }));
    }
    verdicts.push(Verdict::at_most("answers that differ", Some(wrong as f64), 0.0));
    println!("{table}\n{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({ "lookups": options.lookups, "rounds": options.rounds,
            "seed": options.seed });
        report::write(path, &asked, &json!({ "rings": NAMES, "sizes": sizes }), &verdicts)?;
    }
    Ok(wrong == 0)
}

/// Every ring in turn within a round, so that a slow minute hits all alike.
fn measure(course: &Course, rounds: usize) -> Vec<Cost> {
    let mut best: Vec<Cost> = Vec::new();
    for _ in 0..rounds {
        let costs = vec![
            course.measure::<Nodes>(),
            course.measure::<BTreeMap<u32, u32>>(),
            course.measure::<Sorted>(),
            course.measure::<Interpolated>(),
            course.measure::<Eytzinger>(),
        ];
        best = match best.is_empty() {
            true => costs,
            false => best.iter().zip(&costs).map(|(best, cost)| best.best(cost)).collect(),
        };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rings_give_the_same_answers() {
        for nodes in [1, 2, 7, 640, 5000] {
            let costs = measure(&Course::new(nodes, 3000, 3), 1);
            assert_eq!(costs.len(), NAMES.len());
            for (name, cost) in NAMES.iter().zip(costs) {
                assert_eq!(cost.wrong, 0, "{name}, {nodes} nodes");
            }
        }
    }
}
