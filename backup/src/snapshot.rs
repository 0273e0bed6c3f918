//! A snapshot: the root of a tree, with its time, host and paths. Knows nothing of the contents of
//! the tree.

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::config::Version;
use crate::error::{Error, Result};
use crate::forgotten;
use crate::id::Name;
use crate::seal::Keys;
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

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"snapshot".as_slice(), &name.0].concat()
}

impl Snapshot {
    fn encode(&self, version: Version) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.varint(self.time);
        writer.bytes(self.host.as_bytes());
        writer.list(&self.paths, |writer, path| writer.bytes(path));
        writer.list(&self.tags, |writer, tag| writer.bytes(tag.as_bytes()));
        writer.varint(self.files);
        writer.varint(self.bytes);
        writer.varint(self.unreadable);
        tree::encode_content(version, &mut writer, &self.root.contents);
        tree::encode_content(version, &mut writer, &self.root.metadata);
        writer.0
    }

    fn decode(version: Version, name: Name, bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader(bytes);
        let snapshot = Self {
            name,
            time: reader.varint()?,
            host: reader.text()?,
            paths: reader.list(1, |reader| Ok(reader.bytes()?.to_vec()))?,
            tags: reader.list(1, Reader::text)?,
            files: reader.varint()?,
            bytes: reader.varint()?,
            unreadable: reader.varint()?,
            root: DirRef {
                contents: tree::decode_content(version, &mut reader)?,
                metadata: tree::decode_content(version, &mut reader)?,
            },
        };
        reader.end()?;
        Ok(snapshot)
    }

    pub(crate) fn save(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let mut sealed = Vec::new();
        keys.seal.seal(&place(&self.name), &self.encode(keys.version), &mut sealed)?;
        store.put(ObjectKind::Snapshot, &self.name, &sealed)
    }

    /// Reads it back from the store, not from a cache. It may be gone if somebody has forgotten it
    /// already: then there is a record of that.
    pub(crate) fn confirm(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let lost = Error::LostWrite { kind: ObjectKind::Snapshot, name: self.name };
        let sealed = match store.get(ObjectKind::Snapshot, &self.name) {
            Ok(sealed) => sealed,
            Err(error) if error.is_missing() => {
                let is_forgotten = forgotten::all(store, keys)?.contains(&self.name);
                return if is_forgotten { Ok(()) } else { Err(lost) };
            }
            Err(error) => return Err(error),
        };
        match keys.seal.open(&place(&self.name), sealed) {
            Ok(plain) if plain == self.encode(keys.version) => Ok(()),
            _ => Err(lost),
        }
    }

    pub(crate) fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Self> {
        let object = store.open(ObjectKind::Snapshot, name)?;
        let damaged = |Malformed| Error::damaged(ObjectKind::Snapshot, name);
        read_or_refetch(&*object, || {
            let sealed = object.read_at(0, object.len())?;
            let plain = keys.seal.open(&place(name), sealed).map_err(damaged)?;
            Self::decode(keys.version, *name, &plain).map_err(damaged)
        })
    }
}

/// All snapshots, oldest first.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<Vec<Snapshot>> {
    let mut snapshots =
        load_all(store, ObjectKind::Snapshot, |name| Snapshot::load(store, keys, name))?;
    snapshots.sort_by_key(|snapshot| (snapshot.time, snapshot.name));
    Ok(snapshots)
}

/// The word for the newest snapshot.
pub(crate) const LATEST: &str = "latest";

/// The snapshot whose name begins with `word`, or the newest for `latest`.
pub(crate) fn choose<'a>(snapshots: &'a [Snapshot], word: &str) -> Result<&'a Snapshot> {
    if word == LATEST {
        return snapshots.last().ok_or(Error::NoSnapshots);
    }
    by_prefix(ObjectKind::Snapshot, snapshots, |snapshot| &snapshot.name, word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Master;
    use crate::store::local::LocalStore;

    /// Somebody may forget a snapshot before the backup that wrote it has read it back.
    #[test]
    fn one_that_is_gone_is_lost_unless_somebody_has_forgotten_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = LocalStore::new(directory.path());
        store.prepare().expect("folders");
        let keys = Keys::new(&Master([7; 32]), true, Version::V2);
        let snapshot = Snapshot {
            name: Name([3; 16]),
            time: 1,
            host: "here".into(),
            paths: Vec::new(),
            tags: Vec::new(),
            files: 0,
            bytes: 0,
            unreadable: 0,
            root: DirRef::default(),
        };
        snapshot.save(&store, &keys).expect("written");
        snapshot.confirm(&store, &keys).expect("it is there");
        store.remove(ObjectKind::Snapshot, &snapshot.name).expect("removed");
        let lost = snapshot.confirm(&store, &keys);
        assert!(matches!(lost, Err(Error::LostWrite { .. })), "{lost:?}");
        forgotten::record(&store, &keys, &[snapshot.name]).expect("written");
        snapshot.confirm(&store, &keys).expect("forgotten on purpose");
    }
}
