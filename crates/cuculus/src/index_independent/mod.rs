//! The index-independent cuckoo filter: buckets on a consistent-hash ring, added and removed one by
//! one.

pub(crate) mod builder;
mod filter;
pub(crate) mod ring_table;
pub(crate) mod saved;
mod stats;

pub use builder::IndexIndependentCuckooFilterBuilder;
pub use filter::IndexIndependentCuckooFilter;
pub use stats::IndexIndependentStats;
