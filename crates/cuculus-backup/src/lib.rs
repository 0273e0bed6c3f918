//! A deduplicating backup that needs little memory.
//!
//! Files are cut into chunks where their content says; each chunk is stored once, compressed and
//! sealed in packs. Which chunks are stored stands in an exact index on disk. A digest in memory,
//! an elastic cuckoo filter of two bytes a chunk, tells which chunks are new without a look at the
//! disk; a cache of the neighbours of known chunks answers for most of the others. See
//! [`Repository`].

mod error; // what can go wrong, in one line

mod codec; // numbers and byte strings
mod id; // names of chunks and objects
mod seal; // encryption, checksums, keyed ids
mod store; // objects in a directory or a bucket

mod config; // what a repository is
mod key; // the master key under a passphrase
mod repository; // its parts put together

mod chunker; // bytes to chunks
mod digest; // which chunks may be stored
mod index; // which chunk is where
mod locality; // which chunks are stored next to one that was asked for
mod lookup; // these three in order

mod chunks;
mod pack; // chunks to files
mod sink; // new chunks to packs and index // chunks read back

mod snapshot; // a tree at a time
mod tree; // directories

mod intent; // who is at work
mod marks; // what is about to go

mod backup;
mod check;
mod forget;
mod inspect; // ls, diff, stats, verify-digest
mod passphrases; // added, changed, removed
mod prune;
mod reachable; // what snapshots need
mod repair; // a way forward from damage
mod restore;

mod watch; // progress

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz; // every decoder, for the fuzzer

pub use backup::{Asked, BackupOptions, BackupReport, Help};
pub use check::CheckReport;
pub use config::Parameters;
pub use error::{Error, Result};
pub use forget::{Forgotten, Keep};
pub use id::{ChunkId, Name};
pub use inspect::{Change, DigestReport, Listed, Stats};
pub use lookup::Lookups;
pub use passphrases::Key;
pub use prune::{PruneOptions, PruneReport};
pub use repair::{Hurt, RepairReport};
pub use repository::{Found, Repository};
pub use restore::{RestoreOptions, RestoreReport};
pub use snapshot::Snapshot;
pub use watch::Watch;
