//! The filters of the paper's Fig. 4, in the readings that its text leaves open, and ours: how each
//! is built. Knows filters, nothing of traces.

use cuculus::lab::{PlacementKind, Search};
use cuculus::{ElasticFilter, Filter, Insert, KeyHash, Remove};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Extension, Resizing};

use crate::prelude::*;

pub(in super::super) trait Follower {
    fn filter(&self) -> &dyn Filter;

    fn insert(&mut self, hash: KeyHash) -> bool;

    fn remove(&mut self, hash: KeyHash) -> bool;

    /// The filters that it consists of, and the part of its memory that holds rings.
    fn parts(&self) -> (usize, usize);
}

/// A filter with what it does when a flow begins or ends.
pub(in super::super) struct Following<F> {
    pub(in super::super) filter: F,
    pub(in super::super) insert: fn(&mut F, KeyHash) -> bool,
    pub(in super::super) remove: fn(&mut F, KeyHash) -> bool,
    pub(in super::super) parts: fn(&F) -> (usize, usize),
}

impl<F: Insert> Following<F> {
    pub(in super::super) fn new(filter: F, remove: fn(&mut F, KeyHash) -> bool) -> Self {
        let insert = |filter: &mut F, hash| filter.insert_hash(hash).is_ok();
        Self { filter, insert, remove, parts: |_| (1, 0) }
    }
}

impl Following<ConsistentCuckooFilter> {
    pub(in super::super) fn rings(filter: ConsistentCuckooFilter) -> Self {
        let parts = |of: &ConsistentCuckooFilter| (of.filters(), of.stats().ring_bytes);
        Self { parts, ..Self::new(filter, Remove::remove_hash) }
    }
}

impl Following<DynamicCuckooFilter> {
    /// A list, which does not get shorter by itself: it is compacted after every removal, as
    /// Algorithm 4 of its paper has it, which moves what fits even if that frees no filter; or in
    /// whole filters only, once as many slots are free as a filter has.
    pub(in super::super) fn list(filter: DynamicCuckooFilter, as_printed: bool) -> Self {
        let remove = if as_printed { remove_and_compact_as_printed } else { remove_and_compact };
        Self { parts: |list| (list.filters(), 0), ..Self::new(filter, remove) }
    }
}

fn remove_and_compact_as_printed(list: &mut DynamicCuckooFilter, hash: KeyHash) -> bool {
    let removed = list.remove_hash(hash);
    list.compact_as_printed();
    removed
}

fn remove_and_compact(list: &mut DynamicCuckooFilter, hash: KeyHash) -> bool {
    let removed = list.remove_hash(hash);
    if list.slots() - list.len() >= list.slots() / list.filters() {
        list.compact();
    }
    removed
}

impl<F: Filter> Follower for Following<F> {
    fn filter(&self) -> &dyn Filter {
        &self.filter
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        (self.insert)(&mut self.filter, hash)
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        (self.remove)(&mut self.filter, hash)
    }

