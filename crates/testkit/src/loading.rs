//! The memory of a filter that was built beside that of the same filter, saved and loaded, as rows of
//! one table.

use std::sync::Once;

use cuculus::{Filter, Persist};

/// The bytes by which the second may be larger, beside a share.
const BYTES: usize = 640;

/// How many keys to try: some numbers, and that of the environment.
pub fn key_counts() -> impl Iterator<Item = u64> {
    [1000, 30_000, 100_000].into_iter().chain(crate::number("CUCULUS_LOADED_KEYS"))
}

/// A row of the table.
pub fn row<F: Filter + Persist>(name: &str, filter: &F) {
    row_within(0.02, name, filter);
}

/// A row whose loaded filter may be larger by this share.
pub fn row_within<F: Filter + Persist>(most: f64, name: &str, filter: &F) {
    static HEADER: Once = Once::new();
    HEADER.call_once(|| {
        println!(
            "| kind | keys | bytes of the file | built | loaded | more |\n|---|---|---|---|---|---|"
        );
    });
    let bytes = filter.to_bytes();
    let loaded = F::from_bytes(&bytes).expect("own bytes");
    let (built, loaded) = (filter.size_in_bytes(), loaded.size_in_bytes());
    let share = loaded as f64 / built as f64 - 1.0;
    let (keys, file) = (filter.len(), bytes.len());
    println!("| {name} | {keys} | {file} | {built} | {loaded} | {:+.2} % |", 100.0 * share);
    let most = (most * built as f64) as usize + BYTES;
    assert!(loaded <= built + most, "{name}: {built} built, {loaded} loaded");
}
