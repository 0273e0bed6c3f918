//! `scalable_cuckoo_filter`: a list of cuckoo filters that grows.

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built, Deletes, Grows};
use scalable_cuckoo_filter::ScalableCuckooFilter;

pub(super) struct Scalable<K>(ScalableCuckooFilter<K>);

impl<K: WorkKey> Adapter<K> for Scalable<K> {
    const NAME: &'static str = "scalable";

    fn note() -> String {
        "SipHash, its default".to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = <Self as Grows<K>>::start(keys.len(), keys.len(), rate)?;
        Ok(Built::one_by_one(empty, keys, Self::insert))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }
}

impl<K: WorkKey> Deletes<K> for Scalable<K> {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.0.remove(key)
    }
}

impl<K: WorkKey> Grows<K> for Scalable<K> {
    fn start(first: usize, _: usize, rate: f64) -> anyhow::Result<Self> {
        Ok(Self(ScalableCuckooFilter::new(first, rate)))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert(key);
        true
    }
}
