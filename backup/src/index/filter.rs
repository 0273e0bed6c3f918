//! The filter of one run: of an id that the run does not have, it says so, but for one of some 256.
//! Knows the leading bits of ids; nothing of blocks or files.
//!
//! A run is sorted and never changes, so its filter is written in one pass and never grows. An id
//! falls into one of about as many buckets as there are ids, and leaves the eight bits that follow
//! there. Ids are uniform, so a bucket has about one. Each bucket is a one for each of its ids and a
//! zero after them: two bits per id, and eight for what it left.

use crate::codec::{Decoded, Malformed};
use crate::id::ChunkId;

/// Buckets between two places that are remembered.
const SAMPLE: u64 = 256;
/// With more ids or buckets the sizes of the parts could overflow.
pub(super) const MAX_LEN: u64 = 1 << 48;
/// The buckets of a filter that turned out too large can be halved as often as two divides them, at
/// the price of at most a sixteenth more of them.
const ROUNDING: u32 = 4;

/// The filter of one run of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFilter {
    pub(super) buckets: u64,
    /// For each bucket its ids as ones, and a zero after them.
    unary: Vec<u64>,
    /// What each id left, in the order of the ids.
    remainders: Vec<u8>,
    /// For every 256th bucket, where its ones begin.
    samples: Vec<u64>,
}

fn place(buckets: u64, id: &ChunkId) -> (u64, u8) {
    let wide = u128::from(id.prefix()) * u128::from(buckets);
    ((wide >> 64) as u64, (wide >> 56) as u8)
}

fn words(bits: u64) -> u64 {
    bits.div_ceil(64)
}

impl RunFilter {
    /// The filter of these ids, which must be sorted.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn of(ids: &[ChunkId]) -> Self {
        let mut builder = FilterBuilder::new(ids.len() as u64);
        ids.iter().for_each(|id| builder.push(id));
        builder.finish()
    }

    /// The bytes of a filter with these numbers of buckets and ids.
    pub(super) fn encoded_len(buckets: u64, ids: u64) -> u64 {
        words(buckets + ids) * 8 + ids
    }

    pub(super) fn encode(&self) -> impl Iterator<Item = u8> {
        let unary = self.unary.iter().flat_map(|word| word.to_le_bytes());
        unary.chain(self.remainders.iter().copied())
    }

    /// Decodes a filter with these numbers of buckets and ids.
    pub(super) fn decode(buckets: u64, ids: u64, bytes: &[u8]) -> Decoded<Self> {
        if buckets == 0 || buckets > MAX_LEN || ids > MAX_LEN {
            return Err(Malformed);
        }
        let split = usize::try_from(words(buckets + ids) * 8).map_err(|_| Malformed)?;
        let (unary, remainders) = bytes.split_at_checked(split).ok_or(Malformed)?;
        let (unary, _) = unary.as_chunks();
        let unary: Vec<u64> = unary.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let ones: u64 = unary.iter().map(|word| u64::from(word.count_ones())).sum();
        // Bits after the last bucket are zeros; there are then as many zeros as buckets.
        let used = (buckets + ids) % 64;
        let is_clean = used == 0 || unary.last().is_none_or(|word| word >> used == 0);
        if ones != ids || remainders.len() as u64 != ids || !is_clean {
            return Err(Malformed);
        }
        Ok(Self { buckets, unary, remainders: remainders.to_vec(), samples: Vec::new() }.sampled())
    }

    fn sampled(mut self) -> Self {
        let mut zeros = 0;
        self.samples = Vec::with_capacity((self.buckets / SAMPLE + 1) as usize);
        self.samples.push(0);
        for (number, word) in self.unary.iter().enumerate() {
            let mut rest = !word;
            let in_word = u64::from(rest.count_ones());
            // The next bucket to remember begins after this many zeros.
            let wanted = self.samples.len() as u64 * SAMPLE;
            if zeros + in_word >= wanted {
                for _ in 1..wanted - zeros {
                    rest &= rest - 1;
                }
                self.samples.push(number as u64 * 64 + u64::from(rest.trailing_zeros()) + 1);
            }
            zeros += in_word;
        }
        self
    }

    /// Whether the run may have this id. If not, it does not have it.
    pub(crate) fn may_have(&self, id: &ChunkId) -> bool {
        let (bucket, wanted) = place(self.buckets, id);
        let Some(mut at) = self.samples.get((bucket / SAMPLE) as usize).copied() else {
            return true;
        };
        let mut zeros = bucket % SAMPLE;
        while zeros > 0 {
            let Some(word) = self.unary.get((at / 64) as usize) else { return true };
            let mut rest = !word >> (at % 64);
            let in_word = u64::from(rest.count_ones());
            if in_word < zeros {
                zeros -= in_word;
                at = (at / 64 + 1) * 64;
                continue;
            }
            for _ in 1..zeros {
                rest &= rest - 1;
            }
            at += u64::from(rest.trailing_zeros()) + 1;
            zeros = 0;
        }
        // The ids before the bucket are the bits before it without its zeros.
        let mut number = at.wrapping_sub(bucket);
        while self.unary.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1) {
            match self.remainders.get(number as usize) {
                Some(remainder) if *remainder != wanted => (at, number) = (at + 1, number + 1),
                _ => return true,
            }
        }
        false
    }

    /// Memory of the filter.
    pub(crate) fn size_in_bytes(&self) -> u64 {
        (self.unary.len() * 8 + self.remainders.len() + self.samples.len() * 8) as u64
    }

    /// The filter with half of the buckets: the last bit of a bucket's number becomes the
    /// first of what its ids left.
    fn halve(self) -> Self {
        let (mut unary, mut remainders) = (Bits::default(), self.remainders);
        let (mut bucket, mut number) = (0u64, 0);
        for at in 0..self.buckets + remainders.len() as u64 {
            let word = self.unary.get((at / 64) as usize).copied().unwrap_or_default();
            if word >> (at % 64) & 1 == 1 {
                unary.push(true);
                if let Some(remainder) = remainders.get_mut(number) {
                    *remainder = (bucket as u8 & 1) << 7 | *remainder >> 1;
                }
                number += 1;
            } else {
                if bucket % 2 == 1 {
                    unary.push(false);
                }
                bucket += 1;
            }
        }
        Self { buckets: self.buckets / 2, unary: unary.words, remainders, samples: Vec::new() }
    }
}

