//! The cuckoo filter of fixed size, which puts placement, table and kick engine together, and the
//! maplet, which keeps a value beside each fingerprint. Neither grows.

pub(crate) mod builder;
mod bulk;
mod changes;
mod filter;
mod maplet;
pub(crate) mod room;
pub(crate) mod saved;
mod stats;
mod straight;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use builder::CuckooFilterBuilder;
pub use filter::CuckooFilter;
pub use maplet::{CuckooMaplet, CuckooMapletBuilder, ValueError};
pub use stats::CuckooStats;
