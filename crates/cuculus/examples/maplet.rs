//! A maplet: a small value with each key, in the memory of a filter. Here: which of 16 shards
//! holds a record.

use cuculus::{CuckooMaplet, Filter};

const RECORDS: u64 = 50_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut shards = CuckooMaplet::builder()
        .capacity(RECORDS as usize)
        .false_positive_rate(0.001)
        .value_bits(4)
        .build()?;
    for record in 0..RECORDS {
        shards.insert(&record, record % 16)?;
    }

    // The right shard is always among the candidates; rarely another one is, too.
    let mut candidates = 0;
    for record in 0..RECORDS {
        let found: Vec<u64> = shards.values(&record).collect();
        assert!(found.contains(&(record % 16)));
        candidates += found.len();
    }
    let mean = candidates as f64 / RECORDS as f64;
    assert!(mean < 1.01, "{mean}");

    // A record moves to another shard.
    assert!(shards.remove(&7u64, 7));
    shards.insert(&7u64, 12)?;
    assert!(shards.values(&7u64).any(|shard| shard == 12));

    let bits = shards.size_in_bytes() as f64 * 8.0 / RECORDS as f64;
    println!("{RECORDS} records, {bits:.1} bits each, {mean:.4} shards to ask per record");
    Ok(())
}
