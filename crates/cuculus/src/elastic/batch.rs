//! Many keys at once in the elastic filter: descriptions are prefetched first, then groups, then
//! keys are looked at, so that the waits for memory overlap.

use super::address::Address;
use super::levels::Levels;
use super::probe::{Probe, hit_slowly};
use crate::prefetch::prefetch_at;
use crate::wide::Job;

/// Keys that are in the same stage of a lookup.
const TOGETHER: usize = 8;

/// Prefetches the groups of some keys.
#[inline(always)]
pub(super) fn prefetch<K>(levels: &Levels, keys: &[K], address: impl Fn(&K) -> Address) {
    if levels.main.len() == 0 {
        return;
    }
    for key in keys {
        levels.main.prefetch_segment(address(key));
    }
    for key in keys {
        levels.main.prefetch_group(address(key));
    }
}

/// `contains` for each key, whose address is found on the way.
pub(super) struct Contains<'a, K, A> {
    pub(super) levels: &'a Levels,
    pub(super) keys: &'a [K],
    pub(super) address: A,
    pub(super) hits: &'a mut [bool],
}

impl<K, A: Fn(&K) -> Address> Job for Contains<'_, K, A> {
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

impl<K, A: Fn(&K) -> Address> Contains<'_, K, A> {
    #[inline(always)]
    fn look_up<const WIDE: bool>(self) {
        let Self { levels, keys, address, hits } = self;
        let main = &levels.main;
        if main.segment_count() == 0 {
            return;
        }
        // Three groups of keys are under way: of one the descriptions are prefetched, of the one
        // before it the codes, and those of the one before that are looked at. Groups are small, so
        // that what one of them prefetches fits the queues of the memory system.
        let count = keys.len().div_ceil(TOGETHER);
        let none = (main.segment(Address::default()), Address::default());
        let mut places = [[none; TOGETHER]; 4];
        let mut probes = [[Probe::new(none.0, none.1); TOGETHER]; 2];
        for step in 0..count + 2 {
            if let Some(group) = keys.get(step * TOGETHER..) {
                for (to, key) in places[step % 4].iter_mut().zip(group) {
                    let key = address(key);
                    *to = (main.segment(key), key);
                    prefetch_at(to.0);
                }
            }
            if let Some(before) = step.checked_sub(1).filter(|&before| before < count) {
                for (to, &(segment, key)) in probes[before % 2].iter_mut().zip(&places[before % 4])
                {
                    *to = Probe::new(segment, key);
                    to.prefetch_header();
                }
            }
            if let Some(now) = step.checked_sub(2) {
                let group = hits.get_mut(now * TOGETHER..).unwrap_or_default();
                let places = places[now % 4].iter();
                for ((hit, probe), &(segment, key)) in
                    group.iter_mut().zip(&probes[now % 2]).zip(places)
                {
                    *hit = probe.hit::<WIDE>().unwrap_or_else(|| hit_slowly(segment, key));
                }
            }
        }
        for level in &*levels.overflow {
            for (hit, key) in hits.iter_mut().zip(keys) {
                *hit |= level.contains(address(key));
            }
        }
    }
}
