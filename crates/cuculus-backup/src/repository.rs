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
use crate::store::{LocalStore, Store};

/// A place where backups are kept.
pub struct Repository {
    /// Where it is, to be left out of backups.
    pub(crate) path: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) parameters: Parameters,
}

impl Repository {
    /// Makes a new repository in a directory that is empty or not there yet; encrypted if there is
    /// a passphrase.
    ///
    /// # Errors
    /// If the directory cannot be made or is not empty, or a parameter is out of its range.
    pub fn create(path: &Path, parameters: &Parameters, passphrase: Option<&str>) -> Result<()> {
        config::create(&LocalStore::create(path)?, parameters, passphrase)
    }

    /// Whether a repository needs a passphrase.
    ///
    /// # Errors
    /// If there is no repository, or its configuration is damaged.
    pub fn needs_passphrase(path: &Path) -> Result<bool> {
        let store = LocalStore::new(path);
        Ok(Locked::read(&store, &path.display().to_string())?.needs_passphrase())
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is none, the passphrase is wrong, or the configuration is damaged.
    pub fn open(path: &Path, passphrase: Option<&str>) -> Result<Self> {
        let store: Arc<dyn Store> = Arc::new(LocalStore::new(path));
        let locked = Locked::read(&*store, &path.display().to_string())?;
        let (parameters, keys) = locked.unlock(&*store, passphrase)?;
        Ok(Self { path: path.to_owned(), store, keys: Arc::new(keys), parameters })
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
