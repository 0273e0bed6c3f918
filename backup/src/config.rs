//! The configuration of a repository: its parameters, fixed when it was created, and how its master
//! key is reached. Knows nothing of chunks.
//!
//! It is stored twice. If both copies are lost, the keys of an encrypted repository have all that is
//! in it.

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result, if_there};
use crate::key::{self, Kdf};
use crate::seal::{Keys, Master};
use crate::store::{ObjectKind, SINGLETON, Store};

/// The last byte of the magic bytes is the format version.
pub(crate) const MAGIC: [u8; 8] = *b"CUCBACK1";
const MAGIC_STEM: [u8; 7] = *b"CUCBACK";

pub(crate) const COPIES: [ObjectKind; 2] = [ObjectKind::Config, ObjectKind::ConfigCopy];

/// The parameters of a repository, chosen once when it is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The smallest chunk in bytes, except for the last chunk of a file.
    pub min_chunk_size: u32,
    /// The mean chunk size in bytes, a power of two.
    pub mean_chunk_size: u32,
    /// The largest chunk in bytes.
    pub max_chunk_size: u32,
    /// Chunks are compressed together in groups of at least this many bytes.
    pub group_size: u32,
    /// A pack is finished when it has at least this many bytes.
    pub pack_size: u32,
    /// The zstd compression level.
    pub compression_level: i32,
    /// The memory that turning a passphrase into a key takes, in KiB: 19 to 256 MiB.
    pub kdf_memory_kib: u32,
    /// How often that memory is filled: at least twice, and at most 1 GiB in all.
    pub kdf_passes: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self::with_mean_chunk(8 * 1024)
    }
}

impl Parameters {
    /// The default parameters, scaled to another mean chunk size.
    #[must_use]
    pub fn with_mean_chunk(mean_chunk_size: u32) -> Self {
        Self {
            min_chunk_size: mean_chunk_size / 4,
            mean_chunk_size,
            max_chunk_size: mean_chunk_size.saturating_mul(8),
            group_size: mean_chunk_size.saturating_mul(32).clamp(256 * 1024, 4 * 1024 * 1024),
            pack_size: 8 * 1024 * 1024,
            compression_level: 5,
            kdf_memory_kib: 64 * 1024,
            kdf_passes: 3,
        }
    }

    /// The largest group before compression, in bytes.
    pub(crate) fn max_group_size(&self) -> usize {
        self.group_size as usize + self.max_chunk_size as usize
    }

    fn check(&self) -> Result<()> {
        let even = [self.min_chunk_size, self.mean_chunk_size, self.max_chunk_size]
            .iter()
            .all(|n| n % 2 == 0);
        let sound = even
            && (256..=1 << 20).contains(&self.min_chunk_size)
            && (1024..=1 << 20).contains(&self.mean_chunk_size)
            && self.mean_chunk_size.is_power_of_two()
            && self.min_chunk_size < self.mean_chunk_size
            && self.mean_chunk_size < self.max_chunk_size
            && self.max_chunk_size <= 1 << 23
            // The index has three bytes each for lengths and offsets in a group.
            && self.group_size >= 1024
            && u64::from(self.group_size) + u64::from(self.max_chunk_size) <= 12 << 20
            && (1 << 16..=1 << 30).contains(&self.pack_size)
            && (-7..=22).contains(&self.compression_level)
            && Kdf::allows(self.kdf_memory_kib, self.kdf_passes);
        if sound { Ok(()) } else { Err(Error::InvalidParameters) }
    }

    /// Without the cost of a passphrase, which is in the header.
    pub(crate) fn encode(&self, writer: &mut Writer) {
        for number in [
            self.min_chunk_size,
            self.mean_chunk_size,
            self.max_chunk_size,
            self.group_size,
            self.pack_size,
        ] {
            writer.u32(number);
        }
        writer.u32(self.compression_level as u32);
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let parameters = Self {
            min_chunk_size: reader.u32()?,
            mean_chunk_size: reader.u32()?,
            max_chunk_size: reader.u32()?,
            group_size: reader.u32()?,
            pack_size: reader.u32()?,
            compression_level: reader.u32()? as i32,
            ..Self::default()
        };
        parameters.check().map(|()| parameters).map_err(|_| Malformed)
    }
}

/// Writes the configuration, and the first key if there is a passphrase.
pub(crate) fn create(
    store: &dyn Store,
    parameters: &Parameters,
    passphrase: Option<&str>,
) -> Result<()> {
    parameters.check()?;
    let master = Master::random()?;
    let kdf = passphrase.map(|_| Kdf::new(parameters)).transpose()?;
    if let (Some(kdf), Some(passphrase)) = (&kdf, passphrase) {
        kdf.hash(passphrase)?.put(store, kdf, &master, parameters)?;
    }
    let bytes = encode(kdf.as_ref(), &master, parameters)?;
    COPIES.iter().try_for_each(|kind| store.put(*kind, &SINGLETON, &bytes))
}

