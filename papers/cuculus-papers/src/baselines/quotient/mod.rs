//! The quotient filter.

mod builder;
mod filter;
mod slots;
#[cfg(test)]
mod tests;

pub use builder::QuotientFilterBuilder;
pub use filter::{QuotientFilter, QuotientStats};
