//! The memory of three digests at the same false positive rate, full and after half of the ids were
//! removed: the elastic filter, which is not told a capacity, and the filters of the papers, which
//! are.

use cuculus::papers::DynamicCuckooFilter;
use cuculus::{ElasticFilter, Filter, Insert, KeyHash, KeyHasher, Remove};
use cuculus_baselines::DynamicBloomFilter;
use serde::Serialize;

use crate::Failure;

const RATE: f64 = 0.01;

#[derive(Serialize)]
pub(crate) struct Row {
    name: &'static str,
    items: u64,
    bytes: usize,
    bits_per_item: f64,
    measured_rate: f64,
    /// After every other id was removed, and the filter was compacted if it can be.
    bytes_after: usize,
    bits_per_item_after: f64,
    /// Removals that the filter could not do.
    not_removed: u64,
}

pub(crate) fn run(items: u64) -> Result<Vec<Row>, Failure> {
    let capacity = usize::try_from(items)?;
    let elastic = ElasticFilter::builder().false_positive_rate(RATE).seed(1).build()?;
    let cuckoo = DynamicCuckooFilter::builder();
    let cuckoo = cuckoo.capacity(capacity).false_positive_rate(RATE).seed(1).build()?;
    let bloom = DynamicBloomFilter::builder();
    let bloom = bloom.capacity(capacity).false_positive_rate(RATE).seed(1).build()?;
    Ok(vec![
        measure("elastic", elastic, items, ElasticFilter::shrink_to_fit)?,
        measure("DCF", cuckoo, items, |filter| {
            filter.compact();
        })?,
        measure("DBF", bloom, items, |_| ())?,
    ])
}

fn measure<F: Filter + Insert + Remove>(
    name: &'static str,
    mut filter: F,
    items: u64,
    give_back: impl FnOnce(&mut F),
) -> Result<Row, Failure> {
    let hasher = KeyHasher::xxh3(7);
    let id = |number: u64| -> KeyHash { hasher.hash(&number) };
    for number in 0..items {
        filter.insert_hash(id(number))?;
    }
    let lost = (0..items).filter(|&number| !filter.contains_hash(id(number))).count();
    if lost > 0 {
        return Err(format!("{name} lost {lost} items").into());
    }
    let absent = items.min(1_000_000);
    let wrong = (items..items + absent).filter(|&number| filter.contains_hash(id(number)));
    let measured_rate = wrong.count() as f64 / absent as f64;
    let bytes = filter.size_in_bytes();
    let gone = (0..items).step_by(2);
    let not_removed = gone.filter(|&number| !filter.remove_hash(id(number))).count() as u64;
    give_back(&mut filter);
    let bytes_after = filter.size_in_bytes();
    let bits = |bytes: usize, items: u64| 8.0 * bytes as f64 / items.max(1) as f64;
    Ok(Row {
        name,
        items,
        bytes,
        bits_per_item: bits(bytes, items),
        measured_rate,
        bytes_after,
        bits_per_item_after: bits(bytes_after, items / 2),
        not_removed,
    })
}

pub(crate) fn print(rows: &[Row]) {
    println!(
        "{:<10} {:>12} {:>10} {:>10} {:>10} {:>14} {:>10} {:>10}",
        "", "ids", "MB", "bits", "rate %", "half, MB", "bits", "not removed"
    );
    for row in rows {
        println!(
            "{:<10} {:>12} {:>10.2} {:>10.1} {:>10.3} {:>14.2} {:>10.1} {:>10}",
            row.name,
            row.items,
            row.bytes as f64 / 1e6,
            row.bits_per_item,
            100.0 * row.measured_rate,
            row.bytes_after as f64 / 1e6,
            row.bits_per_item_after,
            row.not_removed
        );
    }
}
