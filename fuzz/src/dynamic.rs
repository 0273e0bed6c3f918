//! A dynamic cuckoo filter: a list of filters that grows and is shortened.

use arbitrary::Arbitrary;
use cuculus::Filter;
use cuculus_papers::DynamicCuckooFilter;

use crate::followed::{self, Follow, Followed, Limits};
use crate::parameters::DynamicParameters;

pub type Input = followed::Input<DynamicParameters, Own>;

/// What is done to dynamic filters only.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Own {
    Copies { key: u16, count: u8 },
    Compact,
    ShrinkToFit,
}

/// A list of tiny filters is slow, and has shown what it does long before this.
const MOST_FILTERS: usize = 600;

pub fn check(input: &Input) {
    let parameters = &input.parameters;
    let Ok(filter) = parameters.filter().build() else { return };
    let limits = Limits {
        skips_duplicates: parameters.filter_duplicates,
        // The list is never full.
        copies_refused_from: Some(parameters.most_copies()),
        ..Limits::default()
    };
    input.follow(filter, limits);
}

type Set = Followed<DynamicCuckooFilter>;

impl Follow for DynamicCuckooFilter {
    type Parameters = DynamicParameters;
    type Own = Own;
    const DROPPED: fn(&Self) -> u64 = Self::refused;

    fn perform(set: &mut Set, own: &Own, parameters: &DynamicParameters) {
        match *own {
            Own::Copies { key, count } => copies(set, key, count, parameters.most_copies()),
            Own::Compact => shorten(set, Self::compact),
            Own::ShrinkToFit => shorten(set, Self::shrink_to_fit),
        }
    }

    fn goes_on(set: &Set) -> bool {
        set.filter.filters() <= MOST_FILTERS
    }

    fn check(set: &Set) {
        let stats = set.filter.stats();
        assert_eq!(stats.counts.iter().sum::<usize>(), set.len);
        assert_eq!(stats.appended + 1 - stats.freed, stats.filters as u64);
        assert!(stats.current < stats.filters && !stats.to_string().is_empty());
        assert!((0.0..=1.0).contains(&stats.expected_false_positive_rate));
    }
}

/// From 2b copies on, a copy never makes the list grow.
fn copies(set: &mut Set, key: u16, count: u8, most_copies: usize) {
    for _ in 0..count {
        let (held, filters) = (set.filter.count(&key), set.filter.filters());
        let refused = set.insert(key).is_err();
        let grown = set.filter.filters() > filters;
        assert!(!grown || held < most_copies, "a filter for a copy");
        if refused {
            break;
        }
    }
}

fn shorten(set: &mut Set, operation: impl Fn(&mut DynamicCuckooFilter) -> usize) {
    let filters = set.filter.filters();
    let freed = operation(&mut set.filter);
    assert_eq!(operation(&mut set.twin), freed);
    assert_eq!(set.filter.filters(), filters - freed);
    assert_eq!(operation(&mut set.filter), 0, "a second call freed more");
    set.is_like_twin("a second call moved entries");
}
