//! The laws of filters that follow their set: grown, shrunk, saved, loaded, cloned, merged and
//! made to fit, in any order.

use super::laws::agrees;
use super::{Multiset, Random, Subject, loads_as_it_is};
use crate::{Insert, Persist, Remove};

/// A filter that grows and shrinks by itself, as the laws see it.
pub struct Growing<'a, F> {
    /// What it is, and how large it gets.
    pub subject: Subject<'a, F>,
    /// The false positive rate that it keeps at every size.
    pub rate: f64,
    /// Gives back what memory can be given back.
    pub shrink_to_fit: &'a dyn Fn(&mut F),
    /// Adds the keys of another filter with the same seed, or says no and changes nothing.
    pub merge: &'a dyn Fn(&mut F, &F) -> bool,
}

/// The rate is kept, and both filters are the same to the byte.
fn settled<F: Insert + Persist>(growing: &Growing<'_, F>, filters: &[F; 2]) -> Vec<u8> {
    let name = growing.subject.name;
    let rate = filters[0].expected_false_positive_rate();
    assert!(rate <= growing.rate, "{name}: rate {rate} with {} keys", filters[0].len());
    let [bytes, other] = filters.each_ref().map(F::to_bytes);
    assert!(bytes == other, "{name}: the same operations, and other bytes");
    bytes
}

/// Two filters with the same seed go through the same operations, in tides. Now and then one of
/// them is replaced by what was saved of the other, or by its clone, and nobody can tell.
pub fn any_order_of_operations_keeps_keys_rate_and_bytes<F>(growing: &Growing<'_, F>)
where
    F: Insert + Remove + Persist + Clone,
{
    let Subject { name, keys, .. } = growing.subject;
    let mut random = Random::new(15);
    let mut filters = [15, 15].map(|seed| growing.subject.make(seed));
    let mut oracle = Multiset::default();
    // Three tides. What concerns all keys is done a hundred times a tide.
    let rare = keys / 100 + 1;
    for step in 0..keys * 6 + 500 {
        let rising = (step / (keys + 1)).is_multiple_of(2);
        let event = random.below(7 * rare);
        match event {
            0 => settled(growing, &filters).clear(),
            1 => {
                settled(growing, &filters);
                filters[step % 2] = loads_as_it_is(name, &filters[1 - step % 2]);
            }
            2 => filters[step % 2] = filters[1 - step % 2].clone(),
            3 => agrees(&growing.subject, &filters[step % 2], &oracle),
            4 if step % 4 == 0 => filters.each_mut().into_iter().for_each(growing.shrink_to_fit),
            5 => {
                let mut other = growing.subject.make(15);
                let more: Vec<u64> =
                    (0..random.below(keys / 8 + 2)).map(|_| random.bits()).collect();
                more.iter().for_each(|key| other.insert(key).expect("a small filter"));
                let before = filters[0].to_bytes();
                let done = filters.each_mut().map(|filter| (growing.merge)(filter, &other));
                assert_eq!(done[0], done[1], "{name}: the same merge");
                if done[0] {
                    more.iter().for_each(|&key| oracle.insert(key));
                } else {
                    assert!(filters[0].to_bytes() == before, "{name}: a refused merge");
                }
            }
            _ if random.below(100) < 70 && rising || !rising && random.below(100) < 30 => {
                let key = random.bits() % (4 * keys as u64 + 10);
                let outcomes = filters.each_mut().map(|filter| filter.insert(&key));
                assert_eq!(outcomes[0], outcomes[1], "{name}: the same insert");
                if outcomes[0].is_ok() {
                    oracle.insert(key);
                }
            }
            _ => {
                if let Some(key) = oracle.remove_any(random.below(usize::MAX)) {
                    for filter in &mut filters {
                        assert!(filter.remove(&key), "{name}: {key} was refused, step {step}");
                    }
                }
            }
        }
        assert_eq!(filters[step % 2].len(), oracle.len(), "{name}: step {step}, event {event}");
    }
    settled(growing, &filters);
    filters.iter().for_each(|filter| drop(loads_as_it_is(name, filter)));
    filters.iter().for_each(|filter| agrees(&growing.subject, filter, &oracle));
}

/// Up to all keys and down to none again, the oldest or the newest first: every key is found until
/// it goes, no removal is refused, the rate is kept, and at the end nothing is left, not even
/// memory.
pub fn the_way_back_is_as_safe_as_the_way_up<F>(growing: &Growing<'_, F>)
where
    F: Insert + Remove + Persist,
{
    let Subject { name, keys, .. } = growing.subject;
    let within = |filter: &F| {
        let rate = filter.expected_false_positive_rate();
        assert!(rate <= growing.rate, "{name}: rate {rate} with {} keys", filter.len());
    };
    for newest_first in [false, true] {
        let mut filter = growing.subject.make(16);
        let (empty, empty_size) = (filter.to_bytes(), filter.size_in_bytes());
        for key in growing.subject.keys(keys) {
            filter.insert(&key).unwrap_or_else(|full| panic!("{name}: {full}"));
            within(&filter);
        }
        for removed in 0..keys as u64 {
            let key = if newest_first { keys as u64 - 1 - removed } else { removed };
            assert!(filter.contains(&key), "{name}: false negative for key {key}");
            assert!(filter.remove(&key), "{name}: {key} was refused");
            within(&filter);
        }
        assert!(filter.to_bytes() == empty, "{name}: something stayed behind");
        assert_eq!(filter.size_in_bytes(), empty_size, "{name}: memory stayed behind");
    }
}

/// Merged filters have the keys of both, as often as both together.
pub fn merging_adds_every_key<F>(growing: &Growing<'_, F>)
where
    F: Insert + Remove + Persist + Clone,
{
    let Subject { name, keys, .. } = growing.subject;
    // As many as need little of the rate.
    let (mut small, mut large) = (growing.subject.make(17), growing.subject.make(17));
    let mut oracle = Multiset::default();
    for key in growing.subject.keys(keys) {
        let filter = if key % 8 == 0 { &mut small } else { &mut large };
        filter.insert(&key).unwrap_or_else(|full| panic!("{name}: {full}"));
        oracle.insert(key);
    }
    for (into, from) in [(&small, &large), (&large, &small)] {
        let mut both = into.clone();
        if !(growing.merge)(&mut both, from) {
            assert!(both.to_bytes() == into.to_bytes(), "{name}: a refused merge");
            let sum = into.expected_false_positive_rate() + from.expected_false_positive_rate();
            assert!(sum > growing.rate, "{name}: refused at a rate of {sum}");
            continue;
        }
        agrees(&growing.subject, &both, &oracle);
        assert!(both.expected_false_positive_rate() <= growing.rate, "{name}");
        for key in growing.subject.keys(keys) {
            assert!(both.remove(&key), "{name}: {key} was refused");
        }
        assert_eq!(both.len(), 0, "{name}");
    }
}
