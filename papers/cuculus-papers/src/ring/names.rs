//! The names of buckets: from an index to its name, from a name to its index, and which name to
//! give next. The way back is a small hash table of indices alone, since a name stands at its
//! index already.

use std::hash::{BuildHasher, RandomState};

use super::scramble;
use cuculus::lab::table::OutOfMemory;
use cuculus::lab::{memory, work};

/// Marks a cell that holds no index.
const EMPTY: u32 = u32::MAX;
/// Names that are tried for a new bucket: in turn, and then at some distance.
const NEAR: usize = 64;
const FAR: u32 = 4000;
/// The list of names has room for this share more than it holds, at most twice.
const RESERVE_SHARE: usize = 128;

#[derive(Clone)]
pub(super) struct Names {
    by_index: Vec<u32>,
    /// Indices, each at or after the cell that its name is hashed to. Nearly a third is empty.
    cells: Vec<u32>,
    /// Where to look for the next name. Not the smallest that is free: a bucket that was removed
    /// because it had a small share of the ring would come back at once.
    next: u32,
    /// Names can be chosen, by keys and in files. In which cells they fall, nobody can know: this is
    /// drawn at random and never saved.
    secret: u64,
}

impl Names {
    pub(super) fn new() -> Self {
        let secret = RandomState::new().hash_one(0u8);
        Self { by_index: Vec::new(), cells: Vec::new(), next: 0, secret }
    }

    /// These names, if each is there once, and where to look for the next.
    pub(super) fn of(names: Vec<u32>, next: u32) -> Result<Option<Self>, OutOfMemory> {
        let mut all = Self { by_index: names, next, ..Self::new() };
        all.rebuild()?;
        let are_different = (0..).zip(&all.by_index).all(|(i, &name)| all.index(name) == Some(i));
        Ok(are_different.then_some(all))
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.by_index
    }

    /// The cells for some names: the number does not deviate by more than a fortieth, so that names
    /// that were loaded take as much memory as names that came one by one.
    fn cells_for(names: usize) -> usize {
        names + names * 14 / 32 + 4
    }

    fn are_too_few(&self, names: usize) -> bool {
        self.cells.len() < names + names * 13 / 32 + 2
    }

    fn are_too_many(&self, names: usize) -> bool {
        self.cells.len() > names + names * 15 / 32 + 8
    }

