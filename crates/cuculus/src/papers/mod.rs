//! The growing filters of the papers, to compare with: a list of fixed filters (DCF), a table of
//! buckets on a consistent-hash ring (I2CF), and several of those (CCF). They obey the same laws
//! as every other filter of this crate. For a set that grows, [`ElasticFilter`](crate::ElasticFilter)
//! is smaller, faster and keeps its rate.

mod consistent; // CCF: filters on rings that follow their set
mod dynamic; // DCF: a list of fixed filters
mod index_independent; // I2CF: one table on a ring
mod ring; // where the buckets of a ring are

pub use consistent::{
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, ConsistentPart, ConsistentStats,
    Resizing,
};
pub use dynamic::{DynamicCuckooFilter, DynamicCuckooFilterBuilder, DynamicStats, Extension};
pub use index_independent::{
    IndexIndependentCuckooFilter, IndexIndependentCuckooFilterBuilder, IndexIndependentStats,
};
#[cfg(feature = "lab")]
#[doc(hidden)] // for the laboratory, not a promise
pub use ring::RingNodes;
