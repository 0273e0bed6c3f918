//! The way of all filters: from nothing to the most keys, and back. Every walk of the same seed
//! does the same operations.

use cuculus::{ElasticFilter, Filter, Insert, Remove};

use super::Leg;
use crate::pauses::{Pauses, Waits};
use crate::prelude::*;

pub(super) const LAST_KEYS: usize = 1000;

/// Keys in the order of their insertion and of their removal.
pub(super) struct Walk {
    pub(super) seed: u64,
    rate: f64,
    expected_items: Option<usize>,
    /// The keys by number, in random order: the first ones are removed.
    order: Vec<u32>,
}

impl Walk {
    pub(super) fn new(leg: &Leg) -> anyhow::Result<Self> {
        let Leg { keys, rate, declared, seed, .. } = *leg;
        let mut order: Vec<u32> = (0..u32::try_from(keys)?).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        Ok(Self { seed, rate, expected_items: declared.then_some(keys), order })
    }

    pub(super) fn empty(&self) -> anyhow::Result<ElasticFilter> {
        let mut builder = ElasticFilter::builder().false_positive_rate(self.rate).seed(self.seed);
        if let Some(items) = self.expected_items {
            builder = builder.expected_items(items);
        }
        Ok(builder.build()?)
    }

    pub(super) fn insertions(&self) -> impl ExactSizeIterator<Item = u64> {
        (0..self.order.len()).map(|number| nth_key(self.seed, number as u64))
    }

    pub(super) fn removals(&self) -> impl ExactSizeIterator<Item = u64> {
        let removed = self.order.len().saturating_sub(LAST_KEYS);
        self.order[..removed].iter().map(|&number| nth_key(self.seed, u64::from(number)))
    }

    /// How long single insertions and removals take. Operations are the same in every walk of a
    /// seed. So the whole way is walked twice, and the shorter time of each operation is its own,
    /// the rest the machine's.
    pub(super) fn waits(&self, name: &str) -> anyhow::Result<[Waits; 2]> {
        eprintln!("{name}: waits, first walk");
        let first = self.timed()?;
        eprintln!("{name}: waits, second walk");
        let second = self.timed()?;
        Ok([0, 1].map(|at| Waits::of(&first[at], &second[at])))
    }

    fn timed(&self) -> anyhow::Result<[Pauses; 2]> {
        let mut filter = self.empty()?;
        let mut inserts = Pauses::with_capacity(self.insertions().len());
        for key in self.insertions() {
            inserts.time(|| step(&mut filter, true, key));
        }
        let mut removes = Pauses::with_capacity(self.removals().len());
        for key in self.removals() {
            removes.time(|| step(&mut filter, false, key));
        }
        Ok([inserts, removes])
    }

    /// A sample of the keys of a filter that holds `keys`, on the way up or down; all of them if
    /// `most` is as many.
    pub(super) fn sample(&self, up: bool, keys: usize, most: usize) -> impl Iterator<Item = u64> {
        let first = if up { 0 } else { self.order.len() - keys };
        let number = move |at: usize| match up {
            true => at as u64,
            false => u64::from(self.order[first + at]),
        };
        (0..keys)
            .step_by(keys.div_ceil(most.max(1)).max(1))
            .map(move |at| nth_key(self.seed, number(at)))
    }
}

/// Does one operation and returns whether the filter did what it must.
#[inline(always)]
pub(super) fn step(filter: &mut ElasticFilter, insert: bool, key: u64) -> bool {
    if insert { filter.insert(&key).is_ok() } else { filter.remove(&key) }
}

pub(super) fn missing(filter: &ElasticFilter, keys: impl Iterator<Item = u64>) -> usize {
    keys.filter(|key| !filter.contains(key)).count()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn samples_are_the_keys_that_are_in() {
        let leg = Leg { keys: 3000, rate: 0.01, declared: false, probes: 1, seed: 1 };
        let walk = Walk::new(&leg).unwrap();
        let inserted: Vec<u64> = walk.insertions().collect();
        let removed: HashSet<u64> = walk.removals().collect();
        assert_eq!((inserted.len(), removed.len()), (3000, 2000));
        assert_eq!(walk.sample(true, 2500, 3000).collect::<Vec<_>>(), inserted[..2500]);
        let left: HashSet<u64> = walk.sample(false, 1000, 1000).collect();
        assert_eq!(left.len(), 1000);
        assert!(left.is_disjoint(&removed));
        assert_eq!(walk.sample(false, 3000, 100).count(), 100);
    }
}
