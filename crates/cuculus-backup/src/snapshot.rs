//! A snapshot: the root of a tree, and when, where and of what it was taken. Knows nothing of what
//! the tree holds.

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{Kind, Store, read_sound};
use crate::tree::DirRef;

/// One finished backup.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its name.
    pub name: Name,
    /// When it began, in nanoseconds since 1970: two in the same second have an order.
    pub time: u64,
    /// The machine.
    pub host: String,
    /// What was backed up, as absolute paths.
    pub paths: Vec<Vec<u8>>,
    /// Words that the user gave it.
    pub tags: Vec<String>,
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that could not be read.
    pub unreadable: u64,
    pub(crate) root: DirRef,
}

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"snapshot".as_slice(), &name.0].concat()
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
        crate::tree::encode_ids(&mut writer, &self.root.contents);
        crate::tree::encode_ids(&mut writer, &self.root.metadata);
        writer.0
    }

    fn decode(name: Name, bytes: &[u8]) -> Decoded<Self> {
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
                contents: crate::tree::decode_ids(&mut reader)?,
                metadata: crate::tree::decode_ids(&mut reader)?,
            },
        };
        reader.end()?;
        Ok(snapshot)
    }

    pub(crate) fn save(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let mut sealed = Vec::new();
        keys.seal.seal(&place(&self.name), &self.encode(), &mut sealed)?;
        store.put(Kind::Snapshot, &self.name, &sealed)
    }

    pub(crate) fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Self> {
        let object = store.open(Kind::Snapshot, name)?;
        let damaged = |Malformed| Error::damaged(Kind::Snapshot.describe(name));
        read_sound(&*object, || {
            let sealed = object.read_at(0, object.len())?;
            let plain = keys.seal.open(&place(name), sealed).map_err(damaged)?;
            Self::decode(*name, &plain).map_err(damaged)
        })
    }
}

/// All snapshots, oldest first. One that is forgotten meanwhile is left out.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<Vec<Snapshot>> {
    let mut snapshots = Vec::new();
    for (name, _) in store.list(Kind::Snapshot)? {
        match Snapshot::load(store, keys, &name) {
            Ok(snapshot) => snapshots.push(snapshot),
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
    }
    snapshots.sort_by_key(|snapshot| (snapshot.time, snapshot.name));
    Ok(snapshots)
}

/// The snapshot that a person means: the beginning of a name, or `latest`.
pub(crate) fn choose<'a>(snapshots: &'a [Snapshot], word: &str) -> Result<&'a Snapshot> {
    if word == "latest" {
        return snapshots.last().ok_or_else(|| {
            Error::NotFound("the repository has no snapshot yet; `backup PATH` makes one".into())
        });
    }
    let mut fitting =
        snapshots.iter().filter(|snapshot| snapshot.name.to_string().starts_with(word));
    match (fitting.next(), fitting.next()) {
        (Some(snapshot), None) => Ok(snapshot),
        (Some(_), Some(_)) => Err(Error::refused(format!(
            "several snapshots begin with {word:?}; give more of the name"
        ))),
        (None, _) => Err(Error::NotFound(format!(
            "there is no snapshot {word:?}; `cuculus-backup snapshots` lists those there are"
        ))),
    }
}
