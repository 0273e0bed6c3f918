//! One set in several parts: for threads, for the parts of a file, for the keys of a cluster. Knows
//! which part a hash belongs to, and how parts are named so that a cluster spreads them evenly; knows
//! nothing of filters or servers.

use crate::builder::check_range;
use crate::{BuildError, KeyHash};

/// The hash slots of a Valkey or Redis cluster.
const SLOTS: u32 = 1 << 14;
/// The most bits that choose a part.
const MOST_BITS: u32 = 10;
/// The golden section of 2^64: the top bits of a product with it depend on all bits of the hash.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A division of all hashes into 1, 2, 4 … 1,024 parts.
///
/// Each part is a filter of its own, of the same kind, with the same hash function and seed. A lookup
/// asks one part, so the whole keeps the false positive rate of its parts. The number of parts is fixed:
/// a filter does not have the keys that would have to move.
///
/// The part is given by the top bits of the hash *times a constant*. The top bits themselves choose
/// the home of a key in its segment ([`ElasticFilter`](crate::ElasticFilter)), and the low bits the
/// segment: a part of keys that agree in either of them would use only some homes, or some segments.
///
/// ```
/// use cuculus::{ElasticFilter, Filter, Insert, KeyHasher, Partition};
///
/// let partition = Partition::new(4)?;
/// let hasher = KeyHasher::xxh3(7);
/// let build = |_| ElasticFilter::builder().hasher(hasher.clone()).build();
/// let mut parts = (0..partition.parts()).map(build).collect::<Result<Vec<_>, _>>()?;
/// let hash = hasher.hash("key");
/// parts[partition.part(hash)].insert_hash(hash)?;
/// assert!(parts[partition.part(hash)].contains("key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    bits: u32,
}

impl Partition {
    /// How a file begins that holds a set in parts, as `cuculus cluster` writes it.
    pub const MAGIC: [u8; 8] = *b"\x89CUCPART";

    /// A partition into 2^`bits` parts, at most 2^10.
    ///
    /// # Errors
    /// [`BuildError::OutOfRange`] if there are more bits.
    pub fn new(bits: u32) -> Result<Self, BuildError> {
        check_range("bits of a partition", bits, 0..=MOST_BITS)?;
        Ok(Self { bits })
    }

    /// The number of parts.
    #[must_use]
    pub const fn parts(self) -> usize {
        1 << self.bits
    }

    /// The part of a hash, counted from zero.
    #[inline]
    #[must_use]
    pub const fn part(self, hash: KeyHash) -> usize {
        // Shifted in two steps: one by 64 is not allowed.
        (hash.get().wrapping_mul(GOLDEN) >> 1 >> (63 - self.bits)) as usize
    }

    /// The hash slot of a part in a Valkey or Redis cluster. Slots of parts have equal distances, so
    /// contiguous ranges of equal length hold equal numbers of parts, give or take one.
    #[must_use]
    pub const fn slot(self, part: usize) -> u16 {
        (((2 * part as u32 + 1) * SLOTS / 2) >> self.bits) as u16
    }

    /// The hash tags of all parts: `name:{tag}` is a key in the [slot](Self::slot) of the part. The tag
    /// is the smallest decimal number whose slot is that of the part.
    ///
    /// ```
    /// let tags = cuculus::Partition::new(2)?.tags();
    /// assert_eq!(tags, ["48576", "1296", "2821", "16248"]);
    /// # Ok::<(), cuculus::BuildError>(())
    /// ```
    #[must_use]
    pub fn tags(self) -> Vec<String> {
        let mut tags = vec![String::new(); self.parts()];
        let mut missing = tags.len();
        let mut number = 0u32;
        while missing > 0 {
            let tag = number.to_string();
            let slot = u32::from(crc16(tag.as_bytes())) % SLOTS;
            let part = (slot << self.bits) / SLOTS;
            if u32::from(self.slot(part as usize)) == slot && tags[part as usize].is_empty() {
                tags[part as usize] = tag;
                missing -= 1;
            }
            number += 1;
        }
        tags
    }
}

