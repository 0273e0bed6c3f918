//! `fastbloom`: a Bloom filter, so without deletion.

use crate::keys::WorkKey;
use crate::speed::{Adapter, Built};
use ::fastbloom::BloomFilter;
use foldhash::fast::FixedState;

/// With the hash function that the crate's front page shows and measures, instead of the SipHash
/// that it takes by default.
pub(super) struct Bloom(BloomFilter<FixedState>);

impl<K: WorkKey> Adapter<K> for Bloom {
    const NAME: &'static str = "fastbloom";

    fn note() -> String {
        "foldhash".to_owned()
    }

    fn build(keys: &[K], rate: f64) -> anyhow::Result<Built<Self, K>> {
        let builder = BloomFilter::with_false_pos(rate).hasher(FixedState::default());
        let empty = Self(builder.expected_items(keys.len()));
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
