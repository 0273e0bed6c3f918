//! The public filter: hashes in, answers out.

use core::fmt;
use std::alloc::{Layout, handle_alloc_error};

use super::builder::ElasticFilterBuilder;
use super::engine::Engine;
use super::stats::ElasticStats;
use crate::batch::GROUP;
use crate::{Filter, Full, FullCause, Insert, Key, KeyHash, KeyHasher, Remove};

/// A filter that follows its set, up and down, and keeps its false positive rate.
///
/// Say the rate and nothing else. The filter grows and shrinks in small steps, so no operation
/// waits for a rebuild; memory follows the number of keys in both directions; and a lookup reads
/// two or three cache lines, however large the filter has become. (A set that has grown by a
/// factor of several hundred since its oldest keys came may keep those apart, in a small filter
/// of the same kind, and then reads that one as well.)
///
/// ```
/// use cuculus::{ElasticFilter, Filter, Insert, Remove};
///
/// let mut set = ElasticFilter::builder().false_positive_rate(0.001).build()?;
/// for key in 0..100_000u64 {
///     set.insert(&key)?;
/// }
/// assert!(set.contains(&77u64));
/// assert!(set.expected_false_positive_rate() <= 0.001);
/// let large = set.size_in_bytes();
///
/// for key in 100..100_000u64 {
///     assert!(set.remove(&key));
/// }
/// assert!(set.contains(&77u64) && set.len() == 100);
/// assert!(set.size_in_bytes() < large / 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is promised
/// * A key inserted and not removed is found; a key that is in the filter can be removed.
/// * The rate asked for is kept at every size, for keys that were chosen without knowing the seed.
///   Who knows the seed can compute keys that fall together, and so make the filter refuse one
///   ([`FullCause::Crowded`]) or answer yes to keys of their choice; never lose a key.
/// * One operation rewrites a few thousand entries at most
///   ([`ElasticStats::most_entries_written`] counts).
/// * The same key can be inserted any number of times (up to 2^32), and is then counted; copies
///   beyond the third take no further memory.
pub struct ElasticFilter {
    pub(super) hasher: KeyHasher,
    pub(crate) engine: Engine,
    pub(super) refused: u64,
}

impl ElasticFilter {
    /// Starts with the defaults: a false positive rate of 1 %, nothing expected.
    pub fn builder() -> ElasticFilterBuilder {
        ElasticFilterBuilder::default()
    }

    /// The rate that the filter keeps.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.engine.settings.rate
    }

    /// Keys that [`Extend`] could not store since the filter was built or cleared. They are not
    /// in the filter.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The figures of the filter as it stands, to look at or to print.
    #[must_use]
    pub fn stats(&self) -> ElasticStats {
        ElasticStats::of(self)
    }

    /// Makes the filter as small as its rate allows: entries are cut to the length that this many keys need, as if
    /// their number had been said in advance. For a set that rests, before it is saved or handed out. The rate
    /// is kept, keys can be removed, and the set can grow again; but then new entries have to be longer, since those
    /// that were cut have used up most of the rate.
    ///
    /// It writes all entries, so it takes as long as building the filter in bulk.
    pub fn shrink_to_fit(&mut self) {
        let before = self.engine.work;
        let (levels, mut cx) = self.engine.parts();
        levels.shrink_to_fit(&mut cx);
        // Not one of the operations whose work is bounded.
        self.engine.work = before;
    }

    /// Adds all keys of another filter with the same hash function and seed. The rates of both must
    /// fit into the rate of this one. If they are of comparable size each segment is written once,
    /// which takes a fraction of the time of inserting; while it lasts there is memory for a copy of
    /// each.
    ///
    /// ```
    /// use cuculus::{ElasticFilter, Filter, Insert};
    ///
    /// let build = || ElasticFilter::builder().seed(7).build();
    /// let (mut a, mut b) = (build()?, build()?);
    /// a.insert("one")?;
    /// b.insert("two")?;
    /// a.merge(&b)?;
    /// assert!(a.contains("one") && a.contains("two"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MergeError`] says why not; nothing has changed then.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        if self.hasher != other.hasher {
            return Err(MergeError::OtherHash);
        }
        if !self.engine.settings.allows(self.engine.lengths.sum() + other.engine.lengths.sum()) {
            let sum = self.expected_false_positive_rate() + other.expected_false_positive_rate();
            return Err(MergeError::Rate { sum, limit: self.engine.settings.rate });
        }
        let mut both = self.try_clone().map_err(MergeError::Full)?;
        let added = both.engine.merge(&other.engine);
        added.map_err(|cause| MergeError::Full(both.full(cause)))?;
        *self = both;
        Ok(())
    }

    /// A copy, or the reason why there is no memory for it.
    pub(crate) fn try_clone(&self) -> Result<Self, Full> {
        let engine = self.engine.try_clone().map_err(|_| self.full(FullCause::OutOfMemory))?;
        Ok(Self { hasher: self.hasher.clone(), engine, refused: self.refused })
    }

    #[cold]
    pub(super) fn full(&self, cause: FullCause) -> Full {
        Full { cause, len: self.len(), slots: self.slots(), inserted: 0 }
    }

    #[inline(always)]
    fn contains_each<K>(&self, keys: &[K], hash: impl Fn(&K) -> KeyHash, hits: &mut Vec<bool>) {
        hits.clear();
        hits.resize(keys.len(), false);
        self.engine.contains_each(keys, hash, hits);
    }
}

