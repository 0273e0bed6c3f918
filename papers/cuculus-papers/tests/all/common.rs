//! What the tests of several filters do alike.

use std::fmt::Debug;

use cuculus::conformance::{Multiset, Random};
use cuculus::lab::Search;
use cuculus::{Filter, Full, Insert, Persist, Remove};
use cuculus_papers::Resizing;

pub(crate) const SEARCHES: [Search; 3] =
    [Search::BreadthFirst, Search::RandomWalk, Search::PaperWalk];

pub(crate) const RESIZING: [Resizing; 5] = [
    Resizing::Adaptive,
    Resizing::Buckets,
    Resizing::Filters,
    Resizing::FiltersActiveOnly,
    Resizing::Manual,
];

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

/// How many operations there are, and which: of `all` equally likely numbers, three load, clone and
/// (one in ten) clear, the next `own` are the kind's own, and those up to `insert` insert while the
/// set rises. It rises and falls in turn.
#[derive(Clone, Copy)]
pub(crate) struct Odds {
    pub(crate) steps: usize,
    pub(crate) period: usize,
    pub(crate) all: usize,
    pub(crate) own: usize,
    pub(crate) insert: usize,
    pub(crate) keys: u64,
}

/// Everything that can be done, in any order, beside the exact multiset; one filter is now and then
/// replaced by the loaded bytes of the other. Loading checks that every entry can be found.
pub(crate) fn any_order<F: Insert + Remove + Persist + Clone>(
    name: &dyn Debug,
    make: impl Fn() -> F,
    odds: Odds,
    random: &mut Random,
    mut own: impl FnMut(&mut [F; 2], &mut Random, usize),
    mut refused: impl FnMut(&F, u64, Full),
) {
    let mut filters = [make(), make()];
    let mut oracle = Multiset::default();
    for step in 0..odds.steps {
        let rising = (step / odds.period).is_multiple_of(2);
        match random.below(odds.all) {
            0 => {
                let loaded = F::from_bytes(&filters[1].to_bytes());
                filters[step % 2] = loaded.unwrap_or_else(|error| panic!("{name:?}: {error}"));
            }
            1 => filters[0] = filters[1].clone(),
            2 if random.below(10) == 0 => {
                filters.each_mut().into_iter().for_each(Insert::clear);
                oracle.clear();
                assert!(filters[0].to_bytes() == make().to_bytes());
            }
            n if (3..3 + odds.own).contains(&n) => own(&mut filters, random, n - 3),
            n if (n < odds.insert) == rising => {
                let key = random.bits() % odds.keys;
                match both(&mut filters, Result::is_err, |filter| filter.insert(&key)) {
                    Ok(()) => oracle.insert(key),
                    Err(full) => {
                        assert!(full.inserted == 0 && full.len == oracle.len());
                        refused(&filters[0], key, full);
                    }
                }
            }
            _ => {
                if let Some(key) = oracle.remove_any(random.below(usize::MAX)) {
                    assert!(both(&mut filters, |done| !done, |filter| filter.remove(&key)));
                }
            }
        }
        assert_eq!(filters[step % 2].len(), oracle.len(), "{name:?}");
        if step % 25 == 0 {
            assert!(filters[0].to_bytes() == filters[1].to_bytes(), "{name:?}");
            for (key, count) in oracle.iter() {
                assert!(filters[0].count(&key) >= count, "{key} is lost, {name:?}");
            }
        }
    }
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

/// What builders of filters on rings refuse alike.
macro_rules! rings_refuse {
    ($some:ident) => {{
        use BuildError::{OutOfRange, SlotsPerBucket};
        const MOST: u32 = u32::MAX;
        for (bits, candidates, nodes, slots) in
            [(0, 0, 0, 0), (3, 17, 65, 9), (33, 65, 65, 65), (65, 65, 65, 65), (MOST, MOST, MOST, MOST)]
        {
            refused!(
                $some().fingerprint_bits(bits) => OutOfRange { parameter: "fingerprint_bits", .. },
                $some().candidates(candidates) => OutOfRange { parameter: "candidates", .. },
                $some().virtual_nodes(nodes) => OutOfRange { parameter: "virtual_nodes", .. },
                $some().slots_per_bucket(slots) => SlotsPerBucket { .. },
            );
        }
        refused!($some().max_kicks(2001) => OutOfRange { parameter: "max_kicks", .. });
    }};
}
pub(crate) use rings_refuse;
