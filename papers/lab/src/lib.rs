//! Experiments and measurements of the cuculus filters, and the parts that they are made of. The
//! binary `cuculus-lab` runs them:
//!
//! ```text
//! cargo run --release -p cuculus-lab -- run speed --items 1000000
//! ```

#[cfg(doctest)]
mod documents; // the Rust blocks of the documents, as tests

pub mod experiment; // what an experiment is, and what it returns
pub mod experiments; // all of them

// What is measured.
pub mod candidate; // filters that can be built under a name
pub mod foreign; // the filters of other languages
pub mod literal; // a table exactly as printed
pub mod peers; // the filters of other crates
pub mod subject; // one trait for a filter under test

// What it is measured with.
pub mod claims; // how many claims hold, in a document
pub mod clock; // how long
pub mod flows; // a set that grows and shrinks
pub mod heap; // how much memory
pub mod judge; // findings about lines of numbers
pub mod keys; // which keys, in which order
pub mod line; // a straight line through points
pub mod machine; // what the system tells
pub mod matching; // whether keys fit at all
pub mod memory; // what the machine can do at best
pub mod pauses; // the longest of many operations
