//! The configuration of a repository: its parameters, fixed when it was created, and how its master
//! key is reached. Knows nothing of chunks.

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::key;
use crate::seal::{Keys, Master};
use crate::store::{ObjectKind, SINGLETON, Store};

/// The last byte is the format version.
pub(crate) const MAGIC: [u8; 8] = *b"CUCBACK1";
const MAGIC_STEM: [u8; 7] = *b"CUCBACK";
const VERSION: u8 = b'1';

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
    /// The false positive rate of the digest, in parts per million.
    pub digest_rate_ppm: u32,
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
            compression_level: 3,
            digest_rate_ppm: 10_000,
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
            && (10..=200_000).contains(&self.digest_rate_ppm);
        if sound {
            return Ok(());
        }
        Err(Error::InvalidParameters)
    }

    fn encode(&self, writer: &mut Writer) {
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
        writer.u32(self.digest_rate_ppm);
    }

    fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let parameters = Self {
            min_chunk_size: reader.u32()?,
            mean_chunk_size: reader.u32()?,
            max_chunk_size: reader.u32()?,
            group_size: reader.u32()?,
            pack_size: reader.u32()?,
            compression_level: reader.u32()? as i32,
            digest_rate_ppm: reader.u32()?,
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
    let keys = Keys::new(&master, passphrase.is_some());
    let mut writer = Writer::default();
    writer.raw(&MAGIC);
    writer.u8(u8::from(passphrase.is_some()));
    if passphrase.is_none() {
        writer.raw(&master.0);
    }
    let mut body = Writer::default();
    parameters.encode(&mut body);
    keys.seal.seal(&MAGIC, &body.0, &mut writer.0)?;
    if let Some(passphrase) = passphrase {
        key::add(store, &master, passphrase)?;
    }
    // Last: without it there is no repository, and creating one can be tried again.
    store.put(ObjectKind::Config, &SINGLETON, &writer.0)
}

/// A configuration that was read, before the keys are available.
pub(crate) struct Locked {
    /// A hash of the configuration, which never changes and contains random bytes.
    pub(crate) id: Name,
    /// The master key, if the repository is not encrypted.
    open: Option<Master>,
    body: Vec<u8>,
}

impl Locked {
    pub(crate) fn read(store: &dyn Store, location: &str) -> Result<Self> {
        let bytes = store.get(ObjectKind::Config, &SINGLETON).map_err(|error| {
            if !error.is_missing() {
                return error;
            }
            Error::NotARepository { location: location.into() }
        })?;
        if let Some((&MAGIC_STEM, [version, ..])) = bytes.split_first_chunk()
            && *version != VERSION
        {
            return Err(Error::UnknownVersion { found: char::from(*version) });
        }
        Self::decode(&bytes).map_err(|Malformed| damaged())
    }

    fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader(bytes);
        if reader.array()? != MAGIC {
            return Err(Malformed);
        }
        let open = match reader.u8()? {
            0 => Some(Master(reader.array()?)),
            1 => None,
            _ => return Err(Malformed),
        };
        Ok(Self { id: Name::of(bytes), open, body: reader.0.to_vec() })
    }

    pub(crate) fn needs_passphrase(&self) -> bool {
        self.open.is_none()
    }

    pub(crate) fn unlock(
        &self,
        store: &dyn Store,
        passphrase: Option<&str>,
    ) -> Result<(Parameters, Keys)> {
        let unwrapped;
        let master = match (&self.open, passphrase) {
            (Some(master), _) => master,
            (None, Some(passphrase)) => {
                unwrapped = key::open(store, passphrase)?;
                &unwrapped
            }
            (None, None) => {
                return Err(Error::PassphraseNeeded);
            }
        };
        let keys = Keys::new(master, self.needs_passphrase());
        let body = keys.seal.open(&MAGIC, self.body.clone()).map_err(|Malformed| damaged())?;
        let mut reader = Reader(&body);
        let parameters = Parameters::decode(&mut reader).map_err(|Malformed| damaged())?;
        Ok((parameters, keys))
    }
}

fn damaged() -> Error {
    Error::damaged(ObjectKind::Config, &SINGLETON)
}
