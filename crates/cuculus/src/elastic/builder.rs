//! From a rate to a filter.

use super::filter::ElasticFilter;
use super::lengths::Lengths;
use super::level::Work;
use super::policy::Settings;
use super::tier::Tier;
use crate::wide::Instructions;
use crate::{BuildError, KeyHasher};

const DEFAULT_RATE: f64 = 0.01;
/// The smallest rate for which entries of all ages fit their slots.
pub(super) const SMALLEST_RATE: f64 = 1e-5;
/// Segments grow at a load of .96 to one of .88: denser costs more than it gives.
const DEFAULT_LOAD: f64 = 0.922;
pub(super) const MIN_LOAD: f64 = 0.5;
pub(super) const MAX_LOAD: f64 = 0.96;
const DEFAULT_SPARE_BYTES: u64 = 192 << 10;
pub(super) const MAX_SPARE_BYTES: u64 = 1 << 40;

/// The parameters of an [`ElasticFilter`]. Only the rate matters to most.
#[derive(Clone, Debug)]
#[must_use]
pub struct ElasticFilterBuilder {
    rate: f64,
    load: f64,
    expected_items: u64,
    spare_bytes: u64,
    hasher: Option<KeyHasher>,
    instructions: Instructions,
}

impl ElasticFilterBuilder {
    pub(super) fn new() -> Self {
        Self {
            rate: DEFAULT_RATE,
            load: DEFAULT_LOAD,
            expected_items: 0,
            spare_bytes: DEFAULT_SPARE_BYTES,
            hasher: None,
            instructions: Instructions::Detected,
        }
    }

    /// The largest share of absent keys that may be reported as present, at any size; 1 % by
    /// default, one in 100,000 at least.
    pub fn false_positive_rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// A hint: the most keys that the filter will probably hold. Up to that number it needs three
    /// to four bits a key less, since nothing has to be kept in reserve for a larger set. Beyond
    /// it the filter grows as ever and keeps its rate, but pays with entries that are longer than
    /// without the hint.
    pub fn expected_items(mut self, items: usize) -> Self {
        self.expected_items = items as u64;
        self
    }

    /// The mean share of slots in use, from 0.5 to 0.96; 0.922 by default. Denser is smaller and
    /// makes inserts and removals slower, since segments are written anew more often.
    pub fn target_load(mut self, load: f64) -> Self {
        self.load = load;
        self
    }

    /// Memory that a small filter may use beyond what it needs now, for longer entries: they make
    /// it smaller when it has grown large. 192 KiB by default, which at most doubles a filter
    /// of that size. With zero many small filters are as small as they can be.
    pub fn spare_bytes(mut self, bytes: u64) -> Self {
        self.spare_bytes = bytes;
        self
    }

    /// A fixed seed for the default hash function: the same operations then give the same bytes.
    /// Without it the seed is random.
    pub fn seed(self, seed: u64) -> Self {
        self.hasher(KeyHasher::xxh3(seed))
    }

    /// Another hash function, for instance a keyed one for keys that an adversary may choose.
    pub fn hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = Some(hasher);
        self
    }

    /// Which instructions batches may use. Only of interest for measurements and tests.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Builds the filter, which takes no memory until the first key comes.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied, and what would be possible.
    pub fn build(&self) -> Result<ElasticFilter, BuildError> {
        let Self { rate, load, expected_items, spare_bytes, .. } = *self;
        let settings = check(rate, load, expected_items, spare_bytes)?;
        Ok(ElasticFilter {
            hasher: KeyHasher::given_or_random(self.hasher.as_ref())?,
            settings,
            tier: Tier::default(),
            lengths: Lengths::default(),
            work: Work::default(),
            chosen: self.instructions.choose(),
            refused: 0,
        })
    }
}

/// Parameters that can be kept, wherever they come from.
pub(super) fn check(
    rate: f64,
    load: f64,
    expected_items: u64,
    spare_bytes: u64,
) -> Result<Settings, BuildError> {
    if !(rate > 0.0 && rate < 1.0) {
        return Err(BuildError::RateOutOfRange { got: rate });
    }
    if rate < SMALLEST_RATE {
        return Err(BuildError::RateTooSmall { got: rate, smallest: SMALLEST_RATE });
    }
    if !(MIN_LOAD..=MAX_LOAD).contains(&load) {
        return Err(BuildError::LoadOutOfRange { got: load, min: MIN_LOAD, max: MAX_LOAD });
    }
    let out_of_range = |parameter, got, max| BuildError::OutOfRange { parameter, got, min: 0, max };
    if spare_bytes > MAX_SPARE_BYTES {
        return Err(out_of_range("spare_bytes", spare_bytes, MAX_SPARE_BYTES));
    }
    let settings = Settings::new(rate, load, expected_items, spare_bytes);
    let most = settings.most_expected_items();
    if expected_items > most {
        return Err(out_of_range("expected_items", expected_items, most));
    }
    Ok(settings)
}
