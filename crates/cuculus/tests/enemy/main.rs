//! What somebody can do who knows the seed, or writes the file. `cargo xtask promises --full` runs the same
//! with a million keys and 200,000 files of each kind.

mod chosen_keys;
mod clock;
mod hashes;
mod inverse;
mod reproductions;

/// A number from the environment, which `cargo xtask promises` sets.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
