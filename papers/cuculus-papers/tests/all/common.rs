//! What the tests of several filters do alike.

use std::fmt::Debug;

use cuculus::lab::Search;
use cuculus::{Filter, Insert, Persist, Remove};
use cuculus_papers::analysis;

pub(crate) const SEARCHES: [Search; 3] =
    [Search::BreadthFirst, Search::RandomWalk, Search::PaperWalk];

pub(crate) fn insert_all(filter: &mut impl Insert, keys: impl Iterator<Item = u64>) {
    for key in keys {
        filter.insert(&key).unwrap_or_else(|full| panic!("{key} was refused: {full}"));
    }
}

pub(crate) fn remove_all(filter: &mut impl Remove, keys: impl Iterator<Item = u64>) {
    for key in keys {
        assert!(filter.remove(&key), "{key} is lost");
    }
}

pub(crate) fn has_all(filter: &impl Filter, mut keys: impl Iterator<Item = u64>) {
    assert_eq!(keys.find(|key| !filter.contains(key)), None, "a false negative");
}

/// Does something to two filters that are alike. What is refused by the first has left it like the
/// second, and both say the same.
pub(crate) fn both<F: Persist, T: PartialEq + Debug>(
    filters: &mut [F; 2],
    refused: impl Fn(&T) -> bool,
    operation: impl Fn(&mut F) -> T,
) -> T {
    let outcome = operation(&mut filters[0]);
    if refused(&outcome) {
        assert!(filters[0].to_bytes() == filters[1].to_bytes(), "changed by a refusal");
    }
    assert_eq!(operation(&mut filters[1]), outcome);
    outcome
}

/// Measures the rate of a filter on a ring: within five standard deviations it is that of all entries,
/// whatever the shape.
pub(crate) fn rate_of_all_keys(filter: &impl Filter, bits: u32) -> f64 {
    const ABSENT_KEYS: u64 = 400_000;
    let found = (0..ABSENT_KEYS).filter(|key| filter.contains(&(key + (1 << 40)))).count();
    let rate = found as f64 / ABSENT_KEYS as f64;
    let expected = filter.expected_false_positive_rate();
    assert_eq!(expected, analysis::false_positive_rate(bits, filter.len() as f64));
    let of_the_sample = (expected * (1.0 - expected) / ABSENT_KEYS as f64).sqrt();
    // The number of different fingerprints among the keys.
    let of_the_filter = expected * (expected / (2.0 * filter.len() as f64)).sqrt();
    let sigma = of_the_sample.hypot(of_the_filter);
    assert!((rate - expected).abs() < 5.0 * sigma, "{rate} {expected} {sigma}");
    rate
}

/// Builders that refuse, each with its error, which is said in one line of words.
macro_rules! refused {
    ($($builder:expr => $error:pat),* $(,)?) => {$(
        let error = $builder.build().expect_err(stringify!($builder));
        assert!(matches!(error, $error), "{}: {error}", stringify!($builder));
        let line = error.to_string();
        assert!(!line.contains('\n') && line.len() > 30, "{line}");
    )*};
}
pub(crate) use refused;
