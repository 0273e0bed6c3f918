//! The split block Bloom filter.

use cuculus::lab::prefetch;
use cuculus::{BuildError, Filter, Full, Insert, KeyHash, KeyHasher};

use crate::baselines::memory::{MAX_BITS, zeroed};
use crate::baselines::parameters::{DEFAULT_RATE, Shared, debug_with, keeps, shared_words};
use crate::baselines::probes::{remix, scale};
use crate::baselines::rates::Blocks;

/// Words of a block in which a key sets one bit each. They lie in pairs.
const WORDS: u32 = 8;
const WORD_BITS: u32 = 32;
const PAIRS: usize = WORDS as usize / 2;
const BLOCK_BITS: u64 = (WORDS * WORD_BITS) as u64;
/// How many keys ahead a batch prefetches.
const AHEAD: usize = 24;
/// Ten bits of a hash choose a bit in each word of a pair.
const CHOICE_BITS: u32 = 2 * WORD_BITS.ilog2();

/// One bit in each word, by ten bits. Faster than two shifts by a number that is not known before,
/// and always in the cache.
static CHOICES: [u64; 1 << CHOICE_BITS] = {
    let mut choices = [0; 1 << CHOICE_BITS];
    let mut bits = 0;
    while bits < choices.len() {
        let (low, high) = (bits as u32 % WORD_BITS, bits as u32 / WORD_BITS);
        choices[bits] = 1 << low | 1 << (WORD_BITS + high);
        bits += 1;
    }
    choices
};

/// A Bloom filter in blocks of eight words of 32 bits (as in the Parquet format): a key
/// sets one bit in each word of one block.
///
/// All eight places are known without a branch, and there is one wait for memory: the fastest way to
/// ask for a key and put it in. Where it loses: eight bits per key, whatever the rate,
/// and blocks of half a line cost more memory than a Bloom filter the further the rate is from 1 %;
/// and it cannot delete.
///
/// ```
/// use cuculus::{Filter, Insert};
/// use cuculus_papers::baselines::SplitBlockBloomFilter;
///
/// let builder = SplitBlockBloomFilter::builder().capacity(1000).false_positive_rate(0.01);
/// let mut filter = builder.build()?;
/// filter.insert("key")?;
/// assert!(filter.contains("key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A key inserted twice is the same as once, except for [`len`](Filter::len): [`count`](Filter::count)
/// is zero or one. [`slots`](Filter::slots) are bits, and [`utilization`](Filter::utilization) is the
/// share of them that is set, counted when it is read. The expected rate is that of the number
/// of keys.
#[derive(Clone, PartialEq, Eq)]
pub struct SplitBlockBloomFilter {
    hasher: KeyHasher,
    blocks: Box<[Block]>,
    len: usize,
    capacity: usize,
}

/// Half a cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(32))]
struct Block([u64; PAIRS]);

impl Block {
    /// The block of a key alone.
    #[inline(always)]
    fn of(hash: KeyHash) -> Self {
        let mut bits = remix(hash.get());
        Self([(); PAIRS].map(|()| {
            let choice = CHOICES[bits as usize % CHOICES.len()];
            bits >>= CHOICE_BITS;
            choice
        }))
    }

    /// Whether some bits of a key are not set.
    #[inline(always)]
    fn lacks(&self, Self(key): &Self) -> bool {
        self.0.iter().zip(key).fold(0, |lacking, (pair, bits)| lacking | (bits & !pair)) != 0
    }

    #[inline(always)]
    fn set(&mut self, Self(key): &Self) {
        self.0.iter_mut().zip(key).for_each(|(pair, bits)| *pair |= bits);
    }
}

/// Parameters of a [`SplitBlockBloomFilter`]: a capacity, and the rest has defaults.
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until build() is called"]
pub struct SplitBlockBloomFilterBuilder {
    shared: Shared,
}

impl SplitBlockBloomFilterBuilder {
    shared_words!();

    /// Builds the filter.
    ///
    /// # Errors
    /// [`BuildError`] says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<SplitBlockBloomFilter, BuildError> {
        let rate = self.shared.rate()?.unwrap_or(DEFAULT_RATE);
        let capacity = self.shared.capacity()?;
        let model = Blocks::split(WORDS, WORD_BITS);
        let per_block = model.keys_per_block(rate);
        // With less than a key a block there is nothing left of the idea.
        keeps(Some(rate), if per_block < 1.0 { model.rate(1.0) } else { 0.0 })?;
        let blocks = (capacity.max(1) as f64 / per_block).ceil().max(1.0) as u64;
        let max = MAX_BITS / BLOCK_BITS;
        if blocks > max {
            return Err(BuildError::TooLarge { buckets: blocks, max });
        }
        let hasher = self.shared.hasher()?;
        Ok(SplitBlockBloomFilter { hasher, blocks: zeroed(blocks)?, len: 0, capacity })
    }
}

impl SplitBlockBloomFilter {
    /// Starts with the defaults: a false positive rate of 1 %.
    pub fn builder() -> SplitBlockBloomFilterBuilder {
        SplitBlockBloomFilterBuilder::default()
    }

    /// The number of keys that the filter was planned for. It takes more.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    fn at(&self, hash: KeyHash) -> usize {
        scale(hash.get(), self.blocks.len() as u64) as usize
    }

    /// Prefetches the block of a later key.
    #[inline(always)]
    fn fetch(&self, hashes: &[KeyHash], at: usize) {
        if let Some(&hash) = hashes.get(at + AHEAD) {
            prefetch(&self.blocks, self.at(hash));
        }
    }
}

impl Filter for SplitBlockBloomFilter {
    #[inline]
    fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        !self.blocks[self.at(hash)].lacks(&Block::of(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], hits: &mut Vec<bool>) {
        hits.clear();
        hits.extend(hashes.iter().enumerate().map(|(i, &hash)| {
            self.fetch(hashes, i);
            self.contains_hash(hash)
        }));
    }

    fn count_hash(&self, hash: KeyHash) -> usize {
        usize::from(self.contains_hash(hash))
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slots(&self) -> usize {
        self.blocks.len() * BLOCK_BITS as usize
    }

    fn utilization(&self) -> f64 {
        let pairs = self.blocks.iter().flat_map(|block| block.0);
        pairs.map(|pair| u64::from(pair.count_ones())).sum::<u64>() as f64 / self.slots() as f64
    }

    fn size_in_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.blocks)
    }

    fn expected_false_positive_rate(&self) -> f64 {
        Blocks::split(WORDS, WORD_BITS).rate(self.len as f64 / self.blocks.len() as f64)
    }
}

impl Insert for SplitBlockBloomFilter {
    /// Never refused.
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let at = self.at(hash);
        self.blocks[at].set(&Block::of(hash));
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn insert_absent_batch(
        &mut self,
        hashes: &[KeyHash],
        absent: &mut Vec<bool>,
    ) -> Result<(), Full> {
        absent.clear();
        absent.reserve(hashes.len());
        for (i, &hash) in hashes.iter().enumerate() {
            self.fetch(hashes, i);
            let (at, key) = (self.at(hash), Block::of(hash));
            let block = &mut self.blocks[at];
            let is_absent = block.lacks(&key);
            block.set(&key);
            self.len += usize::from(is_absent);
            absent.push(is_absent);
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.fill(Block::default());
        self.len = 0;
    }
}

debug_with!(SplitBlockBloomFilter: capacity);
