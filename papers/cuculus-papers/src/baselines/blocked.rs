//! The blocked Bloom filter.

use cuculus::{BuildError, Filter, Full, Insert, KeyHash, KeyHasher};

use crate::baselines::memory::{MAX_BITS, zeroed};
use crate::baselines::parameters::{
    DEFAULT_RATE, Shared, at_most, builder, described, in_range, keeps,
};
use crate::baselines::probes::{remix, scale};
use crate::baselines::rates::{BLOCK_BITS, Blocks};
use crate::described::filter;

/// Nine bits choose a bit of a block, and two words give that for fourteen.
const MAX_HASHES: u32 = 14;
const PLACE_BITS: u32 = BLOCK_BITS.trailing_zeros();
const PLACES_PER_WORD: u32 = 64 / PLACE_BITS;

/// A Bloom filter in blocks of a cache line each (Putze, Sanders and Singler 2007; CF paper, §2.1): all
/// bits of a key are in one block.
///
/// A lookup waits for memory once, which makes it the fastest of all. Where it loses: blocks get
/// uneven shares of the keys, so the rate is higher than that of a Bloom filter with the same bits,
/// the more so the smaller it is; and it cannot delete. The builder takes the unevenness into
/// account: the rate that it was built for is kept, with more bits.
///
/// A key inserted twice is the same as once, except for [`len`](Filter::len): [`count`](Filter::count)
/// is zero or one. [`slots`](Filter::slots) are bits, and
/// [`utilization`](Filter::utilization) is the share of them that is set; it and the expected rate
/// are counted when they are read, which reads the whole filter.
#[derive(Clone, PartialEq, Eq)]
pub struct BlockedBloomFilter {
    hasher: KeyHasher,
    blocks: Box<[Block]>,
    hashes: u32,
    len: usize,
    capacity: usize,
}

/// A cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Block([u64; (BLOCK_BITS / 64) as usize]);

impl Block {
    fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

builder! {
    /// Parameters of a [`BlockedBloomFilter`]: a capacity, and the rest has defaults.
    BlockedBloomFilterBuilder, shared: Shared;

    /// The number of bits, instead of the one that follows from the rate; made a multiple of 512.
    bits: u64;

    /// The number of hashes k, 1 to 14, instead of the one that gives the lowest rate.
    hashes: u32;
}

impl BlockedBloomFilterBuilder {
    /// Builds the filter, or says which parameter cannot be satisfied.
    pub fn build(&self) -> Result<BlockedBloomFilter, BuildError> {
        let (blocks, hashes, capacity) = self.plan()?;
        let hasher = self.shared.hasher()?;
        Ok(BlockedBloomFilter { hasher, blocks: zeroed(blocks)?, hashes, len: 0, capacity })
    }

    fn plan(&self) -> Result<(u64, u32, usize), BuildError> {
        let rate = self.shared.rate()?;
        if let Some(hashes) = self.hashes {
            in_range("hashes", hashes, 1..=MAX_HASHES)?;
        }
        let capacity = self.shared.capacity()?;
        let keys = capacity.max(1) as f64;
        let max = MAX_BITS / u64::from(BLOCK_BITS);
        if let Some(bits) = self.bits {
            in_range("bits", bits, 1..=MAX_BITS)?;
            let blocks = bits.div_ceil(u64::from(BLOCK_BITS));
            let (kept, hashes) = self
                .tried_hashes(keys / bits as f64)
                .map(|hashes| (Blocks::new(hashes).rate(keys / blocks as f64), hashes))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap_or((1.0, 1));
            keeps(rate, kept)?;
            return Ok((blocks, hashes, capacity));
        }
        let rate = rate.unwrap_or(DEFAULT_RATE);
        let (per_block, hashes) = self
            .tried_hashes(-core::f64::consts::LN_2 / rate.log2())
            .map(|hashes| (Blocks::new(hashes).keys_per_block(rate), hashes))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 1));
        // With less than a key a block there is nothing left of the idea.
        keeps(Some(rate), if per_block < 1.0 { Blocks::new(hashes).rate(1.0) } else { 0.0 })?;
        let blocks = (keys / per_block).ceil().max(1.0) as u64;
        Ok((at_most(blocks, max)?, hashes, capacity))
    }

    /// The best number of hashes is below that of a Bloom filter with as many keys per bit: full
    /// blocks decide about the rate, and they want fewer.
    fn tried_hashes(&self, keys_per_bit: f64) -> std::ops::RangeInclusive<u32> {
        let ideal = core::f64::consts::LN_2 / keys_per_bit;
        let ideal = (ideal.ceil() as u32).clamp(1, MAX_HASHES);
        self.hashes.map_or(ideal.saturating_sub(6).max(1)..=ideal, |hashes| hashes..=hashes)
    }
}

impl BlockedBloomFilter {
    /// The number of bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.blocks.len() as u64 * u64::from(BLOCK_BITS)
    }

    /// The number of bits of a key.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The rate to expect of this many different keys, by the formula that the builder uses.
    #[must_use]
    pub fn planned_false_positive_rate(&self, keys: usize) -> f64 {
        Blocks::new(self.hashes).rate(keys as f64 / self.blocks.len() as f64)
    }

    #[inline(always)]
    fn block(&self, hash: KeyHash) -> usize {
        scale(hash.get(), self.blocks.len() as u64) as usize
    }
}

/// The bits of a key within its block: independent ones, since two hashes of nine bits would give
/// too few different sets of bits.
#[inline(always)]
fn places(hash: KeyHash, count: u32) -> impl Iterator<Item = (usize, u32)> {
    let mut word = remix(hash.get());
    (0..count).map(move |i| {
        if i == PLACES_PER_WORD {
            word = remix(!hash.get());
        }
        let place = word as u32 % BLOCK_BITS;
        word >>= PLACE_BITS;
        ((place / 64) as usize, place % 64)
    })
}

filter! { BlockedBloomFilter, |filter, hash|
    contains: {
        let Block(words) = &filter.blocks[filter.block(hash)];
        // The line is there or not: without a branch a bit several lookups wait for theirs together.
        let bits = places(hash, filter.hashes);
        bits.fold(1, |all, (word, bit)| all & (words[word] >> bit)) & 1 == 1
    };
    count: usize::from(filter.contains_hash(hash));
    len: filter.len;
    slots: filter.bits() as usize;
    utilization: {
        let ones: u64 = filter.blocks.iter().map(|block| u64::from(block.ones())).sum();
        ones as f64 / filter.bits() as f64
    };
    heap_bytes: size_of_val(&*filter.blocks);
    // The mean over all blocks, each with the bits that are set in it.
    rate: {
        let share = |of: &Block| f64::from(of.ones()) / f64::from(BLOCK_BITS);
        let rates = filter.blocks.iter().map(|of| share(of).powi(filter.hashes as i32));
        rates.sum::<f64>() / filter.blocks.len() as f64
    };
}

impl Insert for BlockedBloomFilter {
    /// Never refused.
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let Block(words) = &mut self.blocks[scale(hash.get(), self.blocks.len() as u64) as usize];
        places(hash, self.hashes).for_each(|(word, bit)| words[word] |= 1 << bit);
        self.len = self.len.saturating_add(1);
        Ok(())
    }

    fn clear(&mut self) {
        self.blocks.fill(Block::default());
        self.len = 0;
    }
}

described!(BlockedBloomFilter, BlockedBloomFilterBuilder: hashes, capacity);
