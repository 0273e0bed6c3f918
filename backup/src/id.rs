//! Names: of chunks, derived from their bytes, and of objects, drawn at random. Knows nothing of
//! where either is stored.

use std::cmp::Ordering;
use std::fmt;

use crate::error::{Error, Result};

/// The name of a chunk: the first 24 bytes of a keyed BLAKE3 hash of its bytes.
///
/// With 192 bits, two different chunks with one name take 2^96 attempts to find, even with the key,
/// and each chunk costs eight bytes less in the index, the packs and the trees than with 256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChunkId(pub(crate) [u8; ChunkId::LEN]);

impl ChunkId {
    pub(crate) const LEN: usize = 24;

    /// The leading bits: uniformly distributed, and in the order of the ids.
    pub(crate) fn prefix(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

/// The order of the bytes. Two ids nearly always differ in the first word, and comparing words
/// takes no call.
impl Ord for ChunkId {
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = || self.0[8..].cmp(&other.0[8..]);
        self.prefix().cmp(&other.prefix()).then_with(rest)
    }
}

impl PartialOrd for ChunkId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::hash::Hash for ChunkId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_u64(self.prefix());
    }
}

/// A hasher for maps keyed by [`ChunkId`]: ids are hashes already.
#[derive(Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

impl std::hash::Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

pub(crate) type ById = std::hash::BuildHasherDefault<IdHasher>;
pub(crate) type IdMap<V> = std::collections::HashMap<ChunkId, V, ById>;
pub(crate) type IdSet = std::collections::HashSet<ChunkId, ById>;

/// The name of a pack, an index run, a snapshot, a key, an intent or a mark: 16 random bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub(crate) [u8; Name::LEN]);

impl Name {
    pub(crate) const LEN: usize = 16;

    pub(crate) fn random() -> Result<Self> {
        Ok(Self(random_bytes()?))
    }

    /// A name derived from bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(first_of(blake3::hash(bytes).as_bytes()))
    }

    /// Parses 32 lower-case hexadecimal digits; `None` for anything else.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let fits = text.len() == 2 * Self::LEN && text.bytes().all(is_digit);
        let number = u128::from_str_radix(text, 16).ok().filter(|_| fits);
        number.map(|number| Self(number.to_be_bytes()))
    }

    /// The first eight digits: enough to tell snapshots apart.
    #[must_use]
    pub fn short(&self) -> String {
        let mut text = self.to_string();
        text.truncate(8);
        text
    }
}

macro_rules! hexadecimal {
    ($($name:ty),*) => {
        $(impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        })*
    };
}

hexadecimal!(ChunkId, Name);

/// The first bytes of a hash.
pub(crate) fn first_of<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|i| hash[i])
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::io("cannot get random bytes from the system")(std::io::Error::other(error))
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_nothing_else_is() {
        let name = Name::random().expect("random bytes");
        assert_eq!(Name::parse(&name.to_string()), Some(name));
        for text in ["", "12", &"+".repeat(32), &"A".repeat(32), &"é".repeat(16)] {
            assert_eq!(Name::parse(text), None, "{text:?}");
        }
    }
}
