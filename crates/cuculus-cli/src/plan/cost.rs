//! What a filter takes for a set of any size, found by building one and filling it: all of it if
//! the set is small, else a part that is as full. Knows no kind by name.

use cuculus::{BuildError, Full, Insert};
use cuculus_lab::keys::WorkKey;

const SEED: u64 = 1;

/// What a kind takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Memory with the usual number of items.
    pub(super) bytes: u64,
    /// Memory with the most items.
    pub(super) peak_bytes: u64,
    /// The share of absent keys found by mistake, with the usual number of items.
    pub(super) expected_rate: f64,
    /// Places in memory that a lookup reads at most.
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
    /// The room that a filter of fixed size is built with.
    pub(super) capacity: usize,
    /// The whole is so many times as large.
    pub(super) times: f64,
}

impl Part {
    /// Of a set with room for `capacity`, so that the room is at most `most`.
    pub(super) fn of(items: u64, capacity: u64, most: u64) -> Self {
        let part = capacity.min(most).max(1);
        let times = capacity as f64 / part as f64;
        let items = (items as f64 / times).round() as usize;
        Self { items, capacity: part as usize, times }
    }

    /// Of a set of any size, halved until it has at most `most` items: for filters that grow in
    /// steps between two powers of two, so that the part is at the same step as the whole.
    pub(super) fn halved(items: u64, most: u64) -> Self {
        let halvings = (0..u64::BITS).find(|&halvings| items >> halvings <= most).unwrap_or(0);
        let times = 2f64.powi(halvings as i32);
        let items = (items as f64 / times).round().max(1.0) as usize;
        Self { items, capacity: items, times }
    }

    /// The bytes of the whole.
    pub(super) fn scale(&self, bytes: usize) -> u64 {
        (bytes as f64 * self.times) as u64
    }

    /// Fills a filter with the items.
    pub(super) fn fill<F: Insert>(&self, mut filter: F) -> Result<F, Full> {
        for number in 0..self.items as u64 {
            let hash = filter.hasher().hash(&u64::nth(SEED, number));
            filter.insert_hash(hash)?;
        }
        Ok(filter)
    }

    /// The cost of a filter of fixed size, which takes the same memory with any number of items.
    pub(super) fn fixed<F: Insert>(
        &self,
        built: Result<F, BuildError>,
        reads: impl FnOnce(&F) -> u64,
    ) -> Result<Cost, String> {
        let filter = self.filled(built)?;
        let bytes = self.scale(filter.size_in_bytes());
        let expected_rate = filter.expected_false_positive_rate();
        Ok(Cost { bytes, peak_bytes: bytes, expected_rate, reads: reads(&filter) })
    }

    /// A filter of these items, or why there can be none.
    pub(super) fn filled<F: Insert>(&self, built: Result<F, BuildError>) -> Result<F, String> {
        let filter = built.map_err(|error| error.to_string())?;
        self.fill(filter).map_err(|full| full.to_string())
    }
}
