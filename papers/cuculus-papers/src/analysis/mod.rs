//! The formulas of three papers, beside those of the library: the Cuckoo Filter (CF), the Dynamic
//! Cuckoo Filter (DCF) and the Consistent Cuckoo Filter (CCF). Where a paper is wrong, the right
//! formula is here, and the printed one is named so.
//!
//! | paper | says | here | holds |
//! |---|---|---|---|
//! | CF Eq. 4, DCF Eq. 2 | rate of a full cuckoo filter | [`false_positive_rate`] | yes |
//! | DCF Eq. 3, 4 | rate of s filters | [`rate_of_all`], [`dynamic_rate_bound`] | yes |
//! | DCF §V.B | rate and fingerprint length of each filter | [`rate_per_filter`], [`real_fingerprint_bits`], [`fingerprint_bits`] | yes |
//! | DCF Eq. 5–9 | keys stored before the first refusal | [`RelocationModel`] | as a model: .952 for a true .910 |
//! | DCF Eq. 10, 11 | relocations | [`RelocationModel::expected_relocations`], [`RelocationModel::total_relocations`] | no: not given success |
//! | DCF Eq. 12 | the number of filters with the least memory | [`DynamicSizing`], [`SetSizes`] | yes, but it is no linear program |
//! | CCF Thm. 1 | rate of a consistent filter | true: [`false_positive_rate`] of all keys, [`fingerprint_bits_for_keys`] | no |
//! | CCF Thm. 4, Table II | threshold T̂ | [`upper_threshold`]; true: [`orientability_threshold`]; uneven shares: [`ring_threshold`] | as an upper bound |
//! | CCF Thm. 5 | bound on the chance to store all keys | [`success_bound`], [`Occupancy`] | with other limits |
//! | – | keys that can never be stored | [`overfull_classes`], [`overfull_fingerprints`] | |
//! | – | loads and sizes that the builders plan with | [`planned_load`], [`buckets_for`], [`planned_ring_load`] | |
//!
//! Every function has an answer for every argument: a rate or a load that is not between zero and
//! one is taken for the nearer of them, and what is no number for zero.

mod bisection; // where a condition stops to hold

mod collisions; // keys with equal fingerprints
mod filters; // how many filters, for sets of changing size
mod rates; // false positives and fingerprint lengths
mod relocations; // how far a filter fills, and what it moves
mod success; // the chance that all keys fit
mod thresholds; // how full a table can be

pub use collisions::overfull_fingerprints;
pub use cuculus::analysis::*;
pub use filters::{Counting, DynamicPlan, DynamicSizing, SetSizes, ZipfOrder};
pub use rates::{
    consistent_rate_as_printed, dynamic_rate_bound, fingerprint_bits_for_keys, rate_of_all,
    rate_per_filter,
};
pub use relocations::RelocationModel;
pub use success::{Occupancy, success_bound};
pub use thresholds::{
    TABLE_II, orientability_threshold, planned_ring_load, ring_threshold, upper_threshold,
};
