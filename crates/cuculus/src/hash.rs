//! From a key's bytes to 64 bits, once. Knows nothing of fingerprints, buckets or filters.

use core::fmt;

use siphasher::sip::SipHasher13;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{BuildError, Key};

/// The 64-bit hash of a key, the only thing about a key that a filter ever sees.
///
/// A front end that hashes by itself (batches, replay, another machine's hashes) may enter here,
/// with values that are spread evenly over all 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct KeyHash(u64);

impl KeyHash {
    /// Takes 64 evenly spread bits as a hash.
    #[inline]
    #[must_use]
    pub const fn new(bits: u64) -> Self {
        Self(bits)
    }

    /// The 64 bits.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl From<u64> for KeyHash {
    fn from(bits: u64) -> Self {
        Self(bits)
    }
}

/// A seeded hash function whose values never change: not with the release, not with the platform.
///
/// Three are offered. **fold-xxh3**, the default, hashes keys of eight bytes, which most integers
/// are, by two folded products, and all others by xxh3-64. **xxh3-64** is for hashes that other
/// programs compute too. Both have a 64-bit seed, are fast and, with a random seed that stays
/// secret, good enough for untrusted keys in most uses; they were not designed against an attacker
/// who can watch answers. **SipHash-1-3** with a 128-bit key was, and is several times slower.
///
/// The function and its seed are part of every saved filter, so anybody who can read a file can
/// compute the same hashes.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyHasher(Algorithm);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    FoldXxh3(FoldXxh3),
    Xxh3 {
        seed: u64,
    },
    /// The halves of the key, the lower one first.
    SipHash13 {
        key: [u64; 2],
    },
}

/// The default function with its seed, and what the products need of the seed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoldXxh3 {
    seed: u64,
    flip: u64,
    factor: u64,
}

impl FoldXxh3 {
    /// Half of its bits are ones. Part of the format.
    const FIRST_FACTOR: u64 = 0xa076_1d64_78bd_642f;

    const fn new(seed: u64) -> Self {
        let flip = mixed(seed);
        Self { seed, flip, factor: mixed(flip) | 1 }
    }

    /// One folded product is not enough: it leaves keys that follow each other, or have a common
    /// stride, in a pattern.
    #[inline(always)]
    pub(crate) fn hash<K: Key + ?Sized>(self, key: &K) -> KeyHash {
        let bytes = key.bytes();
        KeyHash(match <[u8; 8]>::try_from(bytes.as_ref()) {
            Ok(key) => {
                let key = u64::from_le_bytes(key) ^ self.flip;
                folded_product(folded_product(key, Self::FIRST_FACTOR), self.factor)
            }
            Err(_) => xxh3_64_with_seed(bytes.as_ref(), self.seed),
        })
    }
}

