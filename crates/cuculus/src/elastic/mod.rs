//! The elastic filter: growth in small steps, down and up.
//!
//! ```text
//!  address   hash → path (which segment) and place (which two buckets in it)
//!  form      what a slot holds of a key, and how it is shortened, split and merged
//!  store     segments in memory: packed slots (with pool, where the memory comes from)
//!  draft     a segment written anew in another shape, all or nothing
//!  level     segments split and merged one after the other, each as large as it should be
//!  tier      a level, and its elder for entries that have become too short
//!  lengths   what is known of how many keys, and so the rate
//!  moving    memory that the owner of the allocator moves
//!  policy    how large and how long: the only place where that is decided
//! ```

mod address;
mod batch;
mod builder;
mod draft;
mod filter;
mod form;
mod lengths;
mod level;
mod moving;
mod policy;
mod pool;
mod saved;
mod stats;
mod store;
mod tier;

pub use builder::ElasticFilterBuilder;
pub use filter::{ElasticFilter, MergeError};
pub use stats::ElasticStats;
