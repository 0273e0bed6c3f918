//! The consistent cuckoo filter: several tables on rings, which grow and shrink by buckets and by
//! whole tables.

mod builder;
mod filter;
mod policy;
mod resize;
mod saved;
mod stats;

pub use builder::ConsistentCuckooFilterBuilder;
pub use filter::ConsistentCuckooFilter;
pub use policy::Resizing;
pub use stats::{ConsistentPart, ConsistentStats};
