//! Many keys at once: the buckets of a whole group are asked for before the first is looked at,
//! so that the waits for memory overlap.

use super::room::Candidates;
use crate::KeyHash;
use crate::placement::{BucketIndex, Fingerprint, FingerprintSize, Placement};
use crate::table::Buckets;
use crate::wide::Job;

/// Keys whose buckets are asked for together.
pub(super) const GROUP: usize = 16;

/// The candidates of a group, one array a field, so that they are computed by vectors.
#[derive(Clone)]
pub(super) struct Group {
    fingerprints: [u32; GROUP],
    homes: [u32; GROUP],
    alternates: [u32; GROUP],
}

impl Group {
    pub(super) const fn new() -> Self {
        Self { fingerprints: [0; GROUP], homes: [0; GROUP], alternates: [0; GROUP] }
    }

    /// Computes the candidates of up to [`GROUP`] keys.
    #[inline(always)]
    pub(super) fn set(
        &mut self,
        places: impl Placement,
        size: FingerprintSize,
        hashes: &[KeyHash],
    ) {
        let Self { fingerprints, homes, alternates } = self;
        let fields = fingerprints.iter_mut().zip(homes.iter_mut()).zip(alternates.iter_mut());
        for (((fingerprint, home), alternate), &hash) in fields.zip(hashes) {
            let value = size.fingerprint(hash);
            let bucket = places.home_for_vectors(hash);
            *fingerprint = value.0;
            *home = bucket.0;
            *alternate = places.alternate(bucket, value).0;
        }
    }

    #[inline(always)]
    pub(super) fn keys(&self) -> impl Iterator<Item = Candidates> {
        let buckets = self.homes.iter().zip(&self.alternates);
        self.fingerprints.iter().zip(buckets).map(|(&fingerprint, (&home, &alternate))| {
            Candidates {
                fingerprint: Fingerprint(fingerprint),
                home: BucketIndex(home),
                alternate: BucketIndex(alternate),
            }
        })
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
        let (mut this, mut next) = (Group::new(), Group::new());
        let mut coming = hashes.chunks(GROUP);
        next.set(places, size, coming.next().unwrap_or_default());
        next.keys().for_each(|key| key.prefetch(table));
        for hits in hits.chunks_mut(GROUP) {
            core::mem::swap(&mut this, &mut next);
            next.set(places, size, coming.next().unwrap_or_default());
            for ((hit, key), later) in hits.iter_mut().zip(this.keys()).zip(next.keys()) {
                later.prefetch(table);
                *hit = table.contains_either(key.home, key.alternate, key.fingerprint);
            }
        }
    }
}
