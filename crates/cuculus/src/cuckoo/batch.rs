//! Many keys at once: the buckets of keys further on are asked for before those of the first are
//! looked at, so that the waits for memory overlap.

use crate::KeyHash;
use crate::placement::{Fingerprint, FingerprintSize, Placement};
use crate::prefetch::prefetch;
use crate::table::{Buckets, Spot};
use crate::wide::Job;

/// Keys whose candidates are worked out together. One to two groups are on their way at any time;
/// of 4 to 128 keys this is the best in and out of cache, since the processor follows sixteen
/// requests at a time and more only wait in line.
pub(super) const GROUP: usize = 16;
/// Groups by which the keys themselves are asked for in advance. They come one after the other,
/// but the processor's own guess at that gives way to all the other requests.
const KEYS_AHEAD: usize = 8;

/// The candidates of a group, one array a field, so that they are computed by vectors.
struct Group {
    fingerprints: [u32; GROUP],
    homes: [Spot; GROUP],
    alternates: [Spot; GROUP],
}

impl Group {
    fn new() -> Self {
        let spots = [Spot::default(); GROUP];
        Self { fingerprints: [0; GROUP], homes: spots, alternates: spots }
    }

    /// Computes the candidates of a group.
    #[inline(always)]
    fn set<T: Buckets, P: Placement>(
        &mut self,
        table: &T,
        places: P,
        size: FingerprintSize,
        hashes: &[KeyHash; GROUP],
    ) {
        let Self { fingerprints, homes, alternates } = self;
        let spots = homes.iter_mut().zip(alternates.iter_mut());
        for ((fingerprint, (home, alternate)), &hash) in
            fingerprints.iter_mut().zip(spots).zip(hashes)
        {
            let value = size.fingerprint(hash);
            let bucket = places.home_for_vectors(hash);
            *fingerprint = value.0;
            *home = table.spot(bucket);
            *alternate = table.spot(places.alternate(bucket, value));
        }
    }

    /// Asks for the buckets of a key.
    #[inline(always)]
    fn prefetch(&self, table: &impl Buckets, i: usize) {
        table.prefetch(self.homes[i]);
        table.prefetch(self.alternates[i]);
    }

    #[inline(always)]
    fn is_contained(&self, table: &impl Buckets, i: usize) -> bool {
        let fingerprint = Fingerprint(self.fingerprints[i]);
        table.spots_contain(self.homes[i], self.alternates[i], fingerprint)
    }
}

/// `contains` for each key, hashed by `hash` on the way.
pub(super) struct Contains<'a, T, P, K, H> {
    pub(super) table: &'a T,
    pub(super) places: P,
    pub(super) size: FingerprintSize,
    pub(super) keys: &'a [K],
    pub(super) hash: H,
    pub(super) hits: &'a mut [bool],
}

impl<T: Buckets, P: Placement, K, H: Fn(&K) -> KeyHash> Job for Contains<'_, T, P, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { table, places, size, keys, hash, hits } = self;
        // Two groups take turns, and for each key that is looked at the buckets of one of the
        // next group are asked for: requests that come in bursts find the queues full. The first
        // time round nothing is looked at.
        let mut groups = [Group::new(), Group::new()];
        let [mut this, mut next] = groups.each_mut();
        let mut coming = keys.chunks(GROUP);
        let nothing: &mut [bool] = &mut [];
        for hits in core::iter::once(nothing).chain(hits.chunks_mut(GROUP)) {
            core::mem::swap(&mut this, &mut next);
            if let Some(later) = coming.clone().nth(KEYS_AHEAD) {
                let in_a_line = (64 / size_of::<K>().max(1)).max(1);
                (0..later.len()).step_by(in_a_line).for_each(|i| prefetch(later, i));
            }
            let mut hashes = [KeyHash::new(0); GROUP];
            for (to, key) in hashes.iter_mut().zip(coming.next().unwrap_or_default()) {
                *to = hash(key);
            }
            next.set(table, places, size, &hashes);
            if hits.is_empty() {
                (0..GROUP).for_each(|i| next.prefetch(table, i));
            }
            for (i, hit) in hits.iter_mut().take(GROUP).enumerate() {
                next.prefetch(table, i);
                *hit = this.is_contained(table, i);
            }
        }
    }
}
