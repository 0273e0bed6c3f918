//! What the tests of several filters do alike.

use std::fmt::Debug;

use cuculus::lab::Search;
use cuculus::{Filter, Insert, Persist, Remove};

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
