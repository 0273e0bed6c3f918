//! Where a repository is: a directory, `s3://BUCKET/PREFIX` or `sftp://HOST/PATH`. Knows how each is opened; nothing
//! of what is stored there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Store;
use super::local::LocalStore;
#[cfg(feature = "s3")]
use super::s3::S3Store;
#[cfg(feature = "sftp")]
use super::sftp::SftpStore;
#[cfg(any(feature = "s3", feature = "sftp"))]
use super::{cache::ObjectCache, cached::CachedStore};
#[cfg(not(all(feature = "s3", feature = "sftp")))]
use crate::error::Error;
use crate::error::Result;
use crate::id::Name;

/// A store for a location, whether there is a repository or not.
pub(crate) enum RepositoryLocation {
    Directory(LocalStore, PathBuf),
    #[cfg(feature = "s3")]
    Bucket(S3Store),
    #[cfg(feature = "sftp")]
    Server(SftpStore),
}

/// What follows `SCHEME://`. A directory of this name can be given as `./s3:`.
fn after<'a>(path: &'a Path, scheme: &str) -> Option<&'a str> {
    path.to_str()?.strip_prefix(scheme)?.strip_prefix("://")
}

impl RepositoryLocation {
    pub(crate) fn find(path: &Path) -> Result<Self> {
        if let Some(_rest) = after(path, "s3") {
            #[cfg(feature = "s3")]
            return Ok(Self::Bucket(S3Store::new(_rest)?));
            #[cfg(not(feature = "s3"))]
            return Err(Error::BuiltWithoutS3);
        }
        if let Some(_rest) = after(path, "sftp") {
            #[cfg(feature = "sftp")]
            return Ok(Self::Server(SftpStore::new(_rest)?));
            #[cfg(not(feature = "sftp"))]
            return Err(Error::BuiltWithoutSftp);
        }
        Ok(Self::Directory(LocalStore::new(path), path.to_owned()))
    }

    /// A store for a new repository: the location must be empty.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let location = Self::find(path)?;
        match &location {
            Self::Directory(store, _) => store.prepare()?,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store.prepare()?,
            #[cfg(feature = "sftp")]
            Self::Server(store) => store.prepare()?,
        }
        Ok(location)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        match self {
            Self::Directory(store, _) => store,
            #[cfg(feature = "s3")]
            Self::Bucket(store) => store,
            #[cfg(feature = "sftp")]
            Self::Server(store) => store,
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
            #[cfg(feature = "sftp")]
            Self::Server(store) => store.identity(),
        }
    }

    /// The store to work with, and the local directory that belongs to the repository.
    #[cfg_attr(
        not(any(feature = "s3", feature = "sftp")),
        expect(unused_variables, reason = "a directory needs no cache")
    )]
    pub(crate) fn ready(
        self,
        repository: &Name,
        cache: Option<&Path>,
    ) -> Result<(Arc<dyn Store>, PathBuf)> {
        #[cfg(any(feature = "s3", feature = "sftp"))]
        let cache = || -> Result<(ObjectCache, PathBuf)> {
            let cache = ObjectCache::open(cache, repository)?;
            let folder = cache.folder().to_owned();
            Ok((cache, folder))
        };
        match self {
            Self::Directory(store, path) => Ok((Arc::new(store), path)),
            #[cfg(feature = "s3")]
            Self::Bucket(store) => {
                let (cache, folder) = cache()?;
                Ok((Arc::new(CachedStore::new(store, cache)), folder))
            }
            #[cfg(feature = "sftp")]
            Self::Server(store) => {
                let (cache, folder) = cache()?;
                Ok((Arc::new(CachedStore::new(store, cache)), folder))
            }
        }
    }
}
