//! Experiments and measurements of the cuculus filters.
//!
//! Each experiment has options for the command line and a `run` that prints tables and verdicts
//! computed from the numbers in them. The bench target `lab` starts them, and brings the filters
//! of other crates for [`speed`]:
//!
//! ```text
//! cargo bench -p cuculus-lab --bench lab -- speed --items 1000000
//! ```

// What experiments are made of.
pub mod clock; // how long
pub mod heap; // how much memory
pub mod keys; // which keys, in which order
pub mod memory; // what the machine can do at best
mod prefetch; // a hint to the memory system
pub mod table; // numbers in columns
pub mod verdict; // numbers against targets

// The experiments.
pub mod capacity;
pub mod fill;
pub mod kicks;
pub mod soak;
pub mod speed;
pub mod table3;
