//! A snapshot: the root of a tree, with its time, host and paths; and which snapshots a command is
//! about. Knows nothing of the contents of the tree.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::codec::{Decoded, Reader, Writer};
use crate::error::{Error, Result};
use crate::forgotten;
use crate::id::Name;
use crate::repository::Repository;
use crate::seal::Keys;
use crate::sealed;
use crate::store::{ObjectKind, Store, by_prefix, load_all, read_or_refetch};
use crate::tree::{self, DirRef};

/// One finished backup.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its name.
    pub name: Name,
    /// When it began, in nanoseconds since 1970, so that two in the same second have an order.
    pub time: u64,
    /// The name of the machine.
    pub host: String,
    /// The absolute paths that were backed up.
    pub paths: Vec<Vec<u8>>,
    /// Labels given by the user.
    pub tags: Vec<String>,
    /// The number of files.
    pub files: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Files with problems: not readable, or changed while they were read.
    pub unreadable: u64,
    pub(crate) root: DirRef,
}

impl Snapshot {
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.varint(self.time);
        writer.bytes(self.host.as_bytes());
        writer.list(&self.paths, |writer, path| writer.bytes(path));
        writer.list(&self.tags, |writer, tag| writer.bytes(tag.as_bytes()));
        writer.varint(self.files);
        writer.varint(self.bytes);
        writer.varint(self.unreadable);
        tree::encode_content(&mut writer, &self.root.contents);
        tree::encode_content(&mut writer, &self.root.metadata);
        writer.0
    }

    fn decode(name: Name, reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            name,
            time: reader.varint()?,
            host: reader.text()?,
            paths: reader.list(1, |reader| Ok(reader.bytes()?.to_vec()))?,
            tags: reader.list(1, Reader::text)?,
            files: reader.varint()?,
            bytes: reader.varint()?,
            unreadable: reader.varint()?,
            root: DirRef {
                contents: tree::decode_content(reader)?,
                metadata: tree::decode_content(reader)?,
            },
        })
    }

    pub(crate) fn save(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        sealed::save(store, keys, (ObjectKind::Snapshot, &self.name), &self.encode())
    }

    /// Reads it back from the store, not from a cache. It may be gone if somebody has forgotten it
    /// already: then there is a record of that.
    pub(crate) fn confirm(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let kind = ObjectKind::Snapshot;
        let is_same = |reader: &mut Reader<'_>| Ok(std::mem::take(&mut reader.0) == self.encode());
        let found = match sealed::load(store, keys, (kind, &self.name), is_same) {
            Err(error) if error.is_missing() => forgotten::all(store, keys)?.contains(&self.name),
            Err(Error::Damaged(_)) => false,
            outcome => outcome?,
        };
        if found { Ok(()) } else { Err(Error::LostWrite { kind, name: self.name }) }
    }

    pub(crate) fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Self> {
        let kind = ObjectKind::Snapshot;
        let object = store.open(kind, name)?;
        read_or_refetch(&*object, || {
            let sealed = object.read_at(0, object.len())?;
            sealed::open(keys, (kind, name), sealed, |reader| Self::decode(*name, reader))
        })
    }

    /// With nothing in it.
    #[cfg(test)]
    pub(crate) fn sample(name: Name, time: u64, tags: Vec<String>) -> Self {
        let (host, paths, root) = ("h".into(), Vec::new(), DirRef::default());
        Self { name, time, host, paths, tags, files: 0, bytes: 0, unreadable: 0, root }
    }
}

pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<Vec<Snapshot>> {
    let mut all = load_all(store, ObjectKind::Snapshot, |name| Snapshot::load(store, keys, name))?;
    all.sort_by_key(|snapshot| (snapshot.time, snapshot.name));
    Ok(all)
}

pub(crate) const LATEST: &str = "latest";

/// The snapshot whose name begins with `word`, or the newest for `latest`.
pub(crate) fn choose<'a>(snapshots: &'a [Snapshot], word: &str) -> Result<&'a Snapshot> {
    if word == LATEST {
        return snapshots.last().ok_or(Error::NoSnapshots);
    }
    by_prefix(ObjectKind::Snapshot, snapshots, |snapshot| &snapshot.name, word)
}

/// Chooses snapshots; the default chooses all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotFilter {
    /// One of these hosts, if there are any.
    pub hosts: Vec<String>,
    /// All tags of one of these lists, if there are any.
    pub tags: Vec<Vec<String>>,
    /// All of these paths were backed up.
    pub paths: Vec<PathBuf>,
}

impl SnapshotFilter {
    pub(crate) fn matches(&self, snapshot: &Snapshot) -> bool {
        let has_tags = |tags: &Vec<String>| tags.iter().all(|tag| snapshot.tags.contains(tag));
        let has_path = |path: &PathBuf| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            snapshot.paths.iter().any(|saved| saved == path.as_os_str().as_bytes())
        };
        (self.hosts.is_empty() || self.hosts.contains(&snapshot.host))
            && (self.tags.is_empty() || self.tags.iter().any(has_tags))
            && self.paths.iter().all(has_path)
    }
}

impl Repository {
    /// The snapshots that a filter chooses, oldest first.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn snapshots_where(&self, filter: &SnapshotFilter) -> Result<Vec<Snapshot>> {
        let mut snapshots = self.snapshots()?;
        snapshots.retain(|snapshot| filter.matches(snapshot));
        Ok(snapshots)
    }

    /// The snapshot whose name begins with `word`, or for `latest` the newest that the filter
    /// chooses.
    ///
    /// # Errors
    /// If no snapshot matches, or several do.
    pub fn snapshot_where(&self, word: &str, filter: &SnapshotFilter) -> Result<Snapshot> {
        let mut snapshots = self.snapshots()?;
        if word == LATEST && !snapshots.is_empty() {
            snapshots.retain(|snapshot| filter.matches(snapshot));
            return snapshots.pop().ok_or(Error::NoMatchingSnapshot);
        }
        choose(&snapshots, word).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Master;
    use crate::store::local::LocalStore;

    /// Somebody may forget a snapshot before the backup that wrote it has read it back.
    #[test]
    fn one_that_is_gone_is_lost_unless_somebody_has_forgotten_it() {
        let (_directory, store) = LocalStore::temporary();
        let keys = Keys::new(&Master([7; 32]), true);
        let snapshot = Snapshot::sample(Name([3; 16]), 1, Vec::new());
        snapshot.save(&store, &keys).expect("written");
        snapshot.confirm(&store, &keys).expect("it is there");
        store.remove(ObjectKind::Snapshot, &snapshot.name).expect("removed");
        let lost = snapshot.confirm(&store, &keys);
        assert!(matches!(lost, Err(Error::LostWrite { .. })), "{lost:?}");
        forgotten::record(&store, &keys, &[snapshot.name]).expect("written");
        snapshot.confirm(&store, &keys).expect("forgotten on purpose");
    }
}
