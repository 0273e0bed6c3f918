//! A repository: its store, keys and parameters. Knows how the parts are opened; the operations are
//! in modules of their own.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::chunks::Chunks;
use crate::config::{self, Locked, Parameters, Unlocked};
use crate::error::Result;
use crate::forgotten;
use crate::id::Name;
use crate::index::Index;
use crate::key::Kdf;
use crate::local_state;
use crate::locality;
use crate::lookup::Lookup;
use crate::pack::PackInfo;
use crate::pin::Pin;
use crate::seal::Keys;
use crate::snapshot::{self, Snapshot, SnapshotFilter};
use crate::store::{self, ObjectKind, RepositoryLocation, Store};

/// A repository of backups.
pub struct Repository {
    /// Its directory, or the cache of a repository on S3; left out of backups.
    pub(crate) path: PathBuf,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Arc<Keys>,
    pub(crate) parameters: Parameters,
    /// The cost of a passphrase, if the repository is encrypted.
    pub(crate) kdf: Option<Kdf>,
    /// What every copy of the configuration should be.
    pub(crate) config: Vec<u8>,
    pin: Option<Pin>,
    warnings: Vec<String>,
}

impl Repository {
    /// Creates a repository; encrypted if there is a passphrase. The location is a directory that
    /// is empty or does not exist yet, or `s3://BUCKET/PREFIX` with nothing below the prefix.
    ///
    /// # Errors
    /// If the location cannot be written or is not empty, or a parameter is out of range.
    pub fn create(place: &Path, parameters: &Parameters, passphrase: Option<&str>) -> Result<()> {
        let location = store::find(place)?;
        location.prepare()?;
        config::create(&*location, parameters, passphrase)
    }

    /// Finds a repository without opening it, for example to see whether it needs a passphrase.
    ///
    /// # Errors
    /// If there is none, or its configuration is damaged.
    pub fn find(location: &Path) -> Result<LockedRepository> {
        let text = location.display().to_string();
        let location = store::find(location)?;
        let locked = Locked::read(&*location, &text)?;
        Ok(LockedRepository { location, locked, cache: None, pins: None })
    }

    /// Opens a repository.
    ///
    /// # Errors
    /// If there is none, the passphrase is wrong, or the configuration is damaged.
    pub fn open(location: &Path, passphrase: Option<&str>) -> Result<Self> {
        Self::find(location)?.open(passphrase)
    }

    /// The id that machines remember. Without the master key, no other repository can have it.
    #[must_use]
    pub fn id(&self) -> Name {
        self.keys.repository
    }

    /// What the user should know although nothing has failed, one line each.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Snapshots that this machine has seen in the repository and that are gone without a record of
    /// `forget`: the storage was rolled back, or they were removed without the key. Always
    /// empty if the repository was opened without [`LockedRepository::remembered`]. With `accept`
    /// they are returned for the last time.
    ///
    /// # Errors
    /// If the snapshots cannot be listed.
    pub fn missing_snapshots(&self, accept: bool) -> Result<Vec<Name>> {
        let Some(pin) = &self.pin else { return Ok(Vec::new()) };
        let present = || Ok(self.store.names(ObjectKind::Snapshot)?.into_iter().collect());
        pin.compare(present, || forgotten::all(&*self.store, &self.keys), accept)
    }

    /// Removes snapshots on purpose: other machines that have seen them are told.
    pub(crate) fn remove_snapshots(&self, names: &[Name]) -> Result<()> {
        forgotten::record(&*self.store, &self.keys, names)?;
        self.store.remove_all(ObjectKind::Snapshot, names, &|| Ok(()))?;
        self.pin.as_ref().map_or(Ok(()), |pin| pin.update(&[], names))
    }

    pub(crate) fn remember(&self, name: &Name) -> Result<()> {
        self.pin.as_ref().map_or(Ok(()), |pin| pin.update(&[*name], &[]))
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
        self.snapshot_where(word, &SnapshotFilter::default())
    }

    pub(crate) fn index(&self) -> Result<Index> {
        Index::load(&*self.store, &self.keys)
    }

    /// For readers: without filters, since the chunks that they look up exist.
    pub(crate) fn chunks(&self) -> Result<Chunks> {
        self.chunks_of(self.index()?)
    }

    /// Packs of the index that are not in the store as they should be: one listing. Read after the
    /// index, because a pack exists before a run names it.
    pub(crate) fn missing_packs(&self, index: &Index) -> Result<HashSet<Name>> {
        let stored: HashMap<Name, u64> = self.store.list(ObjectKind::Pack)?.into_iter().collect();
        let gone = |pack: &&PackInfo| stored.get(&pack.name) != Some(&pack.size);
        Ok(index.packs().filter(gone).map(|pack| pack.name).collect())
    }

    /// For readers that met a missing pack: what it held may have been stored again elsewhere.
    pub(crate) fn chunks_of_present_packs(&self) -> Result<Chunks> {
        let mut index = self.index()?;
        index.hide(self.missing_packs(&index)?);
        self.chunks_of(index)
    }

    pub(crate) fn chunks_of(&self, index: Index) -> Result<Chunks> {
        let lookup = Lookup::new(&self.store, &self.keys, index, locality::DEFAULT_CHUNKS);
        Chunks::new(lookup, &self.parameters)
    }
}

/// A repository that was found and is not open yet.
pub struct LockedRepository {
    location: Box<dyn RepositoryLocation>,
    locked: Locked,
    cache: Option<PathBuf>,
    /// Whether the repository is remembered, and if so whether a change is accepted.
    pins: Option<bool>,
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

    /// Remembers the repository below the cache directory at first use, and refuses another one at
    /// the same location later, unless `accept_change` is set.
    #[must_use]
    pub fn remembered(mut self, accept_change: bool) -> Self {
        self.pins = Some(accept_change);
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// If the passphrase is wrong or not wanted, the configuration is damaged, the cache cannot be
    /// written, or it is not the repository that this machine remembers.
    pub fn open(self, passphrase: Option<&str>) -> Result<Repository> {
        let encrypted = self.needs_passphrase();
        let mut warnings = Vec::new();
        let pin = self.pins.and_then(|accept| match self.pin() {
            Ok(pin) => Some((pin, accept)),
            Err(error) => {
                warnings.push(format!(
                    "warning: a replaced or rolled back repository would not be noticed: {error}"
                ));
                None
            }
        });
        if let Some((pin, false)) = &pin {
            pin.expects(encrypted)?;
        }
        let Unlocked { parameters, keys, kdf, bytes } =
            self.locked.unlock(&*self.location, passphrase)?;
        for kind in self.locked.damaged_copies(&bytes) {
            warnings.push(format!(
                "warning: the {} is damaged or missing; `cuculus-backup repair` replaces it",
                kind.noun()
            ));
        }
        if let Some((pin, accept)) = &pin {
            pin.confirm(&keys.repository, encrypted, *accept)?;
        }
        let (store, path) = self.location.ready(&keys.repository, self.cache.as_deref())?;
        Ok(Repository {
            path,
            store,
            keys: Arc::new(keys),
            parameters,
            kdf,
            config: bytes,
            pin: pin.map(|(pin, _)| pin),
            warnings,
        })
    }

    fn pin(&self) -> Result<Pin> {
        Pin::new(&local_state::directory(self.cache.as_deref())?, self.location.identity())
    }
}
