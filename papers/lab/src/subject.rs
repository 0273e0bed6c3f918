//! A filter under test: one trait for ours, the papers', the baselines and other crates'. The loops
//! over many keys are compiled for each filter, so that no call within a timed loop is indirect.

use std::hint::black_box;

use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, KeyHash, KeyHasher, Remove};
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};

use crate::keys::Text24;

/// Keys hashed and handed over at a time.
const GROUP: usize = 1024;

/// What a filter is asked: a key, or a key's hash where hashing is not part of the question.
pub(crate) trait Probe: Copy + 'static {
    /// The key's hash.
    fn hash(&self, hasher: &KeyHasher) -> KeyHash;

    /// The filter's own calls for one of them, as its users write them.
    fn is_in(&self, filter: &impl Filter) -> bool;

    /// Inserts it; false if it is refused.
    fn put_into(&self, filter: &mut impl Insert) -> bool;

    /// Removes it; false if it is not found.
    fn take_from(&self, filter: &mut impl Remove) -> bool;

    /// The filter's own call for many of them.
    fn contains_batch(filter: &impl Filter, keys: &[Self], hits: &mut Vec<bool>);
}

macro_rules! probe_by_key {
    ($($key:ty),*) => {$(
        impl Probe for $key {
            #[inline(always)]
            fn hash(&self, hasher: &KeyHasher) -> KeyHash {
                hasher.hash(self)
            }

            #[inline(always)]
            fn is_in(&self, filter: &impl Filter) -> bool {
                filter.contains(self)
            }

            #[inline(always)]
            fn put_into(&self, filter: &mut impl Insert) -> bool {
                filter.insert(self).is_ok()
            }

            #[inline(always)]
            fn take_from(&self, filter: &mut impl Remove) -> bool {
                filter.remove(self)
            }

            fn contains_batch(filter: &impl Filter, keys: &[Self], hits: &mut Vec<bool>) {
                filter.contains_keys(keys, hits);
            }
        }
    )*};
}

probe_by_key!(u64, Text24);

impl Probe for KeyHash {
    #[inline(always)]
    fn hash(&self, _: &KeyHasher) -> KeyHash {
        *self
    }

    #[inline(always)]
    fn is_in(&self, filter: &impl Filter) -> bool {
        filter.contains_hash(*self)
    }

    #[inline(always)]
    fn put_into(&self, filter: &mut impl Insert) -> bool {
        filter.insert_hash(*self).is_ok()
    }

    #[inline(always)]
    fn take_from(&self, filter: &mut impl Remove) -> bool {
        filter.remove_hash(*self)
    }

    fn contains_batch(filter: &impl Filter, keys: &[Self], hits: &mut Vec<bool>) {
        filter.contains_batch(keys, hits);
    }
}

/// A filter under test.
pub(crate) trait Subject<K: Probe = u64> {
    /// Inserts a key; false if it is refused.
    fn insert(&mut self, key: &K) -> bool;

    /// Whether the filter says that it holds the key.
    fn contains(&self, key: &K) -> bool;

    /// Removes a key and says whether it was found; `None` from a filter that cannot remove.
    fn remove(&mut self, _: &K) -> Option<bool> {
        None
    }

    /// The filter as the library sees it: its length, slots and memory. `None` from other crates'.
    fn as_filter(&self) -> Option<&dyn Filter> {
        None
    }

    /// The filters that it consists of.
    fn filters(&self) -> usize {
        1
    }

    /// The part of its memory that holds rings.
    fn ring_bytes(&self) -> usize {
        0
    }

    /// Inserts all keys and returns those that were refused.
    fn insert_all(&mut self, keys: &[K]) -> Vec<K> {
        let mut refused = Vec::new();
        for key in keys {
            if !self.insert(key) {
                refused.push(*key);
            }
        }
        refused
    }

    /// Inserts keys up to the first that is refused, and counts them.
    fn insert_until_refused(&mut self, keys: &[K]) -> usize {
        keys.iter().take_while(|key| self.insert(key)).count()
    }

