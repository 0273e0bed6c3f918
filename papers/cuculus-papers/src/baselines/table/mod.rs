//! The cuckoo hash table.

mod builder;
mod draft;
mod map;
#[cfg(test)]
mod tests;

pub use builder::CuckooTableBuilder;
pub use map::{CuckooTable, CuckooTableStats};
