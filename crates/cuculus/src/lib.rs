//! Cuckoo filters for sets that change.
//!
//! A filter is a set that can return false positives, never false negatives: a key that was
//! inserted is always found, and a key that was not is reported as present with a small probability
//! that you choose. In return it needs 10 to 20 bits per key, however long the keys are.
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
//! | type | use it when |
//! |---|---|
//! | [`ElasticFilter`] | the set grows and shrinks, or its size is unknown: set a rate, nothing else |
//! | [`SharedFilter`] | the same, for many threads at once |
//! | [`CuckooFilter`] | the number of keys is known in advance |
//! | [`CuckooFilter`] with [`semi_sorted`](CuckooFilterBuilder::semi_sorted) | the same, one bit per key less, and slower |
//! | [`CuckooMaplet`] | each key needs a small value |
//!
//! # Promises
//! * A key that was inserted and not removed is found: through kicks, growing, shrinking, merging,
//!   saving and loading.
//! * An operation that returns an error changed nothing.
//! * The same parameters, seed and operations give the same bytes on every platform.
//! * No input makes the library panic, and no header makes it allocate.
//! * [`size_in_bytes`](Filter::size_in_bytes) counts all memory held.
//!
//! # Limits
//! * Only remove keys that were inserted. Removing another key can remove the entry of a key that
//!   is still wanted; see [`Remove::remove`].
//! * Whoever knows the seed can find false positives. For keys that an adversary may choose, use
//!   [`KeyHasher::siphash`].
//! * A filter cannot list its keys.
//!
//! # Features
//! * `serde`: filters as serde values, stored as their container bytes.
//! * `conformance`: the laws that every filter obeys, to test a filter of your own.
//! * `lab`: choices that only measurements need. Not stable.

// `lab` hands insides to the crate of the papers' filters (lab.rs). What it makes public is judged
// with the feature, and everything else without it.
#![cfg_attr(not(feature = "lab"), allow(unreachable_pub))]
#![cfg_attr(
    feature = "lab",
    allow(missing_docs, clippy::must_use_candidate, clippy::new_without_default)
)]

// In the order in which a key passes through them. (The empty lines keep the order: rustfmt sorts
// modules that follow each other.)
mod key; // what can be a key

mod hash; // key → 64 bits

mod partition; // 64 bits → one of several filters

mod placement; // 64 bits → fingerprint and candidate buckets

#[cfg(not(feature = "lab"))]
mod table; // buckets of packed fingerprints
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod table;

mod relocate; // kicks: room in full buckets

// Faster ways along the same path.
mod batch; // many keys at a time
mod prefetch; // a hint to the memory system
mod wide; // wider instructions, chosen at run time

// What every filter has.
mod builder; // parameters and their checks
mod container; // saved as bytes
mod error; // what can go wrong
mod filter; // what filters can do
mod memory; // lists whose memory may be refused
mod note; // what a program writes after a saved filter
#[cfg(feature = "serde")]
mod serde; // the same bytes, as serde values
#[cfg(not(feature = "lab"))]
mod stats; // figures to print
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod stats;
mod work; // counted for the tests

// The filters.
mod cuckoo; // of fixed size, and with values
mod elastic; // grows and shrinks with its set
mod shared; // elastic, for many threads at once

pub mod analysis;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(test, feature = "lab"))]
pub mod lab;

pub use container::{Kind, Persist};
pub use cuckoo::{
    CuckooFilter, CuckooFilterBuilder, CuckooMaplet, CuckooMapletBuilder, CuckooStats, ValueError,
};
pub use elastic::{
    ElasticFilter, ElasticFilterBuilder, ElasticStats, MergeError, PieceError, Sections,
};
pub use error::{BuildError, DecodeError, Full, FullCause};
pub use filter::{Filter, Insert, Remove};
pub use hash::{KeyHash, KeyHasher};
pub use key::Key;
pub use note::Note;
pub use partition::Partition;
pub use shared::{SharedFilter, SharedFilterBuilder, SharedStats};

// The code of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
