//! Where a repository is: a directory, or `s3://BUCKET/PREFIX`. Knows how each is opened; nothing
//! of what is stored there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Store;
use super::local::LocalStore;
#[cfg(feature = "s3")]
use super::{cache::ObjectCache, cached::CachedStore, s3::S3Store};
#[cfg(not(feature = "s3"))]
use crate::error::Error;
use crate::error::Result;
use crate::id::Name;

const SCHEME: &str = "s3://";

/// A store for a location, whether there is a repository or not.
pub(crate) enum RepositoryLocation {
    Directory(LocalStore, PathBuf),
    #[cfg(feature = "s3")]
    Bucket(S3Store),
}

/// What follows `s3://`. A directory of this name can be given as `./s3:`.
fn bucket(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(SCHEME)
}

impl RepositoryLocation {
    pub(crate) fn find(path: &Path) -> Result<Self> {
        match bucket(path) {
            None => Ok(Self::Directory(LocalStore::new(path), path.to_owned())),
            #[cfg(feature = "s3")]
            Some(rest) => Ok(Self::Bucket(S3Store::new(rest)?)),
            #[cfg(not(feature = "s3"))]
            Some(_) => Err(Error::BuiltWithoutS3),
        }
    }

    /// A store for a new repository: the location must be empty.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let location = Self::find(path)?;
        match &location {
            Self::Directory(store, _) => store.prepare()?,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store.prepare()?,
        }
        Ok(location)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        match self {
            Self::Directory(store, _) => store,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store,
        }
    }

    /// Identifies the place, whatever way it was written.
    pub(crate) fn identity(&self) -> String {
        match self {
            Self::Directory(_, path) => {
                let full = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
                full.unwrap_or_else(|_| path.clone()).display().to_string()
            }
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store.identity(),
        }
    }

    /// The store to work with, and the local directory that belongs to the repository.
    #[cfg_attr(
        not(feature = "s3"),
        expect(unused_variables, reason = "a directory needs no cache")
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
                let cache = ObjectCache::open(cache, repository)?;
                let folder = cache.folder().to_owned();
                Ok((Arc::new(CachedStore::new(store, cache)), folder))
            }
        }
    }
}
