//! Deduplicating, encrypted backups that need little memory.
//!
//! Files are cut into chunks at content-defined boundaries. Each chunk is stored once, compressed
//! and encrypted in packs. An exact index on disk says where each chunk is. Filters in memory (ten
//! bits per chunk) recognise new chunks without a disk read; a cache of recently used packs answers
//! for most of the others.
//!
//! [`Repository`] is the entry point:
//!
//! ```
//! use cuculus_backup::{BackupOptions, Parameters, Repository, RestoreOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let (location, source) = (dir.path().join("repository"), dir.path().join("letters"));
//! # std::fs::create_dir(&source)?;
//! std::fs::write(source.join("a.txt"), "Dear reader")?;
//!
//! Repository::create(&location, &Parameters::default(), Some("a passphrase"))?;
//! let repository = Repository::open(&location, Some("a passphrase"))?;
//! let options = BackupOptions { paths: vec![source], ..BackupOptions::default() };
//! let report = repository.backup(&options, &())?; // `()` ignores progress
//! assert_eq!((report.files, report.problems), (1, 0));
//!
//! let target = dir.path().join("restored");
//! let options = RestoreOptions { target, ..RestoreOptions::default() };
//! let report = repository.restore(&repository.snapshot("latest")?, &options, &())?;
//! assert_eq!((report.files, report.problems), (1, 0));
//! # Ok(())
//! # }
//! ```

mod clock; // the time
mod error; // one variant per situation

mod codec; // integers and byte strings as bytes
mod id; // names of chunks and objects
mod seal; // encryption, checksums, keyed ids
mod sealed; // small objects that are sealed whole
mod store; // objects in a directory or a bucket

mod config; // the parameters of a repository
mod huge_pages; // memory for passphrases
mod key; // the master key under a passphrase
mod local_state; // where this machine keeps what it knows of repositories
mod pin; // the repository that this machine expects
mod repository; // store, keys and parameters together

mod chunker; // bytes to chunks
mod index; // where each chunk is
mod locality; // a cache of the chunks of recently used packs
mod lookup; // cache, filters and index, in this order

mod chunks; // chunks read back
mod pack; // files of compressed, sealed chunks
mod sink; // new chunks to packs and index

mod forgotten; // snapshots that were removed on purpose
mod snapshot; // one finished backup, and which of them
mod tree; // stored directories

mod intent; // which processes are at work
mod marks; // packs about to be removed
mod origin; // whether a process may be alive

mod backup;
mod check;
mod copy; // snapshots of another repository
mod forget;
mod inspect; // ls, find, dump, diff, stats
#[cfg(feature = "mount")]
mod mount; // snapshots as a file system
mod passphrases; // add, change, remove
mod prune;
mod reachable; // every chunk that snapshots need
mod repair;
mod restore;
mod retag; // tag
mod source; // trees and files read while others may change the repository

mod progress; // callbacks of long operations

#[cfg(test)]
#[allow(dead_code, reason = "the tests of the command use the rest")]
#[path = "../tests/suite/trees.rs"]
mod trees; // trees to back up

#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz; // every decoder, for the fuzzer
#[cfg(feature = "lab")]
#[doc(hidden)]
pub mod lab; // what only measurements need

pub use backup::{BackupOptions, BackupReport};
pub use check::{CheckReport, ReadData};
pub use config::Parameters;
pub use copy::CopyReport;
pub use error::{Damage, DamagedPart, Error, Result};
pub use forget::{ForgetReport, GroupBy, Keep};
pub use id::{ChunkId, Name};
pub use inspect::{Change, ListEntry, Stats};
pub use intent::Lock;
pub use lookup::Lookups;
pub use passphrases::KeyInfo;
pub use progress::Progress;
pub use prune::{PruneOptions, PruneReport};
pub use repair::{DamagedPath, RepairReport};
pub use repository::{LockedRepository, Repository};
pub use restore::{RestoreOptions, RestoreReport};
pub use retag::TagChange;
pub use snapshot::{Snapshot, SnapshotFilter};
pub use store::ObjectKind;
