//! From a rate to a filter.

use super::engine::Engine;
use super::filter::ElasticFilter;
use super::policy::Settings;
use crate::BuildError;
use crate::builder::{Parameters, check_range, check_rate, setters};

/// The smallest rate that billions of keys keep: a path has 52 bits, so each key takes at least
/// 2^−52 / 768 of the rate, 3·10^−19, and older ones take more.
pub(super) const SMALLEST_RATE: f64 = 1e-8;
/// Blocks grow by the smallest step: larger ones hardly save time.
const DEFAULT_LOAD: f64 = 0.98;
pub(super) const MIN_LOAD: f64 = 0.5;
pub(super) const MAX_LOAD: f64 = 0.98;
pub(super) const MAX_SPARE_BYTES: u64 = 1 << 40;

/// The parameters of an [`ElasticFilter`]. Only the rate matters to most.
#[derive(Clone, Debug)]
#[must_use]
pub struct ElasticFilterBuilder {
    parameters: Parameters,
    load: f64,
    expected_items: usize,
    spare_bytes: Option<u64>,
}

setters! { ElasticFilterBuilder, hasher in parameters.hasher;
    /// The largest share of absent keys that may be reported as present, at any size; 1 % by
    /// default, one in 100 million at least. For fewer, see [`spare_bytes`](Self::spare_bytes).
    false_positive_rate(rate: f64) => parameters.rate;

    /// A hint: the most keys that the filter will probably hold. Up to that number it needs three
    /// to four bits per key less, since nothing has to be kept in reserve for a larger set. Beyond
    /// it the filter grows as ever and keeps its rate, but pays with entries that are longer than
    /// without the hint.
    expected_items(items: usize) => expected_items;

    /// The mean share of memory in use, from 0.5 to 0.98, the default. With less, segments grow in
    /// larger steps, so that fewer of them are copied.
    target_load(load: f64) => load;

    /// Which instructions batches may use.
    #[cfg(any(test, feature = "lab"))]
    instructions(instructions: crate::lab::Instructions) => parameters.instructions;
}

impl Default for ElasticFilterBuilder {
    fn default() -> Self {
        Self {
            parameters: Parameters::default(),
            load: DEFAULT_LOAD,
            expected_items: 0,
            spare_bytes: None,
        }
    }
}

impl ElasticFilterBuilder {
    /// Memory that a small filter may use for longer entries, if that is more than it uses anyway:
    /// up to nine bits per key, none from 1.2 million keys on. Longer entries make a filter
    /// smaller when it has grown large: 192 KiB are worth it for a set that will grow a
    /// thousandfold. With zero no entry is longer than the rate asks for now, and the filter is
    /// larger when it has grown.
    ///
    /// With 2^40, the most, entries are always as long as can be: some five bytes per key, and the
    /// share of absent keys that are reported as present is about 3·10^−19 for each key in the
    /// filter, far below any rate that can be asked for.
    pub fn spare_bytes(mut self, bytes: u64) -> Self {
        self.spare_bytes = Some(bytes);
        self
    }

    /// Builds the filter, which takes no memory until the first key comes.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<ElasticFilter, BuildError> {
        Ok(ElasticFilter {
            engine: Engine::new(self.settings()?),
            hasher: self.parameters.hasher()?,
            refused: 0,
        })
    }

    pub(super) fn settings(&self) -> Result<Settings, BuildError> {
        let (rate, load) = (self.parameters.rate_or_default(), self.load);
        let (items, spare) = (self.expected_items as u64, self.spare_bytes);
        let settings = check(rate, load, items, spare)?;
        Ok(settings.with_instructions(self.parameters.instructions.choose()))
    }

    /// Whether a filter, wherever it comes from, has exactly the parameters that
    /// [`build`](Self::build) would give it: rate, hint, spare bytes, hash function and seed. The
    /// load may differ, which releases have chosen differently. A program that accepts files from
    /// others can so refuse those that it would not have written.
    ///
    /// ```
    /// use cuculus::ElasticFilter;
    ///
    /// let ours = ElasticFilter::builder().false_positive_rate(0.001).seed(7);
    /// assert!(ours.describes(&ours.build()?));
    /// assert!(!ours.describes(&ours.clone().expected_items(1_000_000_000).build()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn describes(&self, filter: &ElasticFilter) -> bool {
        let theirs = filter.engine.settings;
        let (items, spare) = (self.expected_items as u64, self.spare_bytes);
        let rate = self.parameters.rate_or_default();
        self.parameters.hasher.as_ref() == Some(&filter.hasher)
            && check(rate, theirs.load, items, spare)
                .is_ok_and(|ours| ours.with_instructions(theirs.chosen) == theirs)
    }
}

/// Parameters that can be kept, wherever they come from.
pub(super) fn check(
    rate: f64,
    load: f64,
    expected_items: u64,
    spare_bytes: Option<u64>,
) -> Result<Settings, BuildError> {
    check_rate(rate)?;
    if rate < SMALLEST_RATE {
        return Err(BuildError::RateTooSmall { got: rate, smallest: SMALLEST_RATE });
    }
    if !(MIN_LOAD..=MAX_LOAD).contains(&load) {
        return Err(BuildError::LoadOutOfRange { got: load, min: MIN_LOAD, max: MAX_LOAD });
    }
    check_range("spare_bytes", spare_bytes.unwrap_or(0), 0..=MAX_SPARE_BYTES)?;
    let settings = Settings::new(rate, load, expected_items, spare_bytes);
    check_range("expected_items", expected_items, 0..=settings.most_expected_items())?;
    Ok(settings)
}
