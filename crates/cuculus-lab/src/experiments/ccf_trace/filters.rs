//! The filters of the paper's Fig. 4, in the readings that its text leaves open, and ours: how each
//! is built. Knows filters, nothing of traces.

use cuculus::lab::{PlacementKind, Search};
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Extension, Resizing};
use cuculus::{ElasticFilter, ElasticFilterBuilder, Filter, Insert, KeyHash, Remove};

use crate::subject::Subject;

/// A dynamic filter and what it does after removals.
pub(in super::super) struct Tidied {
    filter: DynamicCuckooFilter,
    tidy: Tidy,
    /// Nothing is tried before this many slots are free.
    try_from: usize,
}

/// How a dynamic filter gets smaller: it never does so by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Tidy {
    /// By moving entries to the same bucket of others, as in the paper.
    Compact,
    /// With kicks.
    ShrinkToFit,
}

impl Tidied {
    pub(in super::super) fn new(filter: DynamicCuckooFilter, tidy: Tidy) -> Self {
        Self { filter, tidy, try_from: 0 }
    }

    fn slots_per_filter(&self) -> usize {
        self.filter.slots() / self.filter.filters()
    }

    fn tidy(&mut self) {
        let freed = match self.tidy {
            Tidy::Compact => self.filter.compact(),
            Tidy::ShrinkToFit => self.filter.shrink_to_fit(),
        };
        // Kicks that found no room will not find it with one key less. Without kicks it may be
        // that key that was in the way, and trying costs next to nothing.
        let wait = match self.tidy {
            Tidy::ShrinkToFit if freed == 0 => self.slots_per_filter() / 16,
            _ => 0,
        };
        let free = self.filter.slots() - self.filter.len();
        self.try_from = if wait > 0 { free + wait } else { 0 };
    }
}

impl Subject<KeyHash> for Tidied {
    fn insert(&mut self, hash: &KeyHash) -> bool {
        self.filter.insert_hash(*hash).is_ok()
    }

    fn contains(&self, hash: &KeyHash) -> bool {
        self.filter.contains_hash(*hash)
    }

    /// Tries to free a filter after every removal that leaves as many slots free as a filter has;
    /// with fewer it cannot be freed.
    fn remove(&mut self, hash: &KeyHash) -> Option<bool> {
        let removed = self.filter.remove_hash(*hash);
        let free = self.filter.slots() - self.filter.len();
        if free >= self.slots_per_filter().max(self.try_from) {
            self.tidy();
        }
        Some(removed)
    }

    fn as_filter(&self) -> Option<&dyn Filter> {
        Some(&self.filter)
    }

    fn filters(&self) -> usize {
        self.filter.filters()
    }
}

/// Which filter, with which parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Way {
    Dynamic(Dynamic),
    Consistent(Consistent),
    Elastic { target_load: Option<f64>, rate: f64 },
}

/// The parameters of a dynamic filter that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Dynamic {
    pub(in super::super) reuse_holes: bool,
    pub(in super::super) tidy: Tidy,
    pub(in super::super) search: Search,
}

/// The parameters of a consistent filter that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Consistent {
    pub(in super::super) resizing: Resizing,
    pub(in super::super) candidates: u32,
    pub(in super::super) slots: u32,
    pub(in super::super) sparse_below: u32,
    pub(in super::super) max_kicks: u32,
    pub(in super::super) virtual_nodes: u32,
    pub(in super::super) search: Search,
}

impl Consistent {
    /// The paper's CCF_B, which it varies in Fig. 5.
    pub(in super::super) const PAPER: Self = Self {
        resizing: Resizing::Buckets,
        candidates: 2,
        slots: SLOTS,
        sparse_below: 2,
        max_kicks: MAX_KICKS,
        virtual_nodes: 10,
        search: Search::RandomWalk,
    };
}

// What the paper has for all (§V.A).
const BUCKETS: u64 = 64;
const SLOTS: u32 = 3;
const FINGERPRINT_BITS: u32 = 30;
const MAX_KICKS: u32 = 1200;
/// Enough for the paper's peak, and for every scaled trace that a machine has the patience for.
const MAX_FILTERS: u32 = 1024;
/// The paper does not say when a filter of its list counts as full. No more than .970 of all slots
/// were ever in use there, and 186 of 192 are .969.
const FULL_FILTER: usize = 186;

