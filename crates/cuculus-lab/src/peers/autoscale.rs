//! `autoscale_cuckoo_filter`: a list of cuckoo filters that grows.

use std::hash::BuildHasher;

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built, Deletes, Grows};
use autoscale_cuckoo_filter::{CuckooFilter, CuckooFilterBuilder};
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
        let empty = <Self as Grows<K>>::start(keys.len(), keys.len(), rate)?;
        Ok(Built::one_by_one(empty, keys, Self::insert))
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

impl<K: WorkKey> Grows<K> for Autoscale<K> {
    fn start(first: usize, _: usize, rate: f64) -> anyhow::Result<Self> {
        let builder = CuckooFilterBuilder::new()
            .initial_capacity(first)
            .false_positive_probability(rate)
            .hasher(FixedState::with_seed(0).build_hasher());
        Ok(Self(builder.finish()))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) -> bool {
        self.0.add(key);
        true
    }
}