enum Access {
    /// It is in the configuration: the repository is not encrypted.
    Open(Master),
    /// It is in the keys.
    Encrypted(Kdf),
}

/// The configuration. Its header, with the mode and the cost of a passphrase, is authenticated by the
/// seal of the parameters.
fn encode(kdf: Option<&Kdf>, master: &Master, parameters: &Parameters) -> Result<Vec<u8>> {
    let mut writer = Writer::default();
    writer.raw(&MAGIC);
    writer.u8(kdf.is_some().into());
    match kdf {
        None => writer.raw(&master.0),
        Some(kdf) => kdf.encode(&mut writer),
    }
    let (header, mut body) = (writer.0.clone(), Writer::default());
    parameters.encode(&mut body);
    Keys::new(master, kdf.is_some()).seal.seal(&header, &body.0, &mut writer.0)?;
    Ok(writer.0)
}

/// A configuration that was read, before the keys are available.
pub(crate) struct Locked {
    /// What may be the configuration: the first that opens is.
    candidates: Vec<Candidate>,
    copies: Vec<(ObjectKind, Option<Vec<u8>>)>,
}

struct Candidate {
    access: Access,
    /// The bytes of the whole configuration, of which the sealed ones begin at `body`; none if it
    /// was lost and the keys replace it.
    bytes: Vec<u8>,
    body: usize,
}

pub(crate) struct Unlocked {
    pub(crate) parameters: Parameters,
    pub(crate) keys: Keys,
    /// The cost of a passphrase, if the repository is encrypted.
    pub(crate) kdf: Option<Kdf>,
    /// The bytes that every copy should have.
    pub(crate) bytes: Vec<u8>,
}

impl Locked {
    pub(crate) fn read(store: &dyn Store, location: &str) -> Result<Self> {
        let copies = read_copies(store)?;
        let (mut candidates, mut versions) = (Vec::<Candidate>::new(), Vec::new());
        let missing = copies.iter().filter(|(_, bytes)| bytes.is_none()).count();
        for bytes in copies.iter().filter_map(|(_, bytes)| bytes.clone()) {
            if candidates.iter().any(|other| other.bytes == bytes) {
                continue;
            }
            if let Some((&MAGIC_STEM, [version, ..])) = bytes.split_first_chunk() {
                versions.push(*version);
            }
            candidates.extend(Candidate::decode(bytes));
        }
        if candidates.is_empty() {
            if let Some(found) = versions.iter().find(|version| **version != b'1') {
                return Err(Error::UnknownVersion { found: char::from(*found) });
            }
            let headers = key::headers(store).or_else(|error| match missing {
                2 => Ok(Vec::new()),
                _ => Err(error),
            })?;
            candidates.extend(headers.into_iter().map(Candidate::of_key));
        }
        match candidates.is_empty() {
            true if missing == COPIES.len() => {
                Err(Error::NotARepository { location: location.into() })
            }
            true => Err(damaged()),
            false => Ok(Self { candidates, copies }),
        }
    }

    /// The copies that are not what they should be.
    pub(crate) fn damaged_copies(&self, bytes: &[u8]) -> Vec<ObjectKind> {
        let copies = self.copies.iter().filter(|(_, found)| found.as_deref() != Some(bytes));
        copies.map(|(kind, _)| *kind).collect()
    }

    /// Whether a passphrase is needed. If the copies disagree, one is forged: then the answer is
    /// yes, because nothing must be written in the clear.
    pub(crate) fn needs_passphrase(&self) -> bool {
        self.candidates.iter().any(|one| !matches!(one.access, Access::Open(_)))
    }

    pub(crate) fn unlock(&self, store: &dyn Store, passphrase: Option<&str>) -> Result<Unlocked> {
        let encrypted = self.needs_passphrase();
        let (mut from_key, mut first) = (None, None);
        for one in &self.candidates {
            if encrypted && matches!(one.access, Access::Open(_)) {
                continue;
            }
            match one.unlock(store, passphrase) {
                Ok(unlocked) if one.bytes.is_empty() || one.bytes == unlocked.bytes => {
                    return Ok(unlocked);
                }
                // A copy that is intact is better: what others have seen of it stays the same.
                Ok(unlocked) => from_key = from_key.or(Some(unlocked)),
                Err(error) => first = first.or(Some(error)),
            }
        }
        for kdf in if encrypted && from_key.is_none() { self.other_headers(store)? } else { vec![] }
        {
            from_key = from_key.or(Candidate::of_key(kdf).unlock(store, passphrase).ok());
        }
        from_key.ok_or_else(|| first.unwrap_or_else(damaged))
    }

