//! The master key, encrypted with a passphrase. Knows how a passphrase becomes a key; nothing of
//! what the master key is for. There may be several keys, each with its own passphrase.

use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::{Name, random_bytes};
use crate::seal::{Master, Seal};
use crate::store::{ObjectKind, Store};

pub(crate) const MAGIC: [u8; 8] = *b"CUCBKEY1";

/// The cost of Argon2id: 32 MiB and three passes, above the minimum of OWASP (19 MiB, two passes)
/// and below the memory that a backup needs anyway.
const MEMORY_KIB: u32 = 32 * 1024;
const PASSES: u32 = 3;
/// Limits for a key file, which is read before anything about it is verified.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_PASSES: u32 = 64;

/// Stores the master key under another passphrase.
pub(crate) fn add(store: &dyn Store, master: &Master, passphrase: &str) -> Result<Name> {
    let salt: [u8; 16] = random_bytes()?;
    let wrap = from_passphrase(passphrase, &salt, MEMORY_KIB, PASSES)?;
    let mut writer = Writer::default();
    writer.raw(&MAGIC);
    writer.u32(MEMORY_KIB);
    writer.u32(PASSES);
    writer.raw(&salt);
    wrap.seal(&MAGIC, &master.0, &mut writer.0)?;
    let name = Name::random()?;
    store.put(ObjectKind::Key, &name, &writer.0)?;
    Ok(name)
}

/// The master key. Tries all keys: only an attempt shows which one a passphrase opens.
pub(crate) fn open(store: &dyn Store, passphrase: &str) -> Result<Master> {
    let keys = store.list(ObjectKind::Key)?;
    let mut damaged = None;
    for (name, _) in &keys {
        match attempt(store, name, passphrase)? {
            Ok(Some(master)) => return Ok(master),
            Ok(None) => {}
            Err(Malformed) => damaged = Some(*name),
        }
    }
    match damaged {
        Some(name) => Err(Error::damaged(ObjectKind::Key, &name)),
        None if keys.is_empty() => Err(Error::NoKeys),
        None => Err(Error::WrongPassphrase),
    }
}

/// All keys that a passphrase opens: more than one if a change of it was interrupted.
pub(crate) fn opened_by(store: &dyn Store, passphrase: &str) -> Result<Vec<Name>> {
    let mut opened = Vec::new();
    for (name, _) in store.list(ObjectKind::Key)? {
        if let Ok(Some(_)) = attempt(store, &name, passphrase)? {
            opened.push(name);
        }
    }
    Ok(opened)
}

/// The master key, if this is the right passphrase.
fn attempt(store: &dyn Store, name: &Name, passphrase: &str) -> Result<Decoded<Option<Master>>> {
    match store.get(ObjectKind::Key, name) {
        Ok(bytes) => Ok(decode(&bytes, passphrase)),
        // Removed since it was listed.
        Err(error) if error.is_missing() => Ok(Ok(None)),
        Err(error) => Err(error),
    }
}

fn decode(bytes: &[u8], passphrase: &str) -> Decoded<Option<Master>> {
    let mut reader = Reader(bytes);
    if reader.array()? != MAGIC {
        return Err(Malformed);
    }
    let (memory, passes, salt) = (reader.u32()?, reader.u32()?, reader.array::<16>()?);
    if memory > MAX_MEMORY_KIB || passes > MAX_PASSES {
        return Err(Malformed);
    }
    let wrap = from_passphrase(passphrase, &salt, memory, passes).map_err(|_| Malformed)?;
    let Ok(master) = wrap.open(&MAGIC, reader.0.to_vec()) else { return Ok(None) };
    let master = Zeroizing::new(master);
    Ok(Some(Master(master.as_slice().try_into().map_err(|_| Malformed)?)))
}

fn from_passphrase(text: &str, salt: &[u8], memory: u32, passes: u32) -> Result<Seal> {
    let refused = |error: argon2::Error| {
        Error::io("cannot use the passphrase")(std::io::Error::other(error.to_string()))
    };
    let parameters = Params::new(memory, passes, 1, Some(32)).map_err(refused)?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let mut key = Zeroizing::new([0; 32]);
    argon.hash_password_into(text.as_bytes(), salt, key.as_mut_slice()).map_err(refused)?;
    Ok(Seal::with_key(*key))
}
