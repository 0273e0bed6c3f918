//! From keys and rate to slots and remainders.

use cuculus::BuildError;

use super::filter::{MAX_LOAD, QuotientFilter};
use super::slots::{GROUP, Slots};
use crate::baselines::memory::MAX_BITS;
use crate::baselines::parameters::{Shared, at_most, builder, in_range};

/// Quotient and remainder together are at most the hash.
const MAX_REMAINDER_BITS: u32 = 32;
const MAX_SLOTS: u64 = 1 << 32;

builder! {
    /// Parameters of a [`QuotientFilter`]: a capacity, and the rest has defaults.
    QuotientFilterBuilder, shared: Shared;

    /// The number of slots, instead of the one that follows from the capacity; made a multiple of 64.
    /// Nine of ten can be used.
    slots: u64;

    /// The length of a remainder, 1 to 32 bits, instead of a rate. A slot is three bits longer.
    remainder_bits: u32;
}

impl QuotientFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<QuotientFilter, BuildError> {
        let wanted = match (self.slots, self.shared.capacity) {
            (Some(slots), _) => in_range("slots", slots, 1..=MAX_SLOTS)?,
            (None, Some(capacity)) => (capacity as f64 / MAX_LOAD).ceil() as u64,
            (None, None) => return Err(BuildError::MissingCapacity),
        };
        let groups = wanted.div_ceil(GROUP as u64).max(1);
        let slots = groups.saturating_mul(GROUP as u64);
        at_most(slots, MAX_SLOTS)?;
        let most = (slots as f64 * MAX_LOAD) as usize;
        let capacity = self.shared.capacity.unwrap_or(most);
        let rate_with = |bits| QuotientFilter::rate(most.min(capacity), slots as usize, bits);
        let given = ("remainder_bits", self.remainder_bits);
        let remainder_bits = self.shared.bits(given, 1..=MAX_REMAINDER_BITS, rate_with)?;
        at_most(slots, MAX_BITS / (u64::from(remainder_bits) + 3))?;
        let hasher = self.shared.hasher()?;
        let slots = Slots::new(groups, remainder_bits)?;
        Ok(QuotientFilter { hasher, slots, remainder_bits, len: 0, most, capacity })
    }
}
