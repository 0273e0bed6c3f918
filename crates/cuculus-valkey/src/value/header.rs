//! The header of a dump: the parameters of the filter and the length of its bytes, or that it comes in
//! sections. Knows the byte layout of both; knows nothing of the filter's own bytes.

use cuculus::KeyHasher;

use super::Parameters;

const MAGIC: [u8; 7] = *b"CUCULUS";
/// A filter that comes as its bytes.
const BYTES: u8 = 1;
/// A filter that comes in sections.
const SECTIONS: u8 = 2;
const LEN: usize = MAGIC.len() + 1 + Parameters::ENCODED + 8 + 8;

/// The first chunk of a dump.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The parameters the filter was created with.
    pub parameters: Parameters,
    /// The number of items deleted so far.
    pub deleted: u64,
    /// The length of the bytes that follow; zero if the filter comes in sections.
    pub body_len: u64,
}

impl Header {
    /// Whether the filter comes in sections.
    #[must_use]
    pub fn is_in_sections(&self) -> bool {
        self.body_len == 0
    }

    /// The bytes of the header, including the checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LEN + 8);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(if self.is_in_sections() { SECTIONS } else { BYTES });
        self.parameters.encode(&mut bytes);
        bytes.extend_from_slice(&self.deleted.to_le_bytes());
        bytes.extend_from_slice(&self.body_len.to_le_bytes());
        bytes.extend_from_slice(&checksum(&bytes));
        bytes
    }

    /// Decodes a header; `None` if the bytes are not a valid one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (fields, sum) = bytes.split_at_checked(LEN)?;
        if sum != checksum(fields) {
            return None;
        }
        let (&version, fields) = fields.strip_prefix(&MAGIC)?.split_first()?;
        let (parameters, fields) = fields.split_first_chunk()?;
        let (&deleted, fields) = fields.split_first_chunk()?;
        let (&body_len, _) = fields.split_first_chunk()?;
        let header = Self {
            parameters: Parameters::decode(parameters)?,
            deleted: u64::from_le_bytes(deleted),
            body_len: u64::from_le_bytes(body_len),
        };
        // No filter has an empty body, and those of fixed size have no sections.
        let is_valid = match version {
            BYTES => !header.is_in_sections(),
            SECTIONS => header.is_in_sections() && !header.parameters.is_fixed(),
            _ => false,
        };
        is_valid.then_some(header)
    }
}

/// XXH3, which the library has as a hash function.
pub(super) fn checksum(bytes: &[u8]) -> [u8; 8] {
    KeyHasher::xxh3(0).hash(bytes).get().to_le_bytes()
}
