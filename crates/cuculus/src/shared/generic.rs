//! The traits of all filters, so that generic code takes a shared filter as it takes any other. The
//! traits that change a filter are implemented for references too: each thread of generic code can
//! have one of its own.

use super::filter::SharedFilter;
use crate::{Filter, Full, Insert, Key, KeyHash, KeyHasher, Remove};

impl Filter for SharedFilter {
    fn hasher(&self) -> &KeyHasher {
        self.hasher()
    }
    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.contains_hash(hash)
    }
    fn count_hash(&self, hash: KeyHash) -> usize {
        self.count_hash(hash)
    }
    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        self.contains_batch(hashes, hits);
    }
    fn len(&self) -> usize {
        self.len()
    }
    fn slots(&self) -> usize {
        self.slots()
    }
    fn size_in_bytes(&self) -> usize {
        self.size_in_bytes()
    }
    fn expected_false_positive_rate(&self) -> f64 {
        self.expected_false_positive_rate()
    }
}

macro_rules! changes {
    ($($type:ty),*) => {$(
        /// Batches go in turn, as the trait promises; the filter's own method is faster.
        impl Insert for $type {
            #[inline]
            fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
                SharedFilter::insert_hash(self, hash)
            }
            fn clear(&mut self) {
                SharedFilter::clear(self);
            }
        }

        impl Remove for $type {
            #[inline]
            fn remove_hash(&mut self, hash: KeyHash) -> bool {
                SharedFilter::remove_hash(self, hash)
            }
            fn remove_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
                SharedFilter::remove_batch(self, hashes, removed);
            }
        }

        /// Inserts what fits; keys that do not are counted by [`SharedFilter::refused`].
        impl<K: Key> Extend<K> for $type {
            fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
                for key in keys {
                    if SharedFilter::insert(self, &key).is_err() {
                        self.count_refused();
                    }
                }
            }
        }
    )*};
}
changes!(SharedFilter, &SharedFilter);

#[cfg(test)]
mod tests {
    use crate::SharedFilter;

    /// A file may hold any number.
    #[test]
    fn refused_keys_are_counted_up_to_the_largest_number() {
        let filter = SharedFilter::builder().build().expect("valid");
        *filter.shared.refused.lock().expect("no panic") = u64::MAX - 1;
        filter.count_refused();
        filter.count_refused();
        assert_eq!(filter.refused(), u64::MAX);
    }
}
