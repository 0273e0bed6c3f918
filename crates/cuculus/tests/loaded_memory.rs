//! The memory of a filter that was built beside that of the same filter, saved and loaded: a table of
//! every kind and layout. `cargo xtask promises` shows it, with more keys.

use cuculus::conformance::loads_as_it_is;
use cuculus::{CuckooFilter, CuckooMaplet, ElasticFilter, Remove, SharedFilter};
use testkit::filled;
use testkit::loading::{key_counts, row, row_within};

/// For a shared filter: all of its parts have as many segments after loading as the largest had.
const SHARE_OF_SHARED: f64 = 0.08;

/// Regions that were filled by many segments kept their length when few were left in them: 17,232 bytes for
/// 2,363 keys of a million, and 9,032 after loading.
#[test]
fn a_filter_that_was_large_takes_no_more_memory_than_a_loaded_one() {
    for expected in [0, 300_000] {
        let builder = ElasticFilter::builder().expected_items(expected).seed(1);
        let mut filter = filled(builder.build().expect("valid"), 300_000);
        let (mut left, mut next) = (300_000u64, 0);
        while left > 100 {
            loads_as_it_is(&format!("{left} of 300,000 left"), &filter);
            let less = left - left / 16;
            (next..next + left - less).for_each(|key| assert!(filter.remove(&key)));
            next += left - less;
            left = less;
        }
    }
}

#[test]
fn a_loaded_filter_takes_the_memory_of_the_one_that_was_built() {
    for keys in key_counts() {
        let capacity = keys as usize;
        for semi_sorted in [false, true] {
            let name = if semi_sorted { "cuckoo, semi-sorted" } else { "cuckoo, packed" };
            let builder = CuckooFilter::builder().capacity(capacity).semi_sorted(semi_sorted);
            row(name, &filled(builder.seed(1).build().expect("valid"), keys));
        }
        let maplet = CuckooMaplet::builder().capacity(capacity).value_bits(13).seed(1);
        let mut maplet = maplet.build().expect("valid");
        (0..keys).for_each(|key| maplet.insert(&key, key % 8192).expect("room"));
        row("maplet", &maplet);
        let elastic = ElasticFilter::builder().seed(1);
        let hinted = elastic.clone().expected_items(capacity);
        row("elastic, expected", &filled(hinted.build().expect("valid"), keys));
        let mut grown = filled(elastic.build().expect("valid"), keys);
        row("elastic, grown", &grown);
        for part in [2, 4, 8] {
            let left = (0..keys).filter(|key| key % part > 0 && key % (part / 2).max(1) == 0);
            left.for_each(|key| assert!(grown.remove(&key)));
            row(&format!("elastic, 1 of {part} left"), &grown);
        }
        grown.shrink_to_fit();
        row("elastic, shrunk to fit", &grown);
        let shared = SharedFilter::builder().seed(1).build().expect("valid");
        row_within(SHARE_OF_SHARED, "shared, 64 parts", &filled(shared, keys));
    }
}
