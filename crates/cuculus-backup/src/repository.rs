//! A repository: its store, keys and parameters. Knows how the parts are opened; the operations are
//! in modules of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chunks::Chunks;
use crate::config::{self, Locked, Parameters};
use crate::error::Result;
use crate::index::{Index, Run};
use crate::locality::{self, Locality};
use crate::lookup::{Lookup, Prefilter};
use crate::seal::Keys;
use crate::snapshot::{self, Snapshot};
use crate::store::{RepositoryLocation, Store};

/// A repository of backups.
pub struct Repository {
    /// Its directory, or the cache of a repository on S3; left out of backups.
    pub(crate) path: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) parameters: Parameters,
}

impl Repository {
    /// Creates a repository; encrypted if there is a passphrase. The location is a directory that
    /// is empty or does not exist yet, or `s3://BUCKET/PREFIX` with nothing below the prefix.
    ///
    /// # Errors
    /// If the location cannot be written or is not empty, or a parameter is out of range.
    pub fn create(
        location: &Path,
        parameters: &Parameters,
        passphrase: Option<&str>,
    ) -> Result<()> {
        config::create(RepositoryLocation::create(location)?.store(), parameters, passphrase)
    }

    /// Finds a repository without opening it, for example to see whether it needs a passphrase.
    ///
    /// # Errors
    /// If there is none, or its configuration is damaged.
    pub fn find(location: &Path) -> Result<LockedRepository> {
        let text = location.display().to_string();
        let location = RepositoryLocation::find(location)?;
        let locked = Locked::read(location.store(), &text)?;
        Ok(LockedRepository { location, locked, cache: None })
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is none, the passphrase is wrong, or the configuration is damaged.
    pub fn open(location: &Path, passphrase: Option<&str>) -> Result<Self> {
        Self::find(location)?.open(passphrase)
    }

    /// The parameters that it was created with.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// All snapshots, oldest first.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        snapshot::all(&*self.store, &self.keys)
    }

    /// The snapshot whose name begins with `word`, or the newest for `latest`.
    ///
    /// # Errors
    /// If no snapshot matches, or several do.
    pub fn snapshot(&self, word: &str) -> Result<Snapshot> {
        snapshot::choose(&self.snapshots()?, word).cloned()
    }

    pub(crate) fn index(&self) -> Result<Index> {
        Index::load(&*self.store, &self.keys)
    }

    /// For readers: without the digest, since the chunks that they look up exist.
    pub(crate) fn chunks(&self) -> Result<Chunks> {
        self.chunks_of(self.index()?)
    }

    /// Opens the same runs again: one index to read with, one to look up in.
    pub(crate) fn index_like(&self, index: &Index) -> Result<Index> {
        let open = |run: &Run| Run::open(&*self.store, &self.keys, &run.name());
        Ok(Index::of_runs(index.runs().iter().map(open).collect::<Result<_>>()?))
    }

    pub(crate) fn chunks_of(&self, index: Index) -> Result<Chunks> {
        let cache = Locality::new(locality::DEFAULT_CHUNKS);
        let lookup = Lookup::new(&self.store, &self.keys, index, Prefilter::AlwaysMaybe, cache);
        Chunks::new(lookup, &self.parameters)
    }
}

/// A repository that was found and is not open yet.
pub struct LockedRepository {
    location: RepositoryLocation,
    locked: Locked,
    cache: Option<PathBuf>,
}

impl LockedRepository {
    /// Whether a passphrase is needed.
    #[must_use]
    pub fn needs_passphrase(&self) -> bool {
        self.locked.needs_passphrase()
    }

    /// Sets the directory for the cache of a repository on S3; `None` is the user's cache
    /// directory.
    #[must_use]
    pub fn cache_in(mut self, directory: Option<&Path>) -> Self {
        self.cache = directory.map(Path::to_owned);
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// If the passphrase is wrong, the configuration is damaged, or the cache cannot be written.
    pub fn open(self, passphrase: Option<&str>) -> Result<Repository> {
        let (parameters, keys) = self.locked.unlock(self.location.store(), passphrase)?;
        let (store, path) = self.location.ready(&self.locked.id, self.cache.as_deref())?;
        Ok(Repository { path, store, keys: Arc::new(keys), parameters })
    }
}
