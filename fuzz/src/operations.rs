//! A cuckoo filter: fixed in size, so that keys are refused.

use arbitrary::Arbitrary;
use cuculus::{CuckooFilter, Filter};

use crate::followed::{self, Common, Follow, Followed, Limits, Operation};
use crate::parameters::{Keys, Parameters};

pub type Input = followed::Input<Parameters, Own>;

/// What is done besides: keys that repeat and collide.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Own {
    InsertEach(Keys),
    RemoveEach(Keys),
}

impl Follow for CuckooFilter {
    fn dropped(&self) -> u64 {
        self.refused()
    }
}

pub fn check(input: &Input) {
    let parameters = &input.parameters;
    let Ok(filter) = parameters.filter().build() else { return };
    if let Some(capacity) = parameters.capacity() {
        assert_eq!(filter.capacity(), capacity);
    }
    assert!(!parameters.sized_by_capacity() || filter.slots() >= filter.capacity());
    let mut set = Followed::new(filter, Limits::default());
    for operation in &input.operations {
        match *operation {
            Operation::Common(common) => set.perform(common),
            Operation::Own(Own::InsertEach(keys)) => {
                keys.iter().for_each(|key| _ = set.insert(key.into()));
            }
            Operation::Own(Own::RemoveEach(keys)) => {
                keys.iter().for_each(|key| set.remove(key.into()));
            }
        }
    }
    set.perform(Common::CheckAll);
    let filter = &set.filter;
    assert!((0.0..=1.0).contains(&filter.expected_false_positive_rate()));
    if let Some(rate) = parameters.rate() {
        let planned = filter.len() <= filter.capacity();
        let within = filter.expected_false_positive_rate() <= rate * (1.0 + 1e-9);
        assert!(within || !planned || !parameters.sized_by_capacity());
    }
}