/// The two halves of a product of 128 bits, xored.
#[inline(always)]
fn folded_product(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The number after this one in the sequence of SplitMix64 (Steele, Lea and Flood, 2014).
const fn mixed(seed: u64) -> u64 {
    let x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl KeyHasher {
    /// The default function: two folded products for keys of eight bytes, xxh3-64 for all others.
    ///
    /// ```
    /// let (default, xxh3) = (cuculus::KeyHasher::fold_xxh3(7), cuculus::KeyHasher::xxh3(7));
    /// assert_eq!(default.hash("a text"), xxh3.hash("a text"));
    /// assert_ne!(default.hash(&42u64), xxh3.hash(&42u64));
    /// ```
    #[must_use]
    pub const fn fold_xxh3(seed: u64) -> Self {
        Self(Algorithm::FoldXxh3(FoldXxh3::new(seed)))
    }

    /// xxh3-64 with this seed.
    #[must_use]
    pub const fn xxh3(seed: u64) -> Self {
        Self(Algorithm::Xxh3 { seed })
    }

    /// SipHash-1-3 with this 128-bit key, for keys that an adversary may choose. Only a key that
    /// is random and stays secret protects.
    #[must_use]
    pub const fn siphash(key: u128) -> Self {
        Self(Algorithm::SipHash13 { key: [key as u64, (key >> 64) as u64] })
    }

    /// The default function with a random seed from the system: what a builder uses that is given
    /// no seed.
    ///
    /// # Errors
    /// [`BuildError::NoRandomSeed`] if the system has none to give.
    pub fn random() -> Result<Self, BuildError> {
        random_bits().map(Self::fold_xxh3).ok_or(BuildError::NoRandomSeed)
    }

    /// The hash of a key.
    ///
    /// ```
    /// let hasher = cuculus::KeyHasher::xxh3(7);
    /// assert_eq!(hasher.hash("key"), hasher.hash(b"key"));
    /// assert_ne!(hasher.hash("key"), cuculus::KeyHasher::xxh3(8).hash("key"));
    /// ```
    #[inline]
    #[must_use]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> KeyHash {
        match self.0 {
            Algorithm::FoldXxh3(function) => function.hash(key),
            Algorithm::Xxh3 { seed } => KeyHash(xxh3_64_with_seed(key.bytes().as_ref(), seed)),
            Algorithm::SipHash13 { key: secret } => KeyHash(siphash(secret, key.bytes().as_ref())),
        }
    }

    /// The function that a builder was given, or the default one with a random seed.
    pub(crate) fn given_or_random(given: Option<&Self>) -> Result<Self, BuildError> {
        match given {
            Some(hasher) => Ok(hasher.clone()),
            None => Self::random(),
        }
    }

    /// The name of the function.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self.0 {
            Algorithm::FoldXxh3(_) => "fold-xxh3",
            Algorithm::Xxh3 { .. } => "xxh3-64",
            Algorithm::SipHash13 { .. } => "SipHash-1-3",
        }
    }

    /// The seed, unless the function is SipHash-1-3, whose key is a secret.
    #[inline]
    #[must_use]
    pub const fn seed(&self) -> Option<u64> {
        match self.0 {
            Algorithm::FoldXxh3(FoldXxh3 { seed, .. }) | Algorithm::Xxh3 { seed } => Some(seed),
            Algorithm::SipHash13 { .. } => None,
        }
    }

    /// The default function, if it is that: for loops that make the choice outside.
    #[inline(always)]
    pub(crate) const fn as_fold_xxh3(&self) -> Option<FoldXxh3> {
        match self.0 {
            Algorithm::FoldXxh3(function) => Some(function),
            Algorithm::Xxh3 { .. } | Algorithm::SipHash13 { .. } => None,
        }
    }

    /// The function's number and seed as they stand in a file header (FORMAT.md).
    pub(crate) fn to_parts(&self) -> (u8, u128) {
        match self.0 {
            Algorithm::Xxh3 { seed } => (1, u128::from(seed)),
            Algorithm::SipHash13 { key: [low, high] } => {
                (2, u128::from(high) << 64 | u128::from(low))
            }
            Algorithm::FoldXxh3(FoldXxh3 { seed, .. }) => (3, u128::from(seed)),
        }
    }

    /// The inverse of [`to_parts`](Self::to_parts); `None` for what no release wrote.
    pub(crate) fn from_parts(id: u8, seed: u128) -> Option<Self> {
        match id {
            1 => Some(Self::xxh3(u64::try_from(seed).ok()?)),
            2 => Some(Self::siphash(seed)),
            3 => Some(Self::fold_xxh3(u64::try_from(seed).ok()?)),
            _ => None,
        }
    }
}

/// 64 random bits from the system.
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn random_bits() -> Option<u64> {
    getrandom::u64().ok()
}

/// WebAssembly without a system has none to give.
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn random_bits() -> Option<u64> {
    None
}

/// Out of line, so that the other function stays small enough to be inlined with its caller.
#[inline(never)]
fn siphash([low, high]: [u64; 2], bytes: &[u8]) -> u64 {
    SipHasher13::new_with_keys(low, high).hash(bytes)
}

