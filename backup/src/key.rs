//! The master key, encrypted with a passphrase. Knows how a passphrase becomes a key; nothing of
//! what the master key is for. There may be several keys, each with its own passphrase.
//!
//! Key files and their headers are read before anything about them is verified, so what they can
//! make a client spend is bounded: a passphrase is hashed once, with one salt for the whole
//! repository, and the hash names the key that it opens.

use argon2::{Algorithm, Argon2, Params};
use zeroize::Zeroizing;

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::config::Parameters;
use crate::error::{Error, Result, if_there};
use crate::huge_pages::ZeroedBlocks;
use crate::id::{Name, first_of, random_bytes};
use crate::seal::{Master, Seal};
use crate::store::{ObjectKind, Store};

pub(crate) const MAGIC: [u8; 8] = *b"CUCBKEY1";

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
        let refused = |error: argon2::Error| {
            Error::io("cannot use the passphrase")(std::io::Error::other(error.to_string()))
        };
        let parameters = Params::new(self.memory_kib, self.passes, 1, Some(32)).map_err(refused)?;
        let argon = Argon2::new(Algorithm::Argon2id, argon2::Version::V0x13, parameters);
        let blocks = ZeroedBlocks::new(argon.params().block_count());
        let mut blocks = blocks.ok_or_else(|| refused(argon2::Error::OutOfMemory))?;
        let (text, blocks) = (passphrase.as_bytes(), blocks.as_mut_slice());
        let mut key = Zeroizing::new([0; 32]);
        let hashed =
            argon.hash_password_into_with_memory(text, &self.salt, key.as_mut_slice(), blocks);
        hashed.map_err(refused).map(|()| Hashed(key))
    }
}

pub(crate) struct Hashed(Zeroizing<[u8; 32]>);

impl Hashed {
    #[cfg(feature = "fuzz")]
    pub(crate) fn of(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The name of the key that this passphrase opens.
    pub(crate) fn name(&self) -> Name {
        Name(first_of(&blake3::derive_key("cuculus-backup v1 key name", &*self.0)))
    }

    fn wrap(&self) -> Seal {
        Seal::with_key(blake3::derive_key("cuculus-backup v1 key wrap", &*self.0))
    }

    /// The header is authenticated too.
    fn place(&self, header: &[u8]) -> Vec<u8> {
        [header, &self.name().0].concat()
    }

    /// Stores the master key under this passphrase: with its header and the parameters, so that a lost
    /// configuration can be rebuilt from it.
    pub(crate) fn put(
        &self,
        store: &dyn Store,
        kdf: &Kdf,
        master: &Master,
        parameters: &Parameters,
    ) -> Result<()> {
        let mut writer = Writer::default();
        writer.raw(&MAGIC);
        kdf.encode(&mut writer);
        let mut body = Writer::default();
        body.raw(&master.0);
        parameters.encode(&mut body);
        let body = Zeroizing::new(body.0);
        let place = self.place(&writer.0);
        self.wrap().seal(&place, &body, &mut writer.0)?;
        store.put(ObjectKind::Key, &self.name(), &writer.0)
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
        Reader::whole(&body, |reader| Ok((Master(reader.array()?), Parameters::decode(reader)?)))
    }
}

pub(crate) struct OpenedKey {
    pub(crate) name: Name,
    pub(crate) master: Master,
    pub(crate) parameters: Parameters,
}

pub(crate) fn open(store: &dyn Store, kdf: &Kdf, passphrase: &str) -> Result<OpenedKey> {
    let hashed = kdf.hash(passphrase)?;
    let name = hashed.name();
    let Some(bytes) = if_there(store.get(ObjectKind::Key, &name))? else {
        let none = store.list(ObjectKind::Key)?.is_empty();
        return Err(if none { Error::NoKeys } else { Error::WrongPassphrase });
    };
    let opened = hashed.open(&bytes).map_err(|Malformed| Error::damaged(ObjectKind::Key, &name));
    opened.map(|(master, parameters)| OpenedKey { name, master, parameters })
}

/// The headers of the keys: how to reach the master key if there is no configuration. Honest keys
/// have the same header.
pub(crate) fn headers(store: &dyn Store) -> Result<Vec<Kdf>> {
    const MAX_KEYS: usize = 32;
    const MAX_HEADERS: usize = 4;
    let mut headers: Vec<Kdf> = Vec::new();
    for name in store.names(ObjectKind::Key)?.into_iter().take(MAX_KEYS) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A forged key file must not cost a minute of work.
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
    }
}
