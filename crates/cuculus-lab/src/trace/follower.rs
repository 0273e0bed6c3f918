//! Filters that follow a set, behind one face: every kind with the parameters of the experiment.
//! Knows filters, nothing of traces.

use cuculus::lab::{PlacementKind, Search};
use cuculus::papers::{ConsistentCuckooFilter, DynamicCuckooFilter, Extension, Resizing};
use cuculus::{ElasticFilter, ElasticFilterBuilder, Filter, Insert, KeyHash, Remove};

/// A filter that gets larger and smaller with its set.
pub(crate) trait Follower {
    fn filter(&self) -> &dyn Filter;

    /// Whether the key was taken.
    fn insert(&mut self, hash: KeyHash) -> bool;

    /// Whether the key was there, with all that follows a removal.
    fn remove(&mut self, hash: KeyHash) -> bool;

    /// The filters that it consists of.
    fn filters(&self) -> usize {
        1
    }

    /// The part of its memory that holds rings.
    fn ring_bytes(&self) -> usize {
        0
    }
}

impl Follower for ElasticFilter {
    fn filter(&self) -> &dyn Filter {
        self
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        self.insert_hash(hash).is_ok()
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove_hash(hash)
    }
}

impl Follower for ConsistentCuckooFilter {
    fn filter(&self) -> &dyn Filter {
        self
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        self.insert_hash(hash).is_ok()
    }

    fn remove(&mut self, hash: KeyHash) -> bool {
        self.remove_hash(hash)
    }

    fn filters(&self) -> usize {
        ConsistentCuckooFilter::filters(self)
    }

    fn ring_bytes(&self) -> usize {
        self.stats().ring_bytes
    }
}

/// A dynamic filter and what it does after removals.
pub(crate) struct Tidied {
    filter: DynamicCuckooFilter,
    tidy: Tidy,
    /// Nothing is tried before so many slots are free.
    try_from: usize,
}

/// How a dynamic filter gets smaller: it never does so by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tidy {
    /// By moving entries to the same bucket of others, as in the paper.
    Compact,
    /// With kicks.
    ShrinkToFit,
}

impl Tidied {
    pub(crate) fn new(filter: DynamicCuckooFilter, tidy: Tidy) -> Self {
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

impl Follower for Tidied {
    fn filter(&self) -> &dyn Filter {
        &self.filter
    }

    fn insert(&mut self, hash: KeyHash) -> bool {
        self.filter.insert_hash(hash).is_ok()
    }

    /// Tries to give a filter back after every removal that leaves as many slots free as a filter
    /// has; with fewer it cannot be.
    fn remove(&mut self, hash: KeyHash) -> bool {
        let removed = self.filter.remove_hash(hash);
        let free = self.filter.slots() - self.filter.len();
        if free >= self.slots_per_filter().max(self.try_from) {
            self.tidy();
        }
        removed
    }

    fn filters(&self) -> usize {
        self.filter.filters()
    }
}

/// Which filter, with which parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Dynamic(Dynamic),
    Consistent(Consistent),
    Elastic { target_load: Option<f64>, rate: f64 },
}

/// The parameters of a dynamic filter that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dynamic {
    pub(crate) reuse_holes: bool,
    pub(crate) tidy: Tidy,
    pub(crate) search: Search,
}

/// The parameters of a consistent filter that differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Consistent {
    pub(crate) resizing: Resizing,
    pub(crate) candidates: u32,
    pub(crate) slots: u32,
    pub(crate) sparse_below: u32,
    pub(crate) max_kicks: u32,
    pub(crate) virtual_nodes: u32,
    pub(crate) search: Search,
}

impl Consistent {
    /// The paper's CCF_B, which it varies in Fig. 5.
    pub(crate) const PAPER: Self = Self {
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
    pub(crate) fn empty(&self, seed: u64) -> anyhow::Result<Box<dyn Follower>> {
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
