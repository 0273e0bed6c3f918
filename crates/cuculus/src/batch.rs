//! Many lookups at once: the buckets of later keys are prefetched before those of the first are looked
//! at, so that the waits for memory overlap. Knows tables and placements, nothing of filters.

use crate::KeyHash;
use crate::placement::{Fingerprint, FingerprintSize, Placement};
use crate::prefetch::prefetch;
use crate::table::{Buckets, Spot};
use crate::wide::Job;

/// Keys whose candidates are worked out together. One to two groups are on their way at any time;
/// of 4 to 128 keys this is the best in and out of cache, since the processor follows sixteen
/// requests at a time and more only wait in line.
pub const GROUP: usize = 16;
/// How many groups ahead the keys themselves are prefetched. They come one after the other,
/// but the processor's own guess at that gives way to all the other requests.
const KEYS_AHEAD: usize = 8;

/// The candidates of a group, one array per field, so that they are computed by vectors.
#[derive(Clone, Copy)]
struct Group {
    fingerprints: [u32; GROUP],
    homes: [Spot; GROUP],
    alternates: [Spot; GROUP],
}

/// `contains` for each key, hashed by `hash` on the way.
pub struct Contains<'a, T, P, K, H> {
    pub table: &'a T,
    pub placement: P,
    pub size: FingerprintSize,
    pub keys: &'a [K],
    pub hash: H,
    pub hits: &'a mut [bool],
}

impl<T: Buckets, P: Placement, K, H: Fn(&K) -> KeyHash> Contains<'_, T, P, K, H> {
    /// Works out where the keys of a group may be.
    #[inline(always)]
    fn set(&self, group: &mut Group, hashes: &[KeyHash; GROUP]) {
        let Group { fingerprints, homes, alternates } = group;
        let spots = homes.iter_mut().zip(alternates.iter_mut());
        for ((fingerprint, (home, alternate)), &hash) in
            fingerprints.iter_mut().zip(spots).zip(hashes)
        {
            let value = self.size.fingerprint(hash);
            let bucket = self.placement.home_for_vectors(hash);
            *fingerprint = value.0;
            *home = self.table.spot(bucket);
            *alternate = self.table.spot(self.placement.alternate(bucket, value));
        }
    }

    #[inline(always)]
    fn prefetch(&self, group: &Group, i: usize) {
        self.table.prefetch(group.homes[i]);
        self.table.prefetch(group.alternates[i]);
    }
}

impl<T: Buckets, P: Placement, K, H: Fn(&K) -> KeyHash> Job for Contains<'_, T, P, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        // Two groups take turns, and for each key that is looked at the buckets of one of the next
        // group are prefetched: requests that come in bursts find the queues full. The first time
        // round nothing is looked at.
        let spots = [Spot::default(); GROUP];
        let none = Group { fingerprints: [0; GROUP], homes: spots, alternates: spots };
        let mut groups = [none; 2];
        let [mut this, mut next] = groups.each_mut();
        let mut coming = self.keys.chunks(GROUP);
        let hits = core::mem::take(&mut self.hits);
        let nothing: &mut [bool] = &mut [];
        for hits in core::iter::once(nothing).chain(hits.chunks_mut(GROUP)) {
            core::mem::swap(&mut this, &mut next);
            if let Some(later) = coming.clone().nth(KEYS_AHEAD) {
                let in_a_line = (64 / size_of::<K>().max(1)).max(1);
                (0..later.len()).step_by(in_a_line).for_each(|i| prefetch(later, i));
            }
            let mut hashes = [KeyHash::new(0); GROUP];
            for (to, key) in hashes.iter_mut().zip(coming.next().unwrap_or_default()) {
                *to = (self.hash)(key);
            }
            self.set(next, &hashes);
            if hits.is_empty() {
                (0..GROUP).for_each(|i| self.prefetch(next, i));
            }
            for (i, hit) in hits.iter_mut().take(GROUP).enumerate() {
                self.prefetch(next, i);
                let fingerprint = Fingerprint(this.fingerprints[i]);
                *hit = self.table.spots_contain(this.homes[i], this.alternates[i], fingerprint);
            }
        }
    }
}
