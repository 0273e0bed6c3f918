//! The public filter: hashes in, answers out, and buckets added and removed by hand.

use super::builder::IndexIndependentCuckooFilterBuilder;
use super::ring_table::{RingPlan, RingTable};
use super::stats::IndexIndependentStats;
use crate::analysis;
use crate::described::{described, filter};
use crate::ring::Points;
use cuculus::lab::placement::{BucketIndex, Fingerprint, FingerprintSize};
use cuculus::{Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove};

/// A cuckoo filter whose buckets come and go one by one, after Luo, Guo, Rottenstreich, Ma, Luo and
/// Ren (The Consistent Cuckoo Filter, 2019): the index-independent cuckoo filter.
///
/// The buckets lie on a consistent-hash ring, and the candidate buckets of a key follow from its
/// fingerprint alone: they are the owners of k points of the ring. So a bucket can be
/// [added](Self::add_bucket) or [removed](Self::remove_bucket), and only entries of its
/// neighbours move.
///
/// # What it costs
/// **The false positive rate grows with the keys.** Equal fingerprints have equal candidates, so
/// any stored fingerprint that is equal to a key's own is found: with n keys and f bits the rate is
/// 1 − (1 − 2^−f)^n, about n/2^f, wherever the entries lie. (The paper's Theorem 1 has k·b/2^f, as
/// if a lookup met only k·b random entries: 0.009 % instead of 1.5 % for a thousand keys of 16
/// bits. [`expected_false_positive_rate`](Filter::expected_false_positive_rate) is the true one.)
/// The builder chooses f for the capacity: a rate of 1 % with a million keys needs 27 bits.
///
/// **At most k·b entries can be equal**, so short fingerprints limit the number of keys, however
/// many buckets there are. One more is refused with [`FullCause::EqualEntries`].
///
/// **The ring is memory too**: with ten nodes per bucket several times that of the fingerprints.
/// [`size_in_bytes`](Filter::size_in_bytes) counts it.
///
/// ```
/// use cuculus::{Filter, Insert, Remove};
/// use cuculus_papers::IndexIndependentCuckooFilter;
///
/// let mut filter = IndexIndependentCuckooFilter::builder().capacity(1000).build()?;
/// filter.insert("key")?;
/// let buckets = filter.buckets();
/// filter.add_bucket()?;
/// assert!(filter.buckets() > buckets && filter.contains("key"));
/// assert!(filter.remove_bucket() && filter.contains("key"));
/// assert!(filter.remove("key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct IndexIndependentCuckooFilter {
    pub(super) hasher: KeyHasher,
    pub(super) size: FingerprintSize,
    pub(super) table: RingTable,
    /// The number of buckets when built, to which a cleared filter returns, unless it has fewer.
    pub(super) first_buckets: u32,
    pub(super) capacity: usize,
    pub(super) refused: u64,
}

impl IndexIndependentCuckooFilter {
    /// The number of keys that the filter was built for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The buckets that there are.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.table.bucket_count() as usize
    }

    /// Adds a bucket. Entries whose points the new bucket takes are inserted again; if some of them
    /// find no room, further buckets are added until all do. Returns how many were added.
    ///
    /// # Errors
    /// [`Full`] with [`FullCause::OutOfMemory`], or [`FullCause::Crowded`] if far more buckets
    /// would be needed than one; nothing has changed then.
    pub fn add_bucket(&mut self) -> Result<usize, Full> {
        let most = most_for_one(self.table.bucket_count());
        match self.table.grow(None, 1, most) {
            Ok(added) => Ok(added as usize),
            Err(cause) => Err(self.full(cause)),
        }
    }

    /// Removes the emptiest bucket, if its entries find room where they belong without it, and says
    /// whether that was so. If not, nothing has changed.
    pub fn remove_bucket(&mut self) -> bool {
        let emptiest = self.table.emptiest();
        self.table.remove_bucket(emptiest)
    }

    /// Removes the bucket with this number, as [`remove_bucket`](Self::remove_bucket) does; the
    /// last bucket then gets the number. False for a number that no bucket has, and for the only
    /// bucket.
    pub fn remove_bucket_at(&mut self, bucket: usize) -> bool {
        let bucket = u32::try_from(bucket).unwrap_or(u32::MAX);
        self.table.remove_bucket(BucketIndex(bucket))
    }

    #[inline(always)]
    fn look(&self, hash: KeyHash) -> (Fingerprint, Points) {
        let fingerprint = self.size.fingerprint(hash);
        (fingerprint, Points::of(fingerprint, self.table.candidate_count()))
    }

    fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len(), self.slots())
    }
}

/// The most buckets that are added for the sake of one: a quarter more than there are, and no more
/// than some dozen. What still finds no room then was chosen to find none.
pub(crate) fn most_for_one(buckets: u32) -> u32 {
    (buckets / 4).clamp(16, 64)
}

filter! { IndexIndependentCuckooFilter, |filter, hash|
    contains: {
        let (fingerprint, points) = filter.look(hash);
        filter.table.contains(fingerprint, &points)
    };
    count: {
        let (fingerprint, points) = filter.look(hash);
        filter.table.count(fingerprint, &points)
    };
    len: filter.table.len();
    slots: filter.table.slots();
    heap_bytes: filter.table.heap_bytes();
    // Of all entries, not only of those that a lookup meets: see the type's description.
    rate: {
        let bits = filter.table.plan().shape.fingerprint_bits;
        analysis::false_positive_rate(bits, filter.len() as f64)
    };
}

impl Insert for IndexIndependentCuckooFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let (fingerprint, points) = self.look(hash);
        self.table.insert(fingerprint, &points, None).map_err(|cause| self.full(cause))
    }

    fn clear(&mut self) {
        let plan = RingPlan { buckets: self.first_buckets, ..self.table.plan() };
        self.table.clear_to(plan, self.table.ring().salt, self.table.bucket_count());
        self.refused = 0;
    }
}

impl Remove for IndexIndependentCuckooFilter {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let (fingerprint, points) = self.look(hash);
        self.table.remove(fingerprint, &points).is_some()
    }
}

described! {
    IndexIndependentCuckooFilter, IndexIndependentCuckooFilterBuilder, IndexIndependentStats,
    /// Starts with the defaults: buckets of four slots, two candidates, ten nodes per bucket.
    builder;
    |filter| plan: filter.table.plan()
}
