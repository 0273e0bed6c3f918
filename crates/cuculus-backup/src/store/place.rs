//! What a repository's place means: a directory, or `s3://BUCKET/PREFIX`. Knows how each is reached;
//! nothing of what is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Store;
use super::local::LocalStore;
#[cfg(feature = "s3")]
use super::{cached::Cached, copies::Copies, s3::S3Store};
#[cfg(not(feature = "s3"))]
use crate::error::Error;
use crate::error::Result;
use crate::id::Name;

const SCHEME: &str = "s3://";

/// A place that can be read and written, if there is something.
pub(crate) enum Reached {
    Directory(LocalStore, PathBuf),
    #[cfg(feature = "s3")]
    Bucket(S3Store),
}

/// What follows `s3://`. Who means a directory of this name says `./s3:`.
fn bucket(place: &Path) -> Option<&str> {
    place.to_str()?.strip_prefix(SCHEME)
}

#[cfg(not(feature = "s3"))]
fn without_buckets() -> Error {
    Error::refused(
        "this cuculus-backup was built without S3; \
         install it with `cargo install --path crates/cuculus-backup --features s3`",
    )
}

impl Reached {
    pub(crate) fn find(place: &Path) -> Result<Self> {
        match bucket(place) {
            None => Ok(Self::Directory(LocalStore::new(place), place.to_owned())),
            #[cfg(feature = "s3")]
            Some(rest) => Ok(Self::Bucket(S3Store::new(rest)?)),
            #[cfg(not(feature = "s3"))]
            Some(_) => Err(without_buckets()),
        }
    }

    /// A place for a new repository: there must be nothing yet.
    pub(crate) fn create(place: &Path) -> Result<Self> {
        let reached = Self::find(place)?;
        match &reached {
            Self::Directory(store, _) => store.prepare()?,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store.prepare()?,
        }
        Ok(reached)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        match self {
            Self::Directory(store, _) => store,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store,
        }
    }

    /// The store to work with, and the folder on this machine that belongs to the repository.
    #[cfg_attr(
        not(feature = "s3"),
        expect(unused_variables, reason = "what is on this machine needs no copies")
    )]
    pub(crate) fn ready(
        self,
        repository: &Name,
        cache: Option<&Path>,
    ) -> Result<(Arc<dyn Store>, PathBuf)> {
        match self {
            Self::Directory(store, path) => Ok((Arc::new(store), path)),
            #[cfg(feature = "s3")]
            Self::Bucket(store) => {
                let copies = Copies::open(cache, repository)?;
                let folder = copies.folder().to_owned();
                Ok((Arc::new(Cached::new(store, copies)), folder))
            }
        }
    }
}