impl Way {
    /// An empty filter.
    pub(in super::super) fn empty(&self, seed: u64) -> anyhow::Result<Box<dyn Subject<KeyHash>>> {
        Ok(match *self {
            Self::Dynamic(Dynamic { reuse_holes, tidy, search }) => {
                let (extension, capacity) = match reuse_holes {
                    true => (Extension::Active, (BUCKETS * u64::from(SLOTS)) as usize),
                    false => (Extension::Passive, FULL_FILTER),
                };
                let builder = DynamicCuckooFilter::builder()
                    .buckets_per_filter(BUCKETS)
                    .slots_per_bucket(SLOTS)
                    .fingerprint_bits(FINGERPRINT_BITS)
                    .placement(PlacementKind::Xor)
                    .search(search)
                    .max_kicks(MAX_KICKS)
                    .extension(extension)
                    .reuse_holes(reuse_holes)
                    .capacity_per_filter(capacity);
                Box::new(Tidied::new(builder.seed(seed).build()?, tidy))
            }
            Self::Consistent(of) => Box::new(
                ConsistentCuckooFilter::builder()
                    .buckets_per_filter(BUCKETS)
                    .max_filters(MAX_FILTERS)
                    .fingerprint_bits(FINGERPRINT_BITS)
                    .resizing(of.resizing)
                    .candidates(of.candidates)
                    .slots_per_bucket(of.slots)
                    .sparse_below(of.sparse_below)
                    .max_kicks(of.max_kicks)
                    .virtual_nodes(of.virtual_nodes)
                    .search(of.search)
                    .seed(seed)
                    .build()?,
            ),
            Self::Elastic { target_load, rate } => {
                let builder = ElasticFilter::builder().false_positive_rate(rate).seed(seed);
                let loaded = target_load.into_iter();
                Box::new(loaded.fold(builder, ElasticFilterBuilder::target_load).build()?)
            }
        })
    }
}

/// The paper's mean utilisation of CCF_B.
pub(super) const PAPER_BUCKETS: f64 = 0.9481;
/// And of CCF_F.
const PAPER_FILTERS: f64 = 0.9425;
/// The densest that the elastic builder takes.
const DENSEST: f64 = 0.96;

/// A filter to follow the trace with, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Contender {
    pub(super) name: String,
    pub(super) way: Way,
    pub(super) paper: Paper,
    /// The least mean utilisation that it must have.
    pub(super) target: Option<f64>,
}

/// What the paper says of a filter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paper {
    pub(super) mean: Option<f64>,
    /// The share below .90, as it is printed there.
    pub(super) badly_used: Option<&'static str>,
    pub(super) most: Option<f64>,
    /// The share of the samples with fewer than 500 empty slots.
    pub(super) few_empty: Option<f64>,
}

const DCF: Paper =
    Paper { mean: Some(0.8809), badly_used: Some("37"), most: Some(0.970), few_empty: Some(0.62) };
const CCF_B: Paper = Paper {
    mean: Some(PAPER_BUCKETS),
    badly_used: Some("< 10"),
    most: Some(1.0),
    few_empty: Some(0.93),
};
const CCF_F: Paper = Paper {
    mean: Some(PAPER_FILTERS),
    badly_used: Some("< 10"),
    most: Some(0.999),
    few_empty: Some(0.97),
};
const NONE: Paper = Paper { mean: None, badly_used: None, most: None, few_empty: None };

/// Those of the paper with its random walk and with a breadth-first search, then the elastic filter
/// with this false positive rate. Some of the second kind are left out unless `both`: they take
/// long and teach little.
pub(super) fn all(rate: f64, both: bool) -> Vec<Contender> {
    let mut all = Vec::new();
    for (search, how) in [(Search::RandomWalk, "walk"), (Search::BreadthFirst, "bfs")] {
        let dynamic = |reuse_holes, tidy| Way::Dynamic(Dynamic { reuse_holes, tidy, search });
        let consistent =
            |resizing| Way::Consistent(Consistent { resizing, search, ..Consistent::PAPER });
        for (name, way, paper, target) in [
            ("DCF forwards", dynamic(false, Tidy::Compact), DCF, None),
            ("DCF re-use", dynamic(true, Tidy::Compact), NONE, None),
            ("DCF re-use shrink", dynamic(true, Tidy::ShrinkToFit), NONE, None),
            ("CCF_B", consistent(Resizing::Buckets), CCF_B, Some(PAPER_BUCKETS)),
            ("CCF_F all", consistent(Resizing::Filters), CCF_F, Some(PAPER_FILTERS)),
            ("CCF_F active", consistent(Resizing::FiltersActiveOnly), CCF_F, None),
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