impl Filter for ElasticFilter {
    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.engine.contains(hash)
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        self.engine.count(hash)
    }

    #[inline]
    fn prefetch_hash(&self, hash: KeyHash) {
        self.engine.prefetch(&[hash], |&hash| hash);
    }

    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        self.contains_each(hashes, |&hash| hash, hits);
    }

    fn contains_keys<K: Key>(&self, keys: &[K], hits: &mut Vec<bool>) {
        // The choice of the function outside of the loop.
        match self.hasher.as_fold_xxh3() {
            Some(hasher) => self.contains_each(keys, |key| hasher.hash(key), hits),
            None => self.contains_each(keys, |key| self.hasher.hash(key), hits),
        }
    }

    fn len(&self) -> usize {
        self.engine.len()
    }

    fn slots(&self) -> usize {
        self.engine.slots()
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + self.engine.heap_bytes()
    }

    fn expected_false_positive_rate(&self) -> f64 {
        self.engine.rate()
    }
}

impl Insert for ElasticFilter {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.engine.insert(hash).map_err(|cause| self.full(cause))
    }

    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        let mut inserted = 0;
        for group in hashes.chunks(GROUP) {
            self.engine.prefetch(group, |&hash| hash);
            for &hash in group {
                self.insert_hash(hash).map_err(|full| Full { inserted, ..full })?;
                inserted += 1;
            }
        }
        Ok(())
    }

    /// Group by group: what a lookup has brought to the caches is still there for the insert.
    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        if absent.try_reserve(hashes.len()).is_err() {
            return Err(self.full(FullCause::OutOfMemory));
        }
        let mut inserted = 0;
        for group in hashes.chunks(GROUP) {
            let first = absent.len();
            absent.resize(first + group.len(), false);
            self.engine.contains_each(group, |&hash| hash, &mut absent[first..]);
            for (i, &hash) in (first..).zip(group) {
                // Looked up again, since the group itself may contain the key twice.
                let is_absent = !absent[i] && !self.contains_hash(hash);
                if is_absent && let Err(full) = self.insert_hash(hash) {
                    absent.truncate(i);
                    return Err(Full { inserted, ..full });
                }
                inserted += usize::from(is_absent);
                absent[i] = is_absent;
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.engine.clear();
        self.refused = 0;
    }
}

impl Remove for ElasticFilter {
    #[inline]
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.engine.remove(hash)
    }
}

/// Inserts what fits; keys that do not are counted by [`ElasticFilter::refused`]. To stop at the first key that does not fit, insert in a loop.
impl<K: Key> Extend<K> for ElasticFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            if self.insert(&key).is_err() {
                self.refused = self.refused.saturating_add(1);
            }
        }
    }
}

/// Aborts if there is no memory for the copy, as the collections of the standard library do.
impl Clone for ElasticFilter {
    fn clone(&self) -> Self {
        match self.try_clone() {
            Ok(copy) => copy,
            Err(_) => handle_alloc_error(Layout::new::<Self>()),
        }
    }
}

impl fmt::Debug for ElasticFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ElasticFilter")
            .field("len", &self.len())
            .field("slots", &self.slots())
            .field("settings", &self.engine.settings)
            .field("hasher", &self.hasher)
            .finish_non_exhaustive()
    }
}

/// Two filters cannot become one. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum MergeError {
    /// Their hash functions or seeds differ, so the same key is two different ones to them.
    OtherHash,
    /// Together they would answer yes by mistake more often than allowed.
    Rate {
        /// The rate of both together.
        sum: f64,
        /// The rate of the filter that the other was to be merged into.
        limit: f64,
    },
    /// A key of the other filter was refused.
    Full(Full),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherHash => f.write_str(
                "the filters have different hash functions or seeds; build both with the same \
                 seed(number)",
            ),
            Self::Rate { sum, limit } => write!(
                f,
                "together the filters would have a false positive rate of {:.4} %, more than the \
                 {:.4} % asked for; build them with a smaller rate, or a new one from the keys",
                100.0 * sum,
                100.0 * limit
            ),
            Self::Full(full) => write!(f, "a key of the other filter was refused: {full}"),
        }
    }
}

impl std::error::Error for MergeError {}
