//! Marks: packs that a prune is about to remove, and the writers that it waits for. Knows the
//! object; why this is safe is in docs/design, and `prune` uses it.

use std::collections::HashSet;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{ObjectKind, Store, load_all};

pub(crate) struct Mark {
    pub(crate) name: Name,
    pub(crate) packs: Vec<Name>,
    /// Snapshots that were considered when the packs were chosen.
    pub(crate) seen: Vec<Name>,
    /// Writers that were at work when the mark was written, and may not have seen it. `None` until
    /// a prune has looked for them.
    pub(crate) waits_for: Option<Vec<Name>>,
}

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"mark".as_slice(), &name.0].concat()
}

fn write_names(writer: &mut Writer, names: &[Name]) {
    writer.list(names, |writer, name| writer.raw(&name.0));
}

fn read_names(reader: &mut Reader<'_>) -> Decoded<Vec<Name>> {
    reader.list(Name::LEN, |reader| Ok(Name(reader.array()?)))
}

impl Mark {
    pub(crate) fn save(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let mut writer = Writer::default();
        write_names(&mut writer, &self.packs);
        write_names(&mut writer, &self.seen);
        writer.u8(self.waits_for.is_some().into());
        if let Some(writers) = &self.waits_for {
            write_names(&mut writer, writers);
        }
        let mut sealed = Vec::new();
        keys.seal.seal(&place(&self.name), &writer.0, &mut sealed)?;
        store.put(ObjectKind::Mark, &self.name, &sealed)
    }

    fn decode(name: Name, bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader(bytes);
        let (packs, seen) = (read_names(&mut reader)?, read_names(&mut reader)?);
        let waits_for = match reader.u8()? {
            0 => None,
            1 => Some(read_names(&mut reader)?),
            _ => return Err(Malformed),
        };
        reader.end()?;
        Ok(Self { name, packs, seen, waits_for })
    }
}

/// All marks. One that is finished since it was listed is left out: its packs are no longer in the
/// index.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<Vec<Mark>> {
    load_all(store, ObjectKind::Mark, |name| load(store, keys, name))
}

pub(crate) fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Mark> {
    let plain = keys.seal.open(&place(name), store.get(ObjectKind::Mark, name)?);
    let mark = plain.and_then(|plain| Mark::decode(*name, &plain));
    mark.map_err(|Malformed| Error::damaged(ObjectKind::Mark, name))
}

/// Packs that new backups must not rely on.
pub(crate) fn marked_packs(store: &dyn Store, keys: &Keys) -> Result<HashSet<Name>> {
    Ok(all(store, keys)?.into_iter().flat_map(|mark| mark.packs).collect())
}
