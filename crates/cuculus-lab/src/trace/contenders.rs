//! The filters of the paper's Fig. 4, in the readings that its text leaves open, and ours.

use cuculus::lab::Search;
use cuculus::papers::Resizing;

use super::follower::{Consistent, Dynamic, Tidy, Way};

/// The paper's mean utilisation of CCF_B.
pub(crate) const PAPER_BUCKETS: f64 = 0.9481;
/// And of CCF_F.
const PAPER_FILTERS: f64 = 0.9425;
/// The densest that the elastic builder takes.
const DENSEST: f64 = 0.96;

/// A filter to follow the trace with, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) name: String,
    pub(crate) way: Way,
    pub(crate) paper: Paper,
    /// The least mean utilisation that it must have.
    pub(crate) target: Option<f64>,
}

/// What the paper says of a filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paper {
    pub(crate) mean: Option<f64>,
    /// The share below .90, as it is printed there.
    pub(crate) badly_used: Option<&'static str>,
    pub(crate) most: Option<f64>,
    /// The share of the samples with fewer than 500 empty slots.
    pub(crate) few_empty: Option<f64>,
}

const DYNAMIC: Paper =
    Paper { mean: Some(0.8809), badly_used: Some("37"), most: Some(0.970), few_empty: Some(0.62) };
const BUCKETS: Paper = Paper {
    mean: Some(PAPER_BUCKETS),
    badly_used: Some("< 10"),
    most: Some(1.0),
    few_empty: Some(0.93),
};
const FILTERS: Paper = Paper {
    mean: Some(PAPER_FILTERS),
    badly_used: Some("< 10"),
    most: Some(0.999),
    few_empty: Some(0.97),
};
const NONE: Paper = Paper { mean: None, badly_used: None, most: None, few_empty: None };

/// Those of the paper with its random walk and with a breadth-first search, then the elastic filter
/// with this false positive rate. Some of the second kind are left out unless `both`: they take
/// long and teach little.
pub(crate) fn all(rate: f64, both: bool) -> Vec<Contender> {
    let mut all = Vec::new();
    for (search, how) in [(Search::RandomWalk, "walk"), (Search::BreadthFirst, "bfs")] {
        let dynamic = |reuse_holes, tidy| Way::Dynamic(Dynamic { reuse_holes, tidy, search });
        let consistent =
            |resizing| Way::Consistent(Consistent { resizing, search, ..Consistent::PAPER });
        for (name, way, paper, target) in [
            ("DCF forwards", dynamic(false, Tidy::Compact), DYNAMIC, None),
            ("DCF re-use", dynamic(true, Tidy::Compact), NONE, None),
            ("DCF re-use shrink", dynamic(true, Tidy::ShrinkToFit), NONE, None),
            ("CCF_B", consistent(Resizing::Buckets), BUCKETS, Some(PAPER_BUCKETS)),
            ("CCF_F all", consistent(Resizing::Filters), FILTERS, Some(PAPER_FILTERS)),
            ("CCF_F active", consistent(Resizing::FiltersActiveOnly), FILTERS, None),
            ("CCF adaptive", consistent(Resizing::Adaptive), NONE, None),
        ] {
            let short = matches!(name, "DCF re-use" | "CCF_B" | "CCF_F all");
            if both || short || search == Search::RandomWalk {
                all.push(Contender { name: format!("{name} {how}"), way, paper, target });
            }
        }
    }
    for (name, target_load, target) in [
        ("elastic densest", Some(DENSEST), Some(PAPER_BUCKETS)),
        ("elastic as it comes", None, None),
    ] {
        let way = Way::Elastic { target_load, rate };
        all.push(Contender { name: name.to_owned(), way, paper: NONE, target });
    }
    all
}
