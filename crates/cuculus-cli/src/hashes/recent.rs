//! The hashes that came last, in an open table that is always sorted: a hash belongs where its value is
//! on a line from zero to 2^64, or after it, and those that must give way move up. So the table can be
//! read in order without being sorted first.

use std::collections::TryReserveError;
use std::hint::black_box;

/// Marks an empty slot.
const EMPTY: u64 = 0;

/// Slots for ten hashes, of which six may be in use.
const SLOTS: usize = 10;
const USED: usize = 6;

#[derive(Default)]
pub(super) struct Recent {
    /// More than `size` if hashes near the end had to move up.
    slots: Vec<u64>,
    size: usize,
    len: usize,
}

impl Recent {
    /// Empties the table and makes room for this number of hashes, in the same memory where that is enough:
    /// memory that is freed is not always given back.
    pub(super) fn renew(&mut self, hashes: usize) -> Result<(), TryReserveError> {
        let size = hashes / USED * SLOTS + SLOTS;
        self.slots.clear();
        (self.size, self.len) = (0, 0);
        // Some more, so that moving up does not allocate.
        self.slots.try_reserve_exact(size + 1024)?;
        self.slots.resize(size, EMPTY);
        self.size = size;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn capacity(&self) -> usize {
        self.size / SLOTS * USED
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u64>()
    }

    /// The slot that a hash belongs to, or after it.
    fn slot(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.size as u128) >> 64) as usize
    }

    /// Reads what will be looked at, all at once.
    pub(super) fn touch(&self, hashes: &[u64]) {
        let slots = hashes.iter().map(|&hash| self.slots.get(self.slot(hash)).copied());
        black_box(slots.fold(0, |sum, held| sum ^ held.unwrap_or_default()));
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        let held = self.slots.get(self.slot(hash)..).unwrap_or_default();
        held.iter().take_while(|&&held| held != EMPTY && held <= hash).any(|&held| held == hash)
    }

    /// Adds a hash, which is not zero; returns whether it was not there. There must be room.
    pub(super) fn insert(&mut self, hash: u64) -> bool {
        let mut at = self.slot(hash);
        loop {
            match self.slots.get(at) {
                Some(&held) if held == hash => return false,
                Some(&held) if held != EMPTY && held < hash => at += 1,
                _ => break,
            }
        }
        self.len += 1;
        let mut moved = hash;
        while let Some(slot) = self.slots.get_mut(at) {
            moved = std::mem::replace(slot, moved);
            if moved == EMPTY {
                return true;
            }
            at += 1;
        }
        self.slots.push(moved);
        true
    }

    /// All hashes, the largest first.
    pub(super) fn descending(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().rev().copied().filter(|&held| held != EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Also when all belong to the last slots, and the table gets longer.
    #[test]
    fn it_is_a_sorted_set() {
        for most in [u64::MAX, 1 << 20] {
            let (mut recent, mut exact) = (Recent::default(), BTreeSet::new());
            recent.renew(5000).expect("memory");
            for i in 0..5000 {
                let hash = u64::MAX - crate::sample::key(i % 3000) % most;
                assert_eq!(recent.insert(hash), exact.insert(hash));
                assert!(recent.contains(hash) && !recent.contains(hash ^ (1 << 63)));
            }
            assert_eq!(recent.len(), exact.len());
            assert!(recent.descending().eq(exact.into_iter().rev()));
        }
    }
}
