#![doc = include_str!("../README.md")]

mod error; // what is wrong with a path, and what to do
mod replacement; // a file that is about to be replaced
mod system; // locks, identity and permissions

pub use error::{Error, shown};
pub use replacement::{Replacement, Written};
pub use system::{sync_directory, try_lock};
