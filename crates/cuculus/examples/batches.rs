//! Many keys at a time: keys are hashed once, and the memory of a whole batch is prefetched.

use cuculus::{CuckooFilter, Filter, Insert, KeyHash, Remove};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let keys: Vec<u64> = (0..1_000_000).collect();
    let mut filter = CuckooFilter::builder().capacity(keys.len()).seed(1).build()?;
    let hashes: Vec<KeyHash> = keys.iter().map(|key| filter.hasher().hash(key)).collect();
    filter.insert_batch(&hashes)?;

    // The list of answers is cleared by each call and can be used again.
    let mut hits = Vec::new();
    filter.contains_batch(&hashes, &mut hits);
    assert!(hits.iter().all(|&hit| hit));

    let mut gone = Vec::new();
    filter.remove_batch(&hashes[..500_000], &mut gone);
    assert!(gone.iter().all(|&gone| gone));
    filter.contains_batch(&hashes, &mut hits);
    let found = hits.iter().filter(|&&hit| hit).count();
    println!("{} keys are left; {found} of a million are found", filter.len());
    Ok(())
}
