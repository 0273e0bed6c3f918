//! The index-independent cuckoo filter: buckets on a consistent-hash ring, added and removed one by
//! one.

pub(crate) mod builder;
mod filter;
pub(crate) mod ring_table;
pub(crate) mod saved;
mod stats;

pub use builder::IndexIndependentCuckooFilterBuilder;
pub use filter::IndexIndependentCuckooFilter;
pub(crate) use filter::most_for_one;
pub use stats::IndexIndependentStats;
