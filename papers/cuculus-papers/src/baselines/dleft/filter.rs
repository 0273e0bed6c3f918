//! Which cells a key may use, and which of them it does.

use cuculus::{Filter, Full, FullCause, Insert, KeyHash, KeyHasher, Remove};

use super::builder::DleftCountingBloomFilterBuilder;
use super::cells::{Cells, Shape};
use crate::baselines::parameters::{described, figures};
use crate::baselines::probes::{remix, scale};
use crate::described::filter;

/// The number of subtables, d.
pub(super) const SUBTABLES: usize = 4;

/// A d-left counting Bloom filter (Bonomi, Mitzenmacher, Panigrahy, Singh and Varghese 2006; CF paper,
/// §2.1): a hash table of remainders with counters, where a key has a bucket in each of four subtables
/// and goes to the emptiest.
///
/// With four buckets from independent hashes, a removal could take the equal remainder of another key
/// out of a bucket that the two happen to share. As its authors do, a key is hashed once, to one
/// fingerprint of a bucket and a remainder, and each subtable has a permutation of all fingerprints.
/// Two different fingerprints then never look the same in any subtable, and whatever matches a key
/// is counted for its own fingerprint. A key whose fingerprint is there already raises that cell's
/// counter; when the counter is at its end, the next copy takes another cell.
///
/// Where it loses: all cells of four buckets are compared, so remainders are two bits longer than in a
/// cuckoo filter, counters cost two more, and nothing is moved to make room, so a fifth to a third of
/// the cells stays empty. It takes half the memory of a counting Bloom filter.
///
/// A key is refused ([`FullCause::NoRoom`], with no kicks) when its four buckets are full.
/// [`slots`](Filter::slots) are cells, and [`utilization`](Filter::utilization) is the share of them in
/// use, which several copies of a key may share.
#[derive(Clone, PartialEq, Eq)]
pub struct DleftCountingBloomFilter {
    pub(super) hasher: KeyHasher,
    pub(super) cells: Cells,
    pub(super) shape: Shape,
    /// The buckets of a subtable.
    pub(super) buckets: u64,
    pub(super) used: u64,
    pub(super) len: usize,
    pub(super) capacity: usize,
}

figures! { DleftCountingBloomFilter,
    /// The current figures of a [`DleftCountingBloomFilter`].
    DleftStats of filter;
    /// The cells in use.
    used: u64 = filter.used;
    /// The cells of a bucket.
    slots_per_bucket: u32 = filter.shape.slots_per_bucket;
    /// The length of a remainder.
    remainder_bits: u32 = filter.shape.remainder_bits;
    /// The length of a counter.
    counter_bits: u32 = filter.shape.counter_bits;
}

/// A key's remainder, the same in all subtables, and its bucket in each.
struct Candidates {
    remainder: u64,
    buckets: [u64; SUBTABLES],
}

impl DleftCountingBloomFilter {
    /// The permutation of a subtable turns all buckets by an angle that depends on the remainder (by
    /// none in the first). The authors multiply the whole fingerprint by an odd number instead, which
    /// needs a power of two of buckets.
    #[inline(always)]
    fn candidates(&self, hash: KeyHash) -> Candidates {
        let remainder = hash.get() & ((1 << self.shape.remainder_bits) - 1);
        let home = scale(hash.get(), self.buckets);
        let angles = remix(remainder + 1);
        let buckets = core::array::from_fn(|subtable| {
            let angle = match subtable {
                0 => 0,
                // The subtables see the same bits in another order.
                _ => scale(angles.rotate_left(21 * subtable as u32), self.buckets),
            };
            let bucket = home + angle;
            let turned = if bucket >= self.buckets { bucket - self.buckets } else { bucket };
            subtable as u64 * self.buckets + turned
        });
        Candidates { remainder, buckets }
    }

    fn highest_counter(&self) -> u64 {
        (1 << self.shape.counter_bits) - 1
    }

