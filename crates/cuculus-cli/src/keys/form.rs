//! Key formats: which part of a line is the key, how its bytes are written, and its hash.

use std::borrow::Cow;
use std::fmt;
use std::str;

use cuculus::{KeyHash, KeyHasher};
use serde::{Deserialize, Serialize};

use super::block::Block;
use super::part::Part;

/// How a line becomes a key. Files keep it, so that a key is looked up as it was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Form {
    #[serde(default)]
    pub(crate) part: Part,
    #[serde(default)]
    pub(crate) ignore_case: bool,
    #[serde(default)]
    pub(crate) encoding: Encoding,
}

/// How the bytes of a key are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    /// As they are.
    #[default]
    Text,
    /// In hexadecimal.
    Hex,
    /// As a number below 2^64, which the library hashes as a `u64`.
    U64,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Hex => "hexadecimal (--hex)",
            Self::U64 => "numbers (--u64)",
        })
    }
}

/// What to do with a JSON document that has no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyless {
    Refuse,
    /// Noted in [`Block::keyless`].
    Note,
}

/// A line that is not a key in this format: its index in the block, and why.
pub(crate) struct Unreadable {
    pub(crate) line: usize,
    pub(crate) why: String,
}

impl Form {
    /// The bytes of a line as they are, or in another encoding.
    pub(crate) fn of(encoding: Encoding) -> Self {
        Self { encoding, ..Self::default() }
    }

    fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The bytes of the key of a line; none if it is a document without a key.
    pub(crate) fn key_of<'a>(&self, line: &'a [u8]) -> Result<Option<Cow<'a, [u8]>>, String> {
        let key = self.part.of(line)?;
        Ok(if self.ignore_case { key.map(in_lower_case) } else { key })
    }

    /// Hashes all lines of a block.
    pub(crate) fn hash(
        &self,
        hasher: &KeyHasher,
        keyless: Keyless,
        block: &mut Block,
    ) -> Result<(), Unreadable> {
        let mut hashes = std::mem::take(&mut block.hashes);
        let mut without = std::mem::take(&mut block.keyless);
        without.clear();
        let hashed = self.hash_into(hasher, block, &mut hashes, &mut without);
        block.hashes = hashes;
        let missing = without.first().map(|&line| line as usize);
        block.keyless = without;
        hashed?;
        match (keyless, missing, &self.part) {
            (Keyless::Refuse, Some(line), Part::Json(pointer)) => {
                Err(Unreadable { line, why: format!("has no value at {pointer}") })
            }
            _ => Ok(()),
        }
    }

    /// The hashes of all lines of a block for another filter.
    pub(crate) fn hash_into(
        &self,
        hasher: &KeyHasher,
        block: &Block,
        hashes: &mut Vec<KeyHash>,
        keyless: &mut Vec<u32>,
    ) -> Result<(), Unreadable> {
        hashes.clear();
        if self.is_plain() {
            // A copy of its own, so that the compiler sees that the function stays the same.
            let hasher = hasher.clone();
            hashes.extend(block.lines().map(|line| hasher.hash(line)));
            return Ok(());
        }
        let mut bytes = Vec::new();
        for (i, line) in block.lines().enumerate() {
            let at = |why| Unreadable { line: i, why };
            let Some(key) = self.key_of(line).map_err(at)? else {
                keyless.push(i as u32);
                hashes.push(KeyHash::new(0));
                continue;
            };
            hashes.push(match self.encoding {
                Encoding::Text => hasher.hash(&*key),
                Encoding::Hex => {
                    decode_hex(&key, &mut bytes).map_err(|why| at(why.to_owned()))?;
                    hasher.hash(&bytes)
                }
                Encoding::U64 => {
                    hasher.hash(&parse_u64(&key).ok_or_else(|| at(NOT_A_NUMBER.to_owned()))?)
                }
            });
        }
        Ok(())
    }
}

/// Upper case as lower case: of all letters in UTF-8, of the letters A to Z in other bytes.
fn in_lower_case(key: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if key.is_ascii() {
        return match key.iter().any(u8::is_ascii_uppercase) {
            true => key.to_ascii_lowercase().into(),
            false => key,
        };
    }
    match str::from_utf8(&key) {
        Ok(text) => text.to_lowercase().into_bytes().into(),
        Err(_) => key.to_ascii_lowercase().into(),
    }
}

const NOT_HEX: &str = "is not hexadecimal; write pairs of digits 0-9 and a-f, such as 00ff";
const NOT_A_NUMBER: &str = "is not a number from 0 to 18446744073709551615";

fn decode_hex(line: &[u8], bytes: &mut Vec<u8>) -> Result<(), &'static str> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = line.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NOT_HEX);
    }
    bytes.clear();
    for &[high, low] in pairs {
        let (high, low) = digit(high).zip(digit(low)).ok_or(NOT_HEX)?;
        bytes.push(high << 4 | low);
    }
    Ok(())
}

fn parse_u64(line: &[u8]) -> Option<u64> {
    // The standard parser accepts a plus sign too.
    let digits = line.first().is_some_and(u8::is_ascii_digit);
    str::from_utf8(line).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_is_pairs_of_digits() {
        let mut bytes = Vec::new();
        assert_eq!(decode_hex(b"00fFa0", &mut bytes), Ok(()));
        assert_eq!(bytes, [0x00, 0xff, 0xa0]);
        assert_eq!(decode_hex(b"", &mut bytes), Ok(()));
        assert!(bytes.is_empty());
        for line in [&b"0"[..], b"0g", b"0x10", b" 00", b"\xff\xff"] {
            assert_eq!(decode_hex(line, &mut bytes), Err(NOT_HEX), "{line:?}");
        }
    }

    #[test]
    fn case_is_ignored_in_text_and_in_other_bytes() {
        let lower = |key: &'static [u8]| in_lower_case(key.into()).into_owned();
        assert_eq!(lower(b"MiXed 9"), b"mixed 9");
        assert_eq!(lower("STRASSE Ä É".as_bytes()), "strasse ä é".as_bytes());
        assert_eq!(lower(b"A\xff\xc4"), b"a\xff\xc4");
    }

    #[test]
    fn numbers_fit_64_bits() {
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"007"), Some(7));
        for line in [&b"18446744073709551616"[..], b"+1", b"-1", b"", b" 1", b"1 ", b"\xff"] {
            assert_eq!(parse_u64(line), None, "{line:?}");
        }
    }
}
