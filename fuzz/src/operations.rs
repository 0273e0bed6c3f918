//! A cuckoo filter: fixed in size, so that keys are refused.

use arbitrary::Arbitrary;
use cuculus::{CuckooFilter, Filter};

use crate::followed::{self, Follow, Followed, Limits};
use crate::parameters::{Keys, Parameters};

pub type Input = followed::Input<Parameters, Own>;

/// What is done besides: keys that repeat and collide.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Own {
    InsertEach(Keys),
    RemoveEach(Keys),
}

impl Follow for CuckooFilter {
    type Parameters = Parameters;
    type Own = Own;
    const DROPPED: fn(&Self) -> u64 = Self::refused;

    fn perform(set: &mut Followed<Self>, own: &Own, _: &Parameters) {
        match own {
            Own::InsertEach(keys) => keys.iter().for_each(|key| _ = set.insert(key.into())),
            Own::RemoveEach(keys) => keys.iter().for_each(|key| set.remove(key.into())),
        }
    }
}

pub fn check(input: &Input) {
    let parameters = &input.parameters;
    let Ok(filter) = parameters.filter().build() else { return };
    if let Some(capacity) = parameters.capacity() {
        assert_eq!(filter.capacity(), capacity);
    }
    assert!(!parameters.sized_by_capacity() || filter.slots() >= filter.capacity());
    let filter = input.follow(filter, Limits::default()).filter;
    assert!((0.0..=1.0).contains(&filter.expected_false_positive_rate()));
    if let Some(rate) = parameters.rate() {
        let planned = filter.len() <= filter.capacity();
        let within = filter.expected_false_positive_rate() <= rate * (1.0 + 1e-9);
        assert!(within || !planned || !parameters.sized_by_capacity());
    }
}
