//! Many keys at once in the elastic filter: descriptions are prefetched first, then groups, then
//! keys are looked at, so that the waits for memory overlap.

use super::address::Scheme;
use super::levels::Levels;
use super::probe::TOGETHER;
use crate::KeyHash;
use crate::wide::Job;

/// With fewer segments their descriptions are in the processor's cache anyway.
const FAR: usize = 512;

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
        levels.main.prefetch_group(scheme.address(hash));
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
        self.look_up::<false>();
    }

    #[inline(always)]
    fn run_wide(self) {
        self.look_up::<true>();
    }
}

impl<K, H: Fn(&K) -> KeyHash> Contains<'_, K, H> {
    #[inline(always)]
    fn look_up<const WIDE: bool>(self) {
        let Self { levels, scheme, keys, hash, hits } = self;
        let main = &levels.main;
        let is_far = main.segment_count() > FAR;
        let (mut hashes, mut next) = ([KeyHash::new(0); TOGETHER], [KeyHash::new(0); TOGETHER]);
        // The first time round nothing is looked at.
        let nothing: &mut [bool] = &mut [];
        let mut chunks = keys.chunks(TOGETHER);
        for hits in core::iter::once(nothing).chain(hits.chunks_mut(TOGETHER)) {
            core::mem::swap(&mut hashes, &mut next);
            let chunk = chunks.next().unwrap_or_default();
            for (to, key) in next.iter_mut().zip(chunk) {
                *to = hash(key);
            }
            if is_far {
                for &hash in &next[..chunk.len()] {
                    main.prefetch_segment(scheme.address(hash));
                }
            }
            if main.len() == 0 || hits.is_empty() {
                continue;
            }
            if let Ok(all) = hits.try_into() {
                main.look_up_many(scheme, &hashes, all);
            } else {
                for (hit, &hash) in hits.iter_mut().zip(&hashes) {
                    *hit = main.contains::<WIDE>(scheme.address(hash));
                }
            }
            for level in &*levels.overflow {
                for (hit, &hash) in hits.iter_mut().zip(&hashes) {
                    *hit |= level.contains::<WIDE>(scheme.address(hash));
                }
            }
        }
    }
}
