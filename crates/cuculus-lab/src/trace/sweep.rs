//! The paper's Fig. 5: CCF_B with one parameter after the other changed.

use std::fmt;

use cuculus::analysis::ring_threshold;
use cuculus::lab::Search;

use super::Row;
use super::contenders::{Contender, PAPER_BUCKETS, Paper};
use super::follower::{Consistent, Way};

/// How far from the paper's mean ours may be and still be called the same.
pub(crate) const SAME: f64 = 0.01;

struct Change {
    name: &'static str,
    with: Consistent,
    /// The paper's mean.
    paper: Option<f64>,
    /// What our rows show, where ours is not the paper's.
    reason: &'static str,
}

const PAPER: Consistent = Consistent::PAPER;

const fn change(name: &'static str, with: Consistent) -> Change {
    Change { name, with, paper: None, reason: "" }
}

const BREADTH_FIRST: Consistent = Consistent { search: Search::BreadthFirst, ..PAPER };

const CHANGES: [Change; 14] = [
    Change {
        paper: Some(PAPER_BUCKETS),
        reason: "the trace is made up, and removals sweep over a few more buckets",
        ..change("as in the paper", PAPER)
    },
    change("k = 4", Consistent { candidates: 4, ..PAPER }),
    change("k = 8", Consistent { candidates: 8, ..PAPER }),
    Change {
        paper: Some(0.9599),
        reason: "higher: four candidates are enough to fill nearly every slot, and more add little",
        ..change("k = 16", Consistent { candidates: 16, ..PAPER })
    },
    Change {
        paper: Some(0.9986),
        reason: "a bucket with two of six is kept; the mean follows the rule, not b alone",
        ..change("b = 6 removed below 2", Consistent { slots: 6, ..PAPER })
    },
    Change {
        paper: Some(0.9986),
        reason: "buckets with five of six are kept",
        ..change("b = 6 removed below 5", Consistent { slots: 6, sparse_below: 5, ..PAPER })
    },
    // The library's walk does not return to a bucket and ends where it is stuck, before either
    // limit; a breadth-first search uses all that it is allowed.
    change("max = 700", Consistent { max_kicks: 700, ..PAPER }),
    change("max = 1200 bfs", BREADTH_FIRST),
    change("max = 700 bfs", Consistent { max_kicks: 700, ..BREADTH_FIRST }),
    change("max = 50", Consistent { max_kicks: 50, ..PAPER }),
    Change {
        paper: Some(0.9298),
        reason: "removing sparse buckets leaves those with long arcs, which helps, but not so far",
        ..change("v = 1", Consistent { virtual_nodes: 1, ..PAPER })
    },
    change("v = 2", Consistent { virtual_nodes: 2, ..PAPER }),
    change("v = 5", Consistent { virtual_nodes: 5, ..PAPER }),
    change("v = 20", Consistent { virtual_nodes: 20, ..PAPER }),
];

/// The reference and its changes.
pub(crate) fn all() -> Vec<Contender> {
    let contender = |change: &Change| Contender {
        name: change.name.to_owned(),
        way: Way::Consistent(change.with),
        paper: Paper { mean: change.paper, ..Paper::default() },
        target: None,
    };
    CHANGES.iter().map(contender).collect()
}

/// For every figure of the paper whether ours is the same, and if not why; beside it what random
/// arcs allow, which nothing that removes sparse buckets has to keep to.
pub(crate) fn findings(rows: &[Row]) -> Vec<Compared> {
    rows.iter().filter_map(|row| finding(row.followed.mean_utilization, &row.contender)).collect()
}

/// One of the paper's means beside ours.
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    pub(crate) paper: f64,
    pub(crate) ours: f64,
    /// T̂ of random arcs, as a load.
    pub(crate) random: f64,
    /// What our rows show, where ours is not the paper's.
    pub(crate) reason: &'static str,
}

impl Compared {
    pub(crate) fn reproduces(&self) -> bool {
        (self.ours - self.paper).abs() <= SAME
    }
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, paper, ours, random, reason } = self;
        write!(f, "{name}: paper {paper:.4}, ours {ours:.4}, T̂ of random arcs {random:.3}: ")?;
        match self.reproduces() {
            true => write!(f, "reproduces"),
            false => write!(f, "does not reproduce: {reason}"),
        }
    }
}

fn finding(ours: f64, contender: &Contender) -> Option<Compared> {
    let change = CHANGES.iter().find(|change| change.name == contender.name)?;
    let paper = change.paper?;
    let Consistent { candidates, slots, virtual_nodes, .. } = change.with;
    let random = ring_threshold(candidates, slots, virtual_nodes) / f64::from(slots);
    Some(Compared { name: change.name, paper, ours, random, reason: change.reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_follows_the_number() {
        let contenders = all();
        let of = |name: &str, ours| {
            let contender = contenders.iter().find(|contender| contender.name == name).unwrap();
            finding(ours, contender).map(|compared| compared.to_string())
        };
        assert!(of("k = 16", 0.955).unwrap().ends_with(": reproduces"));
        assert!(of("k = 16", 0.985).unwrap().contains("does not reproduce: higher"));
        assert_eq!(of("k = 4", 0.9), None);
    }
}
