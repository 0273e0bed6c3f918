//! The master key, encrypted with a passphrase. Knows how a passphrase becomes a key; nothing of
//! what the master key is for. There may be several keys, each with its own passphrase.
//!
//! Key files and their headers are read before anything about them is verified, so what they can
//! make a client spend is bounded: in version 2, a passphrase is hashed once, with one salt for the
//! whole repository, and the hash names the key that it opens.

use argon2::{Algorithm, Argon2, Params};
use zeroize::Zeroizing;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::config::Parameters;
use crate::error::{Error, Result};
use crate::huge_pages::ZeroedBlocks;
use crate::id::{Name, random_bytes};
use crate::seal::{Master, Seal};
use crate::store::{ObjectKind, Store};

pub(crate) const MAGIC: [u8; 8] = *b"CUCBKEY2";
pub(crate) const MAGIC_V1: [u8; 8] = *b"CUCBKEY1";

/// What every client used in version 1, and what a forged file may ask for.
const MEMORY_KIB_V1: u32 = 32 * 1024;
const PASSES_V1: u32 = 3;
/// Keys of version 1 have a salt each, and each must be tried. Nobody has more passphrases.
const MAX_KEYS_V1: usize = 32;

/// The cost of turning a passphrase into a key, with the salt of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kdf {
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) salt: [u8; 16],
}

impl Kdf {
    /// The minimum of OWASP, and about a second of an honest client's time.
    pub(crate) fn allows(memory_kib: u32, passes: u32) -> bool {
        (19 * 1024..=256 * 1024).contains(&memory_kib)
            && (2..=16).contains(&passes)
            && u64::from(memory_kib) * u64::from(passes) <= 1 << 20
    }

    pub(crate) fn new(parameters: &Parameters) -> Result<Self> {
        let (memory_kib, passes) = (parameters.kdf_memory_kib, parameters.kdf_passes);
        Ok(Self { memory_kib, passes, salt: random_bytes()? })
    }

    pub(crate) fn encode(&self, writer: &mut Writer) {
        writer.u32(self.memory_kib);
        writer.u32(self.passes);
        writer.raw(&self.salt);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let kdf = Self { memory_kib: reader.u32()?, passes: reader.u32()?, salt: reader.array()? };
        if Self::allows(kdf.memory_kib, kdf.passes) { Ok(kdf) } else { Err(Malformed) }
    }

    /// The expensive step: once for each passphrase.
    pub(crate) fn hash(&self, passphrase: &str) -> Result<Hashed> {
        hash(passphrase, &self.salt, self.memory_kib, self.passes).map(Hashed)
    }
}

/// How the keys of a repository are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Version 1: each key has its own salt and cost.
    PerKey,
    /// One salt and one cost for all keys.
    Shared(Kdf),
}

impl Scheme {
    /// The cost of a passphrase, as it is in the header.
    pub(crate) fn apply(&self, parameters: &mut Parameters) {
        if let Self::Shared(kdf) = self {
            (parameters.kdf_memory_kib, parameters.kdf_passes) = (kdf.memory_kib, kdf.passes);
        }
    }
}

/// A passphrase after Argon2id.
pub(crate) struct Hashed(Zeroizing<[u8; 32]>);

impl Hashed {
    #[cfg(feature = "fuzz")]
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The name of the key that this passphrase opens.
    pub(crate) fn name(&self) -> Name {
        let hash = blake3::derive_key("cuculus-backup v2 key name", &*self.0);
        let mut name = [0; Name::LEN];
        name.copy_from_slice(&hash[..Name::LEN]);
        Name(name)
    }

    fn wrap(&self) -> Seal {
        Seal::with_key(blake3::derive_key("cuculus-backup v2 key wrap", &*self.0))
    }

    /// The header is authenticated too.
    fn place(&self, header: &[u8]) -> Vec<u8> {
        [header, &self.name().0].concat()
    }

    /// The bytes of a key: with its header and the parameters, so that a lost configuration can be
    /// rebuilt from it.
    fn seal(&self, kdf: &Kdf, master: &Master, parameters: &Parameters) -> Result<Vec<u8>> {
        let mut writer = Writer::default();
        writer.raw(&MAGIC);
        kdf.encode(&mut writer);
        let mut body = Writer::default();
        body.raw(&master.0);
        parameters.encode(&mut body);
        let body = Zeroizing::new(body.0);
        let place = self.place(&writer.0);
        self.wrap().seal(&place, &body, &mut writer.0)?;
        Ok(writer.0)
    }