#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    len: u64,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }
}

/// A filter that is being written; ids come in order.
pub(super) struct FilterBuilder {
    buckets: u64,
    /// The bucket that is open.
    open: u64,
    unary: Bits,
    remainders: Vec<u8>,
}

impl FilterBuilder {
    /// For at most `most` ids.
    pub(super) fn new(most: u64) -> Self {
        let most = most.clamp(1, MAX_LEN / 2);
        let buckets = most.next_multiple_of(1 << most.ilog2().saturating_sub(ROUNDING));
        Self { buckets, open: 0, unary: Bits::default(), remainders: Vec::new() }
    }

    pub(super) fn push(&mut self, id: &ChunkId) {
        let (bucket, remainder) = place(self.buckets, id);
        self.close_until(bucket);
        self.unary.push(true);
        self.remainders.push(remainder);
    }

    fn close_until(&mut self, bucket: u64) {
        for _ in self.open..bucket {
            self.unary.push(false);
        }
        self.open = self.open.max(bucket);
    }

    pub(super) fn finish(mut self) -> RunFilter {
        self.close_until(self.buckets);
        let Self { buckets, unary, remainders, .. } = self;
        let mut filter = RunFilter { buckets, unary: unary.words, remainders, samples: Vec::new() };
        // Fewer ids came than were expected, as after a prune.
        let least = (filter.remainders.len() as u64).max(1);
        while filter.buckets.is_multiple_of(2) && filter.buckets / 2 >= least {
            filter = filter.halve();
        }
        filter.unary.shrink_to_fit();
        filter.remainders.shrink_to_fit();
        filter.sampled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(seed: u64, count: usize) -> Vec<ChunkId> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut ids: Vec<ChunkId> = (0..count)
            .map(|_| {
                let mut id = [0; ChunkId::LEN];
                random.fill(&mut id);
                ChunkId(id)
            })
            .collect();
        ids.sort_unstable();
        ids
    }

