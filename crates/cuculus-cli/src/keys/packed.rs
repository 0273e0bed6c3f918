//! Compressed input, recognised by its first bytes. Knows gzip and zstd, nothing of lines.

use std::io::{self, Cursor, Read};

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

impl Packing {
    /// Reads the first bytes, no more than are needed: more may not have come yet.
    pub(super) fn detect(reader: &mut impl Read) -> io::Result<(Self, Vec<u8>)> {
        let mut first = Vec::new();
        loop {
            let is_prefix = |magic: &[u8]| magic.starts_with(&first) && magic.len() > first.len();
            let packing = match &first {
                first if first.starts_with(GZIP) => Self::Gzip,
                first if first.starts_with(ZSTD) => Self::Zstd,
                _ if is_prefix(GZIP) || is_prefix(ZSTD) => {
                    let mut next = [0; 4];
                    let wanted = ZSTD.len() - first.len();
                    match reader.read(&mut next[..wanted]) {
                        Ok(0) => return Ok((Self::Plain, first)),
                        Ok(read) => first.extend_from_slice(&next[..read]),
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                    continue;
                }
                _ => Self::Plain,
            };
            return Ok((packing, first));
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
}
