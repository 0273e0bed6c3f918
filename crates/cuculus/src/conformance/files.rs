//! The law of files: whatever is in memory, however it came there, can be saved and loaded.

use crate::{Filter, Kind, Persist};

/// The memory of a filter that was loaded may differ from what was saved by this share, and by some
/// bytes: an elastic filter keeps a counter for every length that its entries once had.
const MEMORY_SHARE: f64 = 0.02;
const MEMORY_BYTES: usize = 640;

/// What an elastic filter of more than 256 KiB may take less than before, besides: of its regions a
/// sixteenth may be free, and 4 KiB, and all of the last one (elastic/pool.rs); those of a filter that was
/// loaded are packed afresh. In a smaller one nothing is free.
fn free_in_regions(bytes: usize) -> usize {
    if bytes > 1 << 18 { bytes / 16 + (1 << 12) + (1 << 14) } else { 0 }
}

/// A filter loads from its own bytes, as the same filter, in the same memory. Returns what was loaded.
///
/// ```
/// use cuculus::{ElasticFilter, Filter, Insert, conformance};
///
/// let mut filter = ElasticFilter::builder().build()?;
/// filter.insert("key")?;
/// let loaded = conformance::loads_as_it_is("a small filter", &filter);
/// assert!(loaded.contains("key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn loads_as_it_is<F: Filter + Persist>(name: &str, filter: &F) -> F {
    let bytes = filter.to_bytes();
    let loaded =
        F::from_bytes(&bytes).unwrap_or_else(|error| panic!("{name}: own bytes refused: {error}"));
    assert!(loaded.to_bytes() == bytes, "{name}: other bytes after loading");
    assert_eq!(loaded.hasher(), filter.hasher(), "{name}");
    assert_eq!((loaded.len(), loaded.slots()), (filter.len(), filter.slots()), "{name}");
    let (was, is) = (filter.size_in_bytes(), loaded.size_in_bytes());
    let is_elastic = matches!(Kind::of_prefix(&bytes), Ok(Kind::Elastic));
    let free = if is_elastic { free_in_regions(was) } else { 0 };
    let differ = (was as f64 * MEMORY_SHARE) as usize + MEMORY_BYTES;
    let is_near = is <= was + differ && was <= is + differ + free;
    assert!(is_near, "{name}: {was} bytes in memory, {is} after loading");
    loaded
}
