//! What a repository is: its parameters, frozen when it was made, and the way to its keys.
//! Knows nothing of chunks.

use crate::codec::{Decoded, Malformed, Reader, Writer};
use crate::error::{Error, Result};
use crate::id::Name;
use crate::key;
use crate::seal::{Keys, Master};
use crate::store::{Kind, ONLY, Store};

pub(crate) const MAGIC: [u8; 8] = *b"CUCBACK1";

/// Parameters that are chosen once, when the repository is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Chunks are at least this long (but for the last of a file), in bytes.
    pub least_chunk: u32,
    /// Their length on average.
    pub mean_chunk: u32,
    /// Their greatest length.
    pub most_chunk: u32,
    /// Chunks are compressed together until there are so many bytes.
    pub group: u32,
    /// A pack is closed when it has so many bytes.
    pub pack: u32,
    /// The level of zstd.
    pub compression: i32,
    /// The digest's false positive rate, in millionths.
    pub digest_rate: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self::with_mean_chunk(8 * 1024)
    }
}

impl Parameters {
    /// The usual proportions around another mean.
    #[must_use]
    pub fn with_mean_chunk(mean_chunk: u32) -> Self {
        Self {
            least_chunk: mean_chunk / 4,
            mean_chunk,
            most_chunk: mean_chunk.saturating_mul(8),
            group: mean_chunk.saturating_mul(32).clamp(256 * 1024, 4 * 1024 * 1024),
            pack: 8 * 1024 * 1024,
            compression: 3,
            digest_rate: 10_000,
        }
    }

    /// The most bytes that a group can have before it is compressed.
    pub(crate) fn most_group(&self) -> usize {
        self.group as usize + self.most_chunk as usize
    }

    fn check(&self) -> Result<()> {
        let even = [self.least_chunk, self.mean_chunk, self.most_chunk].iter().all(|n| n % 2 == 0);
        let sound = even
            && (256..=1 << 20).contains(&self.least_chunk)
            && (1024..=1 << 20).contains(&self.mean_chunk)
            && self.mean_chunk.is_power_of_two()
            && self.least_chunk < self.mean_chunk
            && self.mean_chunk < self.most_chunk
            && self.most_chunk <= 1 << 23
            // The index has three bytes for lengths and offsets in a group.
            && self.group >= 1024
            && u64::from(self.group) + u64::from(self.most_chunk) <= 12 << 20
            && (1 << 16..=1 << 30).contains(&self.pack)
            && (-7..=22).contains(&self.compression)
            && (10..=200_000).contains(&self.digest_rate);
        if sound {
            return Ok(());
        }
        Err(Error::refused(
            "chunks must be 1 KiB to 1 MiB on average, a power of two; zstd levels go from -7 to 22",
        ))
    }

    fn encode(&self, writer: &mut Writer) {
        for number in [self.least_chunk, self.mean_chunk, self.most_chunk, self.group, self.pack] {
            writer.u32(number);
        }
        writer.u32(self.compression as u32);
        writer.u32(self.digest_rate);
    }

    fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let parameters = Self {
            least_chunk: reader.u32()?,
            mean_chunk: reader.u32()?,
            most_chunk: reader.u32()?,
            group: reader.u32()?,
            pack: reader.u32()?,
            compression: reader.u32()? as i32,
            digest_rate: reader.u32()?,
        };
        parameters.check().map(|()| parameters).map_err(|_| Malformed)
    }
}

/// Makes the configuration, and the first key if there is a passphrase.
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
    // Last: a repository without it is none, and making it can be tried again.
    store.put(Kind::Config, &ONLY, &writer.0)
}

/// Whether a passphrase is needed, and a way in once it is there.
pub(crate) struct Locked {
    /// Made from the configuration, which never changes and has something random in it.
    pub(crate) id: Name,
    /// The master key, if it is not secret.
    open: Option<Master>,
    body: Vec<u8>,
}

impl Locked {
    pub(crate) fn read(store: &dyn Store, place: &str) -> Result<Self> {
        let bytes = store.get(Kind::Config, &ONLY).map_err(|error| {
            if !error.is_missing() {
                return error;
            }
            Error::refused(format!(
                "{place} is no repository; make one with `cuculus-backup --repo {place} init`"
            ))
        })?;
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
                return Err(Error::refused(
                    "the repository is encrypted; give its passphrase in \
                     CUCULUS_BACKUP_PASSPHRASE, or by --passphrase-file or --passphrase-command",
                ));
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
    Error::damaged(Kind::Config.describe(&ONLY))
}
