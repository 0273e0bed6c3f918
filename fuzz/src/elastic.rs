//! An elastic filter that grows and shrinks by thousands of keys.

use arbitrary::Arbitrary;
use cuculus::{ElasticFilter, Filter, Insert, MergeError, Persist, Remove};

use crate::followed::{self, Follow, Followed, Limits, Row};
use crate::judge;
use crate::parameters::ElasticParameters;

pub type Input = followed::Input<ElasticParameters, Own>;

/// What is done to elastic filters only.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Own {
    Copies { key: u16, count: u8 },
    ShrinkToFit,
    Merge { row: Row, other_seed: bool },
    Piece { sections: u8, at: u16, changed: u8 },
}

/// The entries that one operation may write.
const MOST_ENTRIES_WRITTEN: u32 = 4096;
/// A key of which there are this many copies is taken as often as it comes.
const COUNTED_COPIES: usize = 4;

pub fn check(input: &Input) {
    let Ok(filter) = input.parameters.filter().build() else { return };
    let limits = Limits { long_rows: true, counts_copies: true, ..Limits::default() };
    input.follow(filter, limits);
}

type Set = Followed<ElasticFilter>;

impl Follow for ElasticFilter {
    type Parameters = ElasticParameters;
    type Own = Own;
    const DROPPED: fn(&Self) -> u64 = Self::refused;

    fn perform(set: &mut Set, own: &Own, parameters: &ElasticParameters) {
        match *own {
            Own::Copies { key, count } => copies(set, key, count),
            Own::ShrinkToFit => {
                set.filter.shrink_to_fit();
                set.twin.shrink_to_fit();
                set.written_at_once = true;
            }
            Own::Merge { row, other_seed } => {
                merge(set, parameters, &row.keys(set.limits), other_seed);
            }
            Own::Piece { sections, at, changed } => piece(set, sections, at, changed),
        }
    }

    fn goes_on(set: &Set) -> bool {
        assert!(set.filter.expected_false_positive_rate() <= set.filter.false_positive_rate());
        true
    }

    fn check(set: &Set) {
        let stats = set.filter.stats();
        let bounded = stats.most_entries_written <= MOST_ENTRIES_WRITTEN;
        assert!(bounded || set.written_at_once, "{stats:?}");
        let entries = stats.entry_lengths.iter().map(|entry| entry.1).sum::<u64>();
        // Counted copies have no entries of their own.
        assert!(entries <= set.len as u64 && (entries == 0) == (set.len == 0));
    }
}

/// Copies of one key are taken without end, once there are so many that they are counted.
fn copies(set: &mut Set, key: u16, count: u8) {
    for _ in 0..count {
        let held = set.exact.get(&key).copied().unwrap_or(0);
        let inserted = set.insert(key);
        assert!(inserted.is_ok() || held < COUNTED_COPIES, "copy {held}: {inserted:?}");
    }
}

/// Adds the keys of another filter, all or none.
fn merge(set: &mut Set, parameters: &ElasticParameters, keys: &[u16], other_seed: bool) {
    let builder = parameters.filter();
    let builder = if other_seed { builder.seed(0x5eed_0f0f_0f0f) } else { builder };
    let mut other = builder.build().expect("built before");
    let mut taken = keys.to_vec();
    taken.retain(|key| other.insert(key).is_ok());
    let before = set.filter.to_bytes();
    let outcome = set.filter.merge(&other);
    assert_eq!(set.twin.merge(&other), outcome);
    match outcome {
        Ok(()) => taken.iter().for_each(|&key| set.count_inserted(key, set.len + 1)),
        Err(error) => {
            let unchanged = set.filter.to_bytes() == before;
            assert!(unchanged, "a merge that was refused changed the filter");
            let same_hash = set.filter.hasher() == other.hasher();
            assert_eq!(error == MergeError::OtherHash, !same_hash);
        }
    }
    assert_eq!(set.filter.len(), set.len);
}

/// Adds a piece of the filter to a copy of it, with one byte changed or none: all of it or
/// nothing, and what is in the copy then can be saved.
fn piece(set: &Set, sections: u8, at: u16, changed: u8) {
    let filter = &set.filter;
    let (mut copy, from) = (judge::saved(filter), filter.sections());
    let Ok((mut piece, to)) = filter.copy_sections(from, u64::from(sections) + 1, 1000) else {
        return;
    };
    let at = usize::from(at) % piece.len();
    piece[at] ^= changed;
    let added = copy.add_sections(from, to, &piece);
    let mut copy = judge::saved(&copy);
    assert!(copy.expected_false_positive_rate() <= copy.false_positive_rate());
    for (key, &exact) in &set.exact {
        (0..exact).for_each(|_| assert!(copy.remove(key), "key {key} went with {added:?}"));
    }
    assert!(added.is_ok() || copy.is_empty(), "a piece that was refused left keys");
}
