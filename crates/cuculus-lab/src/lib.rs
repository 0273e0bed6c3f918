//! Experiments and measurements of the cuculus filters.
//!
//! Each experiment has options for the command line and a `run` that prints tables and verdicts
//! computed from the numbers in them. The bench target `lab` starts them:
//!
//! ```text
//! cargo bench -p cuculus-lab --bench lab -- speed --items 1000000
//! ```

#[cfg(doctest)]
mod documents; // the Rust blocks of the documents, as tests

// What experiments are made of.
pub mod clock; // how long
pub mod flows; // a set that comes and goes
pub mod heap; // how much memory
pub mod keys; // which keys, in which order
pub mod machine; // what the system tells
pub mod memory; // what the machine can do at best
pub mod pauses; // the longest of many operations
pub mod peers; // the filters of other crates
pub mod report; // numbers for programs
pub mod verdict; // numbers against targets

// The experiments.
pub mod capacity;
pub mod dcf;
pub mod elastic;
pub mod figures;
pub mod fill;
pub mod growing;
pub mod kicks;
pub mod loads;
pub mod rates;
pub mod ring;
pub mod soak;
pub mod speed;
pub mod table3;
pub mod trace;
