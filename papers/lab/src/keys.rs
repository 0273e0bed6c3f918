//! Which keys, in which order: the one workload of all experiments. Knows nothing of filters.

use std::ops::Range;

/// Keys at and after this number are never inserted.
const ABSENT: u64 = 1 << 40;

/// SplitMix64 (Steele, Lea and Flood 2014): evenly spread, and one to one, so keys do not repeat
/// and absent ones are absent without a look into a set.
fn mix(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The key with this number; different numbers are different keys.
pub(crate) fn nth_key(seed: u64, number: u64) -> u64 {
    mix(mix(seed).wrapping_add(number))
}

/// A key that is in no workload of this seed.
pub(crate) fn absent_key(seed: u64, number: u64) -> u64 {
    nth_key(seed, ABSENT + number)
}

pub(crate) fn keys(seed: u64, numbers: Range<u64>) -> Vec<u64> {
    numbers.map(|number| nth_key(seed, number)).collect()
}

pub(crate) fn absent_keys(seed: u64, numbers: Range<u64>) -> Vec<u64> {
    keys(seed, ABSENT + numbers.start..ABSENT + numbers.end)
}

pub(crate) fn rate_of_absent(seed: u64, count: u64, found: impl Fn(&u64) -> bool) -> f64 {
    let keys = (0..count).map(|number| absent_key(seed, number));
    keys.filter(found).count() as f64 / count as f64
}

/// Keys to insert, to look up and to remove, all made before any time is taken.
pub(crate) struct Workload {
    pub(crate) keys: Vec<u64>,
    /// All of them, in random order.
    pub(crate) shuffled: Vec<u64>,
    /// Keys to look up that were inserted, in another order.
    pub(crate) present: Vec<u64>,
    pub(crate) absent: Vec<u64>,
    /// Half of each, in random order.
    pub(crate) mixed: Vec<u64>,
    /// How many of the mixed keys were inserted.
    pub(crate) mixed_present: usize,
}

impl Workload {
    /// A workload of this many keys and lookups of each kind.
    pub(crate) fn new(seed: u64, items: usize, queries: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let keys = keys(seed, 0..items as u64);
        let mut shuffled = keys.clone();
        random.shuffle(&mut shuffled);
        let present: Vec<u64> = shuffled.iter().cycle().take(queries).copied().collect();
        let absent = absent_keys(seed, 0..queries as u64);
        let coins: Vec<bool> = (0..present.len()).map(|_| random.bool()).collect();
        let mixed = coins.iter().zip(present.iter().zip(&absent));
        let mixed = mixed.map(|(&coin, (p, a))| if coin { *p } else { *a }).collect();
        let mixed_present = coins.iter().filter(|&&coin| coin).count();
        Self { keys, shuffled, present, absent, mixed, mixed_present }
    }

    /// A random quarter of the keys, in random order, to remove.
    pub(crate) fn removed(&self) -> &[u64] {
        &self.shuffled[..self.shuffled.len() / 4]
    }

    pub(crate) fn kept(&self) -> &[u64] {
        &self.shuffled[self.shuffled.len() / 4..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn lookups_have_the_answers_they_claim() {
        let work = Workload::new(7, 1000, 3000);
        let keys: HashSet<u64> = work.keys.iter().copied().collect();
        let known = |lookups: &[u64]| lookups.iter().filter(|key| keys.contains(key)).count();
        assert_eq!(keys.len(), 1000);
        assert_eq!((work.present.len(), known(&work.present)), (3000, 3000));
        assert_eq!((work.absent.len(), known(&work.absent)), (3000, 0));
        assert_eq!((work.mixed.len(), known(&work.mixed)), (3000, work.mixed_present));
        assert!(work.mixed_present.abs_diff(1500) < 150);
        let parts: HashSet<u64> = work.removed().iter().chain(work.kept()).copied().collect();
        assert_eq!((parts, work.removed().len()), (keys, 250));
        assert_ne!(work.present[..1000], work.keys[..]);
        assert_ne!(nth_key(1, 5), nth_key(2, 5));
    }
}
