//! The growing filters of the papers, what the papers compare with, and the papers' formulas.
//!
//! | type | paper | is |
//! |---|---|---|
//! | [`DynamicCuckooFilter`] | DCF | a list of fixed filters |
//! | [`IndexIndependentCuckooFilter`] | CCF §III.A | one table of buckets on a consistent-hash ring (I2CF) |
//! | [`ConsistentCuckooFilter`] | CCF §III | several of those |
//! | [`baselines`] | CF §2, §7, DCF §II.C, CCF §II | Bloom, counting, d-left, quotient, adaptive; a cuckoo hash table |
//!
//! All have the traits, the hash and the kick engine of [`cuculus`], obey the laws of its conformance
//! suite, and are here to be measured. For a set that grows,
//! [`ElasticFilter`](cuculus::ElasticFilter) is smaller, faster and keeps its rate.
//!
//! "CF" is Fan, Andersen, Kaminsky and Mitzenmacher, *Cuckoo Filter: Practically Better Than Bloom*
//! (2014); "DCF" is Chen, Liao, Jin and Wu, *The Dynamic Cuckoo Filter* (2017); "CCF" is Luo, Guo,
//! Rottenstreich, Ma, Luo and Ren, *The Consistent Cuckoo Filter* (2019).

pub mod analysis;
pub mod baselines;

mod consistent; // CCF: filters on rings that follow their set
mod dynamic; // DCF: a list of fixed filters
mod index_independent; // I2CF: one table on a ring
mod ring; // where the buckets of a ring are

mod described; // what all filters say of themselves

pub use consistent::{
    ConsistentCuckooFilter, ConsistentCuckooFilterBuilder, ConsistentPart, ConsistentStats,
    Resizing,
};
pub use dynamic::{DynamicCuckooFilter, DynamicCuckooFilterBuilder, DynamicStats, Extension};
pub use index_independent::{
    IndexIndependentCuckooFilter, IndexIndependentCuckooFilterBuilder, IndexIndependentStats,
};

// The code of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
