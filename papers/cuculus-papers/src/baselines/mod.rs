//! What the papers compare cuckoo filters with, each complete and as fast as its idea allows.
//!
//! The filters have the traits and the hash of [`cuculus`], and obey the laws of its conformance
//! suite. They are here to be measured against; programs that need a filter want
//! [`cuculus`] itself. Each says when it loses.
//!
//! ```
//! use cuculus::{Filter, Insert, Remove};
//! use cuculus_papers::baselines::QuotientFilter;
//!
//! let mut filter = QuotientFilter::builder().capacity(1000).false_positive_rate(0.01).build()?;
//! filter.insert("key")?;
//! assert!(filter.contains("key") && filter.remove("key") && !filter.contains("key"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | type | from | deletes |
//! |---|---|---|
//! | [`BloomFilter`] | CF paper §2.1, §7 | no |
//! | [`BlockedBloomFilter`] | CF paper §2.1, §7 | no |
//! | [`CountingBloomFilter`] | CF paper §2.1 | yes |
//! | [`DleftCountingBloomFilter`] | CF paper §2.1, §7 | yes |
//! | [`QuotientFilter`] | CF paper §2.1, §7 | yes |
//! | [`DynamicBloomFilter`] | DCF paper §II.C, Fig. 1 | where it can tell |
//! | [`AdaptiveCuckooFilter`] | CCF paper §II | exactly |
//! | [`CuckooTable`] | CF paper §2.2 | a map, not a filter |

mod memory; // memory that may not be there
mod parameters; // the builders' words
mod probes; // hash → places
mod rates; // formulas

mod counters; // counters that stick
mod kicks; // room in full buckets
mod packed; // cells of a few bits

mod adaptive;
mod blocked;
mod bloom;
mod counting;
mod dleft;
mod dynamic;
mod quotient;
mod table;

pub use adaptive::{AdaptiveCuckooFilter, AdaptiveCuckooFilterBuilder, AdaptiveStats};
pub use blocked::{BlockedBloomFilter, BlockedBloomFilterBuilder};
pub use bloom::{BloomFilter, BloomFilterBuilder};
pub use counting::{CountingBloomFilter, CountingBloomFilterBuilder, CountingStats};
pub use dleft::{DleftCountingBloomFilter, DleftCountingBloomFilterBuilder, DleftStats};
pub use dynamic::{DynamicBloomFilter, DynamicBloomFilterBuilder, DynamicBloomStats, Removal};
pub use quotient::{QuotientFilter, QuotientFilterBuilder, QuotientStats};
pub use table::{CuckooTable, CuckooTableBuilder, CuckooTableStats};

#[cfg(test)]
mod conformance;
