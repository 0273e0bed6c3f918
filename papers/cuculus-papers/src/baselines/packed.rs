//! Cells of a few bits each, without gaps. Know nothing of what is in them.

use cuculus::BuildError;

use crate::baselines::memory::zeroed;

/// Cells of `bits` bits, 1 to 63.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Packed {
    /// One more than needed, so that two can be read wherever a cell starts.
    words: Box<[u64]>,
    bits: u32,
}

impl Packed {
    pub(crate) fn new(cells: u64, bits: u32) -> Result<Self, BuildError> {
        let words = cells.saturating_mul(u64::from(bits)).div_ceil(64).saturating_add(1);
        Ok(Self { words: zeroed(words)?, bits })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// The cells from one on, as many as fit 64 bits, and above them bits of what follows.
    #[inline(always)]
    pub(crate) fn word(&self, cell: u64) -> u64 {
        let first = cell * u64::from(self.bits);
        let (at, shift) = ((first / 64) as usize, first % 64);
        // Twice, because a shift by 64 is none.
        self.words[at] >> shift | self.words[at + 1] << 1 << (63 - shift)
    }

    #[inline(always)]
    pub(crate) fn get(&self, cell: u64) -> u64 {
        self.word(cell) & ((1 << self.bits) - 1)
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, cell: u64, value: u64) {
        let first = cell * u64::from(self.bits);
        let (at, shift) = ((first / 64) as usize, first % 64);
        let flipped = self.get(cell) ^ value;
        self.words[at] ^= flipped << shift;
        self.words[at + 1] ^= flipped >> 1 >> (63 - shift);
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use cuculus::conformance::Random;

    use super::*;

    #[test]
    fn cells_do_not_disturb_each_other() {
        for bits in [1, 2, 7, 13, 31, 32, 33, 63] {
            let mut random = Random::new(u64::from(bits));
            let mut packed = Packed::new(200, bits).expect("small");
            let mut plain = [0; 200];
            for _ in 0..5000 {
                let (at, value) = (random.below(200), random.bits() & ((1 << bits) - 1));
                packed.set(at as u64, value);
                plain[at] = value;
            }
            (0..200).for_each(|at| assert_eq!(packed.get(at as u64), plain[at], "{bits} {at}"));
        }
    }
}
