//! A module for Valkey and Redis: the `CF.*` commands on cuckoo filters that grow and shrink with
//! their sets.
//!
//! The server does sharding, replication, persistence and failover, and [`cuculus`] has the filters.
//! This crate has what connects the two: commands and replies, the value of a key, and how the value
//! gets into dumps, append-only files and replicas.

pub mod value; // the value of a key and its bytes; knows no server

#[cfg(feature = "module")]
mod commands; // arguments and replies of each command
#[cfg(feature = "module")]
mod server; // the server's C interface; all unsafe code of this crate
