//! Small objects that are sealed whole: snapshots, intents, marks, records. Knows where each is sealed
//! for; nothing of what is in them.

use crate::codec::{Decoded, Malformed, Reader};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::seal::Keys;
use crate::store::{ObjectKind, Store};

/// What the bytes are sealed for: an object does not open under another name or as another kind.
pub(crate) fn place(kind: ObjectKind, name: &Name) -> Vec<u8> {
    let what: &[u8] = match kind {
        ObjectKind::Intent => b"intent",
        ObjectKind::Forgotten => b"forgotten",
        kind => kind.noun().as_bytes(),
    };
    [what, &name.0].concat()
}

pub(crate) fn save(
    store: &dyn Store,
    keys: &Keys,
    (kind, name): (ObjectKind, &Name),
    plain: &[u8],
) -> Result<()> {
    let mut sealed = Vec::new();
    keys.seal.seal(&place(kind, name), plain, &mut sealed)?;
    store.put(kind, name, &sealed)
}

pub(crate) fn open<T>(
    keys: &Keys,
    (kind, name): (ObjectKind, &Name),
    sealed: Vec<u8>,
    decode: impl FnOnce(&mut Reader<'_>) -> Decoded<T>,
) -> Result<T> {
    let plain = keys.seal.open(&place(kind, name), sealed);
    let decoded = plain.and_then(|plain| Reader::whole(&plain, decode));
    decoded.map_err(|Malformed| Error::damaged(kind, name))
}

/// Reads an object from the store, not from a cache.
pub(crate) fn load<T>(
    store: &dyn Store,
    keys: &Keys,
    (kind, name): (ObjectKind, &Name),
    decode: impl FnOnce(&mut Reader<'_>) -> Decoded<T>,
) -> Result<T> {
    open(keys, (kind, name), store.get(kind, name)?, decode)
}
