//! What somebody can do who knows the seed, or writes the file. `cargo xtask promises --full` runs the same
//! with a million keys and 200,000 files of each kind.

mod chosen_keys;
mod hashes;
mod reproductions;
