//! Which snapshots were removed on purpose. Knows the records that `forget` leaves: only who has
//! the key can write one, so a snapshot that is gone without a record was removed by somebody else.

use std::collections::HashSet;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{ObjectKind, Store, load_all};

/// More records than this are merged by the next prune.
const MAX_RECORDS: usize = 32;

pub(crate) fn place(name: &Name) -> Vec<u8> {
    [b"forgotten".as_slice(), &name.0].concat()
}

/// Records that these snapshots are about to be removed.
pub(crate) fn record(store: &dyn Store, keys: &Keys, snapshots: &[Name]) -> Result<()> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let (name, mut writer, mut sealed) = (Name::random()?, Writer::default(), Vec::new());
    writer.list(snapshots, |writer, name| writer.raw(&name.0));
    keys.seal.seal(&place(&name), &writer.0, &mut sealed)?;
    store.put(ObjectKind::Forgotten, &name, &sealed)
}

fn decode(bytes: &[u8]) -> Decoded<Vec<Name>> {
    let mut reader = Reader(bytes);
    let names = reader.list(Name::LEN, |reader| Ok(Name(reader.array()?)))?;
    reader.end()?;
    Ok(names)
}

fn load(store: &dyn Store, keys: &Keys, name: &Name) -> Result<Vec<Name>> {
    let plain = keys.seal.open(&place(name), store.get(ObjectKind::Forgotten, name)?);
    let names = plain.and_then(|plain| decode(&plain));
    names.map_err(|Malformed| Error::damaged(ObjectKind::Forgotten, name))
}

/// All snapshots that were removed on purpose.
///
/// # Errors
/// If a record cannot be read.
pub(crate) fn all(store: &dyn Store, keys: &Keys) -> Result<HashSet<Name>> {
    let records = load_all(store, ObjectKind::Forgotten, |name| load(store, keys, name))?;
    Ok(records.into_iter().flatten().collect())
}

/// Writes one record in place of many.
pub(crate) fn merge(store: &dyn Store, keys: &Keys) -> Result<()> {
    let records: Vec<Name> =
        store.list(ObjectKind::Forgotten)?.into_iter().map(|(name, _)| name).collect();
    if records.len() <= MAX_RECORDS {
        return Ok(());
    }
    let mut names: Vec<Name> = all(store, keys)?.into_iter().collect();
    names.sort_unstable();
    record(store, keys, &names)?;
    store.remove_all(ObjectKind::Forgotten, &records, &|| Ok(()))
}
