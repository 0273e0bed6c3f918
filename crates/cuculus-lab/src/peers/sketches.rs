//! `sketches`: a packed cuckoo filter.

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built, Deletes};
use ::sketches::cuckoo_filter::CuckooFilter;

pub(super) struct Packed(CuckooFilter);

impl<K: WorkKey> Adapter<K> for Packed {
    const NAME: &'static str = "sketches";

    fn note() -> String {
        "SipHash, no choice".to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = Self(CuckooFilter::new(keys.len(), rate)?);
        Ok(Built::one_by_one(empty, keys, |peer, key| peer.0.insert(key)))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }
}

impl<K: WorkKey> Deletes<K> for Packed {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.0.delete(key)
    }
}
