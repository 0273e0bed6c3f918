//! A sorted set of positions on a ring of 2^32, made for one question: which is the next one?
//!
//! The positions lie in cells, sorted lists of some hundred. A cell begins where the one before ends.
//! Positions are mostly spread evenly, so the high bits of a point say nearly which cell it belongs
//! to; the rest is a search among the positions of that cell. Adding and taking away a position moves
//! the others of its cell only. A cell that is full is split in the middle, and one that has become
//! small is joined with a neighbour, so somebody who chooses positions to be close together makes
//! more cells there, not longer ones. (Cells of equal parts of the ring were long where positions
//! were chosen, and a search looked through all the empty ones elsewhere.)
//!
//! Cells of some hundred positions have hardly any memory beside the positions themselves, so that
//! a set that was loaded takes as much as one that grew.

use cuculus::lab::table::OutOfMemory;
use cuculus::lab::{memory, work};

/// A cell is split when it would hold more.
const MOST_IN_A_CELL: usize = 512;
/// Neighbours are joined if one holds fewer than the first number, and both together no more than the
/// second.
const FEWEST_IN_A_CELL: usize = 200;
const MOST_TOGETHER: usize = 448;
/// What a loaded cell holds: about the mean of cells that were split now and then.
const LOADED_IN_A_CELL: usize = 352;
/// What is looked for is counted among so many near where it should be, and then searched among all.
const NEAR: usize = 32;
/// The list of cells has room for this share more than it holds, at most.
const RESERVE_SHARE: usize = 32;
/// Positions that are moved are counted by the kilobyte, which takes as long as to open a bucket.
const POSITIONS_PER_UNIT: usize = 256;

/// The nodes of a ring: sorted positions.
#[derive(Clone, Debug, Default)]
pub(super) struct RingNodes {
    /// Where each cell begins; the first at 0. A cell ends where the next begins.
    begins: Vec<u32>,
    /// The positions of each cell, sorted. None is empty, but for what was removed and may come back.
    cells: Vec<Vec<u32>>,
}

impl RingNodes {
    /// These positions, which must differ.
    pub(super) fn of(mut positions: Vec<u32>) -> Result<Self, OutOfMemory> {
        positions.sort_unstable();
        let count = positions.len().div_ceil(LOADED_IN_A_CELL);
        let (mut begins, mut cells) = (memory::with_room(count)?, memory::with_room(count)?);
        for cell in positions.chunks(LOADED_IN_A_CELL) {
            begins.push(if begins.is_empty() { 0 } else { cell[0] });
            cells.push(memory::copied(cell, 0)?);
        }
        Ok(Self { begins, cells })
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.cells.iter().map(Vec::len).sum()
    }

    /// The cell that a position belongs to, if there are any.
    #[inline(always)]
    fn cell(&self, position: u32) -> usize {
        let guess = ((u64::from(position) * self.begins.len() as u64) >> 32) as usize;
        first(&self.begins, guess, |begin| begin <= position).saturating_sub(1)
    }

    /// How many positions of a cell are before a point.
    #[inline(always)]
    fn before(&self, cell: usize, positions: &[u32], point: u32) -> usize {
        let begin = u64::from(self.begins.get(cell).copied().unwrap_or(0));
        let end = self.begins.get(cell + 1).map_or(1 << 32, |&end| u64::from(end));
        let within = u64::from(point).saturating_sub(begin);
        let guess = within * positions.len() as u64 / (end - begin).max(1);
        first(positions, guess as usize, |position| position < point)
    }

    /// The first position that is not before `point`, going round the ring; `None` if there is no
    /// position at all.
    #[inline(always)]
    pub(super) fn successor(&self, point: u32) -> Option<u32> {
        let cell = self.cell(point);
        let positions = self.cells.get(cell)?;
        let at = self.before(cell, positions, point);
        match positions.get(at) {
            Some(&position) => Some(position),
            None => self.first_after(cell),
        }
    }

