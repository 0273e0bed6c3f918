//! The names of buckets: from an index to its name, from a name to its index, and which name to
//! give next. The way back is a small hash table of indices alone, since a name stands at its
//! index already.

/// Marks a cell that holds no index.
const EMPTY: u32 = u32::MAX;

/// The names, each in use once.
#[derive(Clone, Debug)]
pub(super) struct Names {
    by_index: Vec<u32>,
    /// Indices, each at or after the cell that its name is hashed to. A fifth is empty at least.
    cells: Vec<u32>,
    /// Where to look for the next name. Not the smallest that is free: a bucket that was removed
    /// because it had a small share of the ring would come back at once.
    next: u32,
}

impl Names {
    pub(super) fn new() -> Self {
        Self { by_index: Vec::new(), cells: vec![EMPTY; Self::cells_for(0)], next: 0 }
    }

    /// These names, if each is there once, and where to look for the next.
    ///
    /// Names that were given one after the other are spread well. Others, which somebody chose for
    /// their cells, are refused as soon as they take far more steps.
    pub(super) fn of(names: Vec<u32>, next: u32) -> Option<Self> {
        let mut sorted = names.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let cells = vec![EMPTY; Self::cells_for(names.len())];
        let mut all = Self { by_index: names, cells, next };
        let mut steps_left = 32 * all.by_index.len() + 1024;
        for index in 0..all.by_index.len() as u32 {
            steps_left = steps_left.checked_sub(all.enter(index))?;
        }
        Some(all)
    }

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.by_index
    }

    fn cells_for(names: usize) -> usize {
        names + names / 2 + 4
    }

    #[inline(always)]
    fn first_cell(&self, name: u32) -> usize {
        let spread = u64::from(name.wrapping_mul(0x9e37_79b1));
        ((spread * self.cells.len() as u64) >> 32) as usize
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

    /// Where the search for the next name begins.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Lets the search for the next name begin where it once did.
    pub(super) fn set_next(&mut self, next: u32) {
        self.next = next;
    }

    /// The next free name below `end`; there must be one.
    pub(super) fn free(&self, end: u32) -> u32 {
        let mut names = (self.next.min(end)..end).chain(0..self.next.min(end));
        names.find(|&name| self.index(name).is_none()).unwrap_or(0)
    }

    /// Gives the next index to a free name.
    pub(super) fn push(&mut self, name: u32) {
        let index = self.by_index.len();
        if index == self.by_index.capacity() {
            self.by_index.reserve_exact(index / 8 + 4);
        }
        self.by_index.push(name);
        self.next = name + 1;
        if self.by_index.len() * 5 > self.cells.len() * 4 {
            self.rebuild();
        } else {
            self.enter(index as u32);
        }
    }

    /// Finds a cell for an index, and says how many were tried.
    fn enter(&mut self, index: u32) -> usize {
        let name = self.by_index[index as usize];
        let mut tried = self.cells(name).enumerate();
        let free = tried.find(|&(_, cell)| self.cells[cell] == EMPTY);
        debug_assert!(free.is_some(), "a fifth is empty");
        free.map_or(0, |(steps, cell)| {
            self.cells[cell] = index;
            steps
        })
    }

    fn rebuild(&mut self) {
        self.cells = vec![EMPTY; Self::cells_for(self.by_index.len())];
        for index in 0..self.by_index.len() as u32 {
            self.enter(index);
        }
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
        if self.by_index.capacity() > len + len / 4 + 16 {
            self.by_index.shrink_to(len + len / 8);
            self.rebuild();
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
                pushed => {
                    self.enter(pushed);
                }
            }
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<u32>() * (self.by_index.capacity() + self.cells.capacity())
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use crate::conformance::Random;

    #[test]
    fn names_and_indices_agree_with_a_list() {
        let (mut names, mut list) = (Names::new(), Vec::<u32>::new());
        let mut random = Random::new(3);
        const END: u32 = 5000; // so that names come again
        for step in 0..20_000 {
            let rising = (step / 4000) % 2 == 0;
            if list.is_empty() || (random.below(10) < 7) == rising {
                let name = names.free(END);
                assert!(name < END && !list.contains(&name));
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
                let loaded = Names::of(list.clone(), names.next()).expect("different names");
                assert_eq!(loaded.free(END), names.free(END));
                assert!(names.heap_bytes() <= 4 * (10 * list.len() / 3 + 32), "{}", list.len());
            }
        }
        assert!(Names::of(vec![5, 7, 5], 0).is_none());
        // All hashed to the first cells: multiples of what undoes the hash's factor.
        let crowded = (0..20_000u32).map(|number| number.wrapping_mul(0x0e8b_2f51));
        let crowded: Vec<u32> = crowded.collect();
        assert!(crowded.iter().all(|name| name.wrapping_mul(0x9e37_79b1) < 1 << 20));
        assert!(Names::of(crowded, 0).is_none());
    }
}
