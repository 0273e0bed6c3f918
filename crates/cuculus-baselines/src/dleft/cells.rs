//! Buckets of cells, each a remainder and a small counter; several cells are compared at once.
//! Know nothing of keys, or of which buckets belong together.

use cuculus::BuildError;

use crate::packed::Packed;

/// The form of cells and buckets.
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
    /// The cells that are read at once.
    at_once: u32,
    /// The lowest and the highest bit of each of them.
    lowest: u64,
    highest: u64,
    counters: u64,
}

/// What is in a bucket: a bit for each cell in use, and one for each with the remainder asked for.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) used: u32,
    pub(super) equal: u32,
}

impl Cells {
    pub(super) fn new(buckets: u64, shape: Shape) -> Result<Self, BuildError> {
        let bits = shape.cell_bits();
        let at_once = (64 / bits).min(shape.slots_per_bucket);
        let lowest = (0..at_once).fold(0, |word, cell| word | 1 << (cell * bits));
        Ok(Self {
            cells: Packed::new(buckets * u64::from(shape.slots_per_bucket), bits)?,
            shape,
            at_once,
            lowest,
            highest: lowest << (bits - 1),
            counters: lowest * ((1 << shape.counter_bits) - 1),
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

    #[inline(always)]
    pub(super) fn look(&self, bucket: u64, remainder: u64) -> Seen {
        let Shape { counter_bits, slots_per_bucket, .. } = self.shape;
        let lanes = self.highest | (self.highest - self.lowest) | self.lowest;
        let wanted = self.lowest.wrapping_mul(remainder << counter_bits);
        let first = bucket * u64::from(slots_per_bucket);
        let mut seen = Seen { used: 0, equal: 0 };
        let mut cell = 0;
        while cell < slots_per_bucket {
            let word = self.cells.word(first + u64::from(cell)) & lanes;
            let used = self.not_zero(word & self.counters);
            let equal = used & !self.not_zero((word ^ wanted) & !self.counters & lanes);
            // At the end of a bucket come cells of the next.
            let count = (slots_per_bucket - cell).min(self.at_once);
            seen.used |= self.gathered(used, count) << cell;
            if equal != 0 {
                seen.equal |= self.gathered(equal, count) << cell;
            }
            cell += count;
        }
        seen
    }

    /// The highest bits of the first lanes, side by side.
    #[inline(always)]
    fn gathered(&self, lanes: u64, count: u32) -> u32 {
        let bits = self.shape.cell_bits();
        let bit = |cell| ((lanes >> ((cell + 1) * bits - 1)) as u32 & 1) << cell;
        (0..count).fold(0, |gathered, cell| gathered | bit(cell))
    }

    #[inline(always)]
    fn at(&self, bucket: u64, cell: u32) -> u64 {
        bucket * u64::from(self.shape.slots_per_bucket) + u64::from(cell)
    }

    #[inline(always)]
    pub(super) fn counter(&self, bucket: u64, cell: u32) -> u64 {
        self.cells.get(self.at(bucket, cell)) & ((1 << self.shape.counter_bits) - 1)
    }

    /// A cell with a counter of zero is empty.
    #[inline(always)]
    pub(super) fn set(&mut self, bucket: u64, cell: u32, remainder: u64, counter: u64) {
        let value = if counter == 0 { 0 } else { remainder << self.shape.counter_bits | counter };
        self.cells.set(self.at(bucket, cell), value);
    }
}
