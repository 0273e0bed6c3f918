//! Many keys at once: the buckets of keys further on are asked for before those of the first are
//! looked at, so that the waits for memory overlap; and what can be worked out for several keys
//! at a time is, one array a field, so that vectors do it.

use super::address::Address;
use super::store::{Probe, Probes};
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
            Probe::prefetch(&probe);
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
            look_up(tier, keys, &hash, hits);
        }
        if let Some(elder) = tier.elder.as_deref() {
            for (hit, key) in hits.iter_mut().zip(keys) {
                *hit = *hit || elder.contains(Address::of(hash(key)));
            }
        }
    }
}

/// Looks all keys up in the tier's own level, which is not empty.
#[inline(always)]
fn look_up<K>(tier: &Tier, keys: &[K], hash: &impl Fn(&K) -> KeyHash, hits: &mut [bool]) {
    // Two groups take turns, and for each key that is looked at the buckets of one of the next
    // group are asked for: requests that come in bursts find the queues full. The first time
    // round nothing is looked at.
    let mut groups = [Probes::new(), Probes::new()];
    let [mut this, mut next] = groups.each_mut();
    let mut coming = keys.chunks(GROUP);
    let nothing: &mut [bool] = &mut [];
    for hits in core::iter::once(nothing).chain(hits.chunks_mut(GROUP)) {
        core::mem::swap(&mut this, &mut next);
        if let Some(later) = coming.clone().nth(KEYS_AHEAD) {
            let in_a_line = (64 / size_of::<K>().max(1)).max(1);
            (0..later.len()).step_by(in_a_line).for_each(|i| prefetch_slice(later, i));
        }
        let mut hashes = [KeyHash::new(0); GROUP];
        for (to, key) in hashes.iter_mut().zip(coming.next().unwrap_or_default()) {
            *to = hash(key);
        }
        tier.level.probe_all(&hashes, next);
        if hits.is_empty() {
            (0..GROUP).for_each(|i| next.prefetch(i));
        }
        for (i, hit) in hits.iter_mut().take(GROUP).enumerate() {
            next.prefetch(i);
            *hit = this.hit(i);
        }
    }
}
