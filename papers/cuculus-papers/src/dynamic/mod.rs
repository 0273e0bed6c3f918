//! The dynamic cuckoo filter of Chen, Liao, Jin and Wu (2017): a list of equal cuckoo filters that
//! gets longer when the last is full and shorter when one can be emptied into the others.
//!
//! All filters of the list have the same number of buckets and the same length of a fingerprint, so
//! a key has the same candidates in each: they are worked out once, and an entry may lie in any
//! filter. Everything that the list can do follows from that.

mod block; // one filter of the list
mod builder; // from keys and a rate to the sizes of the list
mod compact; // emptying filters into the others
mod filter; // the public type
mod growth; // which filter takes a key
mod saved; // the list in a file
mod stats; // figures to look at

pub use builder::DynamicCuckooFilterBuilder;
pub use filter::DynamicCuckooFilter;
pub use growth::Extension;
pub use stats::DynamicStats;
