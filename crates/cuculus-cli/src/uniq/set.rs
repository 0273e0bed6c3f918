//! What was seen: forgotten at the end of the run, or kept in a file for the next.

use std::path::Path;

use anyhow::{Context, Result};
use cuculus::{ElasticFilter, KeyHasher};

use super::seen::Seen;
use crate::change;
use crate::keys::Block;
use crate::saved::{self, AnyFilter, Replacement};

pub(super) enum Set {
    Forgotten(Box<Seen>),
    Kept(Box<AnyFilter>),
}

impl Set {
    pub(super) fn new(rate: f64, is_kept: bool) -> Result<Self> {
        Ok(if is_kept {
            let filter = ElasticFilter::builder().false_positive_rate(rate).build();
            Self::Kept(Box::new(AnyFilter::Elastic(filter.context("--fpr")?)))
        } else {
            let seen = Seen::new(KeyHasher::random()?, rate).context("--fpr")?;
            Self::Forgotten(Box::new(seen))
        })
    }

    /// What another run has seen.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let mut filter = saved::load(path)?;
        filter.as_insert().with_context(|| path.display().to_string())?;
        Ok(Self::Kept(Box::new(filter)))
    }

    /// A guess at the number of different lines, before the first.
    pub(super) fn expect(&mut self, lines: usize) {
        if let Self::Forgotten(seen) = self {
            seen.expect(lines);
        }
    }

    pub(super) fn hasher(&self) -> &KeyHasher {
        match self {
            Self::Forgotten(seen) => &seen.hasher,
            Self::Kept(filter) => filter.as_filter().hasher(),
        }
    }

    /// Says of each line of a block whether it is seen for the first time, and notes it.
    pub(super) fn note(&mut self, block: &Block, fresh: &mut Vec<bool>) -> Result<()> {
        match self {
            Self::Forgotten(seen) => seen.note(&block.hashes, fresh),
            Self::Kept(filter) => change::insert_absent(filter.as_insert()?, block, fresh),
        }
    }

    pub(super) fn rate(&self) -> f64 {
        match self {
            Self::Forgotten(seen) => seen.rate(),
            Self::Kept(filter) => filter.as_filter().expected_false_positive_rate(),
        }
    }

    pub(super) fn size_in_bytes(&self) -> usize {
        match self {
            Self::Forgotten(seen) => seen.size_in_bytes(),
            Self::Kept(filter) => filter.as_filter().size_in_bytes(),
        }
    }

    /// Writes what was seen, if it is kept.
    pub(super) fn save(&self, replacement: Replacement) -> Result<()> {
        match self {
            Self::Kept(filter) => filter.save(replacement),
            Self::Forgotten(_) => Ok(()),
        }
    }
}
