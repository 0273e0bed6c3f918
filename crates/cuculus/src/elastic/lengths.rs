//! How much is known of the keys: the number of entries of each length, and from it the rate of
//! false positives. Knows nothing of where entries are.
//!
//! An entry that knows k bits of the path and its home is taken for an absent key if the key's
//! path begins with these bits and its home is the same: with probability 2^−k / homes. Copies of
//! a code that are counted add nothing; up to three that have slots of their own are added as if
//! they were different, which errs on the safe side.

use super::address::{HOMES, PATH_BITS};
use crate::table::OutOfMemory;

/// The number of entries by the bits of the path that they know.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    /// Starts at length `first`; no further than needed.
    counts: Box<[u64]>,
    first: u32,
    /// The sum of 2^(PATH_BITS − length): the lower half and the upper one, since a `u128` would
    /// make the filter longer by its alignment.
    halves: [u64; 2],
}

/// What an entry of this length adds to the sum.
#[inline]
const fn weight(length: u32) -> u64 {
    1 << (PATH_BITS - length)
}

impl Lengths {
    /// The sum at which a rate is reached: below 2^62.
    pub(super) fn limit(rate: f64) -> u64 {
        (rate * HOMES as f64 * weight(0) as f64) as u64
    }

    pub(super) fn rate(&self) -> f64 {
        (self.sum() as f64 / (HOMES as f64 * weight(0) as f64)).min(1.0)
    }

    #[inline]
    pub(super) fn sum(&self) -> u128 {
        u128::from(self.halves[0]) | u128::from(self.halves[1]) << 64
    }

    #[inline]
    fn set_sum(&mut self, sum: u128) {
        self.halves = [sum as u64, (sum >> 64) as u64];
    }

    /// What so many entries of a length add to the sum.
    #[inline]
    pub(super) fn weight_of(length: u32, entries: u64) -> u128 {
        u128::from(entries) * u128::from(weight(length))
    }

    /// The entries.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum if there were so many entries, all of this length but those that are shorter now.
    pub(super) fn sum_if_cut(&self, length: u32, entries: u64) -> u128 {
        let shorter = self.iter().take_while(|&(shorter, _)| shorter < length);
        let more = shorter.map(|(shorter, count)| {
            u128::from(count) * u128::from(weight(shorter) - weight(length))
        });
        u128::from(entries) * u128::from(weight(length)) + more.sum::<u128>()
    }

    /// The sum with one entry more.
    #[inline]
    pub(super) fn sum_with(&self, length: u32) -> u128 {
        self.sum() + u128::from(weight(length))
    }

    #[inline]
    pub(super) fn count(&self, length: u32) -> u64 {
        let at = length.wrapping_sub(self.first) as usize;
        self.counts.get(at).copied().unwrap_or(0)
    }

    /// A length that no entry is longer than.
    pub(super) fn longest(&self) -> u32 {
        (self.first + self.counts.len() as u32).saturating_sub(1)
    }

