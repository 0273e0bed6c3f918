//! What filters can do, one trait for each capability. A filter that cannot delete has no `remove`
//! to call.

use crate::{Full, FullCause, Key, KeyHash, KeyHasher};

/// Lookups and figures. Works as `dyn Filter`: calls by hash directly, calls by key through a
/// reference or a box.
///
/// ```
/// use cuculus::{CuckooFilter, Filter, Insert};
///
/// let mut any: Box<dyn Insert> = Box::new(CuckooFilter::builder().capacity(100).build()?);
/// any.insert("key")?;
/// assert!(any.contains("key"));
///
/// let read: &dyn Filter = &any;
/// assert!((&read).contains("key") && read.contains_hash(read.hasher().hash("key")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Filter {
    /// The filter's hash function with its seed.
    fn hasher(&self) -> &KeyHasher;

    /// Whether a key with this hash may have been inserted; see [`contains`](Self::contains).
    fn contains_hash(&self, hash: KeyHash) -> bool;

    /// How often a key with this hash was inserted; see [`count`](Self::count).
    fn count_hash(&self, hash: KeyHash) -> usize;

    /// Prefetches the memory that looking up, inserting or removing this hash will read, for
    /// callers that have other work to do meanwhile. Batches prefetch by themselves. Filters that
    /// gain nothing from it do nothing.
    fn prefetch_hash(&self, _hash: KeyHash) {}

    /// Looks up many keys at once, which is faster than one by one in a filter larger than the
    /// processor's caches. `hits` is cleared first, so it can be reused.
    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        hits.clear();
        hits.extend(hashes.iter().map(|&hash| self.contains_hash(hash)));
    }

    /// The number of keys inserted and not removed, repetitions counted; the largest `usize` if there
    /// are more.
    fn len(&self) -> usize;

    /// Whether the filter holds no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of slots for keys that exist now.
    fn slots(&self) -> usize;

    /// The share of the slots that is in use.
    fn utilization(&self) -> f64 {
        if self.slots() == 0 { 0.0 } else { self.len() as f64 / self.slots() as f64 }
    }

    /// The memory that the filter holds: all of it, the value itself included.
    fn size_in_bytes(&self) -> usize;

    /// The probability that [`contains`](Self::contains) returns true for a key that is not in the
    /// filter, as full as it is now.
    fn expected_false_positive_rate(&self) -> f64;

    /// Whether the key may have been inserted. Always true for a key that was inserted and not
    /// removed; a false positive, for any other key, with the probability
    /// [`expected_false_positive_rate`](Self::expected_false_positive_rate).
    #[inline]
    fn contains<K: Key + ?Sized>(&self, key: &K) -> bool
    where
        Self: Sized,
    {
        self.contains_hash(self.hasher().hash(key))
    }

    /// Looks up many keys at once, as [`contains_batch`](Self::contains_batch) does for hashes,
    /// and hashes them while it waits for memory.
    ///
    /// ```
    /// use cuculus::{CuckooFilter, Filter, Insert};
    ///
    /// let mut filter = CuckooFilter::builder().capacity(1000).seed(1).build()?;
    /// filter.extend(["one", "two"]);
    /// let mut hits = Vec::new();
    /// filter.contains_keys(&["one", "two", "three"], &mut hits);
    /// assert_eq!(hits, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn contains_keys<K: Key>(&self, keys: &[K], hits: &mut Vec<bool>)
    where
        Self: Sized,
    {
        hits.clear();
        hits.extend(keys.iter().map(|key| self.contains(key)));
    }

    /// How often the key was inserted and not removed: never too low, and too high where other keys
    /// have the same fingerprint and buckets.
    #[inline]
    fn count<K: Key + ?Sized>(&self, key: &K) -> usize
    where
        Self: Sized,
    {
        self.count_hash(self.hasher().hash(key))
    }
}

/// Filters that accept keys after they are built. Works as `dyn Insert`.
pub trait Insert: Filter {
    /// Inserts a key by its hash; see [`insert`](Self::insert).
    ///
    /// # Errors
    /// As for [`insert`](Self::insert).
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full>;

    /// Inserts many keys, faster than one by one in a filter larger than the processor's caches;
    /// the filter is then the same, byte for byte, as after inserting them in turn.
    ///
    /// # Errors
    /// Stops at the first key that is refused. The keys before it are stored
    /// ([`Full::inserted`] is their number), the others are not.
    fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        for (inserted, &hash) in hashes.iter().enumerate() {
            self.insert_hash(hash).map_err(|full| Full { inserted, ..full })?;
        }
        Ok(())
    }

    /// Inserts only those of many keys that are not contained yet. `absent[i]` is true if key `i`
    /// was inserted, and false if it, or a key that looks the same, was in the filter before or came
    /// earlier in the batch. `absent` is cleared first. The filter is then the same, byte for byte,
    /// as after testing and inserting the keys in turn.
    ///
    /// For sets that only grow: of two keys that look the same the second is not stored, so removing
    /// the first would lose both.
    ///
    /// # Errors
    /// Stops at the first key that is refused. `absent` has the answers for the keys before it, and
    /// [`Full::inserted`] is the number of them that were inserted.
    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        if absent.try_reserve(hashes.len()).is_err() {
            return Err(Full::new(FullCause::OutOfMemory, self.len(), self.slots()));
        }
        self.contains_batch(hashes, absent);
        let mut inserted = 0;
        for (i, &hash) in hashes.iter().enumerate() {
            // Looked up again, since the batch itself may contain the key twice.
            let is_absent = !absent[i] && !self.contains_hash(hash);
            if is_absent && let Err(full) = self.insert_hash(hash) {
                absent.truncate(i);
                return Err(Full { inserted, ..full });
            }
            inserted += usize::from(is_absent);
            absent[i] = is_absent;
        }
        Ok(())
    }

    /// Removes all keys and keeps the parameters and the seed.
    fn clear(&mut self);

    /// Inserts a key. A key inserted twice is stored twice, and is gone after two removals.
    ///
    /// # Errors
    /// [`Full`] if there is no room; nothing has changed then.
    #[inline]
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<(), Full>
    where
        Self: Sized,
    {
        let hash = self.hasher().hash(key);
        self.insert_hash(hash)
    }
}

