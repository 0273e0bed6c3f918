//! The set that every filter follows: which keys come, in which order they go, and where it is
//! looked at. Knows numbers, nothing of filters.

use cuculus_lab::keys::WorkKey;

/// The keys that are left at the end.
pub(super) const LAST: u64 = 1000;

/// The set is looked at after each such share of its largest size.
const STOPS: u64 = 40;
/// And all keys are asked for at this share of the stops.
const ALL_KEYS_EVERY: u64 = 8;

/// The same keys every time: what differs between two runs is the time.
const SEED: u64 = 1;

/// A set of so many keys at most: from nothing up, and down to [`LAST`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    most: u64,
    step: u64,
}

/// Where the set is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) growing: bool,
    /// The size of the set.
    pub(super) keys: u64,
    /// Whether every key held is asked for, and what can be given back is.
    pub(super) all: bool,
}

/// The `number`-th key that is inserted.
pub(super) fn inserted(number: u64) -> u64 {
    u64::nth(SEED, number)
}

/// The `number`-th key that never is.
pub(super) fn absent(number: u64) -> u64 {
    u64::absent(SEED, number)
}

impl Course {
    pub(super) fn new(most: u64) -> Self {
        // Steps of the golden ratio, which pass every number once if they share no divisor with the
        // size: keys go spread over the age of the set, as in a cache, and no list of them is needed.
        let golden = (most as f64 * 0.618_033_988_749_895) as u64;
        let step = (golden.max(1)..).find(|&step| no_common_divisor(step, most));
        Self { most, step: step.unwrap_or(1) }
    }

    pub(super) fn most(self) -> u64 {
        self.most
    }

    /// The number of the key that goes as the `at`-th.
    pub(super) fn removed(self, at: u64) -> u64 {
        // Sets have less than 2^32 keys, so the product fits.
        at * self.step % self.most
    }

    /// The numbers of all keys of the set at a stop.
    pub(super) fn held(self, stop: Stop) -> impl Iterator<Item = u64> {
        let (growing, gone) = (stop.growing, self.most - stop.keys);
        (0..stop.keys).map(move |at| if growing { at } else { self.removed(gone + at) })
    }

    /// The operations done at a stop.
    pub(super) fn operations(self, stop: Stop) -> u64 {
        if stop.growing { stop.keys } else { 2 * self.most - stop.keys }
    }

    /// Where the set is looked at: a few small sizes, then equal steps up to the most; and back.
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
    fn every_key_goes_once_and_the_held_are_the_others() {
        for most in [10_000, 65_536, 99_991] {
            let course = Course::new(most);
            let order: Vec<u64> = (0..most).map(|at| course.removed(at)).collect();
            assert_eq!(order.iter().collect::<HashSet<_>>().len() as u64, most);
            let stop = Stop { growing: false, keys: 1500, all: true };
            let held: Vec<u64> = course.held(stop).collect();
            assert_eq!(held, order[order.len() - 1500..]);
            assert_eq!(course.operations(stop), 2 * most - 1500);
            // The first thousand that go are neither all old nor all new.
            let old = order[..1000].iter().filter(|&&number| number < most / 2).count();
            assert!((450..550).contains(&old), "{old}");
        }
    }

    #[test]
    fn the_set_goes_up_to_the_most_and_down_to_the_last() {
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
