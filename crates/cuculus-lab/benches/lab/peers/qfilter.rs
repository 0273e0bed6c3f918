//! `qfilter`: a rank-and-select quotient filter.

use cuculus_lab::keys::WorkKey;
use cuculus_lab::speed::{Adapter, Built, Deletes};

/// Its `insert` stores keys that look the same once, and removing one of them loses the others;
/// `insert_duplicated` is the call for those who remove.
pub(super) struct Quotient(::qfilter::Filter);

impl<K: WorkKey> Adapter<K> for Quotient {
    const NAME: &'static str = "qfilter";

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = Self(::qfilter::Filter::new(keys.len() as u64, rate)?);
        Ok(Built::one_by_one(empty, keys, |peer, key| peer.0.insert_duplicated(key).is_ok()))
    }

    #[inline(always)]
    fn contains(&self, key: &K) -> bool {
        self.0.contains(key)
    }
}

impl<K: WorkKey> Deletes<K> for Quotient {
    #[inline(always)]
    fn remove(&mut self, key: &K) -> bool {
        self.0.remove(key)
    }
}
