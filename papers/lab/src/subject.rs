//! A filter under test: one trait for ours, the papers', the baselines and other crates'. The loops
//! over many keys are compiled for each filter, so that no call within a timed loop is indirect.

use std::hint::black_box;

use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert, KeyHash, Remove};
use cuculus_papers::baselines::{
    AdaptiveCuckooFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
    DleftCountingBloomFilter, DynamicBloomFilter, QuotientFilter,
};
use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};

/// Keys hashed and handed over at a time.
const GROUP: usize = 1024;

pub(crate) trait Subject {
    fn insert(&mut self, key: &u64) -> bool;

    fn contains(&self, key: &u64) -> bool;

    /// Removes a key and says whether it was found; `None` from a filter that cannot remove.
    fn remove(&mut self, _: &u64) -> Option<bool> {
        None
    }

    /// The filter as the library sees it: its length, slots and memory. `None` from other crates'.
    fn as_filter(&self) -> Option<&dyn Filter> {
        None
    }

    fn filters(&self) -> usize {
        1
    }

    /// Inserts all keys and returns those that were refused.
    fn insert_all(&mut self, keys: &[u64]) -> Vec<u64> {
        let mut refused = Vec::new();
        for key in keys {
            if !self.insert(key) {
                refused.push(*key);
            }
        }
        refused
    }

    /// Inserts keys up to the first that is refused, and counts them.
    fn insert_until_refused(&mut self, keys: &[u64]) -> usize {
        keys.iter().take_while(|key| self.insert(key)).count()
    }

    /// The same with the filter's call for many keys, if it has one.
    fn insert_batch(&mut self, _: &[u64]) -> Option<usize> {
        None
    }

    /// How many of the keys are found. The lookups are independent: several can be under way.
    fn count(&self, keys: &[u64]) -> usize {
        let mut hits = 0;
        for key in keys {
            hits += usize::from(self.contains(key));
        }
        black_box(hits)
    }

    /// How many are found if each lookup waits for the answer to the last, which chooses between a
    /// key and its neighbour.
    fn count_dependent(&self, keys: &[u64]) -> usize {
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
    fn count_batch(&self, _: &[u64]) -> Option<usize> {
        None
    }

    /// The same for keys that were hashed before; `None` without a call for many.
    fn count_hashed(&self, _: &[KeyHash]) -> Option<usize> {
        None
    }

    /// Removes all keys and counts those that were found; `None` from a filter that cannot remove.
    fn remove_all(&mut self, keys: &[u64]) -> Option<usize> {
        let mut removed = 0;
        for key in keys {
            removed += usize::from(self.remove(key)?);
        }
        Some(removed)
    }

    /// The same with the filter's call for many keys, if it has one.
    fn remove_batch(&mut self, _: &[u64]) -> Option<usize> {
        None
    }

    /// Memory that it took by other means than the allocator of this program.
    fn foreign_bytes(&self) -> usize {
        0
    }

    fn held(&self) -> usize {
        self.as_filter().map_or(0, Filter::len)
    }

    /// Its memory over its keys, by its own account.
    fn bits_per_key(&self) -> f64 {
        let bytes = self.as_filter().map_or(0, Filter::size_in_bytes);
        bytes as f64 * 8.0 / self.held() as f64
    }
}

/// The hashes of some keys, in a list that is used again.
fn hash_into<F: Filter>(hashes: &mut Vec<KeyHash>, filter: &F, keys: &[u64]) {
    hashes.clear();
    hashes.extend(keys.iter().map(|key| filter.hasher().hash(key)));
}

/// Our filters and the papers', by the library's traits: whether each removes, and how many filters
/// it consists of.
macro_rules! subjects {
    ($($filter:ident $($removes:ident)? $(($filters:ident))?;)*) => {$(
        impl Subject for $filter {
            #[inline(always)]
            fn insert(&mut self, key: &u64) -> bool {
                Insert::insert(self, key).is_ok()
            }

            #[inline(always)]
            fn contains(&self, key: &u64) -> bool {
                Filter::contains(self, key)
            }

            fn as_filter(&self) -> Option<&dyn Filter> {
                Some(self)
            }

            $(fn filters(&self) -> usize {
                self.$filters()
            })?

            fn insert_batch(&mut self, keys: &[u64]) -> Option<usize> {
                let mut hashes = Vec::with_capacity(GROUP);
                for (at, keys) in keys.chunks(GROUP).enumerate() {
                    hash_into(&mut hashes, self, keys);
                    if let Err(full) = Insert::insert_batch(self, &hashes) {
                        return Some(at * GROUP + full.inserted);
                    }
                }
                Some(keys.len())
            }

            fn count_batch(&self, keys: &[u64]) -> Option<usize> {
                let mut hits = Vec::with_capacity(GROUP);
                let groups = keys.chunks(GROUP).map(|keys| {
                    self.contains_keys(keys, &mut hits);
                    count_true(&hits)
                });
                Some(black_box(groups.sum()))
            }

            fn count_hashed(&self, hashes: &[KeyHash]) -> Option<usize> {
                let mut hits = Vec::with_capacity(GROUP);
                let groups = hashes.chunks(GROUP).map(|hashes| {
                    self.contains_batch(hashes, &mut hits);
                    count_true(&hits)
                });
                Some(black_box(groups.sum()))
            }

            $(subjects!(@ $removes);)?
        }
    )*};
    (@ removes) => {
        #[inline(always)]
        fn remove(&mut self, key: &u64) -> Option<bool> {
            Some(Remove::remove(self, key))
        }

        fn remove_batch(&mut self, keys: &[u64]) -> Option<usize> {
            let (mut hashes, mut found) = (Vec::with_capacity(GROUP), Vec::with_capacity(GROUP));
            let mut removed = 0;
            for keys in keys.chunks(GROUP) {
                hash_into(&mut hashes, self, keys);
                Remove::remove_batch(self, &hashes, &mut found);
                removed += count_true(&found);
            }
            Some(removed)
        }
    };
}

subjects! {
    CuckooFilter removes;
    ElasticFilter removes;
    DynamicCuckooFilter removes (filters);
    IndexIndependentCuckooFilter removes;
    ConsistentCuckooFilter removes (filters);
    AdaptiveCuckooFilter removes;
    BloomFilter;
    BlockedBloomFilter;
    CountingBloomFilter removes;
    DleftCountingBloomFilter removes;
    QuotientFilter removes;
    DynamicBloomFilter removes (filters);
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
        let work = Workload::new(1, taken, 2000);
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
        assert_eq!(Subject::insert_all(&mut bloom, &[1, 2]), [0u64; 0]);
        assert_eq!(Subject::remove_all(&mut bloom, &[1, 2]), None);
    }
}
