//! Many keys at once: none of them is there after an error, and all that were there are.

use cuculus::{ElasticFilter, Filter, Full, Insert, KeyHash, Persist, Sections};
use xxhash_rust::xxh3::xxh3_64;

use testkit::failing::{Tally, each_failure};
use testkit::filled;
use testkit::heap::failing;

type Bulk<'a> = dyn Fn(&mut ElasticFilter, &[u64]) -> Result<(), Full> + 'a;

fn elastic(keys: u64) -> ElasticFilter {
    filled(ElasticFilter::builder().seed(1).build().expect("valid"), keys)
}

fn hashes(filter: &ElasticFilter, keys: &[u64]) -> Vec<KeyHash> {
    keys.iter().map(|key| filter.hasher().hash(key)).collect()
}

/// Keys `0..keys` are there.
fn try_bulk(name: &str, filter: &ElasticFilter, keys: u64, bulk: &Bulk<'_>) {
    let more: Vec<u64> = (keys..keys + 4000).collect();
    let mut tally = Tally { operations: 1, ..Tally::default() };
    each_failure(name, |n| {
        let mut with_more = filter.clone();
        let (outcome, failed) = failing(n, || bulk(&mut with_more, &more));
        let is_done = outcome.is_ok();
        tally.count(failed, !is_done);
        assert!(is_done || failed, "{name}: {outcome:?}");
        assert_eq!(with_more.len(), filter.len() + if is_done { 4000 } else { 0 }, "{name} {n}");
        assert!((0..keys).all(|key| with_more.contains(&key)), "{name} {n}");
        assert!(!is_done || more.iter().all(|key| with_more.contains(key)), "{name} {n}");
        assert!(ElasticFilter::from_bytes(&with_more.to_bytes()).is_ok(), "{name} {n}");
        failed
    });
    tally.print(name);
    assert!(tally.refused > 0, "{name}");
}

#[test]
fn bulk_inserts() {
    for keys in [0, 3000] {
        let filter = elastic(keys);
        // The hashes are the caller's.
        let of_all = hashes(&filter, &(keys..keys + 4000).collect::<Vec<u64>>());
        try_bulk(&format!("elastic of {keys}, insert_bulk"), &filter, keys, &|filter, _| {
            filter.insert_bulk(&of_all)
        });
    }
}

/// A filter whose first level has no segments and whose second has all keys: nothing makes one, but a
/// file can say so.
fn without_first_level(filter: &ElasticFilter) -> ElasticFilter {
    const HEADER: usize = 48;
    const LEVELS: usize = 48;
    let bytes = filter.to_bytes();
    let number = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    let parameters = number(32) as usize;
    assert_eq!(number(HEADER + LEVELS), 1, "one level");
    let mut forged = bytes[..HEADER + LEVELS].to_vec();
    forged[32..40].copy_from_slice(&(parameters as u64 + 8).to_le_bytes());
    forged.extend_from_slice(&2u64.to_le_bytes());
    forged.extend_from_slice(&0u64.to_le_bytes());
    forged.extend_from_slice(&bytes[HEADER + LEVELS + 8..HEADER + parameters]);
    forged.extend_from_slice(&xxh3_64(&forged).to_le_bytes());
    forged.extend_from_slice(&bytes[HEADER + parameters + 8..]);
    ElasticFilter::from_bytes(&forged).expect("a level may be empty")
}

/// The keys on other levels stay when a bulk into an empty first level fails, wherever it fails.
#[test]
fn bulk_inserts_into_an_empty_first_level() {
    for keys in [1, 700, 3000] {
        let filter = without_first_level(&elastic(keys));
        assert_eq!(filter.stats().overflow as u64, keys);
        let of_all = hashes(&filter, &(keys..keys + 4000).collect::<Vec<u64>>());
        let name = format!("elastic of {keys} with an empty first level, insert_bulk");
        try_bulk(&name, &filter, keys, &|filter, _| filter.insert_bulk(&of_all));
    }
}

/// The last piece has what is too short for a section, of every level.
#[test]
fn a_filter_with_an_empty_first_level_is_copied() {
    let filter = without_first_level(&elastic(700));
    let last = Sections { bits: 32, next: (1 << 32) - 1 };
    let (piece, end) = filter.copy_sections(last, 1, usize::MAX).expect("memory");
    let mut copy = filter.clone();
    copy.clear();
    copy.add_sections(last, end, &piece).expect("as in the filter");
    assert!(end.is_done() && copy.len() == 700);
    assert!((0..700u64).all(|key| copy.contains(&key)));
}