    /// The first position after a cell: in the next one, unless that is being removed.
    #[inline(never)]
    fn first_after(&self, cell: usize) -> Option<u32> {
        let (before, after) = self.cells.split_at(cell + 1);
        after.iter().chain(before).find_map(|positions| positions.first().copied())
    }

    /// Adds a position; false if it is there already. Without memory nothing has changed.
    pub(super) fn insert(&mut self, position: u32) -> Result<bool, OutOfMemory> {
        if self.cells.is_empty() {
            (self.begins, self.cells) = (memory::filled(0, 1)?, memory::with_room(1)?);
            self.cells.push(Vec::new());
        }
        let mut cell = self.cell(position);
        // What comes back has its memory, and must not need more. Without memory to split it a cell
        // gets longer than it should be.
        let len = self.cells[cell].len();
        if len >= MOST_IN_A_CELL && len == self.cells[cell].capacity() && self.split(cell).is_ok() {
            cell = self.cell(position);
        }
        let positions = &mut self.cells[cell];
        let Err(at) = positions.binary_search(&position) else { return Ok(false) };
        memory::reserve_one(positions, usize::MAX)?;
        positions.insert(at, position);
        work::add(positions.len() / POSITIONS_PER_UNIT);
        Ok(true)
    }

    /// Takes a position away; false if it is not there. Its memory stays, so that it can come back,
    /// until [`tidy`](Self::tidy).
    pub(super) fn remove(&mut self, position: u32) -> bool {
        let cell = self.cell(position);
        let Some(positions) = self.cells.get_mut(cell) else { return false };
        let Ok(at) = positions.binary_search(&position) else { return false };
        work::add(positions.len() / POSITIONS_PER_UNIT);
        positions.remove(at);
        true
    }

    /// Gives back what a position took that was removed.
    pub(super) fn tidy(&mut self, position: u32) {
        let mut cell = self.cell(position);
        let Some(len) = self.cells.get(cell).map(Vec::len) else { return };
        if len < FEWEST_IN_A_CELL && self.cells.len() > 1 {
            let before = cell.checked_sub(1).filter(|&before| self.join(before));
            cell = before.unwrap_or(cell);
            if before.is_none() {
                self.join(cell);
            }
        }
        memory::shrink(&mut self.cells[cell], 0);
    }

    /// Makes two cells of one.
    fn split(&mut self, cell: usize) -> Result<(), OutOfMemory> {
        let (low, high) = self.cells[cell].split_at(self.cells[cell].len() / 2);
        let (begin, low, high) = (high[0], memory::copied(low, 0)?, memory::copied(high, 0)?);
        memory::reserve_one(&mut self.begins, RESERVE_SHARE)?;
        memory::reserve_one(&mut self.cells, RESERVE_SHARE)?;
        self.begins.insert(cell + 1, begin);
        self.cells[cell] = low;
        self.cells.insert(cell + 1, high);
        Ok(())
    }

    /// Makes one cell of one and the next, if there is one, both are small together, and there is
    /// memory; none is needed if one is empty. Says whether it did.
    fn join(&mut self, cell: usize) -> bool {
        let Some([low, high]) = self.cells.get_mut(cell..cell + 2) else { return false };
        if low.is_empty() {
            core::mem::swap(low, high);
        } else if high.is_empty() {
            // Nothing to copy.
        } else if low.len() + high.len() > MOST_TOGETHER {
            return false;
        } else {
            let Ok(mut both) = memory::copied(low, high.len()) else { return false };
            both.append(high);
            *low = both;
        }
        self.cells.remove(cell + 1);
        self.begins.remove(cell + 1);
        if self.cells.capacity() > self.cells.len() + 2 * self.cells.len() / RESERVE_SHARE + 1 {
            memory::shrink(&mut self.cells, self.begins.len() / RESERVE_SHARE);
            memory::shrink(&mut self.begins, self.cells.len() / RESERVE_SHARE);
        }
        true
    }

