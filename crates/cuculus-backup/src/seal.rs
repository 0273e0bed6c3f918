//! Seals bytes: encrypts them with authentication, or adds a checksum in a repository without
//! encryption. Knows keys; nothing of what the bytes are.

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use zeroize::Zeroize;

use crate::codec::{Malformed, Reader};
use crate::config::Version;
use crate::error::Result;
use crate::id::{ChunkId, Name, random_bytes};

const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;

/// The secret that all other keys are derived from.
pub(crate) struct Master(pub(crate) [u8; 32]);

impl Master {
    pub(crate) fn random() -> Result<Self> {
        Ok(Self(random_bytes()?))
    }

    /// A key for one purpose. The contexts are part of the format.
    fn derive(&self, use_of_key: &str) -> [u8; 32] {
        blake3::derive_key(&format!("cuculus-backup v1 {use_of_key}"), &self.0)
    }

    fn derive_u64(&self, use_of_key: &str) -> u64 {
        Reader(&self.derive(use_of_key)).u64().unwrap_or_default()
    }

    /// Names the repository. Nobody can make a repository with the same id without the master key.
    pub(crate) fn repository_id(&self) -> Name {
        let mut id = [0; Name::LEN];
        id.copy_from_slice(&self.derive("repository id")[..Name::LEN]);
        Name(id)
    }

    /// Every entry of the chunker's table is secret.
    pub(crate) fn gear_table(&self) -> Box<[u64; 256]> {
        let mut reader = blake3::Hasher::new_keyed(&self.derive("gear table")).finalize_xof();
        let mut table = Box::new([0; 256]);
        for entry in table.iter_mut() {
            let mut bytes = [0; 8];
            reader.fill(&mut bytes);
            *entry = u64::from_le_bytes(bytes);
        }
        table
    }
}

/// What the cuts of the chunker depend on.
pub(crate) enum Cuts {
    /// Version 1: a public table, each entry xored with this seed. Chunk lengths of chosen files
    /// reveal the seed.
    Seed(u64),
    /// A secret table.
    Table(Box<[u64; 256]>),
}

impl Drop for Master {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The derived keys. Without encryption, whoever can read the repository knows them.
pub(crate) struct Keys {
    chunk_ids: [u8; 32],
    /// So that chunk lengths do not reveal known files.
    pub(crate) cuts: Cuts,
    pub(crate) seal: Seal,
    pub(crate) repository: Name,
    /// Which encoding of trees the repository has.
    pub(crate) version: Version,
}

impl Keys {
    pub(crate) fn new(master: &Master, encrypted: bool, version: Version) -> Self {
        let seal = if encrypted {
            Seal::Cipher(Box::new(XChaCha20Poly1305::new(&master.derive("seal").into())))
        } else {
            Seal::Checksum(master.derive("checksum"))
        };
        Self {
            chunk_ids: master.derive("chunk ids"),
            cuts: match version {
                Version::V1 => Cuts::Seed(master.derive_u64("cuts")),
                Version::V2 => Cuts::Table(master.gear_table()),
            },
            seal,
            repository: master.repository_id(),
            version,
        }
    }

    pub(crate) fn chunk_id(&self, bytes: &[u8]) -> ChunkId {
        let hash = blake3::keyed_hash(&self.chunk_ids, bytes);
        let mut id = [0; ChunkId::LEN];
        id.copy_from_slice(&hash.as_bytes()[..ChunkId::LEN]);
        ChunkId(id)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.chunk_ids.zeroize();
        match &mut self.cuts {
            Cuts::Seed(seed) => seed.zeroize(),
            Cuts::Table(table) => table.zeroize(),
        }
    }
}

/// How bytes are sealed. `place` says what the bytes are and where they are stored: bytes sealed
/// for one place do not open at another.
pub(crate) enum Seal {
    Cipher(Box<XChaCha20Poly1305>),
    Checksum([u8; 32]),
}

impl Seal {
    /// A cipher with a key derived from a passphrase.
    pub(crate) fn with_key(key: [u8; 32]) -> Self {
        Self::Cipher(Box::new(XChaCha20Poly1305::new(&key.into())))
    }

    /// Whether a secret is needed to open sealed bytes.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Cipher(_))
    }

    /// Bytes that sealing adds.
    pub(crate) fn overhead(&self) -> usize {
        match self {
            Self::Cipher(_) => NONCE_LEN + TAG_LEN,
            Self::Checksum(_) => TAG_LEN,
        }
    }

