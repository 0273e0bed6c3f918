//! Which keys, in which order: the one workload of all experiments. Knows nothing of filters.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use cuculus::Key;

use crate::subject::Probe;

/// Keys at and after this number are never inserted.
const ABSENT: u64 = 1 << 40;

/// A kind of key that the experiments work with.
pub(crate) trait WorkKey: Probe + fmt::Debug + Eq + Hash + Key {
    /// The kind, in words.
    const NAME: &'static str;

    /// The key with this number; different numbers are different keys.
    fn nth(seed: u64, number: u64) -> Self;

    /// A key that is in no workload of this seed.
    fn absent(seed: u64, number: u64) -> Self {
        Self::nth(seed, ABSENT + number)
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): evenly spread, and one to one, so keys do not repeat
/// and absent ones are absent without a look into a set.
fn mix(number: u64) -> u64 {
    let x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl WorkKey for u64 {
    const NAME: &'static str = "u64";

    fn nth(seed: u64, number: u64) -> Self {
        mix(mix(seed).wrapping_add(number))
    }
}

/// A text of 24 bytes, kept in place: with a pointer to each text, waiting for the key would
/// hide waiting for the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text24([u8; 24]);

impl WorkKey for Text24 {
    const NAME: &'static str = "24-byte text";

    fn nth(seed: u64, number: u64) -> Self {
        // Sixteen digits hold the number of the key, so different numbers stay different.
        let key = u64::nth(seed, number);
        let bytes = key.to_le_bytes().into_iter().chain(mix(key).to_le_bytes());
        let digits = bytes.flat_map(|byte| [byte >> 4, byte & 15]);
        let mut text = [0; 24];
        for (place, digit) in text.iter_mut().zip(digits) {
            *place = b"0123456789abcdef"[usize::from(digit)];
        }
        Self(text)
    }
}

/// The bytes at once and nothing more: the cheapest way for every hash function.
impl Hash for Text24 {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl Key for Text24 {
    type Bytes<'a> = &'a [u8; 24];

    #[inline]
    fn bytes(&self) -> &[u8; 24] {
        &self.0
    }
}

/// The keys with these numbers.
pub(crate) fn keys(seed: u64, numbers: Range<u64>) -> Vec<u64> {
    numbers.map(|number| u64::nth(seed, number)).collect()
}

/// Keys that are in no workload of this seed.
pub(crate) fn absent_keys(seed: u64, numbers: Range<u64>) -> Vec<u64> {
    numbers.map(|number| u64::absent(seed, number)).collect()
}

/// The share of absent keys that is found.
pub(crate) fn rate_of_absent(seed: u64, count: u64, found: impl Fn(&u64) -> bool) -> f64 {
    let keys = (0..count).map(|number| u64::absent(seed, number));
    keys.filter(found).count() as f64 / count as f64
}

/// Keys to insert, to look up and to remove, all made before any time is taken.
pub(crate) struct Workload<K> {
    /// The keys to insert, in this order.
    pub(crate) keys: Vec<K>,
    shuffled: Vec<K>,
    /// Keys to look up that were inserted, in another order.
    pub(crate) present: Vec<K>,
    /// Keys to look up that were not.
    pub(crate) absent: Vec<K>,
    /// Half of each, in random order.
    pub(crate) mixed: Vec<K>,
    /// How many of the mixed keys were inserted.
    pub(crate) mixed_present: usize,
    /// Evenly spread numbers for measurements without a filter.
    pub(crate) numbers: Vec<u64>,
}

impl<K: WorkKey> Workload<K> {
    /// Makes a workload of this many keys and lookups of each kind.
    pub(crate) fn new(seed: u64, items: usize, queries: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let keys: Vec<K> = (0..items as u64).map(|i| K::nth(seed, i)).collect();
        let mut shuffled = keys.clone();
        random.shuffle(&mut shuffled);
        let present: Vec<K> = shuffled.iter().cycle().take(queries).copied().collect();
        let absent: Vec<K> = (0..queries as u64).map(|i| K::absent(seed, i)).collect();
        let coins: Vec<bool> = (0..present.len()).map(|_| random.bool()).collect();
        let mixed = coins.iter().zip(present.iter().zip(&absent));
        let mixed = mixed.map(|(&coin, (p, a))| if coin { *p } else { *a }).collect();
        let mixed_present = coins.iter().filter(|&&coin| coin).count();
        let numbers = (0..queries as u64).map(|i| u64::absent(seed, i)).collect();
        Self { keys, shuffled, present, absent, mixed, mixed_present, numbers }
    }

    /// A random quarter of the keys, in random order, to remove.
    pub(crate) fn removed(&self) -> &[K] {
        &self.shuffled[..self.shuffled.len() / 4]
    }

    /// All keys, in random order.
    pub(crate) fn shuffled(&self) -> &[K] {
        &self.shuffled
    }

    /// The other three quarters.
    pub(crate) fn kept(&self) -> &[K] {
        &self.shuffled[self.shuffled.len() / 4..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn lookups_have_the_answers_they_claim<K: WorkKey>() {
        let work = Workload::<K>::new(7, 1000, 3000);
        let keys: HashSet<K> = work.keys.iter().copied().collect();
        let known = |lookups: &[K]| lookups.iter().filter(|key| keys.contains(key)).count();
        assert_eq!(keys.len(), 1000);
        assert_eq!((work.present.len(), known(&work.present)), (3000, 3000));
        assert_eq!((work.absent.len(), known(&work.absent)), (3000, 0));
        assert_eq!((work.mixed.len(), known(&work.mixed)), (3000, work.mixed_present));
        assert!(work.mixed_present.abs_diff(1500) < 150);
        let parts: HashSet<K> = work.removed().iter().chain(work.kept()).copied().collect();
        assert_eq!((parts, work.removed().len()), (keys, 250));
        assert_ne!(work.present[..1000], work.keys[..]);
    }

    #[test]
    fn numbers_and_texts_are_what_they_claim() {
        lookups_have_the_answers_they_claim::<u64>();
        lookups_have_the_answers_they_claim::<Text24>();
        assert!(Text24::nth(1, 2).0.iter().all(u8::is_ascii_hexdigit));
        assert_ne!(u64::nth(1, 5), u64::nth(2, 5));
    }
}
