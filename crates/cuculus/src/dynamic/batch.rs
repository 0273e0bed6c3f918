//! Many keys at once in a list of filters: the candidates of a key are the same in each, so they
//! are worked out once.

use super::block::Block;
use crate::KeyHash;
use crate::batch::{self, GROUP};
use crate::cuckoo::room::Candidates;
use crate::placement::{FingerprintSize, Placement};
use crate::wide::Job;

/// The candidates of a group of keys.
struct Group<'a, P> {
    blocks: &'a [Block],
    places: P,
    size: FingerprintSize,
    keys: [Candidates; GROUP],
}

impl<'a, P: Placement> Group<'a, P> {
    #[inline(always)]
    fn new(blocks: &'a [Block], places: P, size: FingerprintSize) -> Self {
        let nothing = Candidates::of(places, size, KeyHash::new(0));
        Self { blocks, places, size, keys: [nothing; GROUP] }
    }
}

impl<P: Placement> batch::Candidates for Group<'_, P> {
    #[inline(always)]
    fn set(&mut self, hashes: &[KeyHash; GROUP]) {
        for (key, &hash) in self.keys.iter_mut().zip(hashes) {
            let fingerprint = self.size.fingerprint(hash);
            let home = self.places.home_for_vectors(hash);
            let alternate = self.places.alternate(home, fingerprint);
            *key = Candidates { fingerprint, home, alternate };
        }
    }

    #[inline(always)]
    fn prefetch(&self, i: usize) {
        self.blocks.iter().for_each(|block| block.prefetch(&self.keys[i]));
    }

    #[inline(always)]
    fn is_contained(&self, i: usize) -> bool {
        self.blocks.iter().any(|block| block.contains(&self.keys[i]))
    }
}

/// `contains` for each key, hashed by `hash` on the way.
pub(super) struct Contains<'a, P, K, H> {
    pub(super) blocks: &'a [Block],
    pub(super) places: P,
    pub(super) size: FingerprintSize,
    pub(super) keys: &'a [K],
    pub(super) hash: H,
    pub(super) hits: &'a mut [bool],
}

impl<P: Placement, K, H: Fn(&K) -> KeyHash> Job for Contains<'_, P, K, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { blocks, places, size, keys, hash, hits } = self;
        let groups = [(); 2].map(|()| Group::new(blocks, places, size));
        batch::look_up(groups, keys, hash, hits);
    }
}