    /// Lengths that occur, with how often.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (self.first..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }

    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut counts = Vec::new();
        let bytes = (self.counts.len() * size_of::<u64>()) as u64;
        counts.try_reserve_exact(self.counts.len()).map_err(|_| OutOfMemory { bytes })?;
        counts.extend_from_slice(&self.counts);
        Ok(Self { counts: counts.into_boxed_slice(), first: self.first, halves: self.halves })
    }

    /// Whether entries of a length can be added.
    #[inline]
    pub(super) fn counts(&self, length: u32) -> bool {
        (length.wrapping_sub(self.first) as usize) < self.counts.len()
    }

    /// Makes sure that entries of a length can be added.
    #[inline]
    pub(super) fn reserve(&mut self, length: u32) -> Result<(), OutOfMemory> {
        if self.counts(length) {
            return Ok(());
        }
        self.reserve_unseen(length)
    }

    #[cold]
    fn reserve_unseen(&mut self, length: u32) -> Result<(), OutOfMemory> {
        let (mut low, mut high) = (length, length + 1);
        if !self.counts.is_empty() {
            low = low.min(self.first);
            high = high.max(self.first + self.counts.len() as u32);
        }
        let len = (high - low) as usize;
        let mut counts = Vec::new();
        let failed = OutOfMemory { bytes: (len * size_of::<u64>()) as u64 };
        counts.try_reserve_exact(len).map_err(|_| failed)?;
        counts.extend((low..high).map(|length| self.count(length)));
        (self.counts, self.first) = (counts.into_boxed_slice(), low);
        Ok(())
    }

    #[inline]
    pub(super) fn add(&mut self, length: u32) {
        self.add_many(length, 1);
    }

    /// Adds entries of a length that was reserved.
    #[inline]
    pub(super) fn add_many(&mut self, length: u32, entries: u64) {
        debug_assert!(entries == 0 || self.count_mut(length).is_some(), "not reserved");
        if let Some(count) = self.count_mut(length) {
            *count += entries;
            self.set_sum(self.sum() + u128::from(entries) * u128::from(weight(length)));
        }
    }

    #[inline]
    fn count_mut(&mut self, length: u32) -> Option<&mut u64> {
        self.counts.get_mut(length.wrapping_sub(self.first) as usize)
    }

    #[inline]
    pub(super) fn remove(&mut self, length: u32) {
        self.remove_many(length, 1);
    }

    #[inline]
    pub(super) fn remove_many(&mut self, length: u32, entries: u64) {
        debug_assert!(self.count(length) >= entries, "fewer entries of this length");
        if let Some(count) = self.count_mut(length) {
            *count -= entries;
            self.set_sum(self.sum() - u128::from(entries) * u128::from(weight(length)));
        }
    }

    /// The sum after some changes.
    pub(super) fn sum_after(&self, changes: &Changes) -> u128 {
        let more = (0..).zip(changes.shortened).filter(|&(_, entries)| entries > 0).map(
            |(from, entries)| u128::from(entries) * u128::from(weight(changes.to) - weight(from)),
        );
        self.sum() + more.sum::<u128>()
    }

    /// Makes sure that changes can be applied.
    pub(super) fn reserve_for(&mut self, changes: &Changes) -> Result<(), OutOfMemory> {
        if changes.is_empty { Ok(()) } else { self.reserve(changes.to) }
    }

    pub(super) fn apply(&mut self, changes: &Changes) {
        if changes.is_empty && !changes.drops {
            return;
        }
        for (from, entries) in (0..).zip(changes.shortened).filter(|&(_, entries)| entries > 0) {
            self.remove_many(from, u64::from(entries));
            self.add_many(changes.to, u64::from(entries));
        }
        for (length, entries) in (0..).zip(changes.dropped).filter(|&(_, entries)| entries > 0) {
            self.remove_many(length, u64::from(entries));
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.counts.len() * size_of::<u64>()
    }
}

/// What rewriting a segment does to the lengths of its entries.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    /// Entries shortened from each length, all to the same.
    shortened: [u16; PATH_BITS as usize + 2],
    to: u32,
    is_empty: bool,
    /// Entries of each length that lost their slots.
    dropped: [u16; PATH_BITS as usize + 2],
    drops: bool,
}

impl Changes {
    pub(super) fn new() -> Self {
        let none = [0; PATH_BITS as usize + 2];
        Self { shortened: none, to: 0, is_empty: true, dropped: none, drops: false }
    }

    #[inline]
    pub(super) fn shorten(&mut self, from: u32, to: u32) {
        self.shortened[from as usize] += 1;
        self.to = to;
        self.is_empty = false;
    }

    /// Entries that lost their slots.
    pub(super) fn drop(&mut self, length: u32, entries: u64) {
        self.dropped[length as usize] += entries as u16;
        self.drops = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sum_follow_every_change() {
        let mut lengths = Lengths::default();
        let mut expected = [0u64; PATH_BITS as usize + 1];
        for length in [17, 17, 9, 40, 0, 23, 17, 9] {
            lengths.reserve(length).expect("memory");
            lengths.add(length);
            expected[length as usize] += 1;
        }
        lengths.remove(17);
        expected[17] -= 1;
        let mut changes = Changes::new();
        changes.shorten(40, 12);
        changes.shorten(23, 12);
        changes.drop(9, 1);
        let after = lengths.sum_after(&changes);
        lengths.reserve_for(&changes).expect("memory");
        lengths.apply(&changes);
        assert_eq!(lengths.sum() + u128::from(weight(9)), after);
        (expected[40], expected[23], expected[12]) = (0, 0, 2);
        expected[9] -= 1;
        for length in 0..=PATH_BITS {
            assert_eq!(lengths.count(length), expected[length as usize], "{length}");
        }
        let sum: u128 = (0..).zip(expected).map(|(l, n)| u128::from(n * weight(l))).sum();
        assert_eq!(lengths.sum(), sum);
        assert!(lengths.iter().map(|(_, count)| count).sum::<u64>() == 6);
    }

    #[test]
    fn rate_and_limit_are_inverse() {
        for rate in [0.5, 0.05, 0.01, 0.001, 1e-6] {
            let sum = Lengths::limit(rate);
            let lengths = Lengths { halves: [sum, 0], ..Lengths::default() };
            assert!((lengths.rate() / rate - 1.0).abs() < 1e-6);
        }
    }
}
