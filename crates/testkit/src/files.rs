//! Golden files, and files that are forged: changed, with checksums that are right again.

use cuculus::{Filter, Persist};
use xxhash_rust::xxh3::xxh3_64;

/// The bytes before the parameters.
pub const HEADER: usize = 48;

/// A golden file. If it is missing and `CUCULUS_WRITE_GOLDEN` is set it is written, as a new kind
/// of file needs; one that exists is never changed.
#[must_use]
pub fn golden_file(folder: &str, name: &str, bytes: &[u8]) -> Vec<u8> {
    let path = format!("{folder}/{name}.cuculus");
    if std::env::var_os("CUCULUS_WRITE_GOLDEN").is_some() && !std::fs::exists(&path).expect(name) {
        std::fs::write(&path, bytes).expect("writable");
    }
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Where the parameters of a file end.
fn parameters_end(bytes: &[u8]) -> usize {
    HEADER + usize::from(u16::from_le_bytes([bytes[32], bytes[33]]))
}

/// Changes bytes and makes both checksums right again.
pub fn forged(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let end = parameters_end(bytes);
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    let sum = xxh3_64(&bytes[..end]);
    bytes[end..end + 8].copy_from_slice(&sum.to_le_bytes());
    let payload_end = bytes.len() - 8;
    let sum = xxh3_64(&bytes[end + 8..payload_end]);
    bytes[payload_end..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Changes a file as each case says: what is absurd, where, what stands there, and a word of the
/// error message.
pub fn all_are_refused<F: Persist>(bytes: &[u8], cases: &[(&str, usize, &[u8], &str)]) {
    assert!(F::from_bytes(&forged(bytes, |_| {})).is_ok());
    for (what, at, value, word) in cases {
        let damaged = forged(bytes, |bytes| bytes[*at..*at + value.len()].copy_from_slice(value));
        let error = F::from_bytes(&damaged).err();
        let text = error.unwrap_or_else(|| panic!("{what} was accepted")).to_string();
        let is_helpful = !text.contains('\n') && text.len() > 15 && text.contains(word);
        assert!(is_helpful, "{what}: {text}");
    }
}

/// A saved filter with other parameters, and checksums that match.
pub fn forged_parameters(bytes: &[u8], change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    forged(bytes, |bytes| {
        let end = parameters_end(bytes);
        change(&mut bytes[HEADER..end]);
    })
}

/// A filter loaded from its own bytes, which it writes again.
pub fn loads<F: Filter + Persist>(filter: &F) -> F {
    let bytes = filter.to_bytes();
    let loaded = F::from_bytes(&bytes).expect("its own bytes");
    assert!(loaded.to_bytes() == bytes);
    loaded
}
