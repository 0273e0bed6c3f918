//! The cost of a filter, measured by building and filling one: for the whole set if it is small, or
//! else for a part of it at the same load. Knows no kind by name.

use cuculus::{BuildError, Insert};

use crate::sample;

/// The cost of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Memory with the usual number of keys.
    pub(super) bytes: u64,
    /// Memory with the largest number of keys.
    pub(super) peak_bytes: u64,
    /// The false positive rate with the usual number of keys.
    pub(super) expected_rate: f64,
    /// The largest number of random reads per lookup.
    pub(super) reads: u64,
}

impl Cost {
    pub(super) fn bits_per_item(&self, items: u64) -> f64 {
        self.bytes as f64 * 8.0 / items.max(1) as f64
    }
}

/// A part of a set that stands for all of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) items: usize,
    /// The capacity of a filter of fixed size.
    pub(super) capacity: usize,
    /// The size of the whole set as a multiple of this part.
    pub(super) times: f64,
}

impl Part {
    /// A part of a set with this capacity; the capacity of the part is at most `most`.
    pub(super) fn of(items: u64, capacity: u64, most: u64) -> Self {
        let part = capacity.min(most).max(1);
        let times = capacity as f64 / part as f64;
        let items = (items as f64 / times).round() as usize;
        Self { items, capacity: part as usize, times }
    }

    /// The cost of a filter of fixed size: its memory does not depend on the number of keys. The value itself is
    /// there once.
    pub(super) fn fixed<F: Insert>(
        &self,
        built: Result<F, BuildError>,
        reads: impl FnOnce(&F) -> u64,
    ) -> Result<Cost, String> {
        let filter = self.filled(built)?;
        let value = size_of::<F>();
        let store = filter.size_in_bytes().saturating_sub(value);
        let bytes = value as u64 + (store as f64 * self.times) as u64;
        let expected_rate = filter.expected_false_positive_rate();
        Ok(Cost { bytes, peak_bytes: bytes, expected_rate, reads: reads(&filter) })
    }

    /// A filter of these items, or why it cannot be built.
    pub(super) fn filled<F: Insert>(&self, built: Result<F, BuildError>) -> Result<F, String> {
        let mut filter = built.map_err(|error| error.to_string())?;
        for number in 0..self.items as u64 {
            let hash = filter.hasher().hash(&sample::key(number));
            filter.insert_hash(hash).map_err(|full| full.to_string())?;
        }
        Ok(filter)
    }
}
