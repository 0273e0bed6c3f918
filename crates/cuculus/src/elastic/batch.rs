//! Many keys at once in the elastic filter: descriptions are prefetched first, then groups, then
//! keys are looked at, so that the waits for memory overlap.

use super::address::{Address, Scheme};
use super::levels::Levels;
use crate::KeyHash;
use crate::wide::Job;

/// Keys that are looked up together.
const TOGETHER: usize = 32;
/// With fewer segments their descriptions are in the processor's cache anyway.
const FAR: usize = 4096;

/// Prefetches the groups of some keys.
#[inline(always)]
pub(super) fn prefetch(levels: &Levels, scheme: Scheme, hashes: &[KeyHash]) {
    if levels.main.len() == 0 {
        return;
    }
    for &hash in hashes {
        levels.main.prefetch_segment(scheme.address(hash));
    }
    for &hash in hashes {
        levels.main.probe(scheme.address(hash)).prefetch();
    }
}

/// `contains` for each key, hashed by `hash` on the way.
pub(super) struct Contains<'a, K, H> {
    pub(super) levels: &'a Levels,
    pub(super) scheme: Scheme,
    pub(super) keys: &'a [K],
    pub(super) hash: H,
    pub(super) hits: &'a mut [bool],
}

impl<K, H: Fn(&K) -> KeyHash> Job for Contains<'_, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { levels, scheme, keys, hash, hits } = self;
        let main = &levels.main;
        let is_far = main.segment_count() > FAR;
        let mut chunks = keys.chunks(TOGETHER);
        let mut next = [Address { path: 0, home: 0 }; TOGETHER];
        let work_out = |chunk: &[K], to: &mut [Address; TOGETHER]| {
            for (address, key) in to.iter_mut().zip(chunk) {
                *address = scheme.address(hash(key));
                if is_far {
                    main.prefetch_segment(*address);
                }
            }
        };
        if let Some(chunk) = chunks.next() {
            work_out(chunk, &mut next);
        }
        for hits in hits.chunks_mut(TOGETHER) {
            let addresses = next;
            if let Some(chunk) = chunks.next() {
                work_out(chunk, &mut next);
            }
            if main.len() > 0 {
                let mut probes = [main.probe(addresses[0]); TOGETHER];
                for (probe, &address) in probes.iter_mut().zip(&addresses) {
                    *probe = main.probe(address);
                    probe.prefetch();
                }
                for (hit, probe) in hits.iter_mut().zip(&probes) {
                    *hit = probe.hit_prefetched();
                }
            }
            for level in &levels.overflow {
                for (hit, &address) in hits.iter_mut().zip(&addresses) {
                    *hit |= level.contains(address);
                }
            }
        }
    }
}
