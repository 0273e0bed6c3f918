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

/// A target that checks its input with a module of this crate.
#[macro_export]
macro_rules! target {
    ($module:ident) => {
        libfuzzer_sys::fuzz_target!(|input: $crate::$module::Input| {
            $crate::$module::check(&input);
        });

        #[cfg(not(fuzzing))]
        fn main() {
            eprintln!("built without libFuzzer; run it with `cargo xtask fuzz TARGET`");
        }
    };
}
