//! The public filter: keys to parts, one key at a time.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::builder::SharedFilterBuilder;
use super::part::SharedPart;
use super::stats::SharedStats;
use crate::elastic::engine::Engine;
use crate::elastic::policy::Settings;
use crate::{Full, FullCause, Key, KeyHash, KeyHasher};

/// A filter for many threads: every call takes `&self`, and a clone is another handle to the same
/// filter. It grows, shrinks and keeps its rate as [`ElasticFilter`](crate::ElasticFilter) does.
///
/// ```
/// use cuculus::SharedFilter;
/// use std::thread;
///
/// let seen = SharedFilter::builder().false_positive_rate(0.001).build()?;
/// thread::scope(|scope| {
///     for worker in 0..4u64 {
///         let seen = seen.clone();
///         scope.spawn(move || {
///             for key in worker * 1000..(worker + 1) * 1000 {
///                 seen.insert(&key).expect("memory");
///             }
///         });
///     }
/// });
/// assert!(seen.contains(&2500u64) && seen.len() == 4000);
/// assert!(!seen.insert_absent(&2500u64)?); // true for exactly one of all callers
/// assert!(seen.remove(&2500u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # What is promised
/// * What [`ElasticFilter`](crate::ElasticFilter) promises of keys, rate and the work of one
///   operation.
/// * A key is found from the moment at which its insertion has returned, by every thread, until its
///   removal begins. Operations on the same key have an order that all threads agree on.
/// * If a thread panics inside the filter, which no input makes it do, nobody knows what it has left
///   of the part that it was changing. That part accepts no further change
///   ([`FullCause::Poisoned`], and `remove` returns false), every key may be contained in it, and
///   the filter cannot be saved; [`poisoned_parts`](Self::poisoned_parts) says how many parts it is.
///
/// Each part has a lock, which lookups share. Hash functions, iterators and destructors of others
/// never run while it is held.
pub struct SharedFilter {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) hasher: KeyHasher,
    /// Of the filter that the parts are.
    pub(super) settings: Settings,
    pub(super) parts: Box<[SharedPart]>,
    /// Not an atomic number: not every processor has those of 64 bits.
    pub(super) refused: Mutex<u64>,
}

impl Shared {
    /// The number of the part of a key: the lowest bits of its path.
    #[inline]
    pub(super) fn part_of(&self, hash: KeyHash) -> usize {
        hash.get() as usize & (self.parts.len() - 1)
    }

    /// How many bits choose a part.
    pub(super) fn shift(&self) -> u32 {
        self.parts.len().ilog2()
    }
}

impl SharedFilter {
    /// Starts with the defaults: a false positive rate of 1 %, nothing expected, 64 parts.
    pub fn builder() -> SharedFilterBuilder {
        SharedFilterBuilder::default()
    }

    pub(super) fn new(
        settings: Settings,
        hasher: KeyHasher,
        parts: Box<[SharedPart]>,
        refused: u64,
    ) -> Self {
        let refused = Mutex::new(refused);
        Self { shared: Arc::new(Shared { hasher, settings, parts, refused }) }
    }

    /// The part of a key.
    #[inline]
    fn part(&self, hash: KeyHash) -> &SharedPart {
        &self.shared.parts[self.shared.part_of(hash)]
    }

    /// The filter's hash function with its seed.
    #[must_use]
    pub fn hasher(&self) -> &KeyHasher {
        &self.shared.hasher
    }

