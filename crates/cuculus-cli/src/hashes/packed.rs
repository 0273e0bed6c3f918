//! Sorted buckets of hashes without gaps. A bucket has those that begin with the same bits, of which
//! only the others are kept. Knows numbers that are different and not how they came.
//!
//! ```text
//!  words   the rest of every hash, `width` bits each, bucket after bucket
//!  starts  the number of hashes before each bucket, and of all
//! ```

use std::collections::TryReserveError;

use super::recent::Recent;

/// Hashes per bucket, on average, from which on buckets are divided: then there are half as many. A start
/// takes four bytes, so with fewer per bucket the starts would be more of the memory than they save.
const PER_BUCKET: usize = 16;
/// The bits that choose a bucket, at first.
const FIRST_BITS: u32 = 8;

pub(super) struct Packed {
    /// One more than needed, so that two can be read at the end.
    words: Vec<u64>,
    starts: Vec<u32>,
    /// Bits that are kept of a hash: less than 64, and at least 32, since there are fewer buckets
    /// than hashes.
    width: u32,
}

impl Default for Packed {
    fn default() -> Self {
        Self {
            words: vec![0],
            starts: vec![0; (1 << FIRST_BITS) + 1],
            width: u64::BITS - FIRST_BITS,
        }
    }
}

impl Packed {
    pub(super) fn len(&self) -> usize {
        self.starts.last().map_or(0, |&all| all as usize)
    }

    /// How many more it can take.
    pub(super) fn most_after(&self) -> usize {
        u32::MAX as usize - self.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>() + self.starts.capacity() * size_of::<u32>()
    }

    /// The numbers of the hashes in the same bucket.
    fn bucket(&self, hash: u64) -> (usize, usize) {
        let bucket = (hash >> self.width) as usize;
        (self.starts[bucket] as usize, self.starts[bucket + 1] as usize)
    }

    fn rest(&self, number: usize) -> u64 {
        read(&self.words, number, self.width)
    }

    pub(super) fn contains(&self, hash: u64) -> bool {
        let mut hit = [false];
        self.look_up(&[hash], &mut hit);
        hit[0]
    }

    /// Whether each hash is there. What is read does not depend on what was read for another, so the
    /// waits for memory overlap.
    pub(super) fn look_up(&self, hashes: &[u64], hits: &mut [bool]) {
        const TOGETHER: usize = super::TOGETHER;
        let mut buckets = [(0, 0); TOGETHER];
        for (hashes, hits) in hashes.chunks(TOGETHER).zip(hits.chunks_mut(TOGETHER)) {
            for (bucket, &hash) in buckets.iter_mut().zip(hashes) {
                *bucket = self.bucket(hash);
            }
            let firsts = buckets[..hashes.len()].iter();
            let firsts = firsts.map(|&(start, _)| self.words[start * self.width as usize / 64]);
            std::hint::black_box(firsts.fold(0, |sum, word| sum ^ word));
            for ((hit, &hash), &(start, end)) in hits.iter_mut().zip(hashes).zip(&buckets) {
                let wanted = hash & mask(self.width);
                // No early end: where it would be cannot be predicted.
                *hit = (start..end).fold(false, |hit, i| hit | (self.rest(i) == wanted));
            }
        }
    }

    /// Adds hashes of which none is there. There must be room for them ([`Self::most_after`]). An error changes
    /// nothing.
    pub(super) fn merge(&mut self, recent: &Recent) -> Result<(), TryReserveError> {
        let width = self.width as usize;
        let total = self.len() + recent.len();
        let needed = (total * width).div_ceil(64) + 1;
        self.words.try_reserve_exact(needed - self.words.len().min(needed))?;
        // Now, since nothing may fail later.
        let is_divided = total > PER_BUCKET * (self.starts.len() - 1);
        if is_divided {
            self.starts.try_reserve_exact(self.starts.len() - 1)?;
        }
        self.words.resize(needed, 0);

        // From the end on: what is written is never before what is still to be read.
        let mut to = Downwards { bit: total * width, word: 0 };
        let mut recent = recent.descending().peekable();
        let (mut end, mut number) = (self.len(), total);
        for bucket in (0..self.starts.len() - 1).rev() {
            let start = self.starts[bucket] as usize;
            self.starts[bucket + 1] = number as u32;
            while let Some(hash) = recent.next_if(|&hash| (hash >> self.width) as usize == bucket) {
                to.write(&mut self.words, hash & mask(self.width), self.width);
                number -= 1;
            }
            for i in (start..end).rev() {
                let rest = self.rest(i);
                to.write(&mut self.words, rest, self.width);
            }
            number -= end - start;
            end = start;
        }
        if is_divided {
            self.divide();
        }
        Ok(())
    }