    fn filter(ids: &[ChunkId], most: usize) -> RunFilter {
        let mut builder = FilterBuilder::new(most as u64);
        ids.iter().for_each(|id| builder.push(id));
        builder.finish()
    }

    fn decoded(filter: &RunFilter) -> RunFilter {
        let bytes: Vec<u8> = filter.encode().collect();
        let (buckets, ids) = (filter.buckets, filter.remainders.len() as u64);
        assert_eq!(bytes.len() as u64, RunFilter::encoded_len(buckets, ids));
        RunFilter::decode(buckets, ids, &bytes).expect("a filter")
    }

    #[test]
    fn no_false_negatives() {
        for count in [0, 1, 2, 3, 63, 64, 65, 127, 1000, 12_345] {
            let ids = ids(count as u64, count);
            for most in [count, count + 1, 3 * count + 5, 100 * count] {
                let filter = filter(&ids, most);
                assert!(ids.iter().all(|id| filter.may_have(id)), "{count} of {most}");
                assert_eq!(decoded(&filter), filter);
            }
        }
        // Ids that all fall into the first or the last bucket, and one id many times.
        for byte in [0, 0xff] {
            let mut ids = ids(1, 500);
            ids.iter_mut().for_each(|id| id.0[..6].fill(byte));
            ids.sort_unstable();
            let filter = filter(&ids, 500);
            assert!(ids.iter().all(|id| filter.may_have(id)));
            assert_eq!(decoded(&filter), filter);
        }
        let same = vec![ChunkId([7; ChunkId::LEN]); 300];
        assert!(filter(&same, 300).may_have(&same[0]));
    }

    /// One in 256 at most, ten bits and a little per id.
    #[test]
    fn few_false_positives_and_few_bits() {
        let (stored, asked) = (ids(1, 100_000), ids(2, 1_000_000));
        let filter = filter(&stored, 100_000);
        let wrong = asked.iter().filter(|id| filter.may_have(id)).count() as f64;
        // Buckets are rounded up, so that the load is below one.
        let expected = 1e6 * 100_000.0 / filter.buckets as f64 / 256.0;
        assert!((wrong - expected).abs() < 4.0 * expected.sqrt(), "{wrong} of {expected}");
        let bits = 8.0 * filter.size_in_bytes() as f64 / 1e5;
        assert!((10.0..10.5).contains(&bits), "{bits}");
    }

    /// Whether many ids were expected or few makes no difference but for the buckets.
    #[test]
    fn what_was_expected_too_large_is_halved() {
        let stored = ids(3, 5_000);
        let large = filter(&stored, 80_000);
        assert!((5_000..10_000).contains(&large.buckets), "{}", large.buckets);
        let mut exact = FilterBuilder::new(1);
        exact.buckets = large.buckets;
        stored.iter().for_each(|id| exact.push(id));
        assert_eq!(exact.finish(), large);
    }

    #[test]
    fn forged_bytes_are_refused() {
        let ids = ids(4, 1_000);
        let filter = filter(&ids, 1_000);
        let bytes: Vec<u8> = filter.encode().collect();
        let decode = |buckets, ids, bytes: &[u8]| RunFilter::decode(buckets, ids, bytes).is_ok();
        assert!(decode(filter.buckets, 1_000, &bytes));
        for (buckets, ids) in [(0, 1_000), (filter.buckets, 999), (u64::MAX, 1_000), (1, u64::MAX)]
        {
            assert!(!decode(buckets, ids, &bytes));
        }
        assert!(!decode(filter.buckets, 1_000, &bytes[1..]));
        for at in (0..words(filter.buckets + 1_000) as usize * 8).step_by(7) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(!decode(filter.buckets, 1_000, &changed), "{at}");
        }
    }
}
