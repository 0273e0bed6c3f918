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
use super::{cache::ObjectCache, cached::CachedStore, cached::Remote};
#[cfg(not(all(feature = "s3", feature = "sftp")))]
use crate::error::Error;
use crate::error::Result;
use crate::id::Name;

/// Where a repository can be, whether there is one or not.
pub(crate) trait Place {
    /// Makes it ready for a new repository; it must be empty, but for what an interrupted attempt left.
    fn prepare(&self) -> Result<()>;

    /// Identifies the place, whatever way it was written.
    fn identity(&self) -> String;
}

/// The store to work with, and the local directory that belongs to the repository.
type Ready = (Arc<dyn Store>, PathBuf);

pub(crate) trait RepositoryLocation: Store + Place {
    fn ready(self: Box<Self>, repository: &Name, cache: Option<&Path>) -> Result<Ready>;
}

impl RepositoryLocation for LocalStore {
    fn ready(self: Box<Self>, _: &Name, _: Option<&Path>) -> Result<Ready> {
        let path = self.root.clone();
        Ok((Arc::new(*self), path))
    }
}

#[cfg(any(feature = "s3", feature = "sftp"))]
impl<R: Remote> RepositoryLocation for R {
    fn ready(self: Box<Self>, repository: &Name, cache: Option<&Path>) -> Result<Ready> {
        let cache = ObjectCache::open(cache, repository)?;
        let folder = cache.folder.clone();
        Ok((Arc::new(CachedStore::new(*self, cache)), folder))
    }
}

/// What follows `SCHEME://`. A directory of this name can be given as `./s3:`.
fn after<'a>(path: &'a Path, scheme: &str) -> Option<&'a str> {
    path.to_str()?.strip_prefix(scheme)?.strip_prefix("://")
}

pub(crate) fn find(path: &Path) -> Result<Box<dyn RepositoryLocation>> {
    if let Some(_rest) = after(path, "s3") {
        #[cfg(feature = "s3")]
        return Ok(Box::new(S3Store::new(_rest)?));
        #[cfg(not(feature = "s3"))]
        return Err(Error::BuiltWithout { feature: "s3" });
    }
    if let Some(_rest) = after(path, "sftp") {
        #[cfg(feature = "sftp")]
        return Ok(Box::new(SftpStore::new(_rest)?));
        #[cfg(not(feature = "sftp"))]
        return Err(Error::BuiltWithout { feature: "sftp" });
    }
    Ok(Box::new(LocalStore::new(path)))
}
