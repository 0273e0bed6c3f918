//! Cuckoo filters for sets that change.
//!
//! A filter is a set that may err in one direction: a key that was inserted is always found, and
//! a key that was not is found by mistake with a small probability that you choose. In return it
//! needs ten to fifteen bits a key, however long the keys are.
//!
//! ```
//! use cuculus::{ElasticFilter, Filter, Insert, Persist, Remove};
//!
//! let mut set = ElasticFilter::builder().false_positive_rate(0.001).build()?; // no capacity needed
//! set.insert("key")?; // text, bytes and integers: portable bytes
//! set.insert(b"bytes")?;
//! set.insert(&42u64)?;
//! assert!(set.contains("key") && set.contains(&42u64));
//! assert!(set.remove("key"));
//!
//! let bytes = set.to_bytes(); // checked, versioned, the same on every platform
//! assert_eq!(ElasticFilter::from_bytes(&bytes)?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | when |
//! |---|---|
//! | [`ElasticFilter`] | the set grows and shrinks: say a rate, and nothing else |
//! | [`CuckooFilter`] | the number of keys is known in advance |
//! | [`CuckooFilter`] with [`semi_sorted`](CuckooFilterBuilder::semi_sorted) | the same, one bit a key less, for slower operations |
//! | [`DynamicCuckooFilter`](papers::DynamicCuckooFilter) | the paper's list of filters, to compare with: fast inserts, but a lookup asks every filter, and the rate is kept up to a capacity only |
//! | [`IndexIndependentCuckooFilter`](papers::IndexIndependentCuckooFilter), [`ConsistentCuckooFilter`](papers::ConsistentCuckooFilter) | the paper's filters of buckets on a ring, to compare with: full at every size, but the ring is larger than the filter, and the rate grows with the keys |
//! | [`CuckooMaplet`] | a small value is wanted with each key |
//!
//! # Promises
//! * A key inserted and not removed is found: through relocations, growing, shrinking, merging,
//!   saving and loading.
//! * An operation that returns an error changed nothing.
//! * The same parameters, seed and operations give the same bytes on every platform.
//! * No input makes the library panic, and no header makes it allocate.
//! * [`size_in_bytes`](Filter::size_in_bytes) is all memory held.

// In the order in which a key passes through them.
mod batch; // many keys at a time
mod hash; // key → 64 bits
mod key; // what can be a key
mod placement; // 64 bits → fingerprint and candidate buckets
mod prefetch; // a hint to the memory system
mod relocate; // room in full buckets
mod table; // buckets of packed fingerprints
mod wide; // wider instructions, chosen at run time

mod builder; // parameters that filters share
mod container; // bytes in a file
mod error; // what can go wrong
mod filter; // what filters can do
mod stats; // lines of figures

mod cuckoo; // the filter of fixed size
mod elastic; // the filter that follows its set

pub mod analysis;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "lab"))]
pub mod lab;
pub mod papers;
#[cfg(feature = "serde")]
mod serde;

pub use container::{Kind, Persist};
pub use cuckoo::{
    CuckooFilter, CuckooFilterBuilder, CuckooMaplet, CuckooMapletBuilder, CuckooStats, ValueError,
};
pub use elastic::{ElasticFilter, ElasticFilterBuilder, ElasticStats, MergeError};
pub use error::{BuildError, DecodeError, Full, FullCause};
pub use filter::{Filter, Insert, Remove};
pub use hash::{KeyHash, KeyHasher};
pub use key::Key;

// The code of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
