//! The exact answer.

use std::collections::BTreeMap;

/// Keys and how often each is there.
#[derive(Clone, Debug, Default)]
pub struct Multiset {
    counts: BTreeMap<u64, usize>,
    /// Every occurrence, so that one can be picked at random.
    occurrences: Vec<u64>,
}

impl Multiset {
    /// Adds an occurrence of a key.
    pub fn insert(&mut self, key: u64) {
        *self.counts.entry(key).or_default() += 1;
        self.occurrences.push(key);
    }

    /// Takes out an occurrence picked by a random number, if there is any.
    pub fn remove_any(&mut self, random: usize) -> Option<u64> {
        let at = random.checked_rem(self.occurrences.len())?;
        let key = self.occurrences.swap_remove(at);
        match self.counts.get_mut(&key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.counts.remove(&key)),
        }
        Some(key)
    }

    /// Takes out everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// How often a key is there.
    #[must_use]
    pub fn count(&self, key: u64) -> usize {
        self.counts.get(&key).copied().unwrap_or(0)
    }

    /// All occurrences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.occurrences.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.occurrences.is_empty()
    }

    /// The keys, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, usize)> {
        self.counts.iter().map(|(&key, &count)| (key, count))
    }
}
