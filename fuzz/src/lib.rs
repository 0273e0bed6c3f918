//! What the fuzz targets check, as functions of the fuzzer's input; the targets themselves only
//! call them. A broken law panics.

mod container; // a saved filter, taken apart and sealed again
mod followed; // a filter that grows, beside an exact multiset
mod judge; // what an operation may cost
mod parameters; // builders' parameters, good and bad

pub mod backup;
pub mod consistent;
pub mod decode;
pub mod dynamic;
pub mod elastic;
pub mod forged;
pub mod maplet;
pub mod operations;
pub mod shared;
pub mod valkey;

#[cfg(test)]
mod tests;

/// What a target says that was built without the fuzzer.
#[cfg(not(fuzzing))]
pub fn needs_the_fuzzer() {
    eprintln!("this target was built without libFuzzer; run it with `cargo xtask fuzz TARGET`");
}
