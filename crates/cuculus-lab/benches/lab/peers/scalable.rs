//! `scalable_cuckoo_filter`: a list of cuckoo filters that grows; here made for all keys at
//! once.

use cuculus_lab::keys::WorkKey;
use cuculus_lab::speed::{Adapter, Built, Deletes};
use scalable_cuckoo_filter::ScalableCuckooFilter;

pub(super) struct Scalable<K>(ScalableCuckooFilter<K>);

impl<K: WorkKey> Adapter<K> for Scalable<K> {
    const NAME: &'static str = "scalable";

    fn note() -> String {
        "SipHash, its default".to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = Self(ScalableCuckooFilter::new(keys.len(), rate));
        Ok(Built::one_by_one(empty, keys, |peer, key| {
            peer.0.insert(key);
            true
        }))
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
