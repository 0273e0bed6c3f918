//! What the fuzz targets check, as functions of the fuzzer's input; the targets themselves only
//! call them. A broken law panics.

mod container; // a saved filter, taken apart and sealed again
mod parameters; // builders' parameters, good and bad

pub mod backup;
pub mod consistent;
pub mod decode;
pub mod dynamic;
pub mod elastic;
pub mod maplet;
pub mod operations;
pub mod valkey;

#[cfg(test)]
mod tests;
