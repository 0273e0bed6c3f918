//! A note after a saved filter: bytes of the program that wrote the file. Knows the frame around
//! them, nothing of what they say. FORMAT.md is its specification.

use std::io::{Read, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::DecodeError;
use crate::container::read_up_to;

const MAGIC: [u8; 8] = *b"\x89CUCNOTE";
const HEADER: usize = MAGIC.len() + 8;
const CHECKSUM: usize = 8;
/// More than any note needs; a bound on what is read before the checksum.
const MAX_LEN: u64 = 1 << 28;

/// What a program writes after a saved filter, for its own use. The filter can be loaded without
/// it: [`Persist::read_from`](crate::Persist::read_from) stops before it, and
/// [`Persist::from_bytes`](crate::Persist::from_bytes) checks that it is whole and leaves it out.
///
/// ```
/// use cuculus::{ElasticFilter, Note, Persist};
///
/// let mut file = ElasticFilter::builder().build()?.to_bytes();
/// Note::new(b"keys of Monday".to_vec()).write_to(&mut file)?;
/// let mut rest = &file[..];
/// let filter = ElasticFilter::read_from(&mut rest)?;
/// let note = Note::read_from(&mut rest)?;
/// assert_eq!(note.as_ref().map(Note::as_bytes), Some(&b"keys of Monday"[..]));
/// assert!(ElasticFilter::from_bytes(&file).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note(Vec<u8>);

impl Note {
    /// A note of these bytes; 2^28 at most can be read again.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// What it says.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Writes the note, to where a filter was written.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to<W: Write>(&self, mut writer: W) -> std::io::Result<()> {
        let mut digest = Xxh3::new();
        for piece in [&MAGIC[..], &(self.0.len() as u64).to_le_bytes(), &self.0] {
            digest.update(piece);
            writer.write_all(piece)?;
        }
        writer.write_all(&digest.digest().to_le_bytes())
    }

    /// Reads the note that follows a filter, up to its last byte and no further; `None` if nothing
    /// follows.
    ///
    /// # Errors
    /// [`DecodeError`] if something else follows, or a note that is damaged. Memory grows with the
    /// bytes that have arrived, whatever the length says.
    pub fn read_from<R: Read>(mut reader: R) -> Result<Option<Self>, DecodeError> {
        let mut bytes = Vec::new();
        read_up_to(&mut reader, &mut bytes, HEADER, 0)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let (magic, len) = bytes.split_at(bytes.len().min(MAGIC.len()));
        if !MAGIC.starts_with(magic) {
            let rest = std::io::copy(&mut reader, &mut std::io::sink())?;
            return Err(DecodeError::TrailingBytes { extra: bytes.len() as u64 + rest });
        }
        let cut = |needed: u64, got: usize| DecodeError::Truncated { needed, got: got as u64 };
        let len = <[u8; 8]>::try_from(len).map_err(|_| cut(HEADER as u64, bytes.len()))?;
        let len = u64::from_le_bytes(len);
        if len > MAX_LEN {
            return Err(DecodeError::invalid("length of the note", len, "at most 2^28"));
        }
        let end = HEADER + len as usize;
        read_up_to(&mut reader, &mut bytes, end + CHECKSUM, 0)?;
        let Some((body, sum)) =
            bytes.split_at_checked(end).filter(|(_, sum)| sum.len() == CHECKSUM)
        else {
            return Err(cut((end + CHECKSUM) as u64, bytes.len()));
        };
        if sum != xxh3_64(body).to_le_bytes() {
            return Err(DecodeError::Checksum { part: "note" });
        }
        bytes.truncate(end);
        bytes.drain(..HEADER);
        Ok(Some(Self(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElasticFilter, Filter, Insert, Persist};

    fn file(text: &str) -> (Vec<u8>, usize) {
        let mut filter = ElasticFilter::builder().seed(1).build().expect("a filter");
        filter.insert("key").expect("room");
        let mut bytes = filter.to_bytes();
        let end = bytes.len();
        Note::new(text.into()).write_to(&mut bytes).expect("a vector");
        (bytes, end)
    }

    #[test]
    fn a_filter_is_loaded_with_its_note_and_without() {
        for text in ["", "a note", &"long ".repeat(1_000_000)] {
            let (bytes, end) = file(text);
            let filter = ElasticFilter::from_bytes(&bytes).expect("a filter and a note");
            assert!(filter.contains("key"));
            assert!(filter.to_bytes() == bytes[..end], "a filter does not keep its note");
            let mut rest = &bytes[..];
            ElasticFilter::read_from(&mut rest).expect("a filter");
            assert_eq!(rest.len(), bytes.len() - end, "read_from stops before the note");
            let note = Note::read_from(&mut rest).expect("a note");
            assert_eq!(note.as_ref().map(Note::as_bytes), Some(text.as_bytes()));
            assert!(rest.is_empty());
        }
        assert_eq!(Note::read_from(&b""[..]).expect("nothing"), None);
    }

    #[test]
    fn a_damaged_note_is_refused() {
        let (bytes, end) = file("a note");
        for at in end..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(ElasticFilter::from_bytes(&damaged).is_err(), "byte {at}");
            let cut = ElasticFilter::from_bytes(&bytes[..at]);
            assert_eq!(cut.is_ok(), at == end, "cut at {at}");
        }
        let longer = [&bytes[..], b"more"].concat();
        let error = ElasticFilter::from_bytes(&longer).err();
        assert!(matches!(error, Some(DecodeError::TrailingBytes { extra: 4 })), "{error:?}");
        // More than the beginning of a note, which is all that is kept of what is none.
        let error = Note::read_from(&[7; 100][..]).err();
        assert!(matches!(error, Some(DecodeError::TrailingBytes { extra: 100 })), "{error:?}");
        let twice = [&bytes[..], &bytes[end..]].concat();
        assert!(ElasticFilter::from_bytes(&twice).is_err(), "one note at most");
    }

    /// Nothing is allocated on the word of a length.
    #[test]
    fn a_false_length_is_refused() {
        let with_length = |len: u64| [&MAGIC[..], &len.to_le_bytes(), b"short"].concat();
        for (len, is_long) in [(u64::MAX, true), (MAX_LEN + 1, true), (MAX_LEN, false)] {
            let error = Note::read_from(&with_length(len)[..]).expect_err("a false length");
            assert_eq!(matches!(error, DecodeError::Invalid { .. }), is_long, "{error}");
        }
    }
}
