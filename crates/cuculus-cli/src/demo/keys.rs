//! The set that every filter follows: the order in which keys are inserted and removed, and the
//! stops at which filters are measured. Knows the numbers of keys, nothing of filters.

/// The number of keys at the end.
pub(super) const LAST: u64 = 1000;

/// Stops on the way up: one per this fraction of the largest size.
const STOPS: u64 = 40;
/// At every stop of this number, all keys in the set are looked up.
const ALL_KEYS_EVERY: u64 = 8;

/// A set that grows from nothing to `most` keys and shrinks to [`LAST`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    most: u64,
    step: u64,
}

/// A point at which the filters are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) growing: bool,
    /// The size of the set.
    pub(super) keys: u64,
    /// Whether every key in the set is looked up, and unused memory is given back.
    pub(super) all: bool,
}

impl Course {
    pub(super) fn new(most: u64) -> Self {
        // Steps of the golden ratio, which visit every number once if step and size have no common
        // divisor: removed keys are spread over all ages, as in a cache, without a list of keys.
        let golden = (most as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden.max(1)..).find(|&step| no_common_divisor(step, most));
        Self { most, step: step.unwrap_or(1) }
    }

    pub(super) fn most(self) -> u64 {
        self.most
    }

    /// The number of the `at`-th key that is removed.
    pub(super) fn removed(self, at: u64) -> u64 {
        // Sets have less than 2^32 keys, so the product fits.
        at * self.step % self.most
    }

    /// The numbers of all keys in the set at a stop.
    pub(super) fn held(self, stop: Stop) -> impl Iterator<Item = u64> {
        let (growing, gone) = (stop.growing, self.most - stop.keys);
        (0..stop.keys).map(move |at| if growing { at } else { self.removed(gone + at) })
    }

    /// The number of operations from the start to a stop.
    pub(super) fn operations(self, stop: Stop) -> u64 {
        if stop.growing { stop.keys } else { 2 * self.most - stop.keys }
    }

    /// The stops: a few small sizes, then equal steps up to the largest size, and back.
    pub(super) fn stops(self) -> Vec<Stop> {
        let even = self.most / STOPS;
        let small = [1, 2, 5, 10, 20, 50].map(|thousands| thousands * LAST);
        let small = small.into_iter().filter(|&keys| keys < even);
        let large = (1..STOPS).map(|at| (at * even, at % ALL_KEYS_EVERY == 0));
        let mut up: Vec<(u64, bool)> = small.map(|keys| (keys, true)).chain(large).collect();
        up.push((self.most, true));
        let down = up.iter().rev().skip(1).copied().filter(|&(keys, _)| keys > LAST);
        let down: Vec<_> = down.chain([(LAST, true)]).collect();
        let way = |growing, sizes: Vec<(u64, bool)>| {
            sizes.into_iter().map(move |(keys, all)| Stop { growing, keys, all })
        };
        way(true, up).chain(way(false, down)).collect()
    }
}

fn no_common_divisor(mut a: u64, mut b: u64) -> bool {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_key_is_removed_once_and_the_held_keys_are_the_others() {
        for most in [10_000, 65_536, 99_991] {
            let course = Course::new(most);
            let order: Vec<u64> = (0..most).map(|at| course.removed(at)).collect();
            assert_eq!(order.iter().collect::<HashSet<_>>().len() as u64, most);
            let stop = Stop { growing: false, keys: 1500, all: true };
            let held: Vec<u64> = course.held(stop).collect();
            assert_eq!(held, order[order.len() - 1500..]);
            assert_eq!(course.operations(stop), 2 * most - 1500);
            // The first thousand removed keys are neither all old nor all new.
            let old = order[..1000].iter().filter(|&&number| number < most / 2).count();
            assert!((450..550).contains(&old), "{old}");
        }
    }

    #[test]
    fn the_set_grows_to_its_largest_size_and_shrinks_to_the_last() {
        for most in [10_000, 4_000_000] {
            let stops = Course::new(most).stops();
            let top = stops.iter().position(|stop| stop.keys == most).expect("the top");
            assert!(stops[..=top].iter().all(|stop| stop.growing));
            assert!(stops[..=top].is_sorted_by(|a, b| a.keys < b.keys));
            assert!(stops[top..].is_sorted_by(|a, b| a.keys > b.keys));
            assert_eq!(stops.last(), Some(&Stop { growing: false, keys: LAST, all: true }));
            assert!(stops.iter().filter(|stop| stop.all).count() >= 10);
        }
    }
}
