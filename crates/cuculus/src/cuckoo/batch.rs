//! Many keys at once in the filter of fixed size.

use crate::KeyHash;
use crate::batch::{self, GROUP};
use crate::placement::{Fingerprint, FingerprintSize, Placement};
use crate::table::{Buckets, Spot};
use crate::wide::Job;

/// The candidates of a group, one array per field, so that they are computed by vectors.
struct Group<'a, T, P> {
    table: &'a T,
    placement: P,
    size: FingerprintSize,
    fingerprints: [u32; GROUP],
    homes: [Spot; GROUP],
    alternates: [Spot; GROUP],
}

impl<'a, T, P> Group<'a, T, P> {
    fn new(table: &'a T, placement: P, size: FingerprintSize) -> Self {
        let spots = [Spot::default(); GROUP];
        Self { table, placement, size, fingerprints: [0; GROUP], homes: spots, alternates: spots }
    }
}

impl<T: Buckets, P: Placement> batch::CandidateGroup for Group<'_, T, P> {
    #[inline(always)]
    fn set(&mut self, hashes: &[KeyHash; GROUP]) {
        let Self { table, placement, size, fingerprints, homes, alternates } = self;
        let spots = homes.iter_mut().zip(alternates.iter_mut());
        for ((fingerprint, (home, alternate)), &hash) in
            fingerprints.iter_mut().zip(spots).zip(hashes)
        {
            let value = size.fingerprint(hash);
            let bucket = placement.home_for_vectors(hash);
            *fingerprint = value.0;
            *home = table.spot(bucket);
            *alternate = table.spot(placement.alternate(bucket, value));
        }
    }

    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.table.prefetch(self.homes[i]);
        self.table.prefetch(self.alternates[i]);
    }

    #[inline(always)]
    fn is_contained(&self, i: usize) -> bool {
        let fingerprint = Fingerprint(self.fingerprints[i]);
        self.table.spots_contain(self.homes[i], self.alternates[i], fingerprint)
    }
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

impl<T: Buckets, P: Placement, K, H: Fn(&K) -> KeyHash> Job for Contains<'_, T, P, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { table, placement, size, keys, hash, hits } = self;
        let groups = [(); 2].map(|()| Group::new(table, placement, size));
        batch::look_up(groups, keys, hash, hits);
    }
}
