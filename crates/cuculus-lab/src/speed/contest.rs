//! Who is measured against whom: which phases, in which unit, with which claims.

use super::case::Case;
use super::phase::Phase;
use super::ratios;
use crate::verdict::Verdict;

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contest {
    /// Our filter of fixed size beside those of other crates.
    Fixed,
    /// Our elastic filter beside ours of fixed size.
    Elastic,
}

impl Contest {
    /// The measured parts, in the order in which they run.
    pub(super) fn phases(self) -> &'static [Phase] {
        match self {
            Self::Fixed => Phase::FIXED,
            Self::Elastic => Phase::ELASTIC,
        }
    }

    /// What a speed is printed in. Ratios between two of ours are of times, those to others of
    /// speeds, so that what is claimed is above one.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Fixed => "Millions of operations per second",
            Self::Elastic => "Nanoseconds an operation",
        }
    }

    /// Millions of operations per second in that unit.
    pub(super) fn in_unit(self, mops: f64) -> f64 {
        match self {
            Self::Fixed => mops,
            Self::Elastic => 1000.0 / mops,
        }
    }

    /// The claims about a size and rate.
    pub(super) fn claims(self, case: &Case) -> Vec<Verdict> {
        match self {
            Self::Fixed => ratios::of(case),
            Self::Elastic => ratios::of_elastic(case),
        }
    }
}
