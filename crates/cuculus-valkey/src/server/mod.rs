//! The engine's interface: everything that touches a pointer of the server is in here, behind
//! calls that the commands can use safely. Knows nothing of what the commands mean.
#![allow(unsafe_code, reason = "the engine speaks C")]

mod alloc; // memory from the engine, so that its limits count it
mod call; // one call of a command: arguments, replies, replication
mod config; // settings
mod data_type; // the value under a key in dumps, logs, copies and digests
mod defrag; // memory moved to where less is lost
mod describe; // commands made known to the server
mod info; // the section of INFO
mod key; // keys opened for a command
mod load; // the entry point
mod names; // what the commands are called here
mod rdb; // bytes in the engine's dumps

pub(crate) use call::{Call, Refusal, Word};
pub(crate) use config::settings;
pub(crate) use data_type::CHUNK;
pub(crate) use describe::{Argument, Command, Description, KeyUse, Shape};
pub(crate) use info::{Event, count};
pub(crate) use key::{Found, Key};
pub(crate) use names::Named;

/// Calls a function of the engine. All that are called so exist in every server that `load`
/// accepts.
macro_rules! engine {
    ($name:ident($($argument:expr),* $(,)?)) => {
        valkey_module::raw::$name.expect("a function of Redis 7.0")($($argument),*)
    };
}
use engine;
