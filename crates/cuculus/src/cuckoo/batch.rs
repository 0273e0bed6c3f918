//! Many keys at once: the buckets of a whole group are asked for before the first is looked at,
//! so that the waits for memory overlap.

use super::room::Candidates;
use crate::KeyHash;
use crate::placement::{BucketIndex, Fingerprint, FingerprintSize, Placement};
use crate::table::Buckets;
use crate::wide::Job;

/// Keys in flight. Best of 16, 32, 64 and 128 at 16 M keys, by a little.
pub(super) const GROUP: usize = 64;

/// The candidates of up to [`GROUP`] keys, with their buckets on the way to the cache.
#[inline(always)]
pub(super) fn fetch<T: Buckets, P: Placement>(
    table: &T,
    places: P,
    size: FingerprintSize,
    hashes: &[KeyHash],
) -> [Candidates; GROUP] {
    let nothing = BucketIndex(0);
    let mut keys =
        [Candidates { fingerprint: Fingerprint::EMPTY, home: nothing, alternate: nothing }; GROUP];
    for (key, &hash) in keys.iter_mut().zip(hashes) {
        *key = Candidates::of(places, size, hash);
        table.prefetch(key.home);
        table.prefetch(key.alternate);
    }
    keys
}

/// `contains` for each hash.
pub(super) struct Contains<'a, T, P> {
    pub(super) table: &'a T,
    pub(super) places: P,
    pub(super) size: FingerprintSize,
    pub(super) hashes: &'a [KeyHash],
    pub(super) hits: &'a mut [bool],
}

impl<T: Buckets, P: Placement> Job for Contains<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (hashes, hits) in self.hashes.chunks(GROUP).zip(self.hits.chunks_mut(GROUP)) {
            let keys = fetch(self.table, self.places, self.size, hashes);
            for (hit, key) in hits.iter_mut().zip(&keys) {
                *hit = self.table.contains_either(key.home, key.alternate, key.fingerprint);
            }
        }
    }
}