    /// The same with the filter's call for many keys, if it has one.
    fn insert_batch(&mut self, _: &[K]) -> Option<usize> {
        None
    }

    /// How many of the keys are found. The lookups are independent: several can be under way.
    fn count(&self, keys: &[K]) -> usize {
        let mut hits = 0;
        for key in keys {
            hits += usize::from(self.contains(key));
        }
        black_box(hits)
    }

    /// How many are found if each lookup waits for the answer to the last, which chooses between a
    /// key and its neighbour.
    fn count_dependent(&self, keys: &[K]) -> usize {
        let (mut hits, mut last) = (0, 0);
        for pair in keys.chunks_exact(2) {
            for at in 0..2 {
                last = black_box(usize::from(self.contains(&pair[at ^ last])));
                hits += last;
            }
        }
        hits
    }

    /// How many are found with the filter's call for many keys, if it has one.
    fn count_batch(&self, _: &[K]) -> Option<usize> {
        None
    }

    /// The same for keys that were hashed before; `None` without a call for many.
    fn count_hashed(&self, _: &[KeyHash]) -> Option<usize> {
        None
    }

    /// Removes all keys and counts those that were found; `None` from a filter that cannot remove.
    fn remove_all(&mut self, keys: &[K]) -> Option<usize> {
        let mut removed = 0;
        for key in keys {
            removed += usize::from(self.remove(key)?);
        }
        Some(removed)
    }

    /// The same with the filter's call for many keys, if it has one.
    fn remove_batch(&mut self, _: &[K]) -> Option<usize> {
        None
    }

    /// Memory that it took by other means than the allocator of this program.
    fn foreign_bytes(&self) -> usize {
        0
    }

    /// The keys that a filter of the library holds.
    fn held(&self) -> usize {
        self.as_filter().map_or(0, Filter::len)
    }

    /// Its memory over its keys, by its own account.
    fn bits_per_key(&self) -> f64 {
        let bytes = self.as_filter().map_or(0, Filter::size_in_bytes);
        bytes as f64 * 8.0 / self.held() as f64
    }
}

/// What the library's traits leave open: whether a filter removes, and what it consists of.
pub(crate) trait Parts: Insert {
    /// Removes a key; `None` if the filter cannot.
    fn forget(&mut self, key: &impl Probe) -> Option<bool>;

    /// Removes many keys and counts those that were found, if the filter has a call for that.
    fn forget_batch(&mut self, _: &[KeyHash], _: &mut Vec<bool>) -> Option<usize> {
        None
    }

    /// The filters that it consists of.
    fn part_count(&self) -> usize {
        1
    }

    /// The part of its memory that holds rings.
    fn bytes_of_rings(&self) -> usize {
        0
    }
}

macro_rules! parts {
    ($($filter:ty $(, filters: $filters:expr)? $(, rings: $rings:expr)?;)*) => {$(
        impl Parts for $filter {
            #[inline(always)]
            fn forget(&mut self, key: &impl Probe) -> Option<bool> {
                Some(key.take_from(self))
            }

            fn forget_batch(&mut self, hashes: &[KeyHash], found: &mut Vec<bool>) -> Option<usize> {
                Remove::remove_batch(self, hashes, found);
                Some(count_true(found))
            }

            $(fn part_count(&self) -> usize {
                $filters(self)
            })?

            $(fn bytes_of_rings(&self) -> usize {
                $rings(self)
            })?
        }
    )*};
}

parts! {
    CuckooFilter;
    ElasticFilter;
    DynamicCuckooFilter, filters: DynamicCuckooFilter::filters;
    IndexIndependentCuckooFilter, rings: |filter: &Self| filter.stats().ring_bytes;
    ConsistentCuckooFilter, filters: ConsistentCuckooFilter::filters,
        rings: |filter: &Self| filter.stats().ring_bytes;
    AdaptiveCuckooFilter;
    CountingBloomFilter;
    DleftCountingBloomFilter;
    QuotientFilter;
    DynamicBloomFilter, filters: DynamicBloomFilter::filters;
}

