//! A sorted set of positions on a ring of 2^32, made for one question: which is the next one?
//!
//! Positions are spread evenly, so the high bits of a point say nearly where its successor is:
//! they choose a cell, a short sorted list, and the rest is a search among the few positions of
//! that cell. Adding and taking away a position moves the others of its cell only. Cells are
//! halved and joined as the set grows and shrinks.
//!
//! Stands alone: measurements include this file to compare it with other rings.

/// Cells are halved when they hold more than this on average.
const MOST_IN_A_CELL: usize = 64;
/// And joined when they hold fewer.
const FEWEST_IN_A_CELL: usize = 16;
/// Positions that a cell has room for beyond those it holds, at most.
const RESERVE: usize = 4;

/// The positions.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    /// Cell `c` holds the positions whose first `cell_bits` bits are `c`, sorted.
    cells: Vec<Vec<u32>>,
    cell_bits: u32,
    len: usize,
}

impl Nodes {
    pub(crate) fn new() -> Self {
        Self { cells: vec![Vec::new()], cell_bits: 0, len: 0 }
    }

    /// These positions, which must differ. Sorted at once: added one by one, positions that somebody
    /// chose to be close together would take the square of their number of steps.
    pub(crate) fn of(mut positions: Vec<u32>) -> Self {
        positions.sort_unstable();
        let len = positions.len();
        let cells = (len / MOST_IN_A_CELL).max(1).next_power_of_two();
        let mut nodes = Self { cells: Vec::with_capacity(cells), cell_bits: cells.ilog2(), len };
        let mut rest = &positions[..];
        for cell in 0..cells {
            let in_cell = rest.partition_point(|&position| nodes.cell(position) == cell);
            let (here, after) = rest.split_at(in_cell);
            nodes.cells.push(here.to_vec());
            rest = after;
        }
        nodes
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
        let positions = &self.cells[cell];
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

    /// Adds a position; false if it is there already.
    pub(crate) fn insert(&mut self, position: u32) -> bool {
        if self.len >= MOST_IN_A_CELL * self.cells.len() && self.cell_bits < 32 {
            self.halve_cells();
        }
        let cell = self.cell(position);
        let positions = &mut self.cells[cell];
        let Err(at) = positions.binary_search(&position) else { return false };
        if positions.len() == positions.capacity() {
            positions.reserve_exact(RESERVE);
        }
        positions.insert(at, position);
        self.len += 1;
        true
    }

    /// Takes a position away; false if it is not there.
    pub(crate) fn remove(&mut self, position: u32) -> bool {
        let cell = self.cell(position);
        let positions = &mut self.cells[cell];
        let Ok(at) = positions.binary_search(&position) else { return false };
        positions.remove(at);
        if positions.capacity() > positions.len() + 2 * RESERVE {
            positions.shrink_to(positions.len() + RESERVE);
        }
        self.len -= 1;
        if self.len < FEWEST_IN_A_CELL * self.cells.len() && self.cell_bits > 0 {
            self.join_cells();
        }
        true
    }

    fn halve_cells(&mut self) {
        self.cell_bits += 1;
        let mut cells = Vec::with_capacity(2 * self.cells.len());
        for (cell, positions) in core::mem::take(&mut self.cells).into_iter().enumerate() {
            let middle = ((2 * cell as u64 + 1) << (32 - self.cell_bits)) as u32;
            let (low, high) = positions.split_at(positions.partition_point(|&p| p < middle));
            cells.push(low.to_vec());
            cells.push(high.to_vec());
        }
        self.cells = cells;
    }

    fn join_cells(&mut self) {
        self.cell_bits -= 1;
        self.cells = self.cells.chunks(2).map(<[_]>::concat).collect();
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
        for step in 0..12_000u32 {
            // Up to some thousands and down to none, with numbers that come again.
            let position = scrambled(if step < 6000 { step } else { step - 6000 });
            if step < 6000 {
                assert_eq!(nodes.insert(position), set.insert(position));
                assert!(!nodes.insert(position));
            } else {
                assert_eq!(nodes.remove(position), set.remove(&position));
                assert!(!nodes.remove(position));
            }
            assert_eq!(nodes.len(), set.len());
            for point in [0, u32::MAX, position, position.wrapping_add(1), scrambled(!step)] {
                let expected = set.range(point..).next().or(set.first()).copied();
                assert_eq!(nodes.successor(point), expected, "step {step}, point {point}");
            }
            if step % 500 == 0 {
                let again = Nodes::of(set.iter().rev().copied().collect());
                for point in (0..100).map(scrambled) {
                    assert_eq!(again.successor(point), nodes.successor(point));
                }
                assert_eq!(again.len(), nodes.len());
            }
            let fair = 6 * set.len() + 24 * (set.len() / super::FEWEST_IN_A_CELL + 1);
            let reserve = 12 * super::RESERVE * (set.len() / super::FEWEST_IN_A_CELL + 1);
            assert!(nodes.heap_bytes() <= fair + reserve, "{} for {}", nodes.heap_bytes(), fair);
        }
        assert_eq!(nodes.len(), 0);
    }
}
