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

/// The bits of a hash that are none of a path.
pub(super) const NO_PATH: u32 = 64 - PATH_BITS;

/// A hash as the elastic filter reads it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Address {
    pub(super) path: u64,
    pub(super) home: u16,
}

impl Address {
    #[inline]
    pub(super) fn of(hash: KeyHash) -> Self {
        Self::of_part(hash, NO_PATH)
    }

    /// The address in a part that is chosen by the lowest bits of the path: with [`NO_PATH`], so many are no bits
    /// of a path there.
    #[inline(always)]
    pub(super) fn of_part(hash: KeyHash, no_path: u32) -> Self {
        // 768 / 2^16 is 3 / 2^8.
        const { assert!(HOMES == 3 << 8) };
        let home = ((hash.get() >> 48) * 3) >> 8;
        Self { path: hash.get() << NO_PATH >> no_path, home: home as u16 }
    }

    #[inline]
    pub(super) fn group(self) -> usize {
        usize::from(self.home) / GROUP_HOMES
    }

    #[inline]
    pub(super) fn home_in_group(self) -> u32 {
        u32::from(self.home) % GROUP_HOMES as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    #[test]
    fn homes_and_low_path_bits_are_evenly_used() {
        let mut random = Random::new(1);
        let (mut homes, mut low) = (vec![0u32; HOMES], [0u32; 32]);
        for _ in 0..768_000 {
            let key = Address::of(KeyHash::new(random.bits()));
            homes[usize::from(key.home)] += 1;
            low[(key.path & 31) as usize] += 1;
            assert!(key.path >> PATH_BITS == 0);
        }
        assert!(homes.iter().all(|&n| n.abs_diff(1000) < 200), "{homes:?}");
        assert!(low.iter().all(|&n| n.abs_diff(24_000) < 1800), "{low:?}");
    }
}
