//! The backup through its library and its binary. One test program, so that it is linked once.

mod binary; // runs the binary
mod trees; // trees to save, and comparisons

mod cli; // messages and exit codes
mod crash; // killed and concurrent processes
mod damage; // changed and missing bytes
mod golden; // repositories of earlier versions
mod lookups; // wrong answers of digest and cache
mod passphrases; // added, changed, removed
mod places; // laws for directories and buckets
mod repair; // damage, repair, another backup
mod round_trip; // exact restores
#[cfg(feature = "s3")]
mod s3; // requests, the cache, a server that dies