    /// Headers of keys, if they may be better than those of the copies. Copies that agree are not
    /// damaged in their headers, so that a wrong passphrase is hashed once.
    fn other_headers(&self, store: &dyn Store) -> Result<Vec<Kdf>> {
        let mut bytes = self.copies.iter().map(|(_, bytes)| bytes);
        let first = bytes.next();
        if bytes.all(|other| Some(other) == first) {
            return Ok(Vec::new());
        }
        let tried: Vec<Kdf> = self.candidates.iter().filter_map(Candidate::kdf).collect();
        let headers = key::headers(store)?.into_iter();
        Ok(headers.filter(|kdf| !tried.contains(kdf)).collect())
    }
}

impl Candidate {
    /// Without a configuration: by the header of a key, which has the rest too.
    fn of_key(kdf: Kdf) -> Self {
        Self { access: Access::Encrypted(kdf), bytes: Vec::new(), body: 0 }
    }

    fn kdf(&self) -> Option<Kdf> {
        match self.access {
            Access::Encrypted(kdf) => Some(kdf),
            Access::Open(_) => None,
        }
    }

    fn decode(bytes: Vec<u8>) -> Option<Self> {
        let read = || -> Decoded<(Access, usize)> {
            let mut reader = Reader(&bytes);
            let access = match (reader.array()?, reader.u8()?) {
                (MAGIC, 0) => Access::Open(Master(reader.array()?)),
                (MAGIC, 1) => Access::Encrypted(Kdf::decode(&mut reader)?),
                _ => return Err(Malformed),
            };
            Ok((access, bytes.len() - reader.0.len()))
        };
        let (access, body) = read().ok()?;
        Some(Self { access, bytes, body })
    }

    /// What this configuration yields. If it is damaged or lost, the key may have all of it: then the
    /// bytes that it yields are not its own.
    fn unlock(&self, store: &dyn Store, passphrase: Option<&str>) -> Result<Unlocked> {
        let (master, in_key) = match (&self.access, passphrase) {
            (Access::Open(_), Some(_)) => return Err(Error::UnwantedPassphrase),
            (Access::Open(master), None) => (Master(master.0), None),
            (Access::Encrypted(_), None) => return Err(Error::PassphraseNeeded),
            (Access::Encrypted(kdf), Some(passphrase)) => {
                let opened = key::open(store, kdf, passphrase)?;
                (opened.master, Some(opened.parameters))
            }
        };
        let kdf = self.kdf();
        let keys = Keys::new(&master, kdf.is_some());
        let (header, body) = self.bytes.split_at(self.body);
        let own = keys.seal.open(header, body.to_vec());
        let own = own.and_then(|body| Parameters::decode(&mut Reader(&body)));
        let (mut parameters, bytes) = match (own, in_key) {
            (Ok(own), _) => (own, self.bytes.clone()),
            (Err(Malformed), Some(in_key)) => (in_key, encode(kdf.as_ref(), &master, &in_key)?),
            (Err(Malformed), None) => return Err(damaged()),
        };
        if let Some(Kdf { memory_kib, passes, .. }) = kdf {
            (parameters.kdf_memory_kib, parameters.kdf_passes) = (memory_kib, passes);
        }
        Ok(Unlocked { parameters, keys, kdf, bytes })
    }
}

fn read_copies(store: &dyn Store) -> Result<Vec<(ObjectKind, Option<Vec<u8>>)>> {
    let read = |kind: ObjectKind| Ok((kind, if_there(store.get(kind, &SINGLETON))?));
    COPIES.into_iter().map(read).collect()
}

/// The copies that are not what they should be.
pub(crate) fn damaged_copies(store: &dyn Store, bytes: &[u8]) -> Result<Vec<ObjectKind>> {
    let copies = read_copies(store)?.into_iter();
    Ok(copies.filter(|(_, found)| found.as_deref() != Some(bytes)).map(|(kind, _)| kind).collect())
}

pub(crate) fn repair_copies(store: &dyn Store, bytes: &[u8]) -> Result<u64> {
    let damaged = damaged_copies(store, bytes)?;
    damaged.iter().try_for_each(|kind| store.put(*kind, &SINGLETON, bytes))?;
    Ok(damaged.len() as u64)
}

fn damaged() -> Error {
    Error::damaged(ObjectKind::Config, &SINGLETON)
}
