//! Many keys at once: the buckets of keys further on are asked for before those of the first are
//! looked at, so that the waits for memory overlap.

use super::address::Address;
use super::store::Probe;
use super::tier::Tier;
use crate::KeyHash;
use crate::prefetch::prefetch as prefetch_slice;
use crate::wide::Job;

/// Keys that are worked out together, as for the filter of fixed size.
pub(super) const GROUP: usize = 16;
/// Groups by which the keys themselves are asked for in advance.
const KEYS_AHEAD: usize = 8;

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
        if tier.level.len() == 0 && tier.elder.is_none() {
            return;
        }
        let mut coming = keys.chunks(GROUP);
        for (keys, hits) in keys.chunks(GROUP).zip(hits.chunks_mut(GROUP)) {
            coming.next();
            if let Some(later) = coming.clone().nth(KEYS_AHEAD) {
                let in_a_line = (64 / size_of::<K>().max(1)).max(1);
                (0..later.len()).step_by(in_a_line).for_each(|i| prefetch_slice(later, i));
            }
            let mut probes: [Option<Probe<'_>>; GROUP] = [None; GROUP];
            for (probe, key) in probes.iter_mut().zip(keys) {
                *probe = tier.level.probe(Address::of(hash(key)));
                if let Some(probe) = probe {
                    probe.prefetch();
                }
            }
            for ((hit, probe), key) in hits.iter_mut().zip(&probes).zip(keys) {
                *hit = probe.is_some_and(|probe| probe.hit())
                    || tier
                        .elder
                        .as_deref()
                        .is_some_and(|elder| elder.contains(Address::of(hash(key))));
            }
        }
    }
}
