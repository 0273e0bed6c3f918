//! The ring of the consistent filter beside other ways to find the next node: what a lookup and a
//! change cost, and what a node takes in memory.

mod course;
mod layouts;

use std::collections::BTreeMap;

use anyhow::ensure;
use cuculus::papers::RingNodes;
use cuculus_page::table::{Table, number};
use cuculus_page::{Claimant, Finding};

use crate::experiment::{Chance, Choice, Experiment, Outcome, Settings, choices};
use course::{Cost, Course};
use layouts::{Eytzinger, Interpolated, Sorted};

pub(super) const RING: Experiment = Experiment {
    name: "ccf-ring",
    title: "Layouts of a ring",
    question: "What do a lookup and a change cost in our ring, beside a search tree and sorted \
               lists? (the ring of CCF Fig. 2)",
    about: Claimant::Ours,
    chance: Chance::Clock,
    options: &[choices::NODES, LOOKUPS, choices::ROUNDS],
    once: run,
};

const LOOKUPS: Choice = Choice::new("lookups", "N", "lookups of each kind in a round");

const NAMES: [&str; 5] =
    ["ours", "BTreeMap", "sorted, binary search", "sorted, interpolation", "Eytzinger"];

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let sizes = settings.pick(&[640, 24_000, 240_000][..], &[640, 24_000, 240_000, 4_000_000]);
    let sizes: Vec<usize> = settings.list(choices::NODES, sizes)?;
    ensure!(sizes.iter().all(|&nodes| nodes > 0), "--nodes: a ring needs at least one node");
    let lookups = settings.value(LOOKUPS, settings.pick(100_000, 1_000_000))?.max(1);
    let rounds = settings.value(choices::ROUNDS, 3)?.max(1);
    let head = ["ring", "nodes", "lookup", "dependent", "a change", "bytes per node", "wrong"];
    let mut table = Table::new(head);
    let (mut findings, mut wrong) = (Vec::new(), 0);
    for count in sizes {
        (settings.progress)(&format!("{count} nodes"));
        let costs = measure(&Course::new(count, lookups, settings.seed), rounds);
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
        let claim = format!("{count} nodes: our lookup over the fastest other");
        findings.push(Finding::at_most(claim, costs[0].lookup / best, 1.0));
        if let Some((ours, tree)) = costs[0].change.zip(costs[1].change) {
            let claim = format!("{count} nodes: our change over a BTreeMap's");
            findings.push(Finding::at_most(claim, ours / tree, 1.0));
        }
    }
    findings.push(Finding::never("no answer differs from a sorted list's", wrong));
    Ok(Outcome {
        findings,
        tables: vec![(format!("nanoseconds, one thread, best of {rounds}"), table)],
        notes: vec![
            "Dependent: the next point follows from the last answer. A change adds a node and \
             removes it again."
                .to_owned(),
        ],
        wrong_answers: wrong,
        ..Outcome::default()
    })
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
