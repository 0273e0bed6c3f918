//! The elastic filter: growth in small steps, down and up.
//!
//! ```text
//!  address    hash → path (which segment) and home (where in it)
//!  code       what an entry holds of a path, and how it is shortened
//!  group      sixteen homes and their codes, as bits
//!  bits       numbers of any width in memory
//!  segment    48 groups in a block, changed in place
//!  probe      a lookup in a segment
//!  rewrite    what segments become: one pass over their groups
//!  pool       memory for blocks
//!  directory  all segments of a level, by path
//!  level      entries put into segments, found and removed
//!  reshape    segments rewritten, split, merged and shrunk: one commit
//!  engine     all of these, and the accounts of them
//!  levels     the main level, and others for entries that have become too short
//!  overflow   the list of these others
//!  lengths    what is known of how many keys, and so the rate
//!  sections   copied piece by piece while it is in use
//!  bulk       many keys at once, each segment written once
//!  union      all entries of another filter, segment by segment
//!  groups     many keys by the segments that they belong to
//!  join       parts become one filter, and one filter parts
//!  forecast   what a filter will be like, by the policy alone
//!  policy     how large and how long: the only place where that is decided
//! ```

mod address;
mod batch;
mod bits;
mod builder;
mod bulk;
mod code;
mod directory;
pub(crate) mod engine;
mod filter;
mod forecast;
mod group;
mod groups;
pub(crate) mod join;
mod lengths;
mod level;
mod levels;
mod moving;
mod overflow;
mod page;
pub(crate) mod policy;
mod pool;
mod probe;
mod reshape;
mod rewrite;
mod saved;
mod sections;
mod segment;
mod stats;
mod union;

pub use builder::ElasticFilterBuilder;
pub use filter::{ElasticFilter, MergeError};
pub use forecast::ElasticForecast;
pub use sections::{PieceError, Sections};
pub use stats::ElasticStats;