    /// The cells that count a key, with their counters.
    fn matching(&self, key: &Candidates) -> impl Iterator<Item = (u64, u32, u64)> {
        let remainder = key.remainder;
        let buckets = key.buckets.into_iter();
        buckets.filter(move |&bucket| self.cells.contains(bucket, remainder)).flat_map(
            move |bucket| {
                let cells = (0..self.shape.slots_per_bucket).map(move |cell| {
                    let (found, counter) = self.cells.get(bucket, cell);
                    (bucket, cell, if found == remainder { counter } else { 0 })
                });
                cells.filter(|&(_, _, counter)| counter > 0)
            },
        )
    }
}

filter! { DleftCountingBloomFilter, |filter, hash|
    contains: {
        let key = filter.candidates(hash);
        // All four at once, not one after the other.
        let each = key.buckets.map(|bucket| filter.cells.contains(bucket, key.remainder));
        each.into_iter().fold(false, |any, one| any | one)
    };
    count: filter.matching(&filter.candidates(hash)).map(|(_, _, count)| count as usize).sum();
    len: filter.len;
    slots: filter.buckets as usize * SUBTABLES * filter.shape.slots_per_bucket as usize;
    utilization: filter.used as f64 / filter.slots() as f64;
    heap_bytes: filter.cells.heap_bytes();
    // The share of all fingerprints that is stored. (A fingerprint with more copies than a counter
    // can count is in several cells, and counted for each.)
    rate: {
        let fingerprints = filter.buckets as f64 * f64::from(filter.shape.remainder_bits).exp2();
        (filter.used as f64 / fingerprints).min(1.0)
    };
}

impl Insert for DleftCountingBloomFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        let key = self.candidates(hash);
        let seen = key.buckets.map(|bucket| self.cells.look(bucket, key.remainder));
        let highest = self.highest_counter();
        if seen.iter().any(|seen| seen.equal) {
            let found = self.matching(&key).find(|&(_, _, counter)| counter < highest);
            if let Some((bucket, cell, counter)) = found {
                self.cells.set(bucket, cell, key.remainder, counter + 1);
                self.len += 1;
                return Ok(());
            }
        }
        // The emptiest bucket, the leftmost of several.
        let (mut emptiest, mut fewest) = (0, u32::MAX);
        for (subtable, seen) in seen.iter().enumerate() {
            if seen.used < fewest {
                (emptiest, fewest) = (subtable, seen.used);
            }
        }
        let slots = self.shape.slots_per_bucket;
        if fewest == slots {
            let held = self.count_hash(hash);
            let all = SUBTABLES * slots as usize * highest as usize;
            let cause = if held == all {
                FullCause::EqualEntries { held }
            } else {
                FullCause::NoRoom { max_kicks: 0 }
            };
            return Err(Full::new(cause, self.len, self.slots()));
        }
        let bucket = key.buckets[emptiest];
        let free = (0..slots).find(|&cell| self.cells.get(bucket, cell).1 == 0).unwrap_or(0);
        self.cells.set(bucket, free, key.remainder, 1);
        self.used += 1;
        self.len += 1;
        Ok(())
    }

    fn clear(&mut self) {
        self.cells.clear();
        (self.used, self.len) = (0, 0);
    }
}

impl Remove for DleftCountingBloomFilter {
    fn remove_hash(&mut self, hash: KeyHash) -> bool {
        let key = self.candidates(hash);
        // The lowest counter, so that cells get free.
        let lowest = self.matching(&key).min_by_key(|&(_, _, counter)| counter);
        let Some((bucket, cell, counter)) = lowest else { return false };
        self.cells.set(bucket, cell, key.remainder, counter - 1);
        self.used -= u64::from(counter == 1);
        self.len -= 1;
        true
    }
}

described!(DleftCountingBloomFilter, DleftCountingBloomFilterBuilder: shape, capacity);
