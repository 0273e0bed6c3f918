//! `qfilter`: a rank-and-select quotient filter.

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built, Deletes, Grows};

/// Its `insert` stores keys that look the same once, and removing one of them loses the others;
/// `insert_duplicated` is the call for those who remove.
pub(super) struct Quotient(::qfilter::Filter);

impl<K: WorkKey> Adapter<K> for Quotient {
    const NAME: &'static str = "qfilter";

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let empty = <Self as Grows<K>>::start(keys.len(), keys.len(), rate)?;
        Ok(Built::one_by_one(empty, keys, Self::insert))
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

/// It must know the most keys that it will ever hold.
impl<K: WorkKey> Grows<K> for Quotient {
    fn start(first: usize, most: usize, rate: f64) -> anyhow::Result<Self> {
        Ok(Self(::qfilter::Filter::new_resizeable(first as u64, most as u64, rate)?))
    }

    #[inline(always)]
    fn insert(&mut self, key: &K) -> bool {
        self.0.insert_duplicated(key).is_ok()
    }
}
