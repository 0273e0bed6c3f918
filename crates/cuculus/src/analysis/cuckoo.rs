//! Loads and sizes of a table with two candidate buckets.

/// The share of its slots that a large table of two candidate buckets is planned to fill, for 1
/// to 8 slots in a bucket.
///
/// Below what is possible at all ([`orientability_threshold`](super::orientability_threshold)) and
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
