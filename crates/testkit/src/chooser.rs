//! Keys with a given hash, for somebody who knows the seed. xxh3 of sixteen bytes can be undone step
//! by step; the two folded products of eight bytes cannot, but a key whose hash has some given bits is
//! soon found by trying.

use cuculus::{KeyHash, KeyHasher};

/// Eight bytes of the secret of xxh3 that everybody knows, xored with the eight after them.
const FIRST: u64 = 0x1f67_b3b7_a4a4_4072 ^ 0x78e5_c0cc_4ee6_79cb;
const SECOND: u64 = 0x2172_ffcc_7dd0_5a82 ^ 0x8e24_43f7_7446_08b8;
/// The factor of the last step of xxh3.
const FACTOR: u64 = 0x1656_6791_9e37_79f9;

/// The last step of xxh3, undone.
fn unmixed(hash: u64) -> u64 {
    let mut inverse = FACTOR;
    for _ in 0..6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(FACTOR.wrapping_mul(inverse)));
    }
    let x = (hash ^ (hash >> 32)).wrapping_mul(inverse);
    x ^ (x >> 37)
}

/// The keys of a seed by their hashes: of the default function, and of xxh3-64.
#[derive(Debug)]
pub struct Chooser {
    seed: u64,
    hasher: KeyHasher,
}

impl Chooser {
    /// The keys of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, hasher: KeyHasher::fold_xxh3(seed) }
    }

    /// A key of sixteen bytes with this hash.
    #[must_use]
    pub fn key(&self, hash: u64) -> u128 {
        // With this first half, what is multiplied with the second half is 0.
        let first = FIRST.wrapping_add(self.seed);
        let second = unmixed(hash).wrapping_sub(16) ^ SECOND.wrapping_sub(self.seed);
        let key = u128::from(second) << 64 | u128::from(first);
        debug_assert_eq!(self.hasher.hash(&key), KeyHash::new(hash));
        key
    }

    /// Integers whose hash has the bits of `mask` that `bits` has: each takes 2^(ones of mask) trials.
    pub fn integers(&self, mask: u64, bits: u64) -> impl Iterator<Item = u64> {
        // Not the first ones, which others use.
        (1 << 40..).filter(move |key: &u64| self.hasher.hash(key).get() & mask == bits)
    }
}

#[test]
fn every_hash_has_a_key() {
    for seed in [0, 1, 42, u64::MAX, 0x0123_4567_89ab_cdef] {
        let chooser = Chooser::new(seed);
        for hasher in [KeyHasher::fold_xxh3(seed), KeyHasher::xxh3(seed)] {
            for hash in (0..1000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                assert_eq!(hasher.hash(&chooser.key(hash)).get(), hash);
            }
        }
        for key in chooser.integers(0xfff << 52 | 3, 0x123 << 52 | 2).take(20) {
            let hash = KeyHasher::fold_xxh3(seed).hash(&key).get();
            assert_eq!((hash >> 52, hash & 3), (0x123, 2));
        }
    }
}
