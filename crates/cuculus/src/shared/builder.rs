//! From a rate and a number of parts to a filter.

use super::filter::SharedFilter;
use super::part::SharedPart;
use crate::builder::setters;
use crate::elastic::engine::Engine;
use crate::{BuildError, ElasticFilter, ElasticFilterBuilder, Filter as _, KeyHasher};

/// So many writers seldom meet on any machine of today, and a small filter is still small.
pub(super) const DEFAULT_PARTS: usize = 64;
const MAX_PARTS: usize = 1 << 12;

/// The parameters of a [`SharedFilter`]. Only the rate matters to most.
#[derive(Clone, Debug)]
#[must_use]
pub struct SharedFilterBuilder {
    elastic: ElasticFilterBuilder,
    hasher: Option<KeyHasher>,
    parts: usize,
}

setters! { SharedFilterBuilder, hasher in hasher;
    /// In how many parts the keys are kept, a power of two up to 4096; 64 by default. Writers meet
    /// if their keys are in the same part. Each part takes about a kilobyte, whatever is in it.
    /// Answers do not depend on it, and a saved filter does not know it.
    parts(parts: usize) => parts;
}

impl Default for SharedFilterBuilder {
    fn default() -> Self {
        Self { elastic: ElasticFilter::builder(), hasher: None, parts: DEFAULT_PARTS }
    }
}

impl SharedFilterBuilder {
    /// The largest share of absent keys that may be reported as present, at any size; 1 % by
    /// default, one in 100 million at least.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.elastic = self.elastic.false_positive_rate(rate);
        self
    }

    /// A hint: the most keys that the filter will probably hold; see
    /// [`ElasticFilterBuilder::expected_items`].
    pub fn expected_items(mut self, items: usize) -> Self {
        self.elastic = self.elastic.expected_items(items);
        self
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<SharedFilter, BuildError> {
        let shift = shift_of(self.parts)?;
        let mut elastic = self.elastic.clone();
        if let Some(hasher) = &self.hasher {
            elastic = elastic.hasher(hasher.clone());
        }
        let empty = elastic.build()?;
        let part = |_| SharedPart::new(Engine::part_of(&empty.engine.settings, shift));
        let parts = (0..self.parts).map(part).collect();
        Ok(SharedFilter::new(empty.engine.settings, empty.hasher().clone(), parts, 0))
    }
}

/// How many bits choose one of so many parts.
pub(super) fn shift_of(parts: usize) -> Result<u32, BuildError> {
    if !parts.is_power_of_two() || parts > MAX_PARTS {
        return Err(BuildError::Parts { got: parts as u64, max: MAX_PARTS as u64 });
    }
    Ok(parts.ilog2())
}
