//! Compressed input, recognised by its first bytes, and what is not lines at all. Knows gzip, zstd and the
//! magic bytes of others, nothing of lines.

use std::io::{self, Cursor, Read};

use cuculus::{Kind, Partition};

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// How files of each packing begin.
const READ: [(&[u8], Packing); 2] =
    [(&[0x1f, 0x8b], Packing::Gzip), (&[0x28, 0xb5, 0x2f, 0xfd], Packing::Zstd)];
/// What is not read, and what to do instead. Taken for lines it would be nonsense.
const REFUSED: [(&[u8], &str); 6] = [
    (
        &Kind::MAGIC,
        "it is a filter, not lines; `cuculus merge` adds the keys of a filter to another, `cuculus \
         query --or` asks several",
    ),
    (
        &Partition::MAGIC,
        "it is a set in parts, not lines; `cuculus cluster import` makes a set of it",
    ),
    (b"\xfd7zXZ\0", "it is packed with xz; unpack it: xz -dc FILE | cuculus …"),
    (b"BZh91AY&SY", "it is packed with bzip2; unpack it: bzip2 -dc FILE | cuculus …"),
    (b"\x04\x22\x4d\x18", "it is packed with lz4; unpack it: lz4 -dc FILE | cuculus …"),
    (b"PK\x03\x04", "it is packed with zip; unpack it: unzip -p FILE | cuculus …"),
];
const LONGEST: usize = 10;

impl Packing {
    /// Reads the first bytes, no more than are needed: more may not have come yet.
    fn detect(reader: &mut impl Read) -> io::Result<(Self, Vec<u8>)> {
        let mut first = Vec::new();
        loop {
            if let Some(&(_, packing)) = READ.iter().find(|(magic, _)| first.starts_with(magic)) {
                return Ok((packing, first));
            }
            if let Some(&(_, why)) = REFUSED.iter().find(|(magic, _)| first.starts_with(magic)) {
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            let magics = READ.iter().map(|(magic, _)| *magic);
            let magics = magics.chain(REFUSED.iter().map(|(magic, _)| *magic));
            let begun = magics.filter(|magic| magic.starts_with(&first));
            let Some(longest) = begun.map(<[u8]>::len).max() else {
                return Ok((Self::Plain, first));
            };
            let mut next = [0; LONGEST];
            match reader.read(&mut next[..longest - first.len()]) {
                Ok(0) => return Ok((Self::Plain, first)),
                Ok(read) => first.extend_from_slice(&next[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// How the bytes that a reader has are packed, and the bytes unpacked.
pub(super) fn unpacked(
    mut reader: impl Read + Send + 'static,
) -> io::Result<(Packing, Box<dyn Read + Send>)> {
    let (packing, first) = Packing::detect(&mut reader)?;
    let whole = Cursor::new(first).chain(reader);
    let mut unpacked: Box<dyn Read + Send> = match packing {
        Packing::Plain => return Ok((packing, Box::new(whole))),
        // Several members or frames in a row are one file.
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        Packing::Zstd => Box::new(zstd::Decoder::new(whole)?),
    };
    // What is packed twice is unpacked once; but a packed filter is not lines either.
    let (_, first) = Packing::detect(&mut unpacked)?;
    Ok((packing, Box::new(Cursor::new(first).chain(unpacked))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell() {
        for (bytes, packing) in [
            (&b""[..], Packing::Plain),
            (b"text", Packing::Plain),
            (b"(", Packing::Plain),
            (b"(\n", Packing::Plain),
            (b"\x1f", Packing::Plain),
            (b"\x1f\x8b\x08", Packing::Gzip),
            (b"\x28\xb5\x2f\xfd...", Packing::Zstd),
            (b"\x28\xb5\x2f", Packing::Plain),
        ] {
            let mut rest = bytes;
            let (got, first) = Packing::detect(&mut rest).expect("bytes");
            assert_eq!(got, packing, "{bytes:?}");
            assert_eq!([&first, rest].concat(), bytes);
        }
    }

    #[test]
    fn what_is_not_read_is_refused() {
        for (magic, why) in REFUSED {
            assert!(magic.len() <= LONGEST);
            let packed = [magic, b"..."].concat();
            let error = Packing::detect(&mut &packed[..]).expect_err("packed");
            assert_eq!(error.to_string(), why);
            // A line may begin like this.
            for end in 1..magic.len() {
                let line = [&magic[..end], b"\n"].concat();
                let (got, first) = Packing::detect(&mut &line[..]).expect("bytes");
                assert_eq!((got, first.len()), (Packing::Plain, end + 1));
            }
        }
    }
}