    #[inline(always)]
    fn first_cell(&self, name: u32) -> usize {
        let x = (u64::from(name) ^ self.secret).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 32)).wrapping_mul(self.secret | 1);
        (((x >> 32) * self.cells.len() as u64) >> 32) as usize
    }

    /// The cells where a name may be looked for, in that order.
    #[inline(always)]
    fn cells(&self, name: u32) -> impl Iterator<Item = usize> + use<> {
        let (first, len) = (self.first_cell(name), self.cells.len());
        (first..len).chain(0..first)
    }

    #[inline(always)]
    pub(super) fn index(&self, name: u32) -> Option<u32> {
        for cell in self.cells(name) {
            match self.cells[cell] {
                EMPTY => break,
                index if self.by_index[index as usize] == name => return Some(index),
                _ => {}
            }
        }
        None
    }

    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Lets the search for the next name begin where it once did.
    pub(super) fn set_next(&mut self, next: u32) {
        self.next = next;
    }

    /// The next free name below `end`: one of the next few, or one further away. `None` if all that
    /// are tried are taken, which somebody has arranged then: to try all names would take as long as
    /// there are buckets.
    pub(super) fn free(&self, end: u32) -> Option<u32> {
        let next = self.next.min(end);
        let near = (next..end).chain(0..next).take(NEAR);
        let far = (0..FAR).map(|step| {
            let spread = scramble(next.wrapping_add(step));
            ((u64::from(spread) * u64::from(end)) >> 32) as u32
        });
        near.chain(far).find(|&name| {
            work::add(1);
            self.index(name).is_none()
        })
    }

    pub(super) fn reserve(&mut self) -> Result<(), OutOfMemory> {
        memory::reserve_one(&mut self.by_index, RESERVE_SHARE)?;
        if self.are_too_few(self.by_index.len() + 1) { self.rebuild() } else { Ok(()) }
    }

    /// Gives the next index to a free name, for which there is room.
    pub(super) fn push(&mut self, name: u32) {
        let index = self.by_index.len();
        self.by_index.push(name);
        self.next = name + 1;
        self.enter(index as u32);
    }

    /// Finds a cell for an index.
    fn enter(&mut self, index: u32) {
        let name = self.by_index[index as usize];
        let free = self.cells(name).find(|&cell| self.cells[cell] == EMPTY);
        debug_assert!(free.is_some(), "some are empty");
        if let Some(cell) = free {
            self.cells[cell] = index;
        }
    }

    /// As many cells as the names, and one more, should have.
    fn rebuild(&mut self) -> Result<(), OutOfMemory> {
        self.cells = memory::filled(EMPTY, Self::cells_for(self.by_index.len() + 1))?;
        for index in 0..self.by_index.len() as u32 {
            self.enter(index);
        }
        Ok(())
    }

    /// Frees the name of an index, which the last index's name gets.
    pub(super) fn swap_remove(&mut self, index: u32) {
        let last = self.by_index.len() as u32 - 1;
        self.leave(index);
        if index != last {
            self.leave(last);
        }
        self.by_index.swap_remove(index as usize);
        if index != last {
            self.enter(index);
        }
        let len = self.by_index.len();
        if self.by_index.capacity() > len + 2 * len / RESERVE_SHARE + 8 {
            memory::shrink(&mut self.by_index, len / RESERVE_SHARE);
        }
        if self.are_too_many(len) {
            // Without memory for others they stay as they are.
            let _ = self.rebuild();
        }
    }

    /// Empties the cell of an index, and inserts those after it again: one of them may have been
    /// pushed on by it.
    fn leave(&mut self, index: u32) {
        let name = self.by_index[index as usize];
        let Some(at) = self.cells(name).find(|&cell| self.cells[cell] == index) else { return };
        self.cells[at] = EMPTY;
        let len = self.cells.len();
        for cell in (at + 1..len).chain(0..at) {
            match core::mem::replace(&mut self.cells[cell], EMPTY) {
                EMPTY => break,
                pushed => self.enter(pushed),
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<u32>() * (self.by_index.capacity() + self.cells.capacity())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use cuculus::conformance::Random;

    #[test]
    fn names_and_indices_agree_with_a_list() {
        let (mut names, mut list) = (Names::new(), Vec::<u32>::new());
        let mut random = Random::new(3);
        const END: u32 = 5000; // so that names come again
        for step in 0..20_000 {
            let rising = (step / 4000) % 2 == 0;
            if list.is_empty() || (random.below(10) < 7) == rising {
                let name = names.free(END).expect("most are free");
                assert!(name < END && !list.contains(&name));
                names.reserve().expect("memory");
                names.push(name);
                list.push(name);
            } else {
                let index = random.below(list.len());
                let name = list.swap_remove(index);
                names.swap_remove(index as u32);
                assert_eq!(names.index(name), None);
            }
            assert_eq!(names.as_slice(), list);
            if step % 20 == 0 {
                for (index, &name) in (0..).zip(&list) {
                    assert_eq!(names.index(name), Some(index), "step {step}");
                }
                let loaded = Names::of(list.clone(), names.next()).expect("memory");
                let loaded = loaded.expect("different names");
                assert_eq!(loaded.free(END), names.free(END));
                let (held, loaded) = (names.heap_bytes() as f64, loaded.heap_bytes() as f64);
                assert!((held - loaded).abs() <= 0.03 * loaded + 64.0, "{held} {loaded}");
            }
        }
        assert!(Names::of(vec![5, 7, 5], 0).expect("memory").is_none());
    }

    /// Whoever writes a file can take all names after the next, and then those that are tried instead.
    #[test]
    fn taken_names_are_not_looked_through() {
        const END: u32 = 1 << 28;
        let in_turn: Vec<u32> = (0..1_000_000).collect();
        let names = Names::of(in_turn.clone(), 0).expect("memory").expect("different names");
        work::take_work();
        assert!(names.free(END).is_some_and(|name| name >= 1_000_000));
        assert!(work::take_work() < 200);
        let far = (0..2 * FAR).map(|step| ((u64::from(scramble(step)) << 28) >> 32) as u32);
        let all: BTreeSet<u32> = in_turn.into_iter().chain(far).collect();
        let names =
            Names::of(all.into_iter().collect(), 0).expect("memory").expect("different names");
        assert_eq!(names.free(END), None);
        assert!(work::take_work() < 5000);
    }

    /// Names that share their high bits, their low bits, or the cells of a multiplicative hash, are
    /// found as fast as others.
    #[test]
    fn chosen_names_are_spread_as_any() {
        const COUNT: u32 = 20_000;
        for chosen in [
            |number: u32| number,
            |number: u32| number << 17,
            |number: u32| number.wrapping_mul(0x0e8b_2f51),
            |number: u32| number.wrapping_mul(0x144c_bc89),
        ] {
            let chosen: fn(u32) -> u32 = chosen;
            let names: Vec<u32> = (0..COUNT).map(chosen).collect();
            let names = Names::of(names, 0).expect("memory").expect("different names");
            let steps = |name: u32| {
                let index = names.index(name);
                names.cells(name).take_while(|&cell| Some(names.cells[cell]) != index).count()
            };
            let all: usize = (0..COUNT).map(chosen).map(steps).sum();
            let most = (0..COUNT).map(chosen).map(steps).max().expect("some");
            assert!(all < 4 * COUNT as usize && most < 1000, "{all} steps, {most} for one");
        }
    }
}
