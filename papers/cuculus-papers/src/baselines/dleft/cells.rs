//! Buckets of cells, each a remainder and a small counter; several cells are compared at once.
//! Know nothing of keys, or of which buckets belong together.

use cuculus::BuildError;

use crate::baselines::packed::Packed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) remainder_bits: u32,
    pub(super) counter_bits: u32,
    pub(super) slots_per_bucket: u32,
}

impl Shape {
    pub(super) fn cell_bits(self) -> u32 {
        self.remainder_bits + self.counter_bits
    }
}

/// All cells. The counter is in the low bits, and is zero in an empty cell, which is all zeros.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Cells {
    cells: Packed,
    shape: Shape,
    /// A bucket is read in words of this many cells, and the last one of those that are left.
    at_once: u32,
    words: u32,
    /// The lowest and the highest bit of each cell of a word, and its counter.
    lowest: u64,
    highest: u64,
    counters: u64,
    /// The bits of the last word that belong to the bucket.
    last: u64,
}

/// What is in a bucket.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) used: u32,
    /// Whether one of them has the remainder.
    pub(super) equal: bool,
}

impl Cells {
    pub(super) fn new(buckets: u64, shape: Shape) -> Result<Self, BuildError> {
        let (bits, slots) = (shape.cell_bits(), shape.slots_per_bucket);
        let words = slots.div_ceil(64 / bits);
        let at_once = slots.div_ceil(words);
        let left = slots - (words - 1) * at_once;
        let lowest = (0..at_once).fold(0, |word, cell| word | 1 << (cell * bits));
        Ok(Self {
            cells: Packed::new(buckets * u64::from(slots), bits)?,
            shape,
            at_once,
            words,
            lowest,
            highest: lowest << (bits - 1),
            counters: lowest * ((1 << shape.counter_bits) - 1),
            last: u64::MAX >> (64 - left * bits),
        })
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.cells.heap_bytes()
    }

    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }

    /// The highest bit of each lane that is not zero. The lower bits of a lane carry into its highest
    /// one if any of them is set, and no further.
    #[inline(always)]
    fn not_zero(&self, lanes: u64) -> u64 {
        let lower = self.highest - self.lowest;
        ((lanes & lower).wrapping_add(lower) | lanes) & self.highest
    }

    /// The cells of a bucket in use, and those with a remainder, by their highest bits; `visit` is
    /// called for each word.
    #[inline(always)]
    fn each_word(&self, bucket: u64, remainder: u64, mut visit: impl FnMut(u64, u64)) {
        let wanted = self.lowest.wrapping_mul(remainder << self.shape.counter_bits);
        let mut cell = bucket * u64::from(self.shape.slots_per_bucket);
        for word in 1..=self.words {
            let mask = if word == self.words { self.last } else { u64::MAX };
            // Beyond the bucket, no counter.
            let cells = self.cells.word(cell) & mask;
            let used = self.not_zero(cells & self.counters);
            let differs = self.not_zero((cells ^ wanted) & !self.counters);
            visit(used, used & !differs);
            cell += u64::from(self.at_once);
        }
    }

    #[inline(always)]
    pub(super) fn contains(&self, bucket: u64, remainder: u64) -> bool {
        let mut any = 0;
        self.each_word(bucket, remainder, |_, equal| any |= equal);
        any != 0
    }

    #[inline(always)]
    pub(super) fn look(&self, bucket: u64, remainder: u64) -> Seen {
        let (mut count, mut any) = (0, 0);
        self.each_word(bucket, remainder, |used, equal| {
            count += used.count_ones();
            any |= equal;
        });
        Seen { used: count, equal: any != 0 }
    }

    #[inline(always)]
    fn at(&self, bucket: u64, cell: u32) -> u64 {
        bucket * u64::from(self.shape.slots_per_bucket) + u64::from(cell)
    }

    /// The remainder and the counter of a cell; zeros if it is empty.
    #[inline(always)]
    pub(super) fn get(&self, bucket: u64, cell: u32) -> (u64, u64) {
        let value = self.cells.get(self.at(bucket, cell));
        (value >> self.shape.counter_bits, value & ((1 << self.shape.counter_bits) - 1))
    }

    /// A cell with a counter of zero is empty.
    #[inline(always)]
    pub(super) fn set(&mut self, bucket: u64, cell: u32, remainder: u64, counter: u64) {
        let value = if counter == 0 { 0 } else { remainder << self.shape.counter_bits | counter };
        self.cells.set(self.at(bucket, cell), value);
    }
}
