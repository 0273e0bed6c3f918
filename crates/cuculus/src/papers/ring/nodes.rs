//! A sorted set of positions on a ring of 2^32, made for one question: which is the next one?
//!
//! Positions are spread evenly, so the high bits of a point say nearly where its successor is:
//! they choose a cell, a sorted list, and the rest is a search among the positions of that cell.
//! Adding and taking away a position moves the others of its cell only. Cells are halved and
//! joined as the set grows and shrinks.
//!
//! Cells of some hundred positions have hardly any memory beside the positions themselves, so that
//! a set that was loaded takes as much as one that grew: with some dozen, halved cells and joined
//! ones differed by a tenth.

use crate::memory;
use crate::table::OutOfMemory;

/// Cells are halved when they hold more than this on average.
const MOST_IN_A_CELL: usize = 512;
/// And joined when they hold fewer.
const FEWEST_IN_A_CELL: usize = 160;

/// The positions.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// Cell `c` holds the positions whose first `cell_bits` bits are `c`, sorted. No cells at all
    /// before the first position.
    cells: Vec<Vec<u32>>,
    cell_bits: u32,
    len: usize,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        Self { cells: Vec::new(), cell_bits: 0, len: 0 }
    }

    /// These positions, which must differ. Sorted at once: added one by one, positions that somebody
    /// chose to be close together would take the square of their number of steps.
    pub(crate) fn of(mut positions: Vec<u32>) -> Result<Self, OutOfMemory> {
        positions.sort_unstable();
        let len = positions.len();
        let cells = (len / MOST_IN_A_CELL).max(1).next_power_of_two();
        let mut nodes = Self { cells: memory::with_room(cells)?, cell_bits: cells.ilog2(), len };
        let mut rest = &positions[..];
        for cell in 0..cells {
            let in_cell = rest.partition_point(|&position| nodes.cell(position) == cell);
            let (here, after) = rest.split_at(in_cell);
            nodes.cells.push(memory::copied(here, 0)?);
            rest = after;
        }
        Ok(nodes)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn cell(&self, position: u32) -> usize {
        (u64::from(position) >> (32 - self.cell_bits)) as usize
    }

    /// The first position that is not before `point`, going round the ring; `None` if there is no
    /// position at all.
    #[inline(always)]
    pub(crate) fn successor(&self, point: u32) -> Option<u32> {
        let cell = self.cell(point);
        let positions = self.cells.get(cell)?;
        let at = positions.partition_point(|&position| position < point);
        match positions.get(at) {
            Some(&position) => Some(position),
            None => self.first_after(cell),
        }
    }

    /// The first position after a cell.
    #[inline(never)]
    fn first_after(&self, cell: usize) -> Option<u32> {
        let (before, after) = self.cells.split_at(cell + 1);
        after.iter().chain(before).find_map(|positions| positions.first().copied())
    }

    /// Halves the cells if they have become long. To be called now and then while positions are
    /// added; without memory for it cells stay longer than they should be.
    pub(crate) fn halve_if_due(&mut self) {
        if self.len >= MOST_IN_A_CELL * self.cells.len().max(1) && self.cell_bits < 32 {
            let _ = self.halve_cells();
        }
    }

    /// Adds a position; false if it is there already. Nothing has changed after an error.
    pub(crate) fn insert(&mut self, position: u32) -> Result<bool, OutOfMemory> {
        if self.cells.is_empty() {
            self.cells = memory::with_room(1)?;
            self.cells.push(Vec::new());
        }
        let cell = self.cell(position);
        let positions = &mut self.cells[cell];
        let Err(at) = positions.binary_search(&position) else { return Ok(false) };
        memory::reserve_one(positions, usize::MAX)?;
        positions.insert(at, position);
        self.len += 1;
        Ok(true)
    }

    /// Takes a position away; false if it is not there. Its memory stays, so that it can come back,
    /// until [`tidy`](Self::tidy).
    pub(crate) fn remove(&mut self, position: u32) -> bool {
        let cell = self.cell(position);
        let Some(positions) = self.cells.get_mut(cell) else { return false };
        let Ok(at) = positions.binary_search(&position) else { return false };
        positions.remove(at);
        self.len -= 1;
        true
    }

    /// Gives back what a position took that was removed.
    pub(crate) fn tidy(&mut self, position: u32) {
        if self.len < FEWEST_IN_A_CELL * self.cells.len() && self.cell_bits > 0 {
            let _ = self.join_cells();
        }
        let cell = self.cell(position);
        if let Some(positions) = self.cells.get_mut(cell) {
            memory::shrink(positions, 0);
        }
    }

    fn halve_cells(&mut self) -> Result<(), OutOfMemory> {
        let cell_bits = self.cell_bits + 1;
        let mut cells = memory::with_room(2 * self.cells.len())?;
        for (cell, positions) in self.cells.iter().enumerate() {
            let middle = ((2 * cell as u64 + 1) << (32 - cell_bits)) as u32;
            let (low, high) = positions.split_at(positions.partition_point(|&p| p < middle));
            cells.push(memory::copied(low, 0)?);
            cells.push(memory::copied(high, 0)?);
        }
        (self.cells, self.cell_bits) = (cells, cell_bits);
        Ok(())
    }

    fn join_cells(&mut self) -> Result<(), OutOfMemory> {
        let mut cells = memory::with_room(self.cells.len() / 2)?;
        for pair in self.cells.as_chunks::<2>().0 {
            let mut both = memory::copied(&pair[0], pair[1].len())?;
            both.extend_from_slice(&pair[1]);
            cells.push(both);
        }
        self.cells = cells;
        self.cell_bits -= 1;
        Ok(())
    }

    /// All memory held beside the value itself.
    pub(crate) fn heap_bytes(&self) -> usize {
        let positions: usize = self.cells.iter().map(Vec::capacity).sum();
        self.cells.capacity() * size_of::<Vec<u32>>() + positions * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Nodes;

    /// A scramble that visits every number once.
    fn scrambled(number: u32) -> u32 {
        let x = number.wrapping_mul(0x9e37_79b1);
        (x ^ (x >> 15)).wrapping_mul(0x85eb_ca6b)
    }

    #[test]
    fn the_successor_is_that_of_a_sorted_set() {
        let (mut nodes, mut set) = (Nodes::new(), BTreeSet::new());
        assert_eq!(nodes.successor(7), None);
        for step in 0..30_000u32 {
            // Up to some thousands and down to none, with numbers that come again.
            let position = scrambled(if step < 15_000 { step } else { step - 15_000 });
            if step < 15_000 {
                nodes.halve_if_due();
                assert_eq!(nodes.insert(position).ok(), Some(set.insert(position)));
                assert!(!nodes.insert(position).expect("memory"));
            } else {
                assert_eq!(nodes.remove(position), set.remove(&position));
                assert!(!nodes.remove(position));
                nodes.tidy(position);
            }
            assert_eq!(nodes.len(), set.len());
            for point in [0, u32::MAX, position, position.wrapping_add(1), scrambled(!step)] {
                let expected = set.range(point..).next().or(set.first()).copied();
                assert_eq!(nodes.successor(point), expected, "step {step}, point {point}");
            }
            if step % 1000 == 0 {
                let again = Nodes::of(set.iter().rev().copied().collect()).expect("memory");
                for point in (0..100).map(scrambled) {
                    assert_eq!(again.successor(point), nodes.successor(point));
                }
                assert_eq!(again.len(), nodes.len());
            }
            if step % 50 == 0 {
                // As much as the positions alone, and as a set that was loaded.
                let again = Nodes::of(set.iter().copied().collect()).expect("memory");
                let (held, loaded) = (nodes.heap_bytes() as f64, again.heap_bytes() as f64);
                assert!(held <= 4.16 * set.len() as f64 + 64.0, "{held} for {}", set.len());
                assert!(
                    (held - loaded).abs() <= 0.02 * loaded + 64.0,
                    "{held} {loaded} {}",
                    set.len()
                );
            }
        }
        assert_eq!(nodes.len(), 0);
    }
}
