//! The formulas that the builders and `cuculus plan` use: error rates, loads and sizes.
//!
//! A figure computed here is the figure that a filter of fixed size has. (The elastic filter plans
//! by rules of its own, since it has no size to plan for.) Every function has an answer for every
//! argument: a rate or a load outside of zero to one is taken for the nearer of them, and what is no
//! number for zero.

mod collisions; // keys with equal fingerprints
mod cuckoo; // loads and sizes of a table
mod poisson; // tails of the distribution
mod rates; // false positives

pub use crate::elastic::ElasticForecast;
pub use collisions::overfull_classes;
pub(crate) use cuckoo::chunked_buckets_for;
pub use cuckoo::{buckets_for, chunked_load, planned_load};
pub use rates::{false_positive_rate, fingerprint_bits, real_fingerprint_bits};

/// What the papers' formulas are made of.
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod parts {
    pub use super::collisions::{fingerprints, overfull};
    pub use super::poisson::at_least;
    pub use super::rates::{share, some_equal};
}
