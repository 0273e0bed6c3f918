//! How much is known of the keys: the number of entries of each length, and from it the rate of
//! false positives, exactly. Knows nothing of where entries are.
//!
//! An entry that knows k bits of the path and one of the [`PLACES`] places is taken for an absent
//! key if the key's path begins with these bits and its place is one of the entry's two: with
//! probability 2 · 2^−k / PLACES.

use super::address::{PATH_BITS, PLACES};

/// The number of entries by the bits of the path that they know.
#[derive(Clone, Debug, Default)]
pub(super) struct Lengths {
    /// Starts at length `first`; no further than needed.
    counts: Vec<u64>,
    first: u32,
    /// The sum of 2^(PATH_BITS − length). No rate below one lets it pass 64 bits.
    sum: u64,
}

/// What an entry of this length adds to the sum.
#[inline(always)]
const fn weight(length: u32) -> u64 {
    1 << (PATH_BITS - length)
}

impl Lengths {
    /// The sum at which a rate is reached.
    pub(super) fn limit(rate: f64) -> u64 {
        (rate * (PLACES as f64 / 2.0) * weight(0) as f64) as u64
    }

    pub(super) fn rate(&self) -> f64 {
        let pairs = (PLACES / 2) as f64 * weight(0) as f64;
        (self.sum as f64 / pairs).min(1.0)
    }

    pub(super) fn sum(&self) -> u64 {
        self.sum
    }

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
    #[inline(always)]
    pub(super) fn sum_with(&self, length: u32) -> u64 {
        self.sum + weight(length)
    }

    #[inline(always)]
    pub(super) fn count(&self, length: u32) -> u64 {
        let at = length.wrapping_sub(self.first) as usize;
        self.counts.get(at).copied().unwrap_or(0)
    }

    /// Lengths that occur, with how often.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (self.first..).zip(self.counts.iter().copied()).filter(|&(_, count)| count > 0)
    }

    #[inline(always)]
    pub(super) fn add(&mut self, length: u32) {
        self.add_many(length, 1);
    }

    #[inline(always)]
    pub(super) fn add_many(&mut self, length: u32, entries: u64) {
        match self.counts.get_mut(length.wrapping_sub(self.first) as usize) {
            Some(count) => *count += entries,
            None => self.add_unseen(length, entries),
        }
        self.sum += entries * weight(length);
    }

    #[cold]
    fn add_unseen(&mut self, length: u32, entries: u64) {
        if self.counts.is_empty() {
            self.first = length;
        }
        if length < self.first {
            let missing = (self.first - length) as usize;
            self.counts.reserve_exact(missing);
            self.counts.splice(0..0, core::iter::repeat_n(0, missing));
            self.first = length;
        }
        let at = (length - self.first) as usize;
        if at >= self.counts.len() {
            self.counts.reserve_exact(at + 1 - self.counts.len());
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += entries;
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, length: u32) {
        self.remove_many(length, 1);
    }

    #[inline(always)]
    fn remove_many(&mut self, length: u32, entries: u64) {
        debug_assert!(self.count(length) >= entries, "fewer entries of this length");
        if let Some(count) = self.counts.get_mut(length.wrapping_sub(self.first) as usize) {
            *count -= entries;
            self.sum -= entries * weight(length);
        }
    }

    pub(super) fn shorten(&mut self, shortened: &Shortened) {
        for (from, entries) in (0..).zip(shortened.counts).filter(|&(_, entries)| entries > 0) {
            self.remove_many(from, u64::from(entries));
            self.add_many(shortened.to, u64::from(entries));
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }
}

/// Entries that were shortened together: how many from which length, all to the same.
#[derive(Clone, Debug)]
pub(super) struct Shortened {
    counts: [u16; PATH_BITS as usize + 1],
    to: u32,
}

impl Default for Shortened {
    fn default() -> Self {
        Self { counts: [0; _], to: 0 }
    }
}

impl Shortened {
    #[inline(always)]
    pub(super) fn note(&mut self, from: u32, to: u32) {
        self.counts[from as usize] += 1;
        self.to = to;
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
            lengths.add(length);
            expected[length as usize] += 1;
        }
        lengths.remove(17);
        expected[17] -= 1;
        let mut shortened = Shortened::default();
        shortened.note(40, 12);
        shortened.note(23, 12);
        lengths.shorten(&shortened);
        (expected[40], expected[23], expected[12]) = (0, 0, 2);
        for length in 0..=PATH_BITS {
            assert_eq!(lengths.count(length), expected[length as usize], "{length}");
        }
        let sum: u64 = (0..).zip(expected).map(|(l, n)| n * weight(l)).sum();
        assert_eq!(lengths.sum(), sum);
        assert!(lengths.iter().map(|(_, count)| count).sum::<u64>() == 7);
    }

    #[test]
    fn rate_and_limit_are_inverse() {
        for rate in [0.5, 0.05, 0.01, 0.001, 1e-6] {
            let lengths = Lengths { sum: Lengths::limit(rate), ..Lengths::default() };
            assert!((lengths.rate() / rate - 1.0).abs() < 1e-6);
        }
    }
}
