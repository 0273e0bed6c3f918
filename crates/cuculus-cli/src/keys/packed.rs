//! Compressed input, recognised by its first bytes. Knows gzip and zstd, nothing of lines.

use std::io::{self, Cursor, Read};

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
/// Packings that are not read, and what unpacks them. Taken for plain lines they would be nonsense.
const REFUSED: [(&[u8], &str, &str); 4] = [
    (b"\xfd7zXZ\0", "xz", "xz -dc"),
    (b"BZh91AY&SY", "bzip2", "bzip2 -dc"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];
const LONGEST: usize = 10;

impl Packing {
    /// Reads the first bytes, no more than are needed: more may not have come yet.
    pub(super) fn detect(reader: &mut impl Read) -> io::Result<(Self, Vec<u8>)> {
        let mut first = Vec::new();
        loop {
            if let Some(&(_, packing)) = READ.iter().find(|(magic, _)| first.starts_with(magic)) {
                return Ok((packing, first));
            }
            if let Some((_, name, unpack)) = REFUSED.iter().find(|(m, ..)| first.starts_with(m)) {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("it is packed with {name}; unpack it: {unpack} FILE | cuculus …"),
                ));
            }
            let magics = READ.iter().map(|(magic, _)| *magic);
            let magics = magics.chain(REFUSED.iter().map(|(magic, ..)| *magic));
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

/// The bytes that a reader has, unpacked.
pub(super) fn unpacked(mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let (packing, first) = Packing::detect(&mut reader)?;
    let whole = Cursor::new(first).chain(reader);
    Ok(match packing {
        Packing::Plain => Box::new(whole),
        // Several members or frames in a row are one file.
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        Packing::Zstd => Box::new(zstd::Decoder::new(whole)?),
    })
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
        for (magic, name, _) in REFUSED {
            assert!(magic.len() <= LONGEST);
            let packed = [magic, b"..."].concat();
            let error = Packing::detect(&mut &packed[..]).expect_err("packed");
            assert!(error.to_string().contains(name), "{error}");
            // A line may begin like this.
            for end in 1..magic.len() {
                let line = [&magic[..end], b"\n"].concat();
                let (got, first) = Packing::detect(&mut &line[..]).expect("bytes");
                assert_eq!((got, first.len()), (Packing::Plain, end + 1));
            }
        }
    }
}
