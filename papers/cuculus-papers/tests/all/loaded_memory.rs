//! The memory of a filter that was built beside that of the same filter, saved and loaded.
//! `cargo xtask promises` shows it, with more keys.

use cuculus_papers::{ConsistentCuckooFilter, DynamicCuckooFilter, IndexIndependentCuckooFilter};
use testkit::filled;
use testkit::loading::{key_counts, row};

#[test]
fn a_loaded_filter_takes_the_memory_of_the_one_that_was_built() {
    for keys in key_counts() {
        let capacity = keys as usize;
        let dynamic = DynamicCuckooFilter::builder().capacity(capacity / 8).seed(1);
        row("dynamic", &filled(dynamic.build().expect("valid"), keys));
        let ring = IndexIndependentCuckooFilter::builder().capacity(capacity).seed(1);
        row("index-independent", &filled(ring.build().expect("valid"), keys));
        let rings = ConsistentCuckooFilter::builder().buckets_per_filter(keys / 64 + 8).seed(1);
        row("consistent", &filled(rings.build().expect("valid"), keys));
    }
}
