//! The `CF.*` commands for Valkey and Redis over filters that follow their sets.
//!
//! Sharding, replication, persistence and failover are the engine's; the filter is that of
//! [`cuculus`]. This crate is what lies between: commands and their replies, the value under a key,
//! and its way into dumps, logs and replicas.

pub mod value; // what is stored under a key; knows no server

#[cfg(feature = "module")]
mod commands; // what clients say and what they are answered
#[cfg(feature = "module")]
mod server; // the engine's interface, the only place with unsafe code