/// Names the function; the seed stays out of logs.
impl fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHasher({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use core::hash::Hasher;
    use std::hash::DefaultHasher;

    use super::*;

    /// Values of the reference implementation of xxHash 0.8 (`xxhash.xxh3_64_intdigest`), so that
    /// no update of a dependency can move a stored key.
    #[test]
    fn xxh3_matches_its_published_values() {
        let bytes: Vec<u8> = (0..=255).collect();
        for &(len, expected) in XXH3_VECTORS {
            let got = SEEDS.map(|seed| KeyHasher::xxh3(seed).hash(&bytes[..len]).get());
            assert_eq!(got, expected, "{len}");
        }
    }

    const SEEDS: [u64; 3] = [0x0, 0x1, 0x9e3779b97f4a7c15];

    /// The hashes of 0, 1, 2 …, as many bytes as said, with each of the seeds.
    const XXH3_VECTORS: &[(usize, [u64; 3])] = &[
        (0, [0x2d06800538d394c2, 0x4dc5b0cc826f6703, 0x602b0e2cd6662c8b]),
        (1, [0xc44bdff4074eecdb, 0x5eaac1f7b17ef730, 0x062b185e4e01441a]),
        (3, [0x5f4299fc161c9cbb, 0x3b3b85a968c7f81d, 0xbe1fd1f503b5d59e]),
        (4, [0x60dab036a58211f2, 0x94e67b47eb6fcc90, 0x89878861fce0da55]),
        (8, [0x3a1c2d7c85af88f8, 0xe7241ac1fdcd24bb, 0xb82d9ef5fd6b3172]),
        (9, [0xe9612598145bb9dc, 0xd010a1fb14096c63, 0xfe11eeff350b91ef]),
        (16, [0x8355e3a6f61770db, 0xe2d1e4053a219356, 0x3d392960bfd9df8a]),
        (17, [0x9ef341a99de37328, 0xc44e866040ed1467, 0x89e5f063c641de9f]),
        (24, [0xeb173b2aa3b5397a, 0xcee19167d8fc0dc8, 0x2629ac5aafc5c3ed]),
        (100, [0x004e4f921a64bd1c, 0xceb0d9bdf606efa6, 0x19cf762902c5f037]),
        (128, [0x85c6174c7ff4c46b, 0xc04e68f839ddd006, 0x77bf966868f4b200]),
        (129, [0xec7642b431ba3e5a, 0x88ee72694368e67d, 0x747f159fdd2d2177]),
        (240, [0x375a384d957fe865, 0x31a14c358e824be4, 0xe6e766db0868c372]),
        (241, [0x02e8cd95421c6d02, 0xda735d4f53476cb5, 0x172114de208c5a80]),
        (256, [0x9408a4433b952d71, 0x524dd680208515eb, 0x55994158ec4a1205]),
    ];

    /// Worked out apart from this code, so that no change of it can move a stored key.
    #[test]
    fn fold_xxh3_golden_values() {
        for &(key, expected) in FOLD_GOLDEN {
            let got = SEEDS.map(|seed| KeyHasher::fold_xxh3(seed).hash(&key).get());
            assert_eq!(got, expected, "{key}");
        }
        let bytes: Vec<u8> = (0..=255).collect();
        for len in (0..=256).filter(|&len| len != 8) {
            let (default, xxh3) = (KeyHasher::fold_xxh3(9), KeyHasher::xxh3(9));
            assert_eq!(default.hash(&bytes[..len]), xxh3.hash(&bytes[..len]), "{len}");
        }
    }

    /// The hashes of a key with each of the seeds.
    const FOLD_GOLDEN: &[(u64, [u64; 3])] = &[
        (0x0, [0x16cb5158c7ddc528, 0x4313f0760cbe532d, 0xecc1c6fa6e49dc0d]),
        (0x1, [0x3188136b78db3304, 0x7990a1a0b1dac809, 0xd6beabbd5228872a]),
        (0x2a, [0x7379d2626bb15c5e, 0x726bf47dd75999c9, 0xab88752c0b105cf2]),
        (0x123456789abcdef, [0x480a399af4a97d5f, 0x4445ad8489845436, 0xbbb44bbc6fa5313b]),
        (0xffffffffffffffff, [0xcd1e23174ec507dd, 0x3707cd85b337168b, 0x7d6c9b4daad484c7]),
    ];

    /// The standard library's hasher is SipHash-1-3 with a zero key: an independent witness.
    #[test]
    fn siphash_matches_the_standard_library() {
        let bytes: Vec<u8> = (0..100).collect();
        for len in 0..bytes.len() {
            let mut witness = DefaultHasher::new();
            witness.write(&bytes[..len]);
            assert_eq!(KeyHasher::siphash(0).hash(&bytes[..len]).get(), witness.finish());
        }
    }

    #[test]
    fn siphash_golden_values_with_a_key() {
        let hasher = KeyHasher::siphash(0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100);
        for (key, expected) in SIPHASH_GOLDEN {
            assert_eq!(hasher.hash(*key).get(), *expected, "{key:?}");
        }
    }

    const SIPHASH_GOLDEN: &[(&str, u64)] = &[
        ("", 0xabac0158050fc4dc),
        ("a", 0x1c2697ab786a6237),
        ("abcdefgh", 0x12d8c08c2ee9e620),
        ("the quick brown fox", 0xd1331521417aa905),
    ];

    /// All forms of the same bytes are the same key; integers are their little-endian bytes.
    #[test]
    fn equal_bytes_are_equal_keys() {
        for hasher in [KeyHasher::fold_xxh3(3), KeyHasher::xxh3(3), KeyHasher::siphash(3)] {
            assert_eq!(hasher.hash("eight by"), hasher.hash(&u64::from_le_bytes(*b"eight by")));
            let text = hasher.hash("four");
            assert_eq!(text, hasher.hash(b"four"));
            assert_eq!(text, hasher.hash(&b"four"[..]));
            assert_eq!(text, hasher.hash(&String::from("four")));
            assert_eq!(text, hasher.hash(&Vec::from(*b"four")));
            assert_eq!(text, hasher.hash(&"four"));
            assert_eq!(text, hasher.hash(&u32::from_le_bytes(*b"four")));
            assert_eq!(text, hasher.hash(&i32::from_le_bytes(*b"four")));
            assert_eq!(hasher.hash(&7usize), hasher.hash(&7u64));
            assert_eq!(hasher.hash(&-7isize), hasher.hash(&-7i64));
            assert_eq!(hasher.hash(&1u128), hasher.hash(&1u128.to_le_bytes()));
            assert_eq!(hasher.hash(&1i16), hasher.hash(&[1u8, 0]));
            assert_ne!(hasher.hash(&1u32), hasher.hash(&1u64));
        }
    }

    #[test]
    fn parts_round_trip_and_unknown_ids_are_refused() {
        let seeded = [KeyHasher::fold_xxh3(u64::MAX), KeyHasher::xxh3(u64::MAX)];
        for hasher in seeded.into_iter().chain([KeyHasher::siphash(u128::MAX)]) {
            let (id, seed) = hasher.to_parts();
            assert_eq!(KeyHasher::from_parts(id, seed), Some(hasher));
        }
        assert_eq!(KeyHasher::from_parts(0, 0), None);
        assert_eq!(KeyHasher::from_parts(4, 0), None);
        assert_eq!(KeyHasher::from_parts(1, 1 << 64), None);
        assert_eq!(KeyHasher::from_parts(3, 1 << 64), None);
    }

    #[test]
    fn debug_hides_the_seed() {
        assert_eq!(format!("{:?}", KeyHasher::siphash(12345)), "KeyHasher(SipHash-1-3)");
    }
}