    /// Appends the sealed bytes: the nonce if there is one, the bytes, the tag.
    pub(crate) fn seal(&self, place: &[u8], plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.reserve(plain.len() + self.overhead());
        match self {
            Self::Cipher(cipher) => {
                let nonce = random_bytes::<NONCE_LEN>()?;
                out.extend_from_slice(&nonce);
                let start = out.len();
                out.extend_from_slice(plain);
                let body = &mut out[start..];
                let tag = cipher
                    .encrypt_inout_detached(&XNonce::from(nonce), place, body.into())
                    .map_err(|_| {
                    crate::Error::io("cannot encrypt")(std::io::ErrorKind::FileTooLarge.into())
                })?;
                out.extend_from_slice(&tag);
            }
            Self::Checksum(key) => {
                out.extend_from_slice(plain);
                out.extend_from_slice(&checksum(key, place, plain));
            }
        }
        Ok(())
    }

    /// Opens bytes that were sealed for this place, reusing their buffer.
    pub(crate) fn open(&self, place: &[u8], mut sealed: Vec<u8>) -> Opened<Vec<u8>> {
        let plain = self.open_in_place(place, &mut sealed)?;
        sealed.truncate(plain.end);
        sealed.drain(..plain.start);
        Ok(sealed)
    }

    /// Opens bytes in place; returns the range of the plain bytes.
    pub(crate) fn open_in_place(
        &self,
        place: &[u8],
        sealed: &mut [u8],
    ) -> Opened<std::ops::Range<usize>> {
        let end = sealed.len().checked_sub(TAG_LEN).ok_or(Malformed)?;
        match self {
            Self::Cipher(cipher) => {
                let (nonce, rest) = sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(Malformed)?;
                let (body, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(Malformed)?;
                let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
                cipher
                    .decrypt_inout_detached(&nonce, place, body.into(), &tag)
                    .map_err(|_| Malformed)?;
                Ok(NONCE_LEN..end)
            }
            Self::Checksum(key) => {
                let (body, tag) = sealed.split_last_chunk::<TAG_LEN>().ok_or(Malformed)?;
                if checksum(key, place, body) != *tag {
                    return Err(Malformed);
                }
                Ok(0..end)
            }
        }
    }
}

type Opened<T> = std::result::Result<T, Malformed>;

fn checksum(key: &[u8; 32], place: &[u8], plain: &[u8]) -> [u8; TAG_LEN] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(place.len() as u64).to_le_bytes()).update(place).update(plain);
    let mut tag = [0; TAG_LEN];
    hasher.finalize_xof().fill(&mut tag);
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_and_every_other_place_is_noticed() {
        for encrypted in [false, true] {
            let keys = Keys::new(&Master([7; 32]), encrypted, Version::V2);
            let mut sealed = vec![];
            keys.seal.seal(b"here", b"some bytes", &mut sealed).expect("sealed");
            assert_eq!(sealed.len(), 10 + keys.seal.overhead());
            assert_eq!(keys.seal.open(b"here", sealed.clone()), Ok(b"some bytes".to_vec()));
            assert_eq!(keys.seal.open(b"there", sealed.clone()), Err(Malformed));
            for bit in 0..8 * sealed.len() {
                let mut changed = sealed.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(keys.seal.open(b"here", changed), Err(Malformed));
            }
            for len in 0..sealed.len() {
                assert_eq!(keys.seal.open(b"here", sealed[..len].to_vec()), Err(Malformed));
            }
        }
    }

    #[test]
    fn chunk_ids_depend_on_the_key() {
        let [one, other] = [1, 2].map(|byte| Keys::new(&Master([byte; 32]), true, Version::V2));
        assert_eq!(one.chunk_id(b"chunk"), one.chunk_id(b"chunk"));
        assert_ne!(one.chunk_id(b"chunk"), other.chunk_id(b"chunk"));
        assert_ne!(one.chunk_id(b"chunk"), one.chunk_id(b"chunks"));
    }

    /// Version 2 hides every entry of the chunker's table; version 1 hid 64 bits for all of them.
    #[test]
    fn the_table_of_the_chunker_depends_on_the_key_in_every_entry() {
        let [one, other] = [1, 2].map(|byte| Master([byte; 32]).gear_table());
        let differences: std::collections::HashSet<u64> =
            one.iter().zip(other.iter()).map(|(one, other)| one ^ other).collect();
        // One word xored over a public table would leave one difference.
        assert_eq!(differences.len(), 256);
        assert_eq!(*one, *Master([1; 32]).gear_table());
    }

    #[test]
    fn the_id_of_a_repository_depends_on_its_master_key() {
        let [one, other] = [1, 2].map(|byte| Master([byte; 32]).repository_id());
        assert_ne!(one, other);
    }
}