impl Parts for BloomFilter {
    fn forget(&mut self, _: &impl Probe) -> Option<bool> {
        None
    }
}

impl Parts for BlockedBloomFilter {
    fn forget(&mut self, _: &impl Probe) -> Option<bool> {
        None
    }
}

impl<F: Parts, K: Probe> Subject<K> for F {
    #[inline(always)]
    fn insert(&mut self, key: &K) -> bool {
        key.put_into(self)
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        key.is_in(self)
    }

    #[inline(always)]
    fn remove(&mut self, key: &K) -> Option<bool> {
        self.forget(key)
    }

    fn as_filter(&self) -> Option<&dyn Filter> {
        Some(self)
    }

    fn filters(&self) -> usize {
        self.part_count()
    }

    fn ring_bytes(&self) -> usize {
        self.bytes_of_rings()
    }

    fn insert_batch(&mut self, keys: &[K]) -> Option<usize> {
        let mut hashes = Vec::with_capacity(GROUP);
        for (at, keys) in keys.chunks(GROUP).enumerate() {
            let hasher = self.hasher();
            hashes.clear();
            hashes.extend(keys.iter().map(|key| key.hash(hasher)));
            if let Err(full) = Insert::insert_batch(self, &hashes) {
                return Some(at * GROUP + full.inserted);
            }
        }
        Some(keys.len())
    }

    fn count_batch(&self, keys: &[K]) -> Option<usize> {
        let mut hits = Vec::with_capacity(GROUP);
        let groups = keys.chunks(GROUP).map(|keys| {
            K::contains_batch(self, keys, &mut hits);
            count_true(&hits)
        });
        Some(black_box(groups.sum()))
    }

    fn remove_batch(&mut self, keys: &[K]) -> Option<usize> {
        let (mut hashes, mut found) = (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP));
        let mut removed = 0;
        for keys in keys.chunks(GROUP) {
            let hasher = self.hasher();
            hashes.clear();
            hashes.extend(keys.iter().map(|key| key.hash(hasher)));
            removed += self.forget_batch(&hashes, &mut found)?;
        }
        Some(removed)
    }

    fn count_hashed(&self, hashes: &[KeyHash]) -> Option<usize> {
        Subject::<KeyHash>::count_batch(self, hashes)
    }
}

fn count_true(hits: &[bool]) -> usize {
    hits.iter().map(|&hit| usize::from(hit)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Workload, keys};

    #[test]
    fn one_key_at_a_time_many_and_hashed_give_the_same_answers() {
        let build = || CuckooFilter::builder().buckets(64).fingerprint_bits(12).seed(1).build();
        let mut subjects: [Box<dyn Subject>; 2] =
            [Box::new(build().unwrap()), Box::new(build().unwrap())];
        let all = keys(1, 0..1000);
        let taken = subjects[0].insert_until_refused(&all);
        assert_eq!(subjects[1].insert_batch(&all), Some(taken));
        assert!(taken > 230 && taken < 257 && subjects[0].held() == taken);
        let work = Workload::<u64>::new(1, taken, 2000);
        let filter = subjects[0].as_filter().unwrap();
        let hashes: Vec<KeyHash> = work.mixed.iter().map(|key| filter.hasher().hash(key)).collect();
        let count = subjects[0].count(&work.mixed);
        assert!(count >= work.mixed_present);
        assert_eq!(subjects[0].count_batch(&work.mixed), Some(count));
        assert_eq!(subjects[0].count_hashed(&hashes), Some(count));
        assert_eq!(subjects[0].count_dependent(&work.present), work.present.len());
        assert_eq!(subjects[0].remove_all(&all[..taken]), Some(taken));
        assert_eq!(subjects[0].held(), 0);
    }

    #[test]
    fn a_filter_that_cannot_remove_says_so() {
        let mut bloom = BloomFilter::builder().capacity(100).build().unwrap();
        assert_eq!(Subject::<u64>::insert_all(&mut bloom, &[1, 2]), [0u64; 0]);
        assert_eq!(Subject::<u64>::remove_all(&mut bloom, &[1, 2]), None);
    }
}
