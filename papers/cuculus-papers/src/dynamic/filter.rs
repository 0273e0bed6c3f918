//! The public type of the dynamic filter: hashes in, answers out. Where a key goes is decided in
//! `growth`.

use super::block::Block;
use super::builder::DynamicCuckooFilterBuilder;
use super::growth::Rules;
use super::stats::DynamicStats;
use crate::analysis;
use crate::described::{described, filter};
use cuculus::lab::placement::{AnyPlacement, FingerprintSize, Placement, PlacementKind};
use cuculus::lab::room::{Candidates, Kicks};
use cuculus::lab::table::BucketShape;
use cuculus::{Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove, lab::memory};

/// A list of equal cuckoo filters, after Chen, Liao, Jin and Wu (2017).
///
/// When the filters of the list are full another is appended; when one can be emptied into the
/// others, [`compact`](Self::compact) drops it. It is here to be compared with, and for those who
/// want the paper's structure: [`ElasticFilter`](cuculus::ElasticFilter) follows its set by itself in
/// small steps, keeps its rate at every size, and reads two buckets for a lookup instead of two for
/// each filter of the list.
///
/// ```
/// use cuculus::{Filter, Insert, Remove};
/// use cuculus_papers::DynamicCuckooFilter;
///
/// let mut set = DynamicCuckooFilter::builder()
///     .capacity(60_000) // the rate is kept up to here; more keys are taken all the same
///     .false_positive_rate(0.01)
///     .build()?;
/// assert_eq!(set.filters(), 1);
/// for key in 0..60_000u64 {
///     set.insert(&key)?;
/// }
/// assert!(set.contains(&77u64) && set.filters() > 1);
/// assert!(set.expected_false_positive_rate() <= 0.01);
///
/// for key in 100..60_000u64 {
///     assert!(set.remove(&key));
/// }
/// set.compact();
/// assert!(set.contains(&77u64) && set.filters() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is promised
/// * A key inserted and not removed is found, however the list grows, is compacted, saved and
///   loaded; unless [`filter_duplicates`](DynamicCuckooFilterBuilder::filter_duplicates) is on.
/// * The false positive rate grows with the number of keys, and is kept up to the capacity. Removing
///   keys lowers it again, compacting does not change it.
/// * Memory is given back by [`compact`](Self::compact) and
///   [`shrink_to_fit`](Self::shrink_to_fit) only. With `reuse_holes` the slots of removed keys are
///   used again before the list gets longer; without, as in the paper, only after compacting, and
///   a set that changes without growing makes the list longer and longer until then.
/// * Of one key at least 2b copies fit, b being the slots of a bucket. A copy beyond that is refused
///   ([`FullCause::EqualEntries`]) when it finds no room, and nothing grows because of it.
/// * No more than 4,096 filters; a key that would need one more is refused
///   ([`FullCause::NoRoom`]).
#[derive(Clone)]
pub struct DynamicCuckooFilter {
    pub(super) hasher: KeyHasher,
    pub(super) shape: BucketShape,
    pub(super) size: FingerprintSize,
    pub(super) placement: AnyPlacement,
    pub(super) kicks: Kicks,
    pub(super) rules: Rules,
    /// Never empty, and all of the same shape and length.
    pub(super) blocks: Vec<Block>,
    /// The filter that takes keys; below the number of filters.
    pub(super) current: usize,
    pub(super) len: usize,
    pub(super) capacity: usize,
    pub(super) appended: u64,
    pub(super) refused: u64,
}

impl DynamicCuckooFilter {
    /// The number of keys up to which the false positive rate is kept. The filter takes more.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The filters in the list. A lookup asks each of them.
    #[must_use]
    pub fn filters(&self) -> usize {
        self.blocks.len()
    }

    #[inline(always)]
    fn candidates(&self, hash: KeyHash) -> Candidates {
        Candidates::of(self.placement, self.size, hash)
    }

    #[inline(always)]
    fn holds(&self, key: &Candidates) -> bool {
        self.blocks.iter().any(|block| block.contains(key))
    }

    pub(super) fn count(&self, key: &Candidates) -> usize {
        self.blocks.iter().map(|block| block.count(key)).sum()
    }

    pub(super) fn slots_per_filter(&self) -> usize {
        self.placement.buckets() as usize * self.shape.slots_per_bucket as usize
    }

    #[cold]
    fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len, self.slots())
    }
}

filter! { DynamicCuckooFilter, |filter, hash|
    contains: filter.holds(&filter.candidates(hash));
    count: filter.count(&filter.candidates(hash));
    len: filter.len;
    slots: filter.slots_per_filter() * filter.blocks.len();
    heap_bytes: {
        let tables: usize = filter.blocks.iter().map(Block::heap_bytes).sum();
        filter.blocks.capacity() * size_of::<Block>() + tables
    };
    // Eq. 4 of the paper with the entries that are there instead of 2b for each filter: what counts
    // is how many entries a key is compared with, not how they are spread over the list.
    rate: {
        let buckets = f64::from(filter.placement.buckets());
        // The buckets of a key: two, but for the one of an odd number (and one of the simplified
        // form) that is its own alternate.
        let odd = filter.placement.buckets() % 2 == 1;
        let simplified = filter.placement.kind() == PlacementKind::Simplified;
        let candidates = if odd || simplified { 2.0 - 1.0 / buckets } else { 2.0 };
        let entries = candidates * filter.len as f64 / buckets;
        analysis::false_positive_rate(filter.shape.fingerprint_bits, entries)
    };
}

impl Insert for DynamicCuckooFilter {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let key = self.candidates(hash);
        if self.rules.filter_duplicates && self.holds(&key) {
            return Ok(());
        }
        match self.store(&key) {
            Ok(()) => {
                self.len += 1;
                Ok(())
            }
            Err(cause) => Err(self.full(cause)),
        }
    }

    fn clear(&mut self) {
        self.blocks.truncate(1);
        memory::shrink(&mut self.blocks, 0);
        self.blocks.iter_mut().for_each(Block::clear);
        (self.current, self.len, self.appended, self.refused) = (0, 0, 0, 0);
    }
}

impl Remove for DynamicCuckooFilter {
    /// From the first filter of the list that has a match (Algorithm 3 of the paper). Any match will
    /// do: since all filters have the same number of buckets and the same length of a fingerprint,
    /// whatever matches one key in one filter matches it in all, and keys that look the same to one
    /// filter look the same to every other. (With filters of different sizes the most selective match
    /// would have to go first.)
    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        let removed = self.blocks.iter_mut().any(|block| block.remove(&key));
        self.len -= usize::from(removed);
        removed
    }
}

described! {
    DynamicCuckooFilter, DynamicCuckooFilterBuilder, DynamicStats,
    /// Starts with the defaults: a false positive rate of 1 %, buckets of four, active extension, and
    /// holes that are used again.
    builder;
    |filter| filters: filter.blocks.len(), current: filter.current, shape: filter.shape,
        placement: filter.placement.kind(), rules: filter.rules
}
