//! Marks: packs that a prune is about to remove, and the writers that it waits for. Knows the
//! object; why this is safe is in docs/design.md, and `prune` uses it.

use std::collections::HashSet;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::Result;
use crate::id::Name;
use crate::seal::Keys;
use crate::sealed;
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

impl Mark {
    pub(crate) fn save(&self, store: &dyn Store, keys: &Keys) -> Result<()> {
        let mut writer = Writer::default();
        writer.names(&self.packs);
        writer.names(&self.seen);
        writer.u8(self.waits_for.is_some().into());
        if let Some(writers) = &self.waits_for {
            writer.names(writers);
        }
        sealed::save(store, keys, (ObjectKind::Mark, &self.name), &writer.0)
    }

    fn decode(name: Name, reader: &mut Reader<'_>) -> Decoded<Self> {
        let (packs, seen) = (reader.names()?, reader.names()?);
        let waits_for = match reader.u8()? {
            0 => None,
            1 => Some(reader.names()?),
            _ => return Err(Malformed),
        };
        Ok(Self { name, packs, seen, waits_for })
    }
}

/// All marks. One that is finished since it was listed is left out: its packs are no longer in the
/// index.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<Vec<Mark>> {
    load_all(store, ObjectKind::Mark, |name| load(store, keys, name))
}

pub(crate) fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Mark> {
    sealed::load(store, keys, (ObjectKind::Mark, name), |reader| Mark::decode(*name, reader))
}

/// Packs that new backups must not rely on.
pub(crate) fn marked_packs(store: &dyn Store, keys: &Keys) -> Result<HashSet<Name>> {
    Ok(all(store, keys)?.into_iter().flat_map(|mark| mark.packs).collect())
}
