//! Seals bytes: encrypts them with authentication, or adds a checksum in a repository without
//! encryption. Knows keys; nothing of what the bytes are.

use std::ops::Range;

use chacha20::XChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use poly1305::Poly1305;
use poly1305::universal_hash::UniversalHash;
use zeroize::{Zeroize, Zeroizing};

use crate::codec::{Decoded, Malformed};
use crate::error::Result;
use crate::id::{ChunkId, Name, first_of, random_bytes};

const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;
/// A block of Poly1305, and what it takes at once.
const MAC_BLOCK: usize = 16;
const MAC_STRIDE: usize = 4 * MAC_BLOCK;

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

    /// Names the repository. Nobody can make a repository with the same id without the master key.
    pub(crate) fn repository_id(&self) -> Name {
        Name(first_of(&self.derive("repository id")))
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

impl Drop for Master {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The derived keys. Without encryption, whoever can read the repository knows them.
pub(crate) struct Keys {
    chunk_ids: [u8; 32],
    /// The table of the chunker, so that chunk lengths do not reveal known files.
    pub(crate) gear: Box<[u64; 256]>,
    pub(crate) seal: Seal,
    pub(crate) repository: Name,
}

impl Keys {
    pub(crate) fn new(master: &Master, encrypted: bool) -> Self {
        let seal = if encrypted {
            Seal::with_key(master.derive("seal"))
        } else {
            Seal::Checksum(master.derive("checksum"))
        };
        Self {
            chunk_ids: master.derive("chunk ids"),
            gear: master.gear_table(),
            seal,
            repository: master.repository_id(),
        }
    }

    pub(crate) fn chunk_id(&self, bytes: &[u8]) -> ChunkId {
        ChunkId(first_of(blake3::keyed_hash(&self.chunk_ids, bytes).as_bytes()))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.chunk_ids.zeroize();
        self.gear.zeroize();
    }
}

/// How bytes are sealed. `place` says what the bytes are and where they are stored: bytes sealed
/// for one place do not open at another.
pub(crate) enum Seal {
    Cipher(Box<Cipher>),
    Checksum([u8; 32]),
}

impl Seal {
    /// A cipher with a key derived from a passphrase.
    pub(crate) fn with_key(key: [u8; 32]) -> Self {
        let key = Zeroizing::new(key);
        Self::Cipher(Box::new(Cipher { aead: XChaCha20Poly1305::new((&*key).into()), key }))
    }

    /// Whether a secret is needed to open sealed bytes.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Self::Cipher(_))
    }

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
                    .aead
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
    pub(crate) fn open(&self, place: &[u8], mut sealed: Vec<u8>) -> Decoded<Vec<u8>> {
        let plain = self.open_in_place(place, &mut sealed)?;
        sealed.truncate(plain.end);
        sealed.drain(..plain.start);
        Ok(sealed)
    }

    /// Opens bytes in place; returns the range of the plain bytes.
    pub(crate) fn open_in_place(&self, place: &[u8], sealed: &mut [u8]) -> Decoded<Range<usize>> {
        let end = sealed.len().checked_sub(TAG_LEN).ok_or(Malformed)?;
        match self {
            Self::Cipher(cipher) => {
                let (nonce, rest) = sealed.split_first_chunk_mut::<NONCE_LEN>().ok_or(Malformed)?;
                let (body, tag) = rest.split_last_chunk_mut::<TAG_LEN>().ok_or(Malformed)?;
                let (nonce, tag) = (XNonce::from(*nonce), Tag::from(*tag));
                cipher
                    .aead
                    .decrypt_inout_detached(&nonce, place, body.into(), &tag)
                    .map_err(|_| Malformed)?;
                Ok(NONCE_LEN..end)
            }
            Self::Checksum(_) if self.is_sound(place, sealed) => Ok(0..end),
            Self::Checksum(_) => Err(Malformed),
        }
    }

    /// Whether the bytes are what was sealed for this place: whether they would open.
    pub(crate) fn is_sound(&self, place: &[u8], sealed: &[u8]) -> bool {
        match self {
            Self::Cipher(cipher) => cipher.is_sound(place, sealed).unwrap_or(false),
            Self::Checksum(key) => sealed
                .split_last_chunk::<TAG_LEN>()
                .is_some_and(|(body, tag)| checksum(key, place, body) == *tag),
        }
    }
}

/// The cipher, and its key for [`Cipher::is_sound`].
pub(crate) struct Cipher {
    aead: XChaCha20Poly1305,
    key: Zeroizing<[u8; 32]>,
}

impl Cipher {
    /// The first half of opening: the tag is that of the sealed bytes. Decrypting them takes twice as
    /// long as that. The construction is that of RFC 8439, 2.8, with the nonce of XChaCha20.
    fn is_sound(&self, place: &[u8], sealed: &[u8]) -> Option<bool> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let (body, tag) = rest.split_last_chunk::<TAG_LEN>()?;
        let mut mac_key = Zeroizing::new([0; 32]);
        XChaCha20::new((&*self.key).into(), nonce.into()).apply_keystream(&mut *mac_key);
        let mut mac = Poly1305::new((&*mac_key).into());
        // It takes four blocks at once only if all before them came in fours. So the first bytes of
        // the body go with the place, which alone would be one block.
        let mut first = [0; MAC_STRIDE];
        let padded = place.len().next_multiple_of(MAC_BLOCK);
        let rest = if padded < MAC_STRIDE {
            let (head, rest) = body.split_at(body.len().min(MAC_STRIDE - padded));
            first[..place.len()].copy_from_slice(place);
            first[padded..padded + head.len()].copy_from_slice(head);
            mac.update_padded(&first[..padded + head.len()]);
            rest
        } else {
            mac.update_padded(place);
            body
        };
        mac.update_padded(rest);
        let mut lengths = [0; 16];
        lengths[..8].copy_from_slice(&(place.len() as u64).to_le_bytes());
        lengths[8..].copy_from_slice(&(body.len() as u64).to_le_bytes());
        mac.update(&[lengths.into()]);
        Some(mac.verify(tag.into()).is_ok())
    }
}

