//! Placement for a set that grows: which bits of a hash lead to a segment, and which to the two
//! buckets in it. Knows no slots and no memory.
//!
//! ```text
//!  hash, 64 bits:   path 40 bits (bit 24 upwards) │ position 9 bits │ core 15 bits
//!                   │                                └── place, 15 bits: position · 64 + core ──┘
//!                   └─ the lowest bits choose the segment, the next ones are kept in the slot
//! ```
//!
//! A segment of m buckets puts a place into bucket ⌊place · m / 2^15⌋, whatever m is. The bucket
//! and the lowest bits of the place give the place back, so a segment can change m without
//! knowing a key.

use crate::KeyHash;
use crate::placement::BucketIndex;

/// The bits of a hash that segments are chosen by.
pub(super) const PATH_BITS: u32 = 40;
pub(super) const PLACE_BITS: u32 = 15;
const CORE_BITS: u32 = 6;
/// The values of a core; zero is none of them, so that an entry is never all zeros.
const CORES: u64 = (1 << CORE_BITS) - 1;
/// All places that a key can have.
pub(super) const PLACES: u64 = CORES << (PLACE_BITS - CORE_BITS);
/// Buckets of a segment; even, see [`Place::other`].
pub(super) const MAX_BUCKETS: u16 = 1022;

/// Where in a segment of any size a key lies: 15 bits, of which the low six are not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u16);

impl Place {
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        u32::from(self.0)
    }

    /// Whether a key can have it.
    #[inline(always)]
    pub(super) fn is_possible(self) -> bool {
        u64::from(self.0) & CORES != 0
    }

    /// The place of the same key in its other bucket: its own inverse. The top bit always changes,
    /// so in a segment with an even number of buckets the two are never the same.
    #[inline(always)]
    pub(super) fn other(self) -> Self {
        // An odd multiple of the core: 63 different numbers, computed without a table, which
        // vectors could not read.
        let spread = u32::from(self.0) & CORES as u32;
        let spread = (spread * 0x9d) & 0xff | 0x100;
        Self(self.0 ^ (spread << CORE_BITS) as u16)
    }

    /// The bucket in a segment of so many; smaller than that number.
    #[inline(always)]
    pub(super) fn bucket(self, buckets: u16) -> BucketIndex {
        BucketIndex((u32::from(self.0) * u32::from(buckets)) >> PLACE_BITS)
    }
}

/// The low bits of a place that its bucket does not give.
#[inline(always)]
pub(super) fn low_bits(buckets: u16) -> u32 {
    // A bucket of 2^k or more holds at most 2^(15−k) places.
    buckets.leading_zeros()
}

/// The first of the places in a bucket, from which [`place_from`] counts.
#[inline(always)]
pub(super) fn first_place(bucket: BucketIndex, buckets: u16) -> u32 {
    (bucket.0 << PLACE_BITS).div_ceil(u32::from(buckets))
}

/// [`first_place`] for all buckets in turn, without dividing.
pub(super) struct FirstPlaces {
    next: u32,
    /// What `next` times the buckets is above a multiple of the places.
    excess: u32,
    buckets: u32,
    step: u32,
    rest: u32,
}

impl FirstPlaces {
    pub(super) fn new(buckets: u16) -> Self {
        let buckets = u32::from(buckets);
        let (step, rest) = ((1 << PLACE_BITS) / buckets, (1 << PLACE_BITS) % buckets);
        Self { next: 0, excess: 0, buckets, step, rest }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> u32 {
        let first = self.next;
        let up = self.excess < self.rest;
        self.next += self.step + u32::from(up);
        self.excess = self.excess + if up { self.buckets } else { 0 } - self.rest;
        first
    }
}

/// The place in a bucket that starts at `first` and has these low bits, and any above them.
#[inline(always)]
pub(super) fn place_from(first: u32, low: u32, low_bits: u32) -> Place {
    let offset = low.wrapping_sub(first) & ((1 << low_bits) - 1);
    // Masked for slots that no key made: a place is always 15 bits.
    Place((first + offset) as u16 & ((1 << PLACE_BITS) - 1))
}

/// A hash as the elastic filter reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) path: u64,
    pub(super) place: Place,
}

impl Address {
    #[inline(always)]
    pub(super) fn of(hash: KeyHash) -> Self {
        let bits = hash.get();
        // Scaled, not masked, so that all cores are equally likely.
        let core = 1 + (((bits & 0x7fff) * CORES) >> 15);
        let position = bits >> 15 & 0x1ff;
        Self { path: bits >> 24, place: Place((position << CORE_BITS | core) as u16) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    fn places() -> impl Iterator<Item = Place> {
        (0..1 << PLACE_BITS).map(Place).filter(|place| place.is_possible())
    }

    #[test]
    fn the_other_place_is_its_own_inverse_and_in_the_other_half() {
        assert_eq!(places().count() as u64, PLACES);
        for place in places() {
            let other = place.other();
            assert_eq!(other.other(), place);
            assert!(other.is_possible() && other.bits() >> PLACE_BITS == 0);
            assert_eq!((place.bits() ^ other.bits()) >> (PLACE_BITS - 1), 1);
        }
    }

    #[test]
    fn a_bucket_and_the_low_bits_give_the_place_back_at_every_size() {
        for buckets in (2..=MAX_BUCKETS).step_by(2) {
            let bits = low_bits(buckets);
            let mut firsts = FirstPlaces::new(buckets);
            for bucket in (0..u32::from(buckets)).map(BucketIndex) {
                assert_eq!(firsts.next(), first_place(bucket, buckets), "{buckets} {bucket:?}");
            }
            for place in places().step_by(7) {
                let bucket = place.bucket(buckets);
                assert!(bucket.0 < u32::from(buckets));
                assert_ne!(bucket, place.other().bucket(buckets), "{buckets} {place:?}");
                let low = place.bits() & ((1 << bits) - 1);
                assert_eq!(place_from(first_place(bucket, buckets), low, bits), place);
            }
        }
    }

    #[test]
    fn cores_are_equally_likely() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 64];
        for _ in 0..630_000 {
            let place = Address::of(KeyHash::new(random.bits())).place;
            counts[place.bits() as usize & 63] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&n| n.abs_diff(10_000) < 600), "{counts:?}");
    }
}
