//! Many inserts or removals at once in the filter of fixed size. The bytes are those of one after the
//! other.

use super::room::{Candidates, Kicks, insert_into};
use crate::batch::GROUP;
use crate::placement::{FingerprintSize, Placement};
use crate::table::Buckets;
use crate::{FullCause, KeyHash, wide};

/// Candidates of keys whose buckets are on their way, a group of them ahead of the one that is
/// worked on. One key is prefetched for each that is worked on: in bursts they would wait for each
/// other, which made lookups here take twice as long.
struct Prefetched<'a, P> {
    placement: P,
    size: FingerprintSize,
    ring: [Candidates; GROUP],
    at: usize,
    coming: core::slice::Iter<'a, KeyHash>,
}

impl<'a, P: Placement> Prefetched<'a, P> {
    #[inline]
    fn new(
        table: &impl Buckets,
        placement: P,
        size: FingerprintSize,
        hashes: &'a [KeyHash],
    ) -> Self {
        let ring = [Candidates::of(placement, size, KeyHash::new(0)); GROUP];
        let mut prefetched = Self { placement, size, ring, at: 0, coming: hashes.iter() };
        for _ in 0..GROUP {
            prefetched.next(table);
        }
        prefetched
    }

    /// The next key to work on; a later one is prefetched instead.
    #[inline]
    fn next(&mut self, table: &impl Buckets) -> Candidates {
        let place = &mut self.ring[self.at % GROUP];
        let key = *place;
        self.at += 1;
        if let Some(&hash) = self.coming.next() {
            *place = Candidates::of(self.placement, self.size, hash);
            table.prefetch(table.spot(place.home));
            table.prefetch(table.spot(place.alternate));
        }
        key
    }
}

/// What becomes of each key.
pub(super) const INSERT: u8 = 0;
/// The test and the insert wait for the same two buckets, so together they take hardly longer than the
/// insert.
pub(super) const INSERT_ABSENT: u8 = 1;
pub(super) const REMOVE: u8 = 2;

/// The same change for each hash, until one is refused.
pub(super) struct Changes<'a, T, P, const CHANGE: u8> {
    pub(super) table: &'a mut T,
    pub(super) placement: P,
    pub(super) kicks: Kicks,
    pub(super) size: FingerprintSize,
    pub(super) hashes: &'a [KeyHash],
    /// Whether each key was inserted or removed; not for [`INSERT`].
    pub(super) answers: &'a mut [bool],
}

/// How many keys were inserted or removed. If one was refused: how many came before it, and why.
pub(super) struct Changed {
    pub(super) count: usize,
    pub(super) stopped: Option<(usize, FullCause)>,
}

impl<T: Buckets, P: Placement, const CHANGE: u8> wide::Job for Changes<'_, T, P, CHANGE> {
    type Output = Changed;

    #[inline(always)]
    fn run(self) -> Changed {
        let Self { table, placement, kicks, size, hashes, answers } = self;
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        let mut count = 0;
        for (at, _) in hashes.iter().enumerate() {
            let key = prefetched.next(table);
            let Candidates { fingerprint, home, alternate } = key;
            let is_changed = match CHANGE {
                REMOVE => table.remove_from_either::<false>(home, alternate, fingerprint),
                INSERT_ABSENT if table.contains_either(home, alternate, fingerprint) => false,
                _ => {
                    if let Err(cause) = insert_into::<false, _>(table, placement, kicks, &key) {
                        return Changed { count, stopped: Some((at, cause)) };
                    }
                    true
                }
            };
            count += usize::from(is_changed);
            if CHANGE != INSERT {
                answers[at] = is_changed;
            }
        }
        Changed { count, stopped: None }
    }
}
