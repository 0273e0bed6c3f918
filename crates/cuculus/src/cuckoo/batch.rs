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
/// Groups by which the hashes themselves are asked for in advance. They come one after the other,
/// but the processor's own guess at that gives way to all the other requests.
const HASHES_AHEAD: usize = 8;

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

    /// Computes the candidates of up to [`GROUP`] keys.
    #[inline(always)]
    fn set<T: Buckets, P: Placement>(
        &mut self,
        table: &T,
        places: P,
        size: FingerprintSize,
        hashes: &[KeyHash],
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
        let Self { table, places, size, hashes, hits } = self;
        // Two groups take turns, and for each key that is looked at the buckets of one of the
        // next group are asked for: requests that come in bursts find the queues full.
        let mut groups = [Group::new(), Group::new()];
        let [mut this, mut next] = groups.each_mut();
        let mut coming = hashes.chunks(GROUP);
        next.set(table, places, size, coming.next().unwrap_or_default());
        (0..GROUP).for_each(|i| next.prefetch(table, i));
        for hits in hits.chunks_mut(GROUP) {
            core::mem::swap(&mut this, &mut next);
            if let Some(later) = coming.clone().nth(HASHES_AHEAD) {
                prefetch(later, 0);
                prefetch(later, GROUP / 2);
            }
            next.set(table, places, size, coming.next().unwrap_or_default());
            // A last group that is not full asks again for buckets of the one before: no harm.
            for (i, hit) in hits.iter_mut().take(GROUP).enumerate() {
                next.prefetch(table, i);
                *hit = this.is_contained(table, i);
            }
        }
    }
}
