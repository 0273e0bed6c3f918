//! A repository: its store, its keys, its parameters. Knows how the parts are opened; what is done
//! with them stands in modules of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chunks::Chunks;
use crate::config::{self, Locked, Parameters};
use crate::error::Result;
use crate::index::{Index, Run};
use crate::locality::{self, Locality};
use crate::lookup::{Lookup, Oracle};
use crate::seal::Keys;
use crate::snapshot::{self, Snapshot};
use crate::store::{Reached, Store};

/// A place where backups are kept.
pub struct Repository {
    /// What of it is on this machine, to be left out of backups.
    pub(crate) path: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) parameters: Parameters,
}

impl Repository {
    /// Makes a new repository; encrypted if there is a passphrase. The place is a directory that
    /// is empty or not there yet, or `s3://BUCKET/PREFIX` with nothing below the prefix.
    ///
    /// # Errors
    /// If the place cannot be written or is not empty, or a parameter is out of its range.
    pub fn create(place: &Path, parameters: &Parameters, passphrase: Option<&str>) -> Result<()> {
        config::create(Reached::create(place)?.store(), parameters, passphrase)
    }

    /// Looks for a repository.
    ///
    /// # Errors
    /// If there is none, or its configuration is damaged.
    pub fn find(place: &Path) -> Result<Found> {
        let reached = Reached::find(place)?;
        let locked = Locked::read(reached.store(), &place.display().to_string())?;
        Ok(Found { reached, locked, cache: None })
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is none, the passphrase is wrong, or the configuration is damaged.
    pub fn open(place: &Path, passphrase: Option<&str>) -> Result<Self> {
        Self::find(place)?.open(passphrase)
    }

    /// The parameters that it was made with.
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

    /// The snapshot whose name begins so, or the newest for `latest`.
    ///
    /// # Errors
    /// If there is none or more than one.
    pub fn snapshot(&self, word: &str) -> Result<Snapshot> {
        snapshot::choose(&self.snapshots()?, word).cloned()
    }

    pub(crate) fn index(&self) -> Result<Index> {
        Index::load(&*self.store, &self.keys)
    }

    /// For readers: no digest, since what they ask for is there.
    pub(crate) fn chunks(&self) -> Result<Chunks> {
        self.chunks_of(self.index()?)
    }

    /// The same runs, opened again: one to read by, one to look up in meanwhile.
    pub(crate) fn index_like(&self, index: &Index) -> Result<Index> {
        let open = |run: &Run| Run::open(&*self.store, &self.keys, &run.name());
        Ok(Index::of_runs(index.runs().iter().map(open).collect::<Result<_>>()?))
    }

    pub(crate) fn chunks_of(&self, index: Index) -> Result<Chunks> {
        let cache = Locality::new(locality::DEFAULT_CHUNKS);
        let lookup = Lookup::new(&self.store, &self.keys, index, Oracle::Maybe, cache);
        Chunks::new(lookup, &self.parameters)
    }
}

/// A repository that is there, and not opened yet.
pub struct Found {
    reached: Reached,
    locked: Locked,
    cache: Option<PathBuf>,
}

impl Found {
    /// Whether a passphrase is needed.
    #[must_use]
    pub fn needs_passphrase(&self) -> bool {
        self.locked.needs_passphrase()
    }

    /// Another directory than the user's usual one for copies of what is elsewhere and read often.
    #[must_use]
    pub fn cache_in(mut self, directory: Option<&Path>) -> Self {
        self.cache = directory.map(Path::to_owned);
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// If the passphrase is wrong, the configuration is damaged, or copies cannot be kept.
    pub fn open(self, passphrase: Option<&str>) -> Result<Repository> {
        let (parameters, keys) = self.locked.unlock(self.reached.store(), passphrase)?;
        let (store, path) = self.reached.ready(&self.locked.id, self.cache.as_deref())?;
        Ok(Repository { path, store, keys: Arc::new(keys), parameters })
    }
}
