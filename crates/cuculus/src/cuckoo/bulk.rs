//! Many keys at once in the filter of fixed size, all or none. Batches fetch ahead, so that putting
//! keys in the order of their buckets first gains nothing.

use super::filter::CuckooFilter;
use crate::{Full, Insert, KeyHash, Remove};

impl CuckooFilter {
    /// Inserts many keys, all or none: [`insert_batch`](Insert::insert_batch) leaves those that came
    /// before the refused one.
    ///
    /// # Errors
    /// [`Full`] if a key is refused. None of the keys is in the filter then, and all that were before
    /// still are; their places may differ.
    ///
    /// ```
    /// use cuculus::{CuckooFilter, Filter, KeyHash};
    ///
    /// let mut filter = CuckooFilter::builder().capacity(100_000).build()?;
    /// let hashes: Vec<KeyHash> = (0..100_000u64).map(|key| filter.hasher().hash(&key)).collect();
    /// filter.insert_bulk(&hashes)?;
    /// assert!(filter.contains(&77_777u64) && filter.len() == 100_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_bulk(&mut self, hashes: &[KeyHash]) -> Result<(), Full> {
        self.insert_batch(hashes).map_err(|full| {
            hashes[..full.inserted].iter().for_each(|&hash| _ = self.remove_hash(hash));
            Full { inserted: 0, ..full }
        })
    }
}
