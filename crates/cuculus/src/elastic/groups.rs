//! Hashes that are grouped by the segments that they belong to. Knows nothing of what is done with them.

use super::address::Address;
use super::directory::linear_index;
use crate::table::OutOfMemory;
use crate::{FullCause, KeyHash, memory};

/// Segments in a first, coarse group, which stays in the cache while it is divided.
const COARSE: u32 = 7;

/// Hashes by groups; within a group they are in the order in which they came.
struct Grouped {
    hashes: Vec<KeyHash>,
    /// Where each group ends.
    ends: Vec<usize>,
}

impl Grouped {
    /// `group` says which of the `groups` a hash belongs to.
    #[inline]
    fn new(
        hashes: &[KeyHash],
        groups: usize,
        group: impl Fn(KeyHash) -> usize,
    ) -> Result<Self, OutOfMemory> {
        let mut ends = memory::filled(0usize, groups)?;
        hashes.iter().for_each(|&hash| ends[group(hash)] += 1);
        let mut all = 0;
        for end in &mut ends {
            all += core::mem::replace(end, all);
        }
        let mut sorted = memory::filled(KeyHash::new(0), all)?;
        for &hash in hashes {
            let next = &mut ends[group(hash)];
            sorted[*next] = hash;
            *next += 1;
        }
        Ok(Self { hashes: sorted, ends })
    }

    fn get(&self, group: usize) -> &[KeyHash] {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.hashes[start..self.ends[group]]
    }
}

#[inline]
pub(super) fn index_of(hash: KeyHash, count: usize) -> usize {
    linear_index(Address::of(hash).path, count as u32)
}

/// Hashes in groups of those of 2^[`COARSE`] segments.
pub(super) struct Groups {
    grouped: Grouped,
    /// The segments of the filter.
    count: usize,
}

impl Groups {
    pub(super) fn new(hashes: &[KeyHash], count: usize) -> Result<Self, FullCause> {
        let groups = count.div_ceil(1 << COARSE);
        let grouped = Grouped::new(hashes, groups, |hash| index_of(hash, count) >> COARSE);
        Ok(Self { grouped: grouped.map_err(|_| FullCause::OutOfMemory)?, count })
    }

    /// Calls a function with every segment and its keys, in turn, until it fails. Without memory it is
    /// not called at all.
    pub(super) fn each(
        &self,
        mut see: impl FnMut(usize, &[KeyHash]) -> Result<(), FullCause>,
    ) -> Result<(), FullCause> {
        let firsts = || (0..self.count).step_by(1 << COARSE);
        let keys_from = |first: usize| self.grouped.get(first >> COARSE);
        let most = firsts().map(|first| keys_from(first).len()).max();
        let mut sorted =
            memory::with_room(most.unwrap_or(0)).map_err(|_| FullCause::OutOfMemory)?;
        for first in firsts() {
            let among = |hash: KeyHash| index_of(hash, self.count) - first;
            let keys = keys_from(first);
            let mut ends = [0; 1 << COARSE];
            keys.iter().for_each(|&hash| ends[among(hash)] += 1);
            let mut all = 0;
            for end in &mut ends {
                all += core::mem::replace(end, all);
            }
            sorted.clear();
            sorted.resize(all, KeyHash::new(0));
            for &hash in keys {
                let next = &mut ends[among(hash)];
                sorted[*next] = hash;
                *next += 1;
            }
            let mut from = 0;
            for (at, &to) in ends.iter().enumerate().take(self.count - first) {
                see(first + at, &sorted[from..to])?;
                from = to;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order() {
        let hashes: Vec<KeyHash> = (0..1000u64).map(|i| KeyHash::new(i * 7 % 1000)).collect();
        let grouped = Grouped::new(&hashes, 10, |hash| (hash.get() % 10) as usize).expect("memory");
        for group in 0..10 {
            let expected: Vec<KeyHash> =
                hashes.iter().copied().filter(|hash| hash.get() % 10 == group).collect();
            assert_eq!(grouped.get(group as usize), expected);
        }
        assert_eq!(grouped.hashes.len(), 1000);
    }
}