    pub(crate) fn open(&self, bytes: &[u8]) -> Decoded<(Master, Parameters)> {
        let mut reader = Reader(bytes);
        if reader.array()? != MAGIC {
            return Err(Malformed);
        }
        Kdf::decode(&mut reader)?;
        let header = bytes.get(..bytes.len() - reader.0.len()).unwrap_or_default();
        let body = self.wrap().open(&self.place(header), reader.0.to_vec())?;
        let body = Zeroizing::new(body);
        let mut reader = Reader(&body);
        let master = Master(reader.array()?);
        let parameters = Parameters::decode(&mut reader)?;
        reader.end()?;
        Ok((master, parameters))
    }
}

/// Stores the master key under another passphrase.
pub(crate) fn add(
    store: &dyn Store,
    scheme: &Scheme,
    (master, parameters): (&Master, &Parameters),
    passphrase: &str,
) -> Result<Name> {
    let (name, bytes) = match scheme {
        Scheme::PerKey => (Name::random()?, seal_v1(master, passphrase)?),
        Scheme::Shared(kdf) => {
            let hashed = kdf.hash(passphrase)?;
            (hashed.name(), hashed.seal(kdf, master, parameters)?)
        }
    };
    store.put(ObjectKind::Key, &name, &bytes)?;
    Ok(name)
}

/// The master key, and the parameters if the key has them.
pub(crate) fn open(
    store: &dyn Store,
    scheme: &Scheme,
    passphrase: &str,
) -> Result<(Master, Option<Parameters>)> {
    match scheme {
        Scheme::PerKey => Ok((open_v1(store, passphrase)?, None)),
        Scheme::Shared(kdf) => {
            let hashed = kdf.hash(passphrase)?;
            let name = hashed.name();
            let bytes = match store.get(ObjectKind::Key, &name) {
                Ok(bytes) => bytes,
                Err(error) if error.is_missing() => return Err(none_opens(store)?),
                Err(error) => return Err(error),
            };
            let opened = hashed.open(&bytes);
            let opened = opened.map_err(|Malformed| Error::damaged(ObjectKind::Key, &name));
            opened.map(|(master, parameters)| (master, Some(parameters)))
        }
    }
}

fn none_opens(store: &dyn Store) -> Result<Error> {
    let none = store.list(ObjectKind::Key)?.is_empty();
    Ok(if none { Error::NoKeys } else { Error::WrongPassphrase })
}

/// All keys that a passphrase opens: in version 1 more than one if a change of it was interrupted.
pub(crate) fn opened_by(store: &dyn Store, scheme: &Scheme, passphrase: &str) -> Result<Vec<Name>> {
    let keys = store.list(ObjectKind::Key)?.into_iter().map(|(name, _)| name);
    if let Scheme::Shared(kdf) = scheme {
        let own = kdf.hash(passphrase)?.name();
        return Ok(keys.filter(|name| *name == own).collect());
    }
    let mut opened = Vec::new();
    for name in keys.take(MAX_KEYS_V1) {
        if let Ok(Some(_)) = attempt_v1(store, &name, passphrase)? {
            opened.push(name);
        }
    }
    Ok(opened)
}

/// The headers of the keys: how to reach the master key if there is no configuration. Honest keys
/// have the same header.
pub(crate) fn headers(store: &dyn Store) -> Result<Vec<Kdf>> {
    const MAX_HEADERS: usize = 4;
    let mut headers: Vec<Kdf> = Vec::new();
    for (name, _) in store.list(ObjectKind::Key)?.into_iter().take(MAX_KEYS_V1) {
        let Ok(bytes) = store.get(ObjectKind::Key, &name) else { continue };
        let Some((&MAGIC, mut rest)) = bytes.split_first_chunk().map(|(m, r)| (m, Reader(r)))
        else {
            continue;
        };
        match Kdf::decode(&mut rest) {
            Ok(kdf) if !headers.contains(&kdf) => headers.push(kdf),
            _ => {}
        }
        if headers.len() == MAX_HEADERS {
            break;
        }
    }
    Ok(headers)
}