    /// All memory held beside the value itself.
    pub(super) fn heap_bytes(&self) -> usize {
        let positions: usize = self.cells.iter().map(Vec::capacity).sum();
        self.cells.capacity() * size_of::<Vec<u32>>()
            + (self.begins.capacity() + positions) * size_of::<u32>()
    }
}

/// How many of these sorted numbers are `before` something, which the first of them are. Near the
/// guess they are counted without a branch; if the end is not there, it is searched by halving.
#[inline(always)]
fn first(sorted: &[u32], guess: usize, before: impl Fn(u32) -> bool) -> usize {
    let from = guess.saturating_sub(NEAR / 2).min(sorted.len().saturating_sub(NEAR));
    if let Some(near) = sorted.get(from..).and_then(|rest| rest.first_chunk::<NEAR>()) {
        let count = near.iter().map(|&number| u32::from(before(number))).sum::<u32>() as usize;
        let is_first = count > 0 || from == 0;
        if is_first && (count < NEAR || from + NEAR == sorted.len()) {
            return from + count;
        }
    }
    sorted.partition_point(|&number| before(number))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A scramble that visits every number once.
    fn scrambled(number: u32) -> u32 {
        let x = number.wrapping_mul(0x9e37_79b1);
        (x ^ (x >> 15)).wrapping_mul(0x85eb_ca6b)
    }

    #[test]
    fn the_successor_is_that_of_a_sorted_set() {
        let (mut nodes, mut set) = (RingNodes::default(), BTreeSet::new());
        assert_eq!(nodes.successor(7), None);
        for step in 0..30_000u32 {
            // Up to some thousands and down to none, with numbers that come again.
            let position = scrambled(if step < 15_000 { step } else { step - 15_000 });
            if step < 15_000 {
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
                let again = RingNodes::of(set.iter().rev().copied().collect()).expect("memory");
                for point in (0..100).map(scrambled) {
                    assert_eq!(again.successor(point), nodes.successor(point));
                }
                assert_eq!(again.len(), nodes.len());
            }
            if step % 50 == 0 {
                // As much as the positions alone, and as a set that was loaded.
                let again = RingNodes::of(set.iter().copied().collect()).expect("memory");
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

    /// Whoever chooses positions makes more cells where they are, and no longer ones; and a point far
    /// from all of them costs no more than any other.
    #[test]
    fn crowded_positions_cost_as_much_as_spread_ones() {
        const COUNT: u32 = 100_000;
        let mut nodes = RingNodes::default();
        // In an arc of a thousandth of the ring.
        let position = |number: u32| 0x7000_0000 + (scrambled(number) >> 10);
        let (mut all, mut most_work) = (BTreeSet::new(), 0);
        for number in 0..COUNT {
            work::take_work();
            nodes.insert(position(number)).expect("memory");
            most_work = work::take_work().max(most_work);
            all.insert(position(number));
        }
        assert!(most_work <= 2, "{most_work} kilobytes moved");
        for nodes in [&nodes, &RingNodes::of(all.iter().copied().collect()).expect("memory")] {
            assert!(nodes.cells.iter().all(|cell| (1..=MOST_IN_A_CELL).contains(&cell.len())));
            let expected = |point| all.range(point..).next().or(all.first()).copied();
            for number in 0..10_000 {
                let points = [scrambled(number), position(number) + 1, position(number) - 1];
                assert!(points.iter().all(|&point| nodes.successor(point) == expected(point)));
            }
        }
        for &position in &all {
            assert!(nodes.remove(position));
            nodes.tidy(position);
            let few = nodes.cells.iter().filter(|cell| cell.is_empty()).count();
            assert!(few == 0 || nodes.len() == 0, "{few} empty cells");
        }
        assert!(nodes.heap_bytes() < 1000, "{}", nodes.heap_bytes());
    }
}
