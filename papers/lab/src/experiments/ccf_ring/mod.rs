//! The ring of the consistent filter beside other ways to find the next node: what a lookup and a
//! change cost, and what a node takes in memory.

mod course;
mod layouts;

use std::collections::BTreeMap;

use cuculus_papers::RingNodes;

use course::{Cost, Course};
use layouts::{Eytzinger, Interpolated, Sorted};

use crate::prelude::*;

pub(super) const RING: Experiment = Experiment::ours(
    ("ccf-ring", "Layouts of a ring"),
    "What do a lookup and a change cost in our ring, beside a search tree and sorted lists? (the \
     ring of CCF Fig. 2)",
    Chance::Clock,
    run,
);

const ROUNDS: usize = 3;
const NAMES: [&str; 5] =
    ["ours", "BTreeMap", "sorted, binary search", "sorted, interpolation", "Eytzinger"];

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let sizes = settings.pick(&[640, 24_000, 240_000][..], &[640, 24_000, 240_000, 4_000_000]);
    let lookups = settings.pick(100_000, 1_000_000);
    let head = ["ring", "nodes", "lookup", "dependent", "a change", "bytes per node", "wrong"];
    let mut table = Table::new(head);
    let (mut findings, mut wrong) = (Vec::new(), 0);
    let mut notes = vec![
        "Dependent: the next point follows from the last answer. A change adds a node and removes it \
         again. Ours keeps its cells at their length, so that a ring that was loaded takes as much \
         memory as one that grew: a change allocates."
            .to_owned(),
    ];
    for &count in sizes {
        (settings.progress)(&format!("{count} nodes"));
        let costs = measure(&Course::new(count, lookups, settings.seed), ROUNDS);
        for (name, cost) in NAMES.iter().zip(&costs) {
            let times = [Some(cost.lookup), Some(cost.dependent), cost.change];
            let sizes = [number(cost.bytes_per_node, 2), cost.wrong.to_string()];
            let first = [(*name).to_owned(), count.to_string()];
            table.row(first.into_iter().chain(times.map(|time| number(time, 1))).chain(sizes));
            wrong += cost.wrong;
        }
        let (ours, tree) = (&costs[0], &costs[1]);
        let claim = format!("{count} nodes: our lookup over a BTreeMap's");
        findings.push(Finding::at_most(claim, ours.lookup / tree.lookup, 1.0));
        if let Some((ours, tree)) = ours.bytes_per_node.zip(tree.bytes_per_node) {
            let claim = format!("{count} nodes: our memory over a BTreeMap's");
            findings.push(Finding::at_most(claim, ours / tree, 0.5));
        }
        let lists = costs[2..].iter();
        let fastest = lists.clone().map(|cost| cost.lookup).fold(f64::MAX, f64::min);
        let change = |cost: &Cost| cost.change.unwrap_or(f64::NAN);
        let list = lists.map(change).fold(f64::MAX, f64::min);
        notes.push(format!(
            "{count} nodes, where we lose: a lookup takes {:.2} times as long as in the fastest list, \
             whose changes take {:.1} times as long as ours; a change takes {:.2} times as long as in \
             a BTreeMap.",
            ours.lookup / fastest,
            list / change(ours),
            change(ours) / change(tree)
        ));
    }
    findings.push(Finding::never("no answer differs from a sorted list's", wrong));
    Ok(Outcome::of(findings)
        .table(format!("nanoseconds, one thread, best of {ROUNDS}"), table)
        .notes(notes)
        .wrong(wrong))
}

/// Every ring in turn within a round, so that a slow minute hits all alike.
fn measure(course: &Course, rounds: usize) -> Vec<Cost> {
    let mut best: Vec<Cost> = Vec::new();
    for _ in 0..rounds {
        let costs = vec![
            course.measure::<RingNodes>(),
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
