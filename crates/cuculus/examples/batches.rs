//! Batches: many keys per call, which is faster in filters larger than the processor's caches.

use std::time::Instant;

use cuculus::{ElasticFilter, Filter, Insert, KeyHash};

const KEYS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut set = ElasticFilter::builder()
        .false_positive_rate(0.001)
        .expected_items(KEYS as usize)
        .build()?;

    // Hash once, and use the hashes for every call.
    let hashes: Vec<KeyHash> = (0..KEYS).map(|key| set.hasher().hash(&key)).collect();
    set.insert_batch(&hashes)?;
    assert_eq!(set.len(), KEYS as usize);

    let (mut hits, start) = (Vec::new(), Instant::now());
    set.contains_batch(&hashes, &mut hits);
    let batched = start.elapsed();
    assert!(hits.iter().all(|&hit| hit), "a key that was inserted is always found");

    let start = Instant::now();
    let found = hashes.iter().filter(|&&hash| set.contains_hash(hash)).count();
    let one_by_one = start.elapsed();
    assert_eq!(found, hits.len());
    println!("lookups of {KEYS} keys: {batched:?} in a batch, {one_by_one:?} one by one");

    // Test and insert in one pass: which of these keys are new?
    let half_new: Vec<KeyHash> =
        (KEYS / 2..KEYS / 2 * 3).map(|key| set.hasher().hash(&key)).collect();
    let mut absent = Vec::new();
    set.insert_absent_batch(&half_new, &mut absent)?;
    let new = absent.iter().filter(|&&absent| absent).count();
    assert!(absent[..half_new.len() / 2].iter().all(|&absent| !absent));
    assert!(new > half_new.len() / 2 * 99 / 100);
    println!("{new} of {} keys were new", half_new.len());
    Ok(())
}
