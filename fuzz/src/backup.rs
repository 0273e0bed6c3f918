//! What a backup repository may hold: every kind of object is refused, or can be used.

/// Decodes the bytes after the first as the kind of object that the first one says.
pub fn check(bytes: &[u8]) {
    cuculus_backup::fuzz::decode(bytes);
}