    fn parts(&self) -> (usize, usize) {
        (self.parts)(&self.filter)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// `full` are the keys from which on a filter counts as full.
    Dynamic {
        shape: Shape,
        as_printed: bool,
        search: Search,
        full: usize,
    },
    Consistent(Consistent),
    Elastic {
        rate: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Of a filter; of a CCF that it starts with.
    pub(super) buckets: u64,
    pub(super) slots: u32,
    pub(super) bits: u32,
    pub(super) max_kicks: u32,
    /// Candidates of a key and nodes of a bucket, on a ring.
    pub(super) candidates: u32,
    pub(super) nodes: u32,
}

impl Shape {
    /// What the paper has for all (§V.A).
    pub(super) const PAPER: Self =
        Self { buckets: 64, slots: 3, bits: 30, max_kicks: 1200, candidates: 2, nodes: 10 };

    pub(super) const OPTIONS: [Choice; 6] = [
        Choice::new("m", "N", "buckets of a filter, at the start"),
        Choice::new("b", "N", "slots of a bucket"),
        Choice::new("f", "N", "bits of a fingerprint"),
        Choice::new("max-kicks", "N", "kicks before a search gives up"),
        Choice::new("k", "N", "candidate buckets of a key on a ring"),
        Choice::new("v", "N", "nodes of a bucket on a ring"),
    ];

    pub(super) fn of(settings: &Settings<'_>) -> anyhow::Result<Self> {
        let [m, b, f, kicks, k, v] = Self::OPTIONS;
        Ok(Self {
            buckets: settings.value(m, Self::PAPER.buckets)?,
            slots: settings.value(b, Self::PAPER.slots)?,
            bits: settings.value(f, Self::PAPER.bits)?,
            max_kicks: settings.value(kicks, Self::PAPER.max_kicks)?,
            candidates: settings.value(k, Self::PAPER.candidates)?,
            nodes: settings.value(v, Self::PAPER.nodes)?,
        })
    }

    /// 15/16 of the slots of a filter: what the paper of the dynamic filter has (7,680 of 8,192).
    pub(super) fn full_filter(self) -> usize {
        (self.buckets * u64::from(self.slots) * 15 / 16) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Consistent {
    pub(super) shape: Shape,
    pub(super) resizing: Resizing,
    pub(super) sparse_below: u32,
    pub(super) search: Search,
}

impl Consistent {
    /// The paper's CCF_B, which it varies in Fig. 5.
    pub(super) const PAPER: Self = Self {
        shape: Shape::PAPER,
        resizing: Resizing::Buckets,
        sparse_below: 2,
        search: Search::PaperWalk,
    };
}

/// Enough for the paper's peak, and for every scaled trace that a machine has the patience for.
const MAX_FILTERS: u32 = 1024;

impl Way {
    pub(super) fn empty(&self, seed: u64) -> anyhow::Result<Box<dyn Follower>> {
        Ok(match *self {
            Self::Dynamic { shape, as_printed, search, full } => {
                let list = DynamicCuckooFilter::builder().placement(PlacementKind::Xor);
                let list = list.buckets_per_filter(shape.buckets).slots_per_bucket(shape.slots);
                let list = list.fingerprint_bits(shape.bits).max_kicks(shape.max_kicks);
                let list = list.search(search).extension(Extension::Passive).reuse_holes(false);
                let list = list.capacity_per_filter(full).seed(seed).build()?;
                Box::new(Following::list(list, as_printed))
            }
            Self::Consistent(Consistent { shape, resizing, sparse_below, search }) => {
                let rings = ConsistentCuckooFilter::builder().buckets_per_filter(shape.buckets);
                let rings = rings.max_filters(MAX_FILTERS).filters_searched(MAX_FILTERS as usize);
                let rings = rings.fingerprint_bits(shape.bits).slots_per_bucket(shape.slots);
                let rings = rings.candidates(shape.candidates).virtual_nodes(shape.nodes);
                let rings = rings.max_kicks(shape.max_kicks).search(search).resizing(resizing);
                let rings = rings.sparse_below(sparse_below).seed(seed);
                Box::new(Following::rings(rings.build()?))
            }
            Self::Elastic { rate } => {
                let builder = ElasticFilter::builder().false_positive_rate(rate).seed(seed);
                Box::new(Following::new(builder.build()?, Remove::remove_hash))
            }
        })
    }
}

pub(super) const PAPER_BUCKETS: f64 = 0.9481;
/// The lowest that an elastic filter keeps. The paper's filters have 6.8e-6 with all flows in: 7,290
/// fingerprints of 30 bits.
const LOW_RATE: f64 = 1e-5;

#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) way: Way,
    pub(super) paper: Paper,
    /// Whether it is the paper's filter as printed: the paper's numbers are claims about it.
    pub(super) is_printed: bool,
    /// The least mean utilisation that it must have, by our own claim.
    pub(super) target: Option<f64>,
    pub(super) is_shown: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Paper {
    pub(super) mean: Option<f64>,
    /// The share below .90: this, or for the CCFs less than this.
    pub(super) badly_used: Option<Share>,
    pub(super) most: Option<f64>,
    pub(super) few_empty: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    About(f64),
    Below(f64),
}

const fn paper(mean: f64, badly_used: Share, most: f64, few_empty: f64) -> Paper {
    let (mean, badly_used) = (Some(mean), Some(badly_used));
    Paper { mean, badly_used, most: Some(most), few_empty: Some(few_empty) }
}

const DCF: Paper = paper(0.8809, Share::About(0.37), 0.970, 0.62);
const CCF_B: Paper = paper(PAPER_BUCKETS, Share::Below(0.10), 1.0, 0.93);
const CCF_F: Paper = paper(0.9425, Share::Below(0.10), 0.999, 0.97);

/// The names that findings look rows up by.
pub(super) const DCF_PRINTED: &str = "DCF as printed";
pub(super) const DCF_COMPACT: &str = "DCF, whole filters only";
pub(super) const CCF_B_PRINTED: &str = "CCF_B as printed";
pub(super) const CCF_F_PRINTED: &str = "CCF_F as printed";
pub(super) const ELASTIC: &str = "elastic";
pub(super) const ELASTIC_LOW_RATE: &str = "elastic, rate 1e-5";

/// The filters of the paper as printed, then in our forms, then the elastic filter with this false
/// positive rate.
pub(super) fn all(shape: Shape, rate: f64, full: usize) -> Vec<Contender> {
    let (paper, ours, bfs) = (Search::PaperWalk, Search::RandomWalk, Search::BreadthFirst);
    let dynamic = |as_printed, search| Way::Dynamic { shape, as_printed, search, full };
    let consistent = |resizing, search| {
        Way::Consistent(Consistent { shape, resizing, search, ..Consistent::PAPER })
    };
    let (buckets, filters) = (Resizing::Buckets, Resizing::Filters);
    let printed = |name, way, paper| Contender {
        name,
        way,
        paper,
        is_printed: true,
        target: None,
        is_shown: true,
    };
    let shown = |name, way| Contender { is_printed: false, ..printed(name, way, Paper::default()) };
    let more = |name, way| Contender { is_shown: false, ..shown(name, way) };
    vec![
        printed(DCF_PRINTED, dynamic(true, paper), DCF),
        printed(CCF_B_PRINTED, consistent(buckets, paper), CCF_B),
        printed(CCF_F_PRINTED, consistent(filters, paper), CCF_F),
        shown(DCF_COMPACT, dynamic(false, paper)),
        shown("CCF_B, walk without return", consistent(buckets, ours)),
        more("DCF, whole filters only, walk without return", dynamic(false, ours)),
        more("CCF_F, only the active filter tried", consistent(Resizing::FiltersActiveOnly, paper)),
        more("DCF as printed, walk without return", dynamic(true, ours)),
        more("CCF_B, bfs", consistent(buckets, bfs)),
        more("CCF_F, walk without return", consistent(filters, ours)),
        more("CCF_F, bfs", consistent(filters, bfs)),
        more("CCF adaptive", consistent(Resizing::Adaptive, paper)),
        Contender { target: Some(PAPER_BUCKETS), ..shown(ELASTIC, Way::Elastic { rate }) },
        shown(ELASTIC_LOW_RATE, Way::Elastic { rate: LOW_RATE }),
    ]
}
