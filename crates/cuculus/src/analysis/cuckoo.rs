//! Loads and sizes of a table with two candidate buckets.

use crate::placement::{Chunked, MAX_BUCKETS};

/// The share of its slots that a large table of two candidate buckets is planned to fill, for 1
/// to 8 slots in a bucket.
///
/// Below what is possible at all (`orientability_threshold`) and
/// below where a breadth-first search of 500 kicks first fails at a million buckets (measured for
/// 1, 2, 4 and 8 slots: .487, .874, .972 and .996), so that the last inserts are still fast.
#[must_use]
pub fn planned_load(slots_per_bucket: u32) -> f64 {
    match slots_per_bucket {
        1 => 0.47,
        2 => 0.85,
        3 => 0.93,
        4 => 0.955,
        5 => 0.965,
        6 => 0.97,
        7 => 0.975,
        _ => 0.98,
    }
}

/// The buckets that this capacity needs, an even number: then no bucket is its own alternate.
///
/// Small tables fill unevenly, so they get some slots more than the planned load asks for:
/// measured so that one filter in two thousand refuses a key within its capacity, the worst size
/// counted. With one slot a bucket there is no sharp threshold to stay below; the window around
/// it is as wide as that of a random graph, keys^(2/3).
#[must_use]
pub fn buckets_for(capacity: u64, slots_per_bucket: u32) -> u64 {
    if capacity <= 2 * u64::from(slots_per_bucket) {
        return 2; // one key's two buckets are every key's two buckets
    }
    let keys = capacity as f64;
    let reserve = match slots_per_bucket {
        1 => 10.0 + 9.0 * keys.powf(2.0 / 3.0),
        2 => 28.0,
        3 => 20.0,
        _ => 16.0,
    };
    let slots = keys / planned_load(slots_per_bucket) + reserve;
    let buckets = (slots / f64::from(slots_per_bucket)).ceil() as u64; // saturates
    buckets.checked_next_multiple_of(2).unwrap_or(u64::MAX)
}

/// The share of its slots that a table of four slots per bucket can be planned to fill if the two
/// buckets of a key are in the same chunk of `chunk` buckets.
///
/// Each of the `chunks` is a table of its own, and the keys that it gets vary: they are a Poisson
/// variable of mean 4·α·chunk. The fullest chunk decides. The load is the one at which all chunks stay
/// below .97, where searches begin to fail, but for one table in ten thousand: the tail of the normal
/// distribution beyond z is below e^(−z²/2)/2.
///
/// ```
/// let load = cuculus::analysis::chunked_load(1 << 16, 64);
/// assert!((load - 0.960).abs() < 0.001);
/// ```
#[must_use]
pub fn chunked_load(chunk: u64, chunks: u64) -> f64 {
    const FIRST_FAILURE: f64 = 0.97;
    const ACCEPTED_FAILURES: f64 = 1e-4;
    let deviations = (2.0 * (chunks.max(1) as f64 / (2.0 * ACCEPTED_FAILURES)).ln()).sqrt();
    let deviation = (FIRST_FAILURE / (4.0 * chunk.max(1) as f64)).sqrt();
    (FIRST_FAILURE - deviations * deviation).max(0.0)
}

/// The buckets that this capacity needs if they are to be chunks of at least 2^12, and if that is at
/// most one percent more than [`buckets_for`] says: the smallest such number that the fullest chunk
/// allows. `None` for small tables, and for other than four slots per bucket.
pub(crate) fn chunked_buckets_for(capacity: u64, slots_per_bucket: u32) -> Option<u64> {
    if slots_per_bucket != 4 {
        return None;
    }
    let fewest = buckets_for(capacity, slots_per_bucket);
    let most = fewest.saturating_add(fewest / 100).min(MAX_BUCKETS);
    let first = fewest.checked_next_multiple_of(Chunked::MIN_CHUNK)?;
    (first..=most).step_by(Chunked::MIN_CHUNK as usize).find(|&buckets| {
        let chunk = Chunked::chunk(buckets);
        capacity as f64 <= 4.0 * buckets as f64 * chunked_load(chunk, buckets / chunk)
    })
}
