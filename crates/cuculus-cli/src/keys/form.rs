//! Key formats: a line as text, as bytes in hexadecimal, or as a number, and its hash.

use std::str;

use cuculus::{KeyHash, KeyHasher};

use super::block::Block;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The bytes of the line.
    Text,
    /// The bytes that the line spells in hexadecimal.
    Hex,
    /// A number below 2^64, as the library hashes a `u64`.
    U64,
}

/// A line that is not a key in this format: its index in the block, and why.
pub(crate) struct Unreadable {
    pub(crate) line: usize,
    pub(crate) why: &'static str,
}

impl Form {
    /// Hashes all lines of a block.
    pub(crate) fn hash(self, hasher: &KeyHasher, block: &mut Block) -> Result<(), Unreadable> {
        let mut hashes = std::mem::take(&mut block.hashes);
        hashes.clear();
        let hashed = match self {
            Self::Text => {
                // A copy of its own, so that the compiler sees that the function stays the same.
                let hasher = hasher.clone();
                hashes.extend(block.lines().map(|line| hasher.hash(line)));
                Ok(())
            }
            Self::Hex => {
                let mut bytes = Vec::new();
                hash_parsed(block, &mut hashes, |line| {
                    decode_hex(line, &mut bytes)?;
                    Ok(hasher.hash(&bytes))
                })
            }
            Self::U64 => hash_parsed(block, &mut hashes, |line| {
                Ok(hasher.hash(&parse_u64(line).ok_or(NOT_A_NUMBER)?))
            }),
        };
        block.hashes = hashes;
        hashed
    }
}

fn hash_parsed(
    block: &Block,
    hashes: &mut Vec<KeyHash>,
    mut hash: impl FnMut(&[u8]) -> Result<KeyHash, &'static str>,
) -> Result<(), Unreadable> {
    for (i, line) in block.lines().enumerate() {
        hashes.push(hash(line).map_err(|why| Unreadable { line: i, why })?);
    }
    Ok(())
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
    fn numbers_fit_64_bits() {
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"007"), Some(7));
        for line in [&b"18446744073709551616"[..], b"+1", b"-1", b"", b" 1", b"1 ", b"\xff"] {
            assert_eq!(parse_u64(line), None, "{line:?}");
        }
    }
}
