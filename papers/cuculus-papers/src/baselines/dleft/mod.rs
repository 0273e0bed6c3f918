//! The d-left counting Bloom filter.

mod builder;
mod cells;
mod filter;
#[cfg(test)]
mod tests;

pub use builder::DleftCountingBloomFilterBuilder;
pub use filter::{DleftCountingBloomFilter, DleftStats};
