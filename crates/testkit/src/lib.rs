//! What the tests of several crates share. Each module knows one thing to try on any filter, and
//! nothing of one kind of filter.

pub mod attack; // keys chosen to fall together
pub mod chooser; // keys with a given hash
pub mod clock; // time on the processor
pub mod failing; // every allocation of an operation fails in turn
pub mod files; // golden and forged files
pub mod heap; // an allocator that counts and fails
pub mod loading; // memory before saving and after loading

pub use heap::Heap;

/// A number from the environment, which `cargo xtask promises` sets.
#[must_use]
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// A filter with the keys `0..keys`, or as many of them as fit.
pub fn filled<F: cuculus::Insert>(mut filter: F, keys: u64) -> F {
    for key in 0..keys {
        let _ = filter.insert(&key);
    }
    filter
}
