//! The public type of the consistent filter: hashes in, answers out. How it grows and shrinks is in
//! `policy` and `resize`.

use super::builder::ConsistentCuckooFilterBuilder;
use super::policy::{History, Policy};
use super::stats::ConsistentStats;
use crate::analysis;
use crate::described::{described, filter};
use crate::index_independent::ring_table::{RingPlan, RingTable};
use crate::ring::Points;
use cuculus::lab::placement::{Fingerprint, FingerprintSize};
use cuculus::{Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove, lab::memory};

/// Several index-independent filters that grow and shrink with the set, after Luo, Guo,
/// Rottenstreich, Ma, Luo and Ren (2019): the consistent cuckoo filter.
///
/// It begins with one [index-independent filter](crate::IndexIndependentCuckooFilter). Keys go to
/// the least loaded of its filters; when none takes a key, a filter gets another bucket, or another
/// filter is added; when keys have gone, buckets are removed and filters merged. By itself, in the
/// way chosen with [`resizing`](ConsistentCuckooFilterBuilder::resizing), or when asked to with
/// [`scale_up`](Self::scale_up), [`scale_down`](Self::scale_down), [`scale_out`](Self::scale_out)
/// and [`compact`](Self::compact). Its utilisation is high at every size.
///
/// # What it costs
/// What the index-independent filter costs. Above all **the false positive rate grows with the
/// keys**, 1 − (1 − 2^−f)^n, whatever the number of filters: the paper's Theorem 1, s·k·b/2^f, and
/// its rate "bounded by a threshold on s" do not hold. And **the ring** takes several times the
/// memory of the fingerprints, so that a high utilisation is no small filter.
///
/// ```
/// use cuculus::{Filter, Insert, Remove};
/// use cuculus_papers::ConsistentCuckooFilter;
///
/// let mut set = ConsistentCuckooFilter::builder().candidates(2).virtual_nodes(10).build()?;
/// for key in 0..5000u64 {
///     set.insert(&key)?;
/// }
/// assert!(set.utilization() > 0.85);
/// for key in 0..4000u64 {
///     assert!(set.remove(&key));
/// }
/// assert!(set.utilization() > 0.85);
/// assert!((4000..5000u64).all(|key| set.contains(&key)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ConsistentCuckooFilter {
    pub(super) hasher: KeyHasher,
    pub(super) size: FingerprintSize,
    /// One at least.
    pub(super) filters: Vec<RingTable>,
    pub(super) first: RingPlan,
    pub(super) policy: Policy,
    pub(super) history: History,
    pub(super) refused: u64,
}

impl ConsistentCuckooFilter {
    /// The index-independent filters that there are.
    #[must_use]
    pub fn filters(&self) -> usize {
        self.filters.len()
    }

    /// The buckets of all filters.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.filters.iter().map(|table| table.bucket_count() as usize).sum()
    }

    /// The points that serve every filter.
    pub(super) fn most_candidates(&self) -> usize {
        self.filters.iter().map(RingTable::candidate_count).max().unwrap_or(1)
    }

    #[inline(always)]
    fn look(&self, hash: KeyHash) -> (Fingerprint, Points) {
        let fingerprint = self.size.fingerprint(hash);
        (fingerprint, Points::of(fingerprint, self.most_candidates()))
    }

    fn insert_fingerprint(
        &mut self,
        fingerprint: Fingerprint,
        points: &Points,
    ) -> Result<(), FullCause> {
        let active = self.least_loaded();
        match self.filters[active].insert(fingerprint, points, None) {
            Ok(()) => Ok(()),
            Err(cause) => self.insert_elsewhere(fingerprint, points, active, cause),
        }
    }

    /// Stores a fingerprint that the active filter has refused.
    #[cold]
    fn insert_elsewhere(
        &mut self,
        fingerprint: Fingerprint,
        points: &Points,
        active: usize,
        cause: FullCause,
    ) -> Result<(), FullCause> {
        let is_equal = |cause: FullCause| matches!(cause, FullCause::EqualEntries { .. });
        let mut too_many_equal = is_equal(cause);
        if cause == FullCause::OutOfMemory {
            return Err(cause);
        }
        if self.policy.tries_all() {
            let others = self.by_load();
            for (tried, at) in others.iter().filter(|&at| at != active).enumerate() {
                let table = &mut self.filters[at];
                // So many filters are there only if somebody wants them, and all searches together
                // would take as long as the file of somebody else says.
                if tried >= self.policy.searched {
                    if table.place(fingerprint, points) {
                        return Ok(());
                    }
                    continue;
                }
                match table.insert(fingerprint, points, None) {
                    Ok(()) => return Ok(()),
                    Err(FullCause::OutOfMemory) => return Err(FullCause::OutOfMemory),
                    Err(cause) => too_many_equal |= is_equal(cause),
                }
            }
        }
        // A filter that grew for copies of one key would grow for ever.
        if too_many_equal {
            return Err(FullCause::EqualEntries { held: self.count_all(fingerprint, points) });
        }
        self.grow_for(fingerprint)
    }

    fn count_all(&self, fingerprint: Fingerprint, points: &Points) -> usize {
        self.filters.iter().map(|table| table.count(fingerprint, points)).sum()
    }

    #[cold]
    pub(super) fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len(), self.slots())
    }
}

filter! { ConsistentCuckooFilter, |filter, hash|
    contains: {
        let (fingerprint, points) = filter.look(hash);
        filter.filters.iter().any(|table| table.contains(fingerprint, &points))
    };
    count: {
        let (fingerprint, points) = filter.look(hash);
        filter.count_all(fingerprint, &points)
    };
    len: filter.filters.iter().map(RingTable::len).sum();
    slots: filter.filters.iter().map(RingTable::slots).sum();
    heap_bytes: {
        let tables: usize = filter.filters.iter().map(RingTable::heap_bytes).sum();
        filter.filters.capacity() * size_of::<RingTable>() + tables
    };
    // Of all entries, not only of those that a lookup meets: see the type's description.
    rate: analysis::false_positive_rate(filter.first.shape.fingerprint_bits, filter.len() as f64);
}

impl Insert for ConsistentCuckooFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let (fingerprint, points) = self.look(hash);
        self.insert_fingerprint(fingerprint, &points).map_err(|cause| self.full(cause))
    }

    fn clear(&mut self) {
        let buckets = self.all_buckets();
        self.filters.truncate(1);
        memory::shrink(&mut self.filters, 0);
        self.filters[0].clear_to(self.first, super::resize::salt(0), buckets);
        self.history = History::of_new();
        self.refused = 0;
    }
}

impl Remove for ConsistentCuckooFilter {
    /// Entries of equal fingerprints stand for the same keys wherever they lie, so the first one
    /// will do.
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let (fingerprint, points) = self.look(hash);
        let tables = self.filters.iter_mut().enumerate();
        let mut removals =
            tables.filter_map(|(at, table)| Some((at, table.remove(fingerprint, &points)?)));
        let removed = removals.next();
        if let Some((filter, bucket)) = removed {
            self.shrink_after_removal(filter, bucket);
        }
        removed.is_some()
    }
}

described! {
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, ConsistentStats,
    /// Starts with the defaults: one filter of 64 buckets of four slots, two candidates, ten nodes a
    /// bucket, fingerprints of 32 bits.
    builder;
    |filter| filters: filter.filters.len(), policy: filter.policy
}
