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
    #[inline(always)]
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
    #[inline(always)]
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

/// `insert` for each hash, until one is refused.
pub(super) struct InsertAll<'a, T, P> {
    pub(super) table: &'a mut T,
    pub(super) placement: P,
    pub(super) kicks: Kicks,
    pub(super) size: FingerprintSize,
    pub(super) hashes: &'a [KeyHash],
}

pub(super) struct Inserted {
    pub(super) count: usize,
    pub(super) stopped: Option<FullCause>,
}

impl<T: Buckets, P: Placement> wide::Job for InsertAll<'_, T, P> {
    type Output = Inserted;

    #[inline(always)]
    fn run(self) -> Inserted {
        let Self { table, placement, kicks, size, hashes } = self;
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        for count in 0..hashes.len() {
            let key = prefetched.next(table);
            if let Err(cause) = insert_into::<false, _>(table, placement, kicks, &key) {
                return Inserted { count, stopped: Some(cause) };
            }
        }
        Inserted { count: hashes.len(), stopped: None }
    }
}

/// `insert` for each hash that is not contained, until one is refused. The test and the insert wait
/// for the same two buckets, so together they take hardly longer than the insert.
pub(super) struct InsertAbsent<'a, T, P> {
    pub(super) table: &'a mut T,
    pub(super) placement: P,
    pub(super) kicks: Kicks,
    pub(super) size: FingerprintSize,
    pub(super) hashes: &'a [KeyHash],
    pub(super) absent: &'a mut Vec<bool>,
}

impl<T: Buckets, P: Placement> wide::Job for InsertAbsent<'_, T, P> {
    type Output = Inserted;

    #[inline(always)]
    fn run(self) -> Inserted {
        let Self { table, placement, kicks, size, hashes, absent } = self;
        let mut count = 0;
        if absent.try_reserve(hashes.len()).is_err() {
            return Inserted { count, stopped: Some(FullCause::OutOfMemory) };
        }
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        for _ in hashes {
            let key = prefetched.next(table);
            let is_absent = !table.contains_either(key.home, key.alternate, key.fingerprint);
            if is_absent && let Err(cause) = insert_into::<false, _>(table, placement, kicks, &key)
            {
                return Inserted { count, stopped: Some(cause) };
            }
            count += usize::from(is_absent);
            absent.push(is_absent);
        }
        Inserted { count, stopped: None }
    }
}

/// `remove` for each hash. Returns how many were there.
pub(super) struct RemoveAll<'a, T, P> {
    pub(super) table: &'a mut T,
    pub(super) placement: P,
    pub(super) size: FingerprintSize,
    pub(super) hashes: &'a [KeyHash],
    pub(super) removed: &'a mut Vec<bool>,
}

impl<T: Buckets, P: Placement> wide::Job for RemoveAll<'_, T, P> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { table, placement, size, hashes, removed } = self;
        let mut prefetched = Prefetched::new(table, placement, size, hashes);
        let mut count = 0;
        removed.extend(hashes.iter().map(|_| {
            let key = prefetched.next(table);
            let found = table.remove_from_either::<false>(key.home, key.alternate, key.fingerprint);
            count += usize::from(found);
            found
        }));
        count
    }
}
