//! The backup through its library and its binary. One test program, so that it is linked once.

mod binary; // runs the binary
#[expect(dead_code, reason = "only its tests run here")]
#[path = "../../src/cli/text.rs"]
mod text; // numbers, times and names for people
mod trees; // trees to save, and comparisons

mod cli; // messages and exit codes
mod commands; // snapshots and paths that are chosen
mod crash; // killed and concurrent processes
mod damage; // changed and missing bytes
mod golden; // repositories of earlier versions
#[cfg(feature = "mount")]
mod mount; // snapshots as a file system
mod passphrases; // added, changed, removed
mod places; // laws for directories, buckets and servers
mod repair; // damage, repair, another backup
mod round_trip; // exact restores
mod rounds; // random damage, repair, another backup, many times
#[cfg(feature = "s3")]
mod s3; // requests, the cache, a server that dies
mod safety; // nothing good is destroyed
#[cfg(feature = "sftp")]
mod sftp; // messages, a connection that breaks
#[cfg(feature = "sftp")]
mod sshd; // a server on this machine
mod threats; // an enemy holds the storage
