//! One filter for many threads.
//!
//! ```text
//!  builder   parameters
//!  part      a part of the keys: one writer at a time
//!  gate      the lock of a part, which readers of parts that nobody changes do without
//!  filter    the public filter: keys to parts, one key at a time
//!  batch     many keys at a time, part by part
//!  whole     all parts: snapshots, merging, files
//!  generic   the traits that it shares with filters of one thread
//!  stats     its figures
//! ```

mod batch;
mod builder;
mod filter;
mod gate;
mod generic;
mod part;
mod stats;
mod whole;

pub use builder::SharedFilterBuilder;
pub use filter::SharedFilter;
pub use stats::SharedStats;