    /// The rate that the filter keeps.
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        self.shared.settings.rate
    }

    /// The parts in which the keys are kept.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.shared.parts.len()
    }

    /// The parts that accept no change any more, since a thread panicked while it changed them.
    #[must_use]
    pub fn poisoned_parts(&self) -> usize {
        self.shared.parts.iter().filter(|part| part.is_poisoned()).count()
    }

    /// Keys that [`Extend`] could not store since the filter was built or cleared. They are not
    /// in the filter.
    #[must_use]
    pub fn refused(&self) -> u64 {
        *self.lock_refused()
    }

    /// A file may say that there were as many as can be counted.
    pub(super) fn count_refused(&self) {
        let mut refused = self.lock_refused();
        *refused = refused.saturating_add(1);
    }

    fn lock_refused(&self) -> MutexGuard<'_, u64> {
        self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Inserts a key. A key inserted twice is stored twice, and is gone after two removals.
    ///
    /// # Errors
    /// [`Full`] if there is no room; nothing has changed then.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Result<(), Full> {
        self.insert_hash(self.hasher().hash(key))
    }

    /// [`insert`](Self::insert) by hash.
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    #[inline]
    pub fn insert_hash(&self, hash: KeyHash) -> Result<(), Full> {
        self.part(hash).insert(hash).map_err(|cause| self.full(cause))
    }

    /// Inserts a key unless it is contained, and says whether it was inserted. Of several threads
    /// that call this for the same new key at the same time exactly one is told `true`.
    ///
    /// For sets that only grow: of two keys that look the same the second is not stored, so removing
    /// the first would lose both.
    ///
    /// # Errors
    /// [`Full`] if there is no room; nothing has changed then.
    #[inline]
    pub fn insert_absent<K: Key + ?Sized>(&self, key: &K) -> Result<bool, Full> {
        self.insert_absent_hash(self.hasher().hash(key))
    }

    /// [`insert_absent`](Self::insert_absent) by hash.
    ///
    /// # Errors
    /// As for [`insert_absent`](Self::insert_absent).
    #[inline]
    pub fn insert_absent_hash(&self, hash: KeyHash) -> Result<bool, Full> {
        // Without the lock, if that is enough.
        if self.contains_hash(hash) {
            return Ok(false);
        }
        self.part(hash).insert_absent(hash).map_err(|cause| self.full(cause))
    }

    /// Removes one occurrence of a key and says whether there was one. Only remove keys that were
    /// inserted; see [`Remove::remove`](crate::Remove::remove).
    #[inline]
    pub fn remove<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.remove_hash(self.hasher().hash(key))
    }

    /// [`remove`](Self::remove) by hash.
    #[inline]
    #[allow(clippy::must_use_candidate, reason = "it changes the filter")]
    pub fn remove_hash(&self, hash: KeyHash) -> bool {
        self.part(hash).remove(hash)
    }

    /// Whether the key may have been inserted; see [`Filter::contains`](crate::Filter::contains).
    #[inline]
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_hash(self.hasher().hash(key))
    }

    /// [`contains`](Self::contains) by hash.
    #[inline]
    #[must_use]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.part(hash).contains(hash)
    }

    /// How often the key was inserted and not removed; never too low.
    #[inline]
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> usize {
        self.count_hash(self.hasher().hash(key))
    }

    /// [`count`](Self::count) by hash.
    #[must_use]
    pub fn count_hash(&self, hash: KeyHash) -> usize {
        self.part(hash).count(hash)
    }

    /// The number of keys inserted and not removed, repetitions counted. While others change the
    /// filter, a number that was right for each part at some moment of the call.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sum(Engine::len)
    }

    /// Whether the filter holds no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots for keys that exist now.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.sum(Engine::slots)
    }

    /// The memory that the filter holds.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        let parts = size_of_val(&*self.shared.parts);
        size_of::<Self>() + size_of::<Shared>() + parts + self.sum(Engine::heap_bytes)
    }

    /// The probability that [`contains`](Self::contains) returns true for a key that is not in the
    /// filter, as full as it is now.
    #[must_use]
    pub fn expected_false_positive_rate(&self) -> f64 {
        let parts = &self.shared.parts;
        let rates = parts.iter().map(|part| part.look(Engine::rate));
        rates.sum::<f64>() / parts.len() as f64
    }

    /// The figures of the filter as it stands, to look at or to print.
    #[must_use]
    pub fn stats(&self) -> SharedStats {
        SharedStats::of(self)
    }

    /// Removes all keys and keeps the parameters and the seed. Keys that others insert meanwhile may
    /// stay.
    pub fn clear(&self) {
        self.shared.parts.iter().for_each(SharedPart::clear);
        *self.lock_refused() = 0;
    }

    pub(super) fn sum(&self, figure: impl Fn(&Engine) -> usize) -> usize {
        self.shared.parts.iter().map(|part| part.look(&figure)).fold(0, usize::saturating_add)
    }

    #[cold]
    pub(super) fn full(&self, cause: FullCause) -> Full {
        Full::new(cause, self.len(), self.slots())
    }
}

/// Another handle to the same filter.
impl Clone for SharedFilter {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl fmt::Debug for SharedFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedFilter")
            .field("len", &self.len())
            .field("settings", &self.shared.settings)
            .field("parts", &self.parts())
            .field("hasher", &self.shared.hasher)
            .finish_non_exhaustive()
    }
}
