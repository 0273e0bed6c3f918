//! The server's C interface, behind safe calls for the commands. Everything that touches a pointer of
//! the server is in here. Knows nothing of what the commands do.
#![allow(unsafe_code, reason = "the server's interface is C")]

mod alloc; // memory from the server, so that `maxmemory` counts it
mod call; // one call of a command: arguments, replies, replication
mod config; // settings
mod data_type; // the value in dumps, append-only files, copies and digests
mod defrag; // active defragmentation
mod describe; // registration of the commands
mod guard; // panics end here
mod info; // the module's section of INFO
mod key; // the key of a command
mod load; // the entry point
mod names; // the names of the commands, with their prefix
mod rdb; // values in RDB files and DUMP

pub(crate) use call::{Call, Refusal, Word};
pub(crate) use config::settings;
pub(crate) use data_type::CHUNK;
pub(crate) use describe::{Argument, Command, Description, KeyUse, Shape};
pub(crate) use info::{Event, count};
pub(crate) use key::{Found, Key};
pub(crate) use names::{Named, full_name};

/// Calls a function of the server. Every server that `load` accepts has the functions that are called
/// this way.
macro_rules! engine {
    ($name:ident($($argument:expr),* $(,)?)) => {
        valkey_module::raw::$name.expect("Redis 7.0 has this function")($($argument),*)
    };
}
use engine;
