//! Many keys at once in the filter of fixed size, all or none. Batches fetch ahead, so that putting
//! keys in the order of their buckets first gains nothing.

use super::filter::CuckooFilter;
use crate::batch::GROUP;
use crate::{BuildError, Filter, Full, Insert, Key, KeyHash, Remove, memory};

/// Keys of which the hashes are held at a time.
const MOST_AT_ONCE: usize = 1 << 16;

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
            self.remove_bulk(&hashes[..full.inserted]);
            Full { inserted: 0, ..full }
        })
    }

    /// Removes one occurrence of each of many keys, and says how many there were. As with
    /// [`remove`](Remove::remove), all must have been inserted.
    pub fn remove_bulk(&mut self, hashes: &[KeyHash]) -> usize {
        let before = self.len();
        for group in hashes.chunks(GROUP) {
            group.iter().for_each(|&hash| self.prefetch_hash(hash));
            group.iter().for_each(|&hash| _ = self.remove_hash(hash));
        }
        before - self.len()
    }

    /// A filter of some keys, with room for no more.
    ///
    /// ```
    /// use cuculus::{CuckooFilter, Filter};
    ///
    /// let filter = CuckooFilter::from_keys(0.01, &["one", "two"])?;
    /// assert!(filter.contains("two") && filter.len() == 2);
    /// # Ok::<(), cuculus::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`] if the rate is out of range, there is no memory, or a key is refused: the same
    /// key fits eight times.
    pub fn from_keys<K: Key>(false_positive_rate: f64, keys: &[K]) -> Result<Self, BuildError> {
        let builder = Self::builder().capacity(keys.len()).false_positive_rate(false_positive_rate);
        let mut filter = builder.build()?;
        let mut hashes = memory::with_room(keys.len().min(MOST_AT_ONCE))?;
        for some in keys.chunks(MOST_AT_ONCE) {
            hashes.clear();
            hashes.extend(some.iter().map(|key| filter.hasher().hash(key)));
            filter.insert_batch(&hashes).map_err(BuildError::Refused)?;
        }
        Ok(filter)
    }
}