fn seal_v1(master: &Master, passphrase: &str) -> Result<Vec<u8>> {
    let salt: [u8; 16] = random_bytes()?;
    let wrap = Seal::with_key(*hash(passphrase, &salt, MEMORY_KIB_V1, PASSES_V1)?);
    let mut writer = Writer::default();
    writer.raw(&MAGIC_V1);
    writer.u32(MEMORY_KIB_V1);
    writer.u32(PASSES_V1);
    writer.raw(&salt);
    wrap.seal(&MAGIC_V1, &master.0, &mut writer.0)?;
    Ok(writer.0)
}

/// Tries the keys of version 1: only an attempt shows which one a passphrase opens.
pub(crate) fn open_v1(store: &dyn Store, passphrase: &str) -> Result<Master> {
    let mut damaged = None;
    for (name, _) in store.list(ObjectKind::Key)?.iter().take(MAX_KEYS_V1) {
        match attempt_v1(store, name, passphrase)? {
            Ok(Some(master)) => return Ok(master),
            Ok(None) => {}
            Err(Malformed) => damaged = Some(*name),
        }
    }
    match damaged {
        Some(name) => Err(Error::damaged(ObjectKind::Key, &name)),
        None => Err(none_opens(store)?),
    }
}

/// The master key, if this is the right passphrase.
fn attempt_v1(store: &dyn Store, name: &Name, passphrase: &str) -> Result<Decoded<Option<Master>>> {
    match store.get(ObjectKind::Key, name) {
        Ok(bytes) => Ok(decode_v1(&bytes, passphrase)),
        // Removed since it was listed.
        Err(error) if error.is_missing() => Ok(Ok(None)),
        Err(error) => Err(error),
    }
}

fn decode_v1(bytes: &[u8], passphrase: &str) -> Decoded<Option<Master>> {
    let mut reader = Reader(bytes);
    if reader.array()? != MAGIC_V1 {
        return Err(Malformed);
    }
    let (memory, passes, salt) = (reader.u32()?, reader.u32()?, reader.array::<16>()?);
    if memory > MEMORY_KIB_V1 || passes > PASSES_V1 {
        return Err(Malformed);
    }
    let wrap = Seal::with_key(*hash(passphrase, &salt, memory, passes).map_err(|_| Malformed)?);
    let Ok(master) = wrap.open(&MAGIC_V1, reader.0.to_vec()) else { return Ok(None) };
    let master = Zeroizing::new(master);
    Ok(Some(Master(master.as_slice().try_into().map_err(|_| Malformed)?)))
}

fn hash(text: &str, salt: &[u8], memory: u32, passes: u32) -> Result<Zeroizing<[u8; 32]>> {
    let refused = |error: argon2::Error| {
        Error::io("cannot use the passphrase")(std::io::Error::other(error.to_string()))
    };
    let parameters = Params::new(memory, passes, 1, Some(32)).map_err(refused)?;
    let argon = Argon2::new(Algorithm::Argon2id, argon2::Version::V0x13, parameters);
    let blocks = ZeroedBlocks::new(argon.params().block_count());
    let mut blocks = blocks.ok_or_else(|| refused(argon2::Error::OutOfMemory))?;
    let mut key = Zeroizing::new([0; 32]);
    argon
        .hash_password_into_with_memory(
            text.as_bytes(),
            salt,
            key.as_mut_slice(),
            blocks.as_mut_slice(),
        )
        .map_err(refused)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first key files could ask for 1 GiB and 64 passes: a minute of work for nothing.
    #[test]
    fn a_header_that_asks_for_too_much_or_too_little_is_refused() {
        let decode = |memory: u32, passes: u32| {
            let mut writer = Writer::default();
            Kdf { memory_kib: memory, passes, salt: [1; 16] }.encode(&mut writer);
            Kdf::decode(&mut Reader(&writer.0)).is_ok()
        };
        assert!(decode(64 * 1024, 3) && decode(256 * 1024, 4) && decode(19 * 1024, 2));
        for (memory, passes) in
            [(1 << 20, 1), (1 << 20, 64), (256 * 1024, 5), (64 * 1024, 17), (1024, 3), (65536, 1)]
        {
            assert!(!decode(memory, passes), "{memory} {passes}");
        }
        let mut forged =
            [&MAGIC_V1[..], &(1u32 << 20).to_le_bytes(), &64u32.to_le_bytes()].concat();
        forged.extend([0; 16 + 72]);
        assert!(decode_v1(&forged, "a passphrase").is_err());
    }
}
