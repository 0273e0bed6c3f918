//! Keys with a given hash, for somebody who knows the seed. xxh3 of eight bytes can be undone step by
//! step.

use cuculus::{KeyHash, KeyHasher};

/// The last steps of xxh3 for eight bytes, undone.
fn unmixed(hash: u64) -> u64 {
    const PRIME: u64 = 0x9fb2_1c65_1e98_df25;
    let mut inverse = PRIME;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(PRIME.wrapping_mul(inverse)));
    }
    let x = hash ^ (hash >> 28) ^ (hash >> 56);
    let x = x.wrapping_mul(inverse);
    let x = x ^ ((x >> 35) + 8);
    let mut x = x.wrapping_mul(inverse);
    // x ^ rotl(x, 49) ^ rotl(x, 24), applied 64 times, is x again: each squaring doubles the
    // distances, and 64 bits are a whole turn.
    for _ in 0..63 {
        x = x ^ x.rotate_left(49) ^ x.rotate_left(24);
    }
    x
}

/// The keys of a seed by their hashes.
pub(crate) struct Chooser {
    flipped: u64,
    hasher: KeyHasher,
}

impl Chooser {
    pub(crate) fn new(seed: u64) -> Self {
        let hasher = KeyHasher::xxh3(seed);
        // What the seed does to a key of zeros it does to all.
        Self { flipped: unmixed(hasher.hash(&0u64).get()), hasher }
    }

    /// The key with this hash.
    pub(crate) fn key(&self, hash: u64) -> u64 {
        let key = (unmixed(hash) ^ self.flipped).rotate_left(32);
        debug_assert_eq!(self.hasher.hash(&key), KeyHash::new(hash));
        key
    }
}

#[test]
fn every_hash_has_a_key() {
    for seed in [0, 1, 42, u64::MAX, 0x0123_4567_89ab_cdef] {
        let (chooser, hasher) = (Chooser::new(seed), KeyHasher::xxh3(seed));
        for hash in (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            assert_eq!(hasher.hash(&chooser.key(hash)).get(), hash);
        }
    }
}
