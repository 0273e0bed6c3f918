//! The cuckoo filter of fixed size: placement, table and kick engine put together, nothing more.

pub(crate) mod batch;
pub(crate) mod builder;
mod filter;
mod maplet;
pub(crate) mod room;
pub(crate) mod saved;
mod stats;

pub use builder::CuckooFilterBuilder;
pub use filter::CuckooFilter;
pub use maplet::{CuckooMaplet, CuckooMapletBuilder, ValueError};
pub use stats::CuckooStats;
