//! The Rust blocks of README.md and docs/guide.md, compiled and run as doctests. They live here
//! because the published crates must not include files from outside their own directory.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/guide.md")]
struct Guide;