fn checksum(key: &[u8; 32], place: &[u8], plain: &[u8]) -> [u8; TAG_LEN] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(place.len() as u64).to_le_bytes()).update(place).update(plain);
    first_of(hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_and_every_other_place_is_noticed() {
        for encrypted in [false, true] {
            let keys = Keys::new(&Master([7; 32]), encrypted);
            let mut sealed = vec![];
            keys.seal.seal(b"here", b"some bytes", &mut sealed).expect("sealed");
            assert_eq!(sealed.len(), 10 + keys.seal.overhead());
            assert_eq!(keys.seal.open(b"here", sealed.clone()), Ok(b"some bytes".to_vec()));
            assert_eq!(keys.seal.open(b"there", sealed.clone()), Err(Malformed));
            assert!(keys.seal.is_sound(b"here", &sealed) && !keys.seal.is_sound(b"there", &sealed));
            for bit in 0..8 * sealed.len() {
                let mut changed = sealed.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(!keys.seal.is_sound(b"here", &changed));
                assert_eq!(keys.seal.open(b"here", changed), Err(Malformed));
            }
            for len in 0..sealed.len() {
                assert!(!keys.seal.is_sound(b"here", &sealed[..len]));
                assert_eq!(keys.seal.open(b"here", sealed[..len].to_vec()), Err(Malformed));
            }
        }
    }

    /// Of every length around the blocks of the cipher, and of every length of a place.
    #[test]
    fn bytes_are_sound_if_they_open() {
        let mut random = fastrand::Rng::with_seed(5);
        for encrypted in [false, true] {
            let keys = Keys::new(&Master([8; 32]), encrypted);
            for len in (0..200).chain([4095, 4096, 70_001]) {
                let place: Vec<u8> = (0..len % 80).map(|_| random.u8(..)).collect();
                let plain: Vec<u8> = (0..len).map(|_| random.u8(..)).collect();
                let mut sealed = vec![];
                keys.seal.seal(&place, &plain, &mut sealed).expect("sealed");
                for is_changed in [false, true] {
                    if is_changed {
                        let at = random.usize(..sealed.len());
                        sealed[at] ^= 1 << random.u8(..8);
                    }
                    assert_eq!(keys.seal.is_sound(&place, &sealed), !is_changed, "{len}");
                    assert_eq!(keys.seal.open(&place, sealed.clone()).is_ok(), !is_changed);
                }
            }
        }
    }

    #[test]
    fn chunk_ids_depend_on_the_key() {
        let [one, other] = [1, 2].map(|byte| Keys::new(&Master([byte; 32]), true));
        assert_eq!(one.chunk_id(b"chunk"), one.chunk_id(b"chunk"));
        assert_ne!(one.chunk_id(b"chunk"), other.chunk_id(b"chunk"));
        assert_ne!(one.chunk_id(b"chunk"), one.chunk_id(b"chunks"));
    }

    /// One word xored over a public table would leave one difference.
    #[test]
    fn the_table_of_the_chunker_depends_on_the_key_in_every_entry() {
        let [one, again, other] = [1, 1, 2].map(|byte| Master([byte; 32]).gear_table());
        let pairs = one.iter().zip(other.iter());
        let differences: std::collections::HashSet<u64> = pairs.map(|(a, b)| a ^ b).collect();
        assert_eq!(differences.len(), 256);
        assert_eq!(one, again);
    }

    #[test]
    fn the_id_of_a_repository_depends_on_its_master_key() {
        let [one, other] = [1, 2].map(|byte| Master([byte; 32]).repository_id());
        assert_ne!(one, other);
    }
}
