//! An elastic filter that grows and shrinks by thousands of keys.

use arbitrary::Arbitrary;
use cuculus::{ElasticFilter, Filter, Insert, MergeError, Persist, Remove};

use crate::followed::{self, Common, Follow, Followed, Limits, Operation, Row};
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

impl Follow for ElasticFilter {
    fn dropped(&self) -> u64 {
        self.refused()
    }
}

pub fn check(input: &Input) {
    let Ok(filter) = input.parameters.filter().build() else { return };
    let limits = Limits { long_rows: true, counts_copies: true, ..Limits::default() };
    let mut elastic = Elastic {
        set: Followed::new(filter, limits),
        written_at_once: false,
        parameters: &input.parameters,
    };
    for operation in &input.operations {
        elastic.perform(operation);
        let filter = &elastic.set.filter;
        assert!(filter.expected_false_positive_rate() <= filter.false_positive_rate());
    }
    elastic.check_all();
}

struct Elastic<'a> {
    set: Followed<ElasticFilter>,
    /// Whether all entries were rewritten at once.
    written_at_once: bool,
    parameters: &'a ElasticParameters,
}

impl Elastic<'_> {
    fn perform(&mut self, operation: &Operation<Own>) {
        match *operation {
            Operation::Common(Common::CheckAll) => self.check_all(),
            Operation::Common(common) => {
                self.written_at_once &= !matches!(common, Common::Clear);
                self.set.perform(common);
            }
            Operation::Own(Own::Copies { key, count }) => self.copies(key, count),
            Operation::Own(Own::ShrinkToFit) => {
                self.set.filter.shrink_to_fit();
                self.set.twin.shrink_to_fit();
                self.written_at_once = true;
            }
            Operation::Own(Own::Merge { row, other_seed }) => {
                self.merge(&row.keys(self.set.limits), other_seed);
            }
            Operation::Own(Own::Piece { sections, at, changed }) => {
                self.piece(sections, at, changed);
            }
        }
    }

    /// Copies of one key are taken without end, once there are so many that they are counted.
    fn copies(&mut self, key: u16, count: u8) {
        for _ in 0..count {
            let held = self.set.exact.get(&key).copied().unwrap_or(0);
            let inserted = self.set.insert(key);
            assert!(inserted.is_ok() || held < COUNTED_COPIES, "copy {held}: {inserted:?}");
        }
    }

    /// Adds the keys of another filter, all or none.
    fn merge(&mut self, keys: &[u16], other_seed: bool) {
        let builder = self.parameters.filter();
        let builder = if other_seed { builder.seed(0x5eed_0f0f_0f0f) } else { builder };
        let mut other = builder.build().expect("built before");
        let mut taken = keys.to_vec();
        taken.retain(|key| other.insert(key).is_ok());
        let before = self.set.filter.to_bytes();
        let outcome = self.set.filter.merge(&other);
        assert_eq!(self.set.twin.merge(&other), outcome);
        match outcome {
            Ok(()) => taken.iter().for_each(|&key| self.set.count_inserted(key, self.set.len + 1)),
            Err(error) => {
                let unchanged = self.set.filter.to_bytes() == before;
                assert!(unchanged, "a merge that was refused changed the filter");
                let same_hash = self.set.filter.hasher() == other.hasher();
                assert_eq!(error == MergeError::OtherHash, !same_hash);
            }
        }
        assert_eq!(self.set.filter.len(), self.set.len);
    }

    /// Adds a piece of the filter to a copy of it, with one byte changed or none: all of it or
    /// nothing, and what is in the copy then can be saved.
    fn piece(&self, sections: u8, at: u16, changed: u8) {
        let filter = &self.set.filter;
        let (mut copy, from) = (judge::saved(filter), filter.sections());
        let Ok((mut piece, to)) = filter.copy_sections(from, u64::from(sections) + 1, 1000) else {
            return;
        };
        let at = usize::from(at) % piece.len();
        piece[at] ^= changed;
        let added = copy.add_sections(from, to, &piece);
        let mut copy = judge::saved(&copy);
        assert!(copy.expected_false_positive_rate() <= copy.false_positive_rate());
        for (key, &exact) in &self.set.exact {
            (0..exact).for_each(|_| assert!(copy.remove(key), "key {key} went with {added:?}"));
        }
        assert!(added.is_ok() || copy.is_empty(), "a piece that was refused left keys");
    }

    fn check_all(&self) {
        self.set.check_all();
        let stats = self.set.filter.stats();
        let bounded = stats.most_entries_written <= MOST_ENTRIES_WRITTEN;
        assert!(bounded || self.written_at_once, "{stats:?}");
        let entries = stats.entry_lengths.iter().map(|entry| entry.1).sum::<u64>();
        // Counted copies have no entries of their own.
        assert!(entries <= self.set.len as u64 && (entries == 0) == (self.set.len == 0));
    }
}
