//! The bytes that SCANDUMP returns and LOADCHUNK takes (FORMAT.md, "Dumps of the module").

use anyhow::{Context, Result, ensure};
use cuculus::{ElasticFilter, KeyHasher, Sections};

use super::set::Parameters;

const MAGIC: &[u8; 8] = b"CUCULUS\x01";
const BUCKET_SIZE: u8 = 2;
const MAX_ITERATIONS: u16 = 20;
const EXPANSION: u16 = 1;
/// The bytes of a chunk before and after its content.
const PREFIX: usize = 24;
const CHECKSUM: usize = 8;

/// The header for a filter whose bytes follow.
pub(super) fn header(parameters: &Parameters, body_len: u64) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&parameters.capacity.to_le_bytes());
    header.push(BUCKET_SIZE);
    header.extend_from_slice(&MAX_ITERATIONS.to_le_bytes());
    header.extend_from_slice(&EXPANSION.to_le_bytes());
    header.extend_from_slice(&parameters.rate.to_bits().to_le_bytes());
    header.extend_from_slice(&parameters.seed.to_le_bytes());
    // No items were deleted from it.
    header.extend_from_slice(&0u64.to_le_bytes());
    header.extend_from_slice(&body_len.to_le_bytes());
    let sum = KeyHasher::xxh3(0).hash(header.as_slice()).get();
    header.extend_from_slice(&sum.to_le_bytes());
    header
}

/// Adds the sections of a chunk to a filter.
pub(super) fn add_chunk(filter: &mut ElasticFilter, chunk: &[u8]) -> Result<()> {
    let (fields, sum) = chunk.split_last_chunk::<CHECKSUM>().context("a chunk is too short")?;
    let is_whole = KeyHasher::xxh3(0).hash(fields).get() == u64::from_le_bytes(*sum);
    ensure!(is_whole, "the checksum of a chunk does not match");
    let (prefix, piece) = fields.split_first_chunk::<PREFIX>().context("a chunk is too short")?;
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&prefix[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let bits = u32::from(prefix[1]);
    let (from, to) = (Sections { bits, next: number(8) }, Sections { bits, next: number(16) });
    Ok(filter.add_sections(from, to, piece)?)
}
