//! `autoscale_cuckoo_filter`: a list of cuckoo filters that grows; here made for all keys at
//! once.

use std::hash::BuildHasher;

use autoscale_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
use cuculus_lab::keys::WorkKey;
use cuculus_lab::speed::{Adapter, Built, Deletes};
use foldhash::quality::{FixedState, FoldHasher};

/// The crate's default hash function needs AES instructions when it is compiled, and without it
/// there is the standard library's SipHash, several times slower. A hash function of the
/// default's speed stands in for it. Keys are put in by `add`: `add_if_not_exist` would store
/// keys that look the same once.
pub(super) struct Autoscale<K>(CuckooFilter<K, FoldHasher<'static>>);

impl<K: WorkKey> Adapter<K> for Autoscale<K> {
    const NAME: &'static str = "autoscale";

    fn note() -> String {
        "foldhash for gxhash".to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let builder = CuckooFilterBuilder::new()
            .initial_capacity(keys.len())
            .false_positive_probability(rate)
            .hasher(FixedState::with_seed(0).build_hasher());
        let empty = Self(builder.finish());
        Ok(Built::one_by_one(empty, keys, |peer, key| {
            peer.0.add(key);
            true
        }))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }
}

impl<K: WorkKey> Deletes<K> for Autoscale<K> {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.0.remove(key)
    }
}
