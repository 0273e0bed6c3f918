//! Many keys at once in the elastic filter.

use super::address::Address;
use super::tier::Tier;
use crate::KeyHash;
use crate::batch;
use crate::wide::Job;

/// Asks for the buckets of some keys.
#[inline(always)]
pub(super) fn prefetch(tier: &Tier, hashes: &[KeyHash]) {
    for &hash in hashes {
        if let Some(probe) = tier.level.probe(Address::of(hash)) {
            probe.prefetch();
        }
    }
}

/// `contains` for each key, hashed by `hash` on the way.
pub(super) struct Contains<'a, K, H> {
    pub(super) tier: &'a Tier,
    pub(super) keys: &'a [K],
    pub(super) hash: H,
    pub(super) hits: &'a mut [bool],
}

impl<K, H: Fn(&K) -> KeyHash> Job for Contains<'_, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { tier, keys, hash, hits } = self;
        if tier.level.len() > 0 {
            batch::look_up([(); 2].map(|()| tier.level.probes()), keys, &hash, hits);
        }
        if let Some(elder) = tier.elder.as_deref() {
            for (hit, key) in hits.iter_mut().zip(keys) {
                *hit = *hit || elder.contains(Address::of(hash(key)));
            }
        }
    }
}
