//! Placement for a set that grows: which bits of a hash choose the segment, and which the home in
//! it. Knows no codes and no memory.
//!
//! ```text
//!  hash, 64 bits:   home 16 bits (scaled to 768 homes) │ …
//!                        … path, the low 52 bits: the lowest choose the segment, the next ones
//!                          are kept in the entry
//! ```
//!
//! Home and path share four bits. Given a home these are still nearly evenly spread (85 or 86
//! values of 16 bits lead to each home), so an entry that knows them loses nothing worth counting.

use crate::KeyHash;

/// The homes of a segment.
pub(super) const HOMES: usize = 768;
/// Homes whose counters share a header.
pub(super) const GROUP_HOMES: usize = 16;
/// The groups of a segment.
pub(super) const GROUPS: usize = HOMES / GROUP_HOMES;
/// The most bits of a path.
pub(super) const PATH_BITS: u32 = 52;

/// A hash as the elastic filter reads it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    pub(super) path: u64,
    pub(super) home: u16,
}

impl Address {
    #[inline(always)]
    pub(super) fn group(self) -> usize {
        usize::from(self.home) / GROUP_HOMES
    }

    #[inline(always)]
    pub(super) fn home_in_group(self) -> u32 {
        u32::from(self.home) % GROUP_HOMES as u32
    }
}

/// How a hash is read. Filters from files of version 1 keep the hash bits that their entries
/// know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Current,
    /// Version 1 kept 40 bits of a path and one of two places of 15 bits, of which exactly one is
    /// below 2^14. Three times that one is the home (above the low six bits) and, by its next
    /// five bits, the beginning of the path.
    First,
}

impl Scheme {
    #[inline(always)]
    pub(super) fn address(self, hash: KeyHash) -> Address {
        let bits = hash.get();
        match self {
            Self::Current => {
                // 768 / 2^16 is 3 / 2^8.
                const { assert!(HOMES == 3 << 8) };
                let home = ((bits >> 48) * 3) >> 8;
                Address { path: bits & ((1 << PATH_BITS) - 1), home: home as u16 }
            }
            Self::First => first_address(bits),
        }
    }

    /// The bits of a path.
    #[inline(always)]
    pub(super) fn path_bits(self) -> u32 {
        match self {
            Self::Current => PATH_BITS,
            Self::First => FIRST_PATH_BITS,
        }
    }

    /// The homes that keys are spread over evenly: what a false positive's chance is divided by.
    /// The places of version 1, half of 63 · 512, use 5 bits of the path unevenly.
    pub(super) fn even_homes(self) -> u64 {
        match self {
            Self::Current => HOMES as u64,
            Self::First => ((63 << 9) / 2) >> FIRST_LOW_BITS,
        }
    }
}

/// Bits of a version 1 place at the beginning of the path.
const FIRST_LOW_BITS: u32 = 5;
const FIRST_PATH_BITS: u32 = FIRST_LOW_BITS + 40;

#[inline(never)]
fn first_address(bits: u64) -> Address {
    let core = 1 + (((bits & 0x7fff) * 63) >> 15);
    let position = bits >> 15 & 0x1ff;
    from_first((position << 6 | core) as u32, bits >> 24)
}

/// The address of what version 1 kept at a place.
pub(super) fn from_first(place: u32, path: u64) -> Address {
    let core = place & 63;
    let other = place ^ (((core * 0x9d) & 0xff | 0x100) << 6);
    let triple = 3 * place.min(other);
    let low = u64::from(triple & 63) >> 1;
    Address { path: low | path << FIRST_LOW_BITS, home: (triple >> 6) as u16 }
}

/// The bits of the path that an entry of version 1 knows.
pub(super) fn known_from_first(bits: u32) -> u32 {
    bits + FIRST_LOW_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    #[test]
    fn homes_and_low_path_bits_are_evenly_used() {
        let mut random = Random::new(1);
        let (mut homes, mut low) = (vec![0u32; HOMES], [0u32; 32]);
        for scheme in [Scheme::Current, Scheme::First] {
            homes.fill(0);
            low.fill(0);
            for _ in 0..768_000 {
                let key = scheme.address(KeyHash::new(random.bits()));
                homes[usize::from(key.home)] += 1;
                low[(key.path & 31) as usize] += 1;
                assert!(key.path >> scheme.path_bits() == 0);
            }
            assert!(homes.iter().all(|&n| n.abs_diff(1000) < 200), "{scheme:?}: {homes:?}");
            // The core of a version 1 place is never zero, so half of what leads to 0 is missing.
            let some = &low[usize::from(scheme == Scheme::First)..];
            assert!(some.iter().all(|&n| n.abs_diff(24_200) < 1800), "{scheme:?}: {low:?}");
        }
    }

    /// Either place of version 1 gives the same address, and no two pairs share one.
    #[test]
    fn places_of_version_1_have_one_address_a_pair() {
        let mut seen = std::collections::HashMap::new();
        for place in (0..1u32 << 15).filter(|place| place & 63 != 0) {
            let address = from_first(place, 0);
            assert!(usize::from(address.home) < HOMES && address.path < 32);
            *seen.entry((address.home, address.path)).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 63 << 8);
        assert!(seen.values().all(|&places| places == 2));
    }
}
