//! What the machine can do at best: reads of one or two independent cache lines per operation,
//! with nothing else to do. No filter of two buckets can be faster than two lines.

use std::hint::black_box;

use crate::clock::{mops, timed};
use cuculus::lab::prefetch;

/// Reads that are prefetched before the first is used.
const GROUP: usize = 64;
/// Odd numbers without a pattern; a product with each gives an independent position.
const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

#[derive(Clone)]
#[repr(align(64))]
struct Line([u64; 8]);

pub(crate) struct Lines(Vec<Line>);

/// Reads of each operation, and whether they are left to the processor's reordering or prefetched in
/// groups.
pub(crate) const READS: [&str; 4] = ["1 line", "prefetched", "2 lines", "prefetched"];
pub(crate) const TWO_PREFETCHED: usize = 3;

/// What reads of a table take at best.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) bytes: usize,
    /// Millions of operations per second, in the order of [`READS`].
    pub(crate) mops: [f64; READS.len()],
}

impl Limits {
    /// The better of two measurements of the same table, number by number.
    pub(crate) fn best(self, other: Self) -> Self {
        let mops = std::array::from_fn(|at| self.mops[at].max(other.mops[at]));
        Self { bytes: self.bytes.max(other.bytes), mops }
    }
}

impl Lines {
    /// A table of about this many bytes, every page of it written to: pages of zeros that were only
    /// ever read would all be the same one.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self(vec![Line([1; 8]); (bytes / size_of::<Line>()).max(1)])
    }

    /// Measures with these evenly spread numbers, one per operation.
    pub(crate) fn measure(&self, numbers: &[u64]) -> Limits {
        let speed = |read: &dyn Fn() -> u64| {
            let (time, sum) = timed(read);
            black_box(sum);
            mops(numbers.len(), time)
        };
        let mops = [
            speed(&|| self.read::<1>(numbers)),
            speed(&|| self.read_in_groups::<1>(numbers)),
            speed(&|| self.read::<2>(numbers)),
            speed(&|| self.read_in_groups::<2>(numbers)),
        ];
        Limits { bytes: self.0.len() * size_of::<Line>(), mops }
    }

    #[inline(always)]
    fn position(&self, number: u64, multiplier: u64) -> usize {
        let hash = number.wrapping_mul(multiplier);
        ((u128::from(hash) * self.0.len() as u128) >> 64) as usize
    }

    fn read<const READS: usize>(&self, numbers: &[u64]) -> u64 {
        let mut sum = 0u64;
        for &number in numbers {
            for multiplier in &MULTIPLIERS[..READS] {
                sum = sum.wrapping_add(self.0[self.position(number, *multiplier)].0[0]);
            }
        }
        sum
    }

    fn read_in_groups<const READS: usize>(&self, numbers: &[u64]) -> u64 {
        let mut sum = 0u64;
        for group in numbers.chunks(GROUP) {
            let mut positions = [[0usize; READS]; GROUP];
            for (positions, &number) in positions.iter_mut().zip(group) {
                for (position, &multiplier) in positions.iter_mut().zip(&MULTIPLIERS) {
                    *position = self.position(number, multiplier);
                    prefetch(&self.0, *position);
                }
            }
            for positions in &positions[..group.len()] {
                for &position in positions {
                    sum = sum.wrapping_add(self.0[position].0[0]);
                }
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::nth_key;

    /// Both ways read the same lines, and as many as they say.
    #[test]
    fn every_read_is_done() {
        let numbers: Vec<u64> = (0..1000).map(|i| nth_key(1, i)).collect();
        let lines = Lines::of_bytes(1 << 16);
        assert_eq!((lines.read::<1>(&numbers), lines.read_in_groups::<1>(&numbers)), (1000, 1000));
        assert_eq!((lines.read::<2>(&numbers), lines.read_in_groups::<2>(&numbers)), (2000, 2000));
    }

    #[test]
    fn positions_cover_the_table() {
        let lines = Lines::of_bytes(100 * 64);
        for multiplier in MULTIPLIERS {
            let mut seen = [false; 100];
            for i in 0..10_000 {
                seen[lines.position(nth_key(1, i), multiplier)] = true;
            }
            assert!(seen.iter().all(|&seen| seen));
        }
    }
}