/// The checksum with which a cluster chooses the slot of a key: CRC-16, polynomial 1021₁₆, begun with
/// zero, the highest bit first (XMODEM).
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, &byte| {
        (0..8).fold(sum ^ u16::from(byte) << 8, |sum, _| {
            if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElasticFilter, Filter, Insert, KeyHasher};

    #[test]
    fn the_checksum_is_that_of_clusters() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }

    #[test]
    fn tags_are_in_the_slots_of_their_parts() {
        for bits in [0, 1, 6, 10] {
            let partition = Partition::new(bits).expect("few bits");
            for (part, tag) in partition.tags().iter().enumerate() {
                assert_eq!(crc16(tag.as_bytes()) % SLOTS as u16, partition.slot(part));
            }
        }
        assert!(Partition::new(11).is_err());
    }

    /// As tools divide the slots: contiguous ranges, as equal as possible.
    #[test]
    fn parts_spread_evenly_over_up_to_32_primaries() {
        let worst = |bits: u32, primaries: u32| {
            let partition = Partition::new(bits).expect("few bits");
            let mut counts = vec![0u32; primaries as usize];
            for part in 0..partition.parts() {
                let slot = u32::from(partition.slot(part));
                let ends =
                    |i: u32| (f64::from(i) * f64::from(SLOTS) / f64::from(primaries)).round();
                let owner = (0..primaries).find(|&i| f64::from(slot) < ends(i + 1));
                counts[owner.expect("an owner") as usize] += 1;
            }
            let even = partition.parts() as f64 / f64::from(primaries);
            counts.iter().map(|&n| (f64::from(n) / even - 1.0).abs()).fold(0.0, f64::max)
        };
        assert!((1..=32).all(|primaries| worst(8, primaries) <= 0.1));
        // 64 parts are enough for a few primaries only.
        assert!((1..=6).all(|primaries| worst(6, primaries) <= 0.1) && worst(6, 24) > 0.1);
    }

    /// The keys of a part fill a filter as any keys do, and parts have equal shares.
    #[test]
    fn a_part_is_like_a_set_of_its_own() {
        let hasher = KeyHasher::xxh3(5);
        let build = || ElasticFilter::builder().hasher(hasher.clone()).build().expect("valid");
        for bits in [1, 4, 8, 10] {
            let partition = Partition::new(bits).expect("few bits");
            let (mut part, mut plain, mut number) = (build(), build(), 0u64);
            let wanted = 10_000;
            while part.len() < wanted {
                let hash = hasher.hash(&number);
                if partition.part(hash) == partition.parts() / 2 {
                    part.insert_hash(hash).expect("room");
                    plain.insert(&(number, "other").0.wrapping_mul(GOLDEN)).expect("room");
                }
                number += 1;
            }
            let expected = (wanted << bits) as f64;
            assert!((number as f64 / expected - 1.0).abs() < 0.05, "{bits}: {number}");
            let sizes = (part.size_in_bytes() as f64, plain.size_in_bytes() as f64);
            assert!((sizes.0 / sizes.1 - 1.0).abs() < 0.02, "{bits}: {sizes:?}");
            // Absent keys of the same part, as a lookup asks it.
            let absent = (number..).map(|key| hasher.hash(&key));
            let absent = absent.filter(|&hash| partition.part(hash) == partition.parts() / 2);
            let wrong = absent.take(20_000).filter(|&hash| part.contains_hash(hash)).count();
            let rate = part.expected_false_positive_rate();
            let sigma = (rate / 20_000.0).sqrt();
            let measured = wrong as f64 / 20_000.0;
            assert!((measured - rate).abs() < 5.0 * sigma + 1e-4, "{bits}: {measured} {rate}");
        }
    }
}
