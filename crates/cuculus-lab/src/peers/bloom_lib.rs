//! `bloom-lib`: a cuckoo filter with slots of 16 bits, whatever rate is asked for.

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built, Deletes};
use ::bloom_lib::CuckooFilter;

pub(super) struct Wide<K>(CuckooFilter<K>);

impl<K: WorkKey> Adapter<K> for Wide<K> {
    const NAME: &'static str = "bloom-lib";

    fn note() -> String {
        "16-bit slots".to_owned()
    }

    fn build(keys: &[K], _: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = Self(CuckooFilter::new(keys.len())?);
        Ok(Built::one_by_one(empty, keys, |peer, key| peer.0.insert(key).is_ok()))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }
}

impl<K: WorkKey> Deletes<K> for Wide<K> {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.0.remove(key)
    }
}
