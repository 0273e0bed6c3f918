//! Counters of four bits that stick at their highest value. Know nothing of keys.

use cuculus::BuildError;

use crate::baselines::memory::zeroed;

/// What a counter sticks at.
pub(crate) const SATURATED: u64 = 15;
const PER_WORD: u64 = 16;

/// A row of counters. One that has reached fifteen has lost count, so it is never lowered again:
/// lowered to zero too early it would lose a key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Counters {
    words: Box<[u64]>,
    pub(crate) count: u64,
    /// Counters above zero.
    pub(crate) used: u64,
    /// Counters that stick.
    pub(crate) saturated: u64,
}

impl Counters {
    pub(crate) fn new(count: u64) -> Result<Self, BuildError> {
        Ok(Self { words: zeroed(count.div_ceil(PER_WORD))?, count, used: 0, saturated: 0 })
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: u64) -> u64 {
        self.words[(at / PER_WORD) as usize] >> (at % PER_WORD * 4) & SATURATED
    }

    #[inline(always)]
    pub(crate) fn increment(&mut self, at: u64) {
        let value = self.get(at);
        if value < SATURATED {
            self.words[(at / PER_WORD) as usize] += 1 << (at % PER_WORD * 4);
            self.used += u64::from(value == 0);
            self.saturated += u64::from(value + 1 == SATURATED);
        }
    }

    /// Zero stays zero: of a key that was never inserted two places may be one counter.
    #[inline(always)]
    pub(crate) fn decrement(&mut self, at: u64) {
        let value = self.get(at);
        if value > 0 && value < SATURATED {
            self.words[(at / PER_WORD) as usize] -= 1 << (at % PER_WORD * 4);
            self.used -= u64::from(value == 1);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        (self.used, self.saturated) = (0, 0);
    }
}
