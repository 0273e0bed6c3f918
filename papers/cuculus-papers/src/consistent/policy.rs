//! When a filter grows and shrinks, and by what. Knows numbers, nothing of entries.

use cuculus::lab::room::Kicks;

/// How a [`ConsistentCuckooFilter`](crate::ConsistentCuckooFilter) follows its set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resizing {
    /// Gradual changes by buckets, sudden ones by filters. The default.
    ///
    /// When a quarter of all buckets has been added since anything was removed, a new filter half
    /// as large as all others is added instead of one more bucket, up to `max_filters`. Whenever
    /// the entries of the smallest filter may fit the others, they are moved there, and so are
    /// those of a filter that has become smaller than a new one; otherwise a bucket that a removal
    /// has left sparse is removed.
    #[default]
    Adaptive,
    /// Only by buckets: the paper's CCF_B.
    Buckets,
    /// Only by filters, and a new one only when no filter takes a key: the reading of the paper's
    /// CCF_F that fills the filters. At `max_filters` by buckets.
    Filters,
    /// Only by filters, and keys go to the least loaded filter alone, as the paper's Algorithm 1
    /// has it. It keeps the filters nearly empty: a new one takes all keys until it is as full as
    /// the others.
    FiltersActiveOnly,
    /// Never by itself: only when asked to.
    Manual,
}

impl Resizing {
    const ALL: [Self; 5] =
        [Self::Adaptive, Self::Buckets, Self::Filters, Self::FiltersActiveOnly, Self::Manual];

    pub(super) fn id(self) -> u8 {
        self as u8
    }

    pub(super) fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|resizing| resizing.id() == id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// Refuse the key.
    None,
    Buckets,
    Filter {
        buckets: u32,
    },
}

/// What was decided when the filter was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) resizing: Resizing,
    pub(super) max_filters: u32,
    /// A bucket with fewer entries than this is removed, if possible.
    pub(super) sparse: u32,
    /// Filters besides the active one that are searched for room with kicks; the others only take
    /// what fits as they are.
    pub(super) searched: usize,
}

/// What has happened so far, as far as it decides what happens next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// Filters made since the filter was built or cleared: each gets a ring of its own.
    pub(super) made: u32,
    /// Buckets added since the last removal or new filter.
    pub(super) grown: u32,
    /// Filters are not merged while more keys than this are left.
    pub(super) merge_at: Option<u64>,
    /// The bucket of all filters, in order, that is looked at next for being sparse.
    pub(super) sweep: u32,
}

/// The most filters that are searched besides the active one, however few kicks each search has.
const SEARCHED: usize = 15;
/// Below this load a filter that grows would only waste memory: its keys collide.
const LEAST_LOAD: f64 = 1.0 / 16.0;
/// The fewest buckets whose adding in a row is called sudden.
pub(super) const SUDDEN: u32 = 16;

impl Policy {
    /// How many filters are searched unless another number was asked for.
    pub(super) fn searched(kicks: Kicks) -> usize {
        kicks.others(SEARCHED)
    }

    /// Whether keys are offered to all filters before anything grows.
    pub(super) fn tries_all(&self) -> bool {
        self.resizing != Resizing::FiltersActiveOnly
    }

    pub(super) fn growth(
        &self,
        history: &History,
        filters: usize,
        buckets: u32,
        first_buckets: u32,
        load: f64,
    ) -> Growth {
        if load < LEAST_LOAD {
            return Growth::None;
        }
        let more_filters = filters < self.max_filters as usize;
        match self.resizing {
            Resizing::Manual => Growth::None,
            Resizing::Buckets => Growth::Buckets,
            Resizing::Filters | Resizing::FiltersActiveOnly if more_filters => {
                Growth::Filter { buckets: first_buckets }
            }
            Resizing::Adaptive if more_filters && history.grown >= SUDDEN.max(buckets / 4) => {
                Growth::Filter { buckets: first_buckets.max(buckets / 2) }
            }
            _ => Growth::Buckets,
        }
    }

    /// The buckets of a filter to be added where buckets alone did not help, if there may be one.
    pub(super) fn instead_of_buckets(
        &self,
        filters: usize,
        buckets: u32,
        first_buckets: u32,
    ) -> Option<u32> {
        let may_be = self.resizing == Resizing::Adaptive && filters < self.max_filters as usize;
        may_be.then_some(first_buckets.max(buckets / 2))
    }

    /// Whether filters are merged after a removal, if that may work.
    pub(super) fn merges(&self) -> bool {
        !matches!(self.resizing, Resizing::Buckets | Resizing::Manual)
    }

    /// Whether sparse buckets are removed after a removal.
    pub(super) fn removes_buckets(&self) -> bool {
        matches!(self.resizing, Resizing::Adaptive | Resizing::Buckets)
    }
}
