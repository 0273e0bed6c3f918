//! The work that every ring is given, and what it took.

use std::hint::black_box;

use super::layouts::Ring;
use crate::heap::Mark;
use crate::prelude::*;

/// Changes of a sorted list of millions of nodes take milliseconds each.
const MOST_MOVED: usize = 1 << 28;
const MOST_CHANGES: usize = 100_000;

/// Nodes, points to look for, and nodes to add and take away.
pub(super) struct Course {
    nodes: Vec<u32>,
    points: Vec<u32>,
    expected: Vec<u32>,
    changes: Vec<u32>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cost {
    pub(super) lookup: f64,
    pub(super) dependent: f64,
    /// Of one node that is added and taken away.
    pub(super) change: Option<f64>,
    pub(super) bytes_per_node: Option<f64>,
    /// Answers that are not those of a sorted list.
    pub(super) wrong: usize,
}

impl Cost {
    pub(super) fn best(&self, other: &Self) -> Self {
        Self {
            lookup: self.lookup.min(other.lookup),
            dependent: self.dependent.min(other.dependent),
            change: self.change.zip(other.change).map(|(a, b)| a.min(b)),
            bytes_per_node: self.bytes_per_node,
            wrong: self.wrong.max(other.wrong),
        }
    }
}

impl Course {
    pub(super) fn new(count: usize, lookups: usize, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut nodes = Vec::new();
        while nodes.len() < count {
            nodes.extend((nodes.len()..count).map(|_| random.u32(..)));
            nodes.sort_unstable();
            nodes.dedup();
        }
        let points: Vec<u32> = (0..lookups).map(|_| random.u32(..)).collect();
        let next = |&point: &u32| {
            let at = nodes.partition_point(|&node| node < point);
            nodes.get(at).copied().unwrap_or(nodes[0])
        };
        let expected = points.iter().map(next).collect();
        let changes = MOST_CHANGES.min(lookups).min(MOST_MOVED / count).max(100);
        let new = std::iter::repeat_with(|| random.u32(..));
        let changes = new.filter(|node| nodes.binary_search(node).is_err()).take(changes).collect();
        Self { nodes, points, expected, changes }
    }

    pub(super) fn measure<R: Ring>(&self) -> Cost {
        let mark = Mark::now();
        let mut ring = R::of(&self.nodes);
        let held = mark.map(Mark::held);
        let (lookup, sum) = timed(|| {
            let answers = self.points.iter().map(|&point| ring.successor(point));
            answers.fold(0u32, u32::wrapping_add)
        });
        let (dependent, last) =
            timed(|| self.points.iter().fold(0, |answer, point| ring.successor(point ^ answer)));
        black_box((sum, last));
        let answers = self.points.iter().zip(&self.expected);
        let differ = |ring: &R| {
            answers.clone().filter(|&(&point, &expected)| ring.successor(point) != expected).count()
        };
        let mut wrong = differ(&ring);
        let change = R::CHANGES.then(|| {
            let (time, ()) = timed(|| {
                for &node in &self.changes {
                    ring.insert(node);
                    ring.remove(node);
                }
            });
            wrong += differ(&ring);
            nanoseconds(self.changes.len(), time)
        });
        Cost {
            lookup: nanoseconds(self.points.len(), lookup),
            dependent: nanoseconds(self.points.len(), dependent),
            change,
            bytes_per_node: held.map(|bytes| bytes as f64 / self.nodes.len() as f64),
            wrong,
        }
    }
}