    /// Makes two buckets of each, in place: memory that is freed is not always given back.
    fn divide(&mut self) {
        let width = self.width - 1;
        let buckets = self.starts.len() - 1;
        // The old starts at the end. The new ones never overtake them.
        self.starts.resize(2 * buckets + 1, 0);
        self.starts.copy_within(..=buckets, buckets);
        let mut to = Upwards { bit: 0, word: 0 };
        let mut upper = Vec::new();
        let mut number = 0;
        for bucket in 0..buckets {
            let at = buckets + bucket;
            let (start, end) = (self.starts[at] as usize, self.starts[at + 1] as usize);
            self.starts[2 * bucket] = number;
            for i in start..end {
                let rest = self.rest(i);
                if rest >> width == 0 {
                    to.write(&mut self.words, rest, width);
                    number += 1;
                } else {
                    upper.push(rest & mask(width));
                }
            }
            self.starts[2 * bucket + 1] = number;
            number += upper.len() as u32;
            upper.drain(..).for_each(|rest| to.write(&mut self.words, rest, width));
        }
        to.finish(&mut self.words);
        self.width = width;
    }
}

fn mask(width: u32) -> u64 {
    (1 << width) - 1
}

/// A number of less than 64 bits.
fn read(words: &[u64], number: usize, width: u32) -> u64 {
    let bit = number * width as usize;
    let (word, shift) = (bit / 64, bit % 64);
    (words[word] >> shift | words[word + 1] << 1 << (63 - shift)) & mask(width)
}

/// Writes numbers one before the other. A word is written when all its bits are known.
struct Downwards {
    /// Where the last number begins.
    bit: usize,
    /// The bits from there on of the same word.
    word: u64,
}

impl Downwards {
    fn write(&mut self, words: &mut [u64], value: u64, width: u32) {
        let before = self.bit;
        self.bit -= width as usize;
        let (word, shift) = (self.bit / 64, self.bit % 64);
        if (before - 1) / 64 > word {
            words[word + 1] = self.word | value >> 1 >> (63 - shift);
            self.word = 0;
        }
        self.word |= value << shift;
        if shift == 0 {
            words[word] = self.word;
            self.word = 0;
        }
    }
}

/// Writes numbers one after the other.
struct Upwards {
    /// Where the next number begins.
    bit: usize,
    /// The bits before it of the same word.
    word: u64,
}

impl Upwards {
    fn write(&mut self, words: &mut [u64], value: u64, width: u32) {
        let (word, shift) = (self.bit / 64, self.bit % 64);
        self.word |= value << shift;
        self.bit += width as usize;
        if self.bit / 64 > word {
            words[word] = self.word;
            self.word = value >> 1 >> (63 - shift);
        }
    }

    /// Writes the bits of the last word.
    fn finish(self, words: &mut Vec<u64>) {
        let word = self.bit / 64;
        words[word] = self.word;
        words.truncate(word + 2);
        words.resize(word + 2, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every width, across all borders of words.
    #[test]
    fn numbers_are_read_as_they_were_written() {
        for width in 32..64 {
            let value = |i: usize| crate::sample::key(i as u64) & mask(width);
            let (count, mut words) = (129, vec![0; 131]);
            let mut down = Downwards { bit: count * width as usize, word: 0 };
            (0..count).rev().for_each(|i| down.write(&mut words, value(i), width));
            assert!((0..count).all(|i| read(&words, i, width) == value(i)), "down, {width}");
            let mut words = vec![0; 131];
            let mut up = Upwards { bit: 0, word: 0 };
            (0..count).for_each(|i| up.write(&mut words, value(i), width));
            up.finish(&mut words);
            assert!((0..count).all(|i| read(&words, i, width) == value(i)), "up, {width}");
        }
    }
}
