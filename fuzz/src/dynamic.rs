//! A dynamic cuckoo filter: a list of filters that grows and is shortened.

use arbitrary::Arbitrary;
use cuculus::Filter;
use cuculus_papers::DynamicCuckooFilter;

use crate::followed::{self, Common, Follow, Followed, Limits, Operation};
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

impl Follow for DynamicCuckooFilter {
    fn dropped(&self) -> u64 {
        self.refused()
    }
}

pub fn check(input: &Input) {
    let parameters = &input.parameters;
    let Ok(filter) = parameters.filter().build() else { return };
    let limits = Limits {
        long_rows: false,
        skips_duplicates: parameters.filter_duplicates,
        // The list is never full.
        copies_refused_from: Some(parameters.most_copies()),
        holds_spare_memory: false,
        counts_copies: false,
    };
    let mut dynamic = Dynamic { set: Followed::new(filter, limits), parameters };
    for operation in &input.operations {
        dynamic.perform(operation);
        if dynamic.set.filter.filters() > MOST_FILTERS {
            break;
        }
    }
    dynamic.check_all();
}

struct Dynamic<'a> {
    set: Followed<DynamicCuckooFilter>,
    parameters: &'a DynamicParameters,
}

impl Dynamic<'_> {
    fn perform(&mut self, operation: &Operation<Own>) {
        match *operation {
            Operation::Common(Common::CheckAll) => self.check_all(),
            Operation::Common(common) => self.set.perform(common),
            Operation::Own(Own::Copies { key, count }) => self.copies(key, count),
            Operation::Own(Own::Compact) => self.shorten(DynamicCuckooFilter::compact),
            Operation::Own(Own::ShrinkToFit) => self.shorten(DynamicCuckooFilter::shrink_to_fit),
        }
    }

    /// From 2b copies on, a copy never makes the list grow.
    fn copies(&mut self, key: u16, count: u8) {
        for _ in 0..count {
            let (held, filters) = (self.set.filter.count(&key), self.set.filter.filters());
            let refused = self.set.insert(key).is_err();
            let grown = self.set.filter.filters() > filters;
            assert!(!grown || held < self.parameters.most_copies(), "a filter for a copy");
            if refused {
                break;
            }
        }
    }

    fn shorten(&mut self, operation: impl Fn(&mut DynamicCuckooFilter) -> usize) {
        let filters = self.set.filter.filters();
        let freed = operation(&mut self.set.filter);
        assert_eq!(operation(&mut self.set.twin), freed);
        assert_eq!(self.set.filter.filters(), filters - freed);
        assert_eq!(operation(&mut self.set.filter), 0, "a second call freed more");
        self.set.is_like_twin("a second call moved entries");
    }

    fn check_all(&self) {
        self.set.check_all();
        let stats = self.set.filter.stats();
        assert_eq!(stats.counts.iter().sum::<usize>(), self.set.len);
        assert_eq!(stats.appended + 1 - stats.freed, stats.filters as u64);
        assert!(stats.current < stats.filters && !stats.to_string().is_empty());
        assert!((0.0..=1.0).contains(&stats.expected_false_positive_rate));
    }
}