/// Filters that can remove a key. Works as `dyn Remove`.
pub trait Remove: Filter {
    /// Removes a key by its hash; see [`remove`](Self::remove).
    fn remove_hash(&mut self, hash: KeyHash) -> bool;

    /// Removes one occurrence of each of many keys, faster than one by one in a filter larger than
    /// the processor's caches. `removed[i]` says whether there was one of key `i`; `removed` is
    /// cleared first. The filter is then the same, byte for byte, as after removing them in turn.
    ///
    /// ```
    /// use cuculus::{CuckooFilter, Filter, Insert, Remove};
    ///
    /// let mut filter = CuckooFilter::builder().capacity(1000).seed(1).build()?;
    /// filter.extend(["one", "two"]);
    /// let hashes = ["two", "two"].map(|key| filter.hasher().hash(key));
    /// let mut removed = Vec::new();
    /// filter.remove_batch(&hashes, &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.extend(hashes.iter().map(|&hash| self.remove_hash(hash)));
    }

    /// Removes one occurrence of a key and says whether there was one.
    ///
    /// Only remove keys that were inserted. Removing a key that was never inserted succeeds with
    /// the probability of a false positive, and then removes the entry of another key, which is no
    /// longer found. For the same reason do not combine removals with "insert unless contained":
    /// of two keys that look the same the second is not stored, and removing the first loses both.
    #[inline]
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool
    where
        Self: Sized,
    {
        let hash = self.hasher().hash(key);
        self.remove_hash(hash)
    }
}

/// The methods of a [`Filter`] that hands its questions to another one.
macro_rules! forward_lookups {
    ($self:ident => $filter:expr) => {
        fn hasher(&$self) -> &KeyHasher {
            $filter.hasher()
        }
        fn contains_hash(&$self, hash: KeyHash) -> bool {
            $filter.contains_hash(hash)
        }
        fn count_hash(&$self, hash: KeyHash) -> usize {
            $filter.count_hash(hash)
        }
        fn prefetch_hash(&$self, hash: KeyHash) {
            $filter.prefetch_hash(hash);
        }
        fn contains_batch(&$self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
            $filter.contains_batch(hashes, hits);
        }
        fn len(&$self) -> usize {
            $filter.len()
        }
        fn slots(&$self) -> usize {
            $filter.slots()
        }
        fn utilization(&$self) -> f64 {
            $filter.utilization()
        }
        fn expected_false_positive_rate(&$self) -> f64 {
            $filter.expected_false_positive_rate()
        }
    };
}
pub(crate) use forward_lookups;

// References and boxes are filters too, so that keys can be given to a `Box<dyn Insert>` as they
// are; a generic method cannot be called on the bare trait object.
macro_rules! filter_by_reference {
    ($($pointer:ty),*) => {$(
        impl<F: Filter + ?Sized> Filter for $pointer {
            forward_lookups!(self => (**self));

            fn size_in_bytes(&self) -> usize {
                (**self).size_in_bytes()
            }
        }
    )*};
}
filter_by_reference!(&F, &mut F, Box<F>);

macro_rules! changes_by_reference {
    ($($pointer:ty),*) => {$(
        impl<F: Insert + ?Sized> Insert for $pointer {
            fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
                (**self).insert_hash(hash)
            }
            fn insert_batch(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
                (**self).insert_batch(hashes)
            }
            fn insert_absent_batch(
                &mut self,
                hashes: &[KeyHash],
                absent: &mut Vec<bool>,
            ) -> Result<(), Full> {
                (**self).insert_absent_batch(hashes, absent)
            }
            fn clear(&mut self) {
                (**self).clear();
            }
        }

        impl<F: Remove + ?Sized> Remove for $pointer {
            fn remove_hash(&mut self, hash: KeyHash) -> bool {
                (**self).remove_hash(hash)
            }
            fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
                (**self).remove_batch(hashes, removed);
            }
        }
    )*};
}
changes_by_reference!(&mut F, Box<F>);

/// A number of copies as `usize`, or its largest value. Where that has 32 bits, there can be more
/// copies.
pub(crate) fn countable(copies: u64) -> usize {
    usize::try_from(copies).unwrap_or(usize::MAX)
}

/// `Extend` for a filter with a counter `refused`: an iterator's consumer cannot return an error.
#[cfg_attr(feature = "lab", macro_export)]
#[doc(hidden)]
macro_rules! extend_counting_refused {
    ($filter:ident) => {
        /// Inserts the keys that fit. The others are counted by [`refused`](Self::refused). To stop
        /// at the first key that is refused, call [`insert`](crate::Insert::insert) in a loop.
        impl<K: $crate::Key> Extend<K> for $filter {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                use $crate::Insert as _;
                for key in keys {
                    if self.insert(&key).is_err() {
                        // The number in a loaded file may already be the largest.
                        self.refused = self.refused.saturating_add(1);
                    }
                }
            }
        }
    };
}
pub(crate) use extend_counting_refused;
