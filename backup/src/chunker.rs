//! Cuts a stream at content-defined boundaries (FastCDC), so that an insertion changes only the
//! chunks next to it. Knows bytes only.

use std::io::{self, Read};

use fastcdc::v2020::{Normalization, cut_gear, select_masks};

use crate::config::Parameters;

/// Bytes per read: several chunks, so that few bytes are moved within the buffer.
const READ_SIZE: usize = 256 * 1024;

/// A chunker for many files: its tables and its buffer are allocated once.
pub(crate) struct Chunker {
    least: usize,
    mean: usize,
    pub(crate) most: usize,
    masks: (u64, u64),
    gear: Vec<u64>,
    /// For two bytes at a time: everything is one bit further.
    gear_shifted: Vec<u64>,
    buffer: Vec<u8>,
}

impl Chunker {
    pub(crate) fn new(parameters: &Parameters, gear: &[u64; 256]) -> Self {
        Self {
            least: parameters.min_chunk_size as usize,
            mean: parameters.mean_chunk_size as usize,
            most: parameters.max_chunk_size as usize,
            masks: select_masks(parameters.mean_chunk_size as usize, Normalization::Level1),
            gear: gear.to_vec(),
            gear_shifted: gear.iter().map(|entry| entry << 1).collect(),
            buffer: vec![0; READ_SIZE + parameters.max_chunk_size as usize],
        }
    }

    /// The length of the first chunk. `bytes` is the rest of the stream, or at least as long as the
    /// longest chunk.
    pub(crate) fn cut(&self, bytes: &[u8]) -> usize {
        let (small, large) = self.masks;
        let (least, mean, most) = (self.least, self.mean, self.most);
        let (gear, shifted) = (&self.gear, &self.gear_shifted);
        cut_gear(bytes, least, mean, most, small, large, small << 1, large << 1, gear, shifted).1
    }

    /// Passes every chunk of the stream to `each`, in order; returns the bytes read.
    pub(crate) fn chunks<E: From<io::Error>>(
        &mut self,
        mut source: impl Read,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let (mut start, mut end, mut total) = (0, 0, 0u64);
        let mut more = true;
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = loop {
            // A cut needs as many bytes as the longest chunk, or the end of the stream.
            if more && end - start < self.most {
                buffer.copy_within(start..end, 0);
                (start, end) = (0, end - start);
                match source.read(&mut buffer[end..]) {
                    Ok(0) => more = false,
                    Ok(read) => (end, total) = (end + read, total + read as u64),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error.into()),
                }
                continue;
            }
            if start == end {
                break Ok(total);
            }
            let len = self.cut(&buffer[start..end]);
            if let Err(error) = each(&buffer[start..start + len]) {
                break Err(error);
            }
            start += len;
        };
        self.buffer = buffer;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Master;

    fn chunks_of(chunker: &mut Chunker, source: impl Read) -> Vec<Vec<u8>> {
        let mut chunks = vec![];
        let each = |chunk: &[u8]| {
            chunks.push(chunk.to_vec());
            Ok::<_, io::Error>(())
        };
        chunker.chunks(source, each).expect("read");
        chunks
    }

    fn noise(len: usize) -> Vec<u8> {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    struct Dribble<'a>(&'a [u8], fastrand::Rng);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.usize(1..=5000).min(buffer.len());
            self.0.read(&mut buffer[..len])
        }
    }

    #[test]
    fn cuts_do_not_depend_on_how_the_bytes_arrive() {
        let data = noise(3_000_000);
        let mut chunker = chunker();
        let whole = chunks_of(&mut chunker, &data[..]);
        assert_eq!(whole.concat(), data);
        let dribble = Dribble(&data, fastrand::Rng::with_seed(1));
        assert_eq!(chunks_of(&mut chunker, dribble), whole);
        let mean = data.len() / whole.len();
        assert!((6_000..14_000).contains(&mean), "{mean}");
    }

    #[test]
    fn an_insertion_changes_the_chunks_around_it_only() {
        let mut data = noise(1_000_000);
        let mut chunker = chunker();
        let before = chunks_of(&mut chunker, &data[..]);
        data.insert(500_000, 1);
        let after = chunks_of(&mut chunker, &data[..]);
        let new = after.iter().filter(|chunk| !before.contains(chunk)).count();
        assert!(new <= 3, "{new}");
    }

    /// Other cuts would make every repository store everything again: they are part of the format.
    #[test]
    fn cuts_are_what_they_always_were() {
        let chunks = chunks_of(&mut chunker(), &noise(60_000)[..]);
        let lengths: Vec<usize> = chunks.iter().map(Vec::len).collect();
        assert_eq!(lengths, [13323, 8340, 5464, 14694, 4727, 8359, 5093]);
    }

    fn chunker() -> Chunker {
        Chunker::new(&Parameters::default(), &Master([3; 32]).gear_table())
    }
}
