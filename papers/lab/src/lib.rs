//! Experiments and measurements of the cuculus filters, and the parts that they are made of. The
//! binary `cuculus-lab` runs them:
//!
//! ```text
//! cargo run --release -p cuculus-lab -- run speed --items 1000000
//! ```
#![allow(missing_docs, clippy::must_use_candidate, reason = "not published: names are enough")]

#[cfg(doctest)]
mod documents; // the Rust blocks of the documents, as tests

pub mod experiment; // what an experiment is, and what it returns
pub mod experiments; // all of them

// What is measured.
mod candidate; // filters that can be built under a name
mod foreign; // the filters of other languages
mod literal; // a table exactly as printed
mod peers; // the filters of other crates
mod subject; // one trait for a filter under test

// What it is measured with.
pub mod claims; // how many claims hold, in a document
mod clock; // how long
mod flows; // a set that grows and shrinks
pub mod heap; // how much memory
mod judge; // findings about lines of numbers
mod keys; // which keys, in which order
mod line; // a straight line through points
pub mod machine; // what the system tells
mod matching; // whether keys fit at all
mod memory; // what the machine can do at best
mod pauses; // the longest of many operations

mod prelude; // the words of all experiments
