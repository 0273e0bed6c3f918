//! From keys and rate to slots and remainders.

use cuculus::BuildError;

use super::filter::{MAX_LOAD, QuotientFilter};
use super::slots::{GROUP, Slots};
use crate::baselines::memory::MAX_BITS;
use crate::baselines::parameters::{DEFAULT_RATE, Shared, in_range, keeps, shared_words};

/// Quotient and remainder together are at most the hash.
const MAX_REMAINDER_BITS: u32 = 32;
const MAX_SLOTS: u64 = 1 << 32;

/// Parameters of a [`QuotientFilter`]: a capacity, and the rest has defaults.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct QuotientFilterBuilder {
    shared: Shared,
    slots: Option<u64>,
    remainder_bits: Option<u32>,
}

impl QuotientFilterBuilder {
    shared_words!();

    /// The number of slots, instead of the one that follows from the capacity; made a multiple of 64.
    /// Nine of ten can be used.
    pub fn slots(mut self, slots: u64) -> Self {
        self.slots = Some(slots);
        self
    }

    /// The length of a remainder, 1 to 32 bits, instead of a rate. A slot is three bits longer.
    pub fn remainder_bits(mut self, bits: u32) -> Self {
        self.remainder_bits = Some(bits);
        self
    }

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<QuotientFilter, BuildError> {
        let rate = self.shared.rate()?;
        let wanted = match (self.slots, self.shared.capacity) {
            (Some(slots), _) => in_range("slots", slots, 1..=MAX_SLOTS)?,
            (None, Some(capacity)) => (capacity as f64 / MAX_LOAD).ceil() as u64,
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        let groups = wanted.div_ceil(GROUP as u64).max(1);
        let slots = groups.saturating_mul(GROUP as u64);
        if slots > MAX_SLOTS {
            return Err(BuildError::TooLarge { buckets: slots, max: MAX_SLOTS });
        }
        let most = (slots as f64 * MAX_LOAD) as usize;
        let capacity = self.shared.capacity.unwrap_or(most);
        let rate_with = |bits| QuotientFilter::rate(most.min(capacity), slots as usize, bits);
        let remainder_bits = match (self.remainder_bits, rate) {
            (Some(bits), _) => {
                in_range("remainder_bits", u64::from(bits), 1..=u64::from(MAX_REMAINDER_BITS))?;
                bits
            }
            (None, rate) => (1..MAX_REMAINDER_BITS)
                .find(|&bits| rate_with(bits) <= rate.unwrap_or(DEFAULT_RATE))
                .unwrap_or(MAX_REMAINDER_BITS),
        };
        keeps(rate, rate_with(remainder_bits))?;
        let slot_bits = u64::from(remainder_bits) + 3;
        if slots * slot_bits > MAX_BITS {
            return Err(BuildError::TooLarge { buckets: slots, max: MAX_BITS / slot_bits });
        }
        let hasher = self.shared.hasher()?;
        let slots = Slots::new(groups, remainder_bits)?;
        Ok(QuotientFilter { hasher, slots, remainder_bits, len: 0, most, capacity })
    }
}
