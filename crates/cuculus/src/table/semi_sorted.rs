//! Semi-sorted buckets (Cuckoo Filter paper, §5.2): the order of four fingerprints in a bucket
//! carries no information, so they are sorted by their low nibbles, and the four nibbles, being
//! one of 3,876 combinations, are written in 12 bits instead of 16.
//!
//! A bucket is, from its lowest bit: the code of the nibbles (12 bits), then the four rests of
//! `width − 4` bits in the same order. Entries are in ascending order of (nibble, rest), so equal
//! contents are equal bits; an empty slot is the entry zero and comes first.

use core::hint::select_unpredictable;

use super::lanes::{Lanes, Word};
use super::{Buckets, MAX_SLOTS, Runs, Spot};
use crate::placement::{BucketIndex, Fingerprint};

pub(crate) const SLOTS: u32 = 4;
pub(crate) const BITS_SAVED: u32 = 4;
/// A rest of one bit at least: with none there would be nothing to compare by lanes.
pub(crate) const MIN_WIDTH: u32 = 5;

const CODE_BITS: u32 = 12;
const CODE_MASK: u32 = (1 << CODE_BITS) - 1;
/// Multisets of four out of sixteen: C(19, 4).
const CODES: usize = 3876;

/// The four nibbles of each code, ascending, the first in the low bits; nothing above `CODES`.
static NIBBLES: [u16; 1 << CODE_BITS] = decode_table();

const fn decode_table() -> [u16; 1 << CODE_BITS] {
    let mut table = [0; 1 << CODE_BITS];
    let mut nibbles = [0u32; 4];
    // Every ascending quadruple once, each at its own code.
    loop {
        let [a, b, c, d] = nibbles;
        table[encode(nibbles) as usize] = (a | b << 4 | c << 8 | d << 12) as u16;
        let mut at = 0;
        while at < 3 && nibbles[at] == nibbles[at + 1] {
            nibbles[at] = 0;
            at += 1;
        }
        if at == 3 && nibbles[3] == 15 {
            return table;
        }
        nibbles[at] += 1;
    }
}

/// The rank of an ascending quadruple in the combinatorial number system: with i added to the
/// i-th nibble the numbers are strictly ascending, and Σ C(n_i + i, i + 1) counts those before.
const fn encode([a, b, c, d]: [u32; 4]) -> u32 {
    let pairs = b * (b + 1) / 2;
    let triples = c * (c + 1) * (c + 2) / 6;
    let quadruples = d * (d + 1) * (d + 2) * (d + 3) / 24;
    a + pairs + triples + quadruples
}

/// What each value of the second, third and fourth nibble adds to a code. (The first adds itself.)
static RANKS: [[u16; 16]; 3] = {
    let mut ranks = [[0; 16]; 3];
    let mut nibble = 0;
    while nibble < 16 {
        ranks[0][nibble] = encode([0, nibble as u32, 0, 0]) as u16;
        ranks[1][nibble] = encode([0, 0, nibble as u32, 0]) as u16;
        ranks[2][nibble] = encode([0, 0, 0, nibble as u32]) as u16;
        nibble += 1;
    }
    ranks
};

/// A table of semi-sorted buckets.
#[derive(Clone)]
pub struct SemiSorted<W> {
    runs: Runs,
    rests: Lanes<W>,
    /// For each set of the four lanes, in reversed order, the mask of their highest bits.
    spread: [W; 16],
    bucket_bits: u32,
    rest_bits: u32,
}

impl<W: Word> SemiSorted<W> {
    pub(crate) fn new(width: u32, runs: Runs) -> Self {
        let rest_bits = width - 4;
        let bucket_bits = CODE_BITS + SLOTS * rest_bits;
        let rests = Lanes::new(rest_bits, SLOTS);
        let spread = core::array::from_fn(|set| rests.mask_of((set as u32).reverse_bits() >> 28));
        Self { runs, rests, spread, bucket_bits, rest_bits }
    }

    #[inline(always)]
    fn bucket(&self, bucket: BucketIndex) -> W {
        self.runs.load(u64::from(bucket.0))
    }

    /// The bits of a bucket, without what follows it.
    #[inline(always)]
    fn only(&self, word: W) -> W {
        word & (!W::ZERO >> (W::BITS - self.bucket_bits))
    }

    /// The highest bit of each lane of the rests whose whole entry is the one looked for. No
    /// branch: the nibbles that agree are found in the code's four lanes, their four bits
    /// gathered by one multiplication and spread to the lanes of the rests by a small table.
    #[inline(always)]
    fn equal(&self, word: W, fingerprint: Fingerprint) -> W {
        let rests = self.rests.equal(word >> CODE_BITS, self.rests.splat(fingerprint.0 >> 4));
        let nibbles = u32::from(NIBBLES[(word.low_u32() & CODE_MASK) as usize]);
        let difference = nibbles ^ ((fingerprint.0 & 15) * 0x1111);
        let agree = !(((difference & 0x7777) + 0x7777) | difference) & 0x8888;
        // Bits 0, 4, 8, 12 arrive at 15, 14, 13, 12, and no other product does.
        let gathered = ((agree >> 3) * 0x8421) >> 12 & 15;
        rests & self.spread[gathered as usize]
    }

    #[inline(always)]
    fn unpack(&self, word: W) -> [u32; 4] {
        let nibbles = u32::from(NIBBLES[(word.low_u32() & CODE_MASK) as usize]);
        let rests = word >> CODE_BITS;
        core::array::from_fn(|i| self.rests.get(rests, i as u32) << 4 | (nibbles >> (4 * i) & 15))
    }

    /// No branch: the order of entries is anything, so a branch on it would be mispredicted every
    /// other time.
    #[inline(always)]
    fn pack(&self, entries: [u32; 4]) -> W {
        // The nibble first, then the rest: a rotation makes that one number.
        self.pack_sorted(sorted(entries.map(|entry| entry.rotate_right(4))))
    }

    /// The same for entries in ascending order, each with its nibble on top.
    #[inline(always)]
    fn pack_sorted(&self, [a, b, c, d]: [u32; 4]) -> W {
        let rank = |place: usize, entry: u32| u32::from(RANKS[place][(entry >> 28) as usize]);
        let code = (a >> 28) + rank(0, b) + rank(1, c) + rank(2, d);
        let rests = [a, b, c, d].map(|entry| W::from(entry & 0x0fff_ffff));
        let high = rests[3] << self.rest_bits | rests[2];
        let low = rests[1] << self.rest_bits | rests[0];
        (high << (2 * self.rest_bits) | low) << CODE_BITS | W::from(code)
    }

    /// Makes a bucket that was read as `old` hold what `new` says.
    #[inline(always)]
    fn replace(&mut self, bucket: BucketIndex, old: W, new: W) {
        self.runs.flip(u64::from(bucket.0), self.only(old) ^ new);
    }

    /// The same for the first of two buckets or the second.
    #[inline(always)]
    fn replace_in_either<const SINGLE: bool>(
        &mut self,
        [a, b]: [BucketIndex; 2],
        first: bool,
        old: W,
        new: W,
    ) {
        if SINGLE {
            self.runs.flip_either([a.0.into(), b.0.into()], self.only(old) ^ new, first);
        } else {
            self.replace(if first { a } else { b }, old, new);
        }
    }

    #[inline(always)]
    fn write(&mut self, bucket: BucketIndex, entries: [u32; 4]) {
        self.replace(bucket, self.bucket(bucket), self.pack(entries));
    }
}

/// Four numbers in ascending order, by a network of five exchanges.
#[inline(always)]
fn sorted([a, b, c, d]: [u32; 4]) -> [u32; 4] {
    let ((a, b), (c, d)) = (exchanged(a, b), exchanged(c, d));
    let ((a, c), (b, d)) = (exchanged(a, c), exchanged(b, d));
    let (b, c) = exchanged(b, c);
    [a, b, c, d]
}

/// The smaller and the larger.
#[inline(always)]
fn exchanged(x: u32, y: u32) -> (u32, u32) {
    (x.min(y), x.max(y))
}

impl<W: Word> Buckets for SemiSorted<W> {
    #[inline]
    fn spot(&self, bucket: BucketIndex) -> Spot {
        self.runs.spot(u64::from(bucket.0))
    }

    #[inline(always)]
    fn spots_contain(&self, a: Spot, b: Spot, fingerprint: Fingerprint) -> bool {
        let [a, b] = [a, b].map(|spot| {
            let (word, bit) = self.runs.load_unshifted::<W>(spot);
            word >> bit as u32
        });
        self.equal(a, fingerprint) | self.equal(b, fingerprint) != W::ZERO
    }

    #[inline(always)]
    fn count(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> u32 {
        self.rests.count(self.equal(self.bucket(bucket), fingerprint))
    }

    #[inline(always)]
    fn find(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32> {
        self.rests.first_in(self.equal(self.bucket(bucket), fingerprint))
    }

    #[inline(always)]
    fn entries(&self, bucket: BucketIndex) -> [Fingerprint; MAX_SLOTS] {
        let mut entries = [Fingerprint::EMPTY; MAX_SLOTS];
        for (to, from) in entries.iter_mut().zip(self.unpack(self.bucket(bucket))) {
            *to = Fingerprint(from);
        }
        entries
    }

    /// The slot is that of the empty entry; sorting may put the fingerprint into another.
    #[inline(always)]
    fn place(&mut self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32> {
        let mut entries = self.unpack(self.bucket(bucket));
        // Empty entries are sorted to the front.
        if entries[0] != Fingerprint::EMPTY.0 {
            return None;
        }
        entries[0] = fingerprint.0;
        self.write(bucket, entries);
        Some(0)
    }

    /// Both buckets are read at once.
    #[inline(always)]
    fn place_in_emptier<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        new: Fingerprint,
    ) -> bool {
        let (word_a, word_b) = (self.bucket(a), self.bucket(b));
        let free = |word| self.rests.count(self.equal(word, Fingerprint::EMPTY));
        let (free_a, free_b) = (free(word_a), free(word_b));
        let first = free_a >= free_b;
        let word = select_unpredictable(first, word_a, word_b);
        let found = free_a | free_b != 0;
        if found {
            let buckets = [a, b];
            // Empty entries are sorted to the front, and the others stay in order: three exchanges.
            let [_, b, c, d] = self.unpack(word).map(|entry| entry.rotate_right(4));
            let (a, b) = exchanged(new.0.rotate_right(4), b);
            let (b, c) = exchanged(b, c);
            let (c, d) = exchanged(c, d);
            let new = self.pack_sorted([a, b, c, d]);
            self.replace_in_either::<SINGLE>(buckets, first, word, new);
        }
        found
    }

    /// As for placing. Which of several equal entries goes makes no difference to the bucket.
    #[inline(always)]
    fn remove_from_either<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
    ) -> bool {
        let (word_a, word_b) = (self.bucket(a), self.bucket(b));
        let (in_a, in_b) = (self.equal(word_a, old), self.equal(word_b, old));
        let first = in_a != W::ZERO;
        let word = select_unpredictable(first, word_a, word_b);
        let places = select_unpredictable(first, in_a, in_b);
        let slot = self.rests.first_in(places);
        if let Some(slot) = slot {
            let buckets = [a, b];
            // The others stay in order, behind one more empty entry.
            let [a, b, c, d] = self.unpack(word).map(|entry| entry.rotate_right(4));
            let kept = [
                0,
                if slot >= 1 { a } else { b },
                if slot >= 2 { b } else { c },
                if slot >= 3 { c } else { d },
            ];
            self.replace_in_either::<SINGLE>(buckets, first, word, self.pack_sorted(kept));
        }
        slot.is_some()
    }

    #[inline(always)]
    fn clear_slot(&mut self, bucket: BucketIndex, slot: u32) {
        let mut entries = self.unpack(self.bucket(bucket));
        entries[slot as usize] = Fingerprint::EMPTY.0;
        self.write(bucket, entries);
    }

    fn restore(&mut self, bucket: BucketIndex, entries: [Fingerprint; MAX_SLOTS]) {
        self.write(bucket, core::array::from_fn(|slot| entries[slot].0));
    }

    fn slots_per_bucket(&self) -> u32 {
        SLOTS
    }

    fn runs_per_bucket(&self) -> u64 {
        1
    }

    /// 220 codes have no meaning, and most orders of the entries are never written.
    fn is_valid(&self, bucket: BucketIndex) -> bool {
        let word = self.bucket(bucket);
        let known = ((word.low_u32() & CODE_MASK) as usize) < CODES;
        known && self.pack(self.unpack(word)) == self.only(word)
    }

    fn runs(&self) -> &Runs {
        &self.runs
    }

    fn runs_mut(&mut self) -> &mut Runs {
        &mut self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 3,876 sorted quadruples have their own code below 3,876, and the table inverts it.
    #[test]
    fn nibble_codes_are_a_bijection() {
        let mut seen = [false; CODES];
        for a in 0..16 {
            for b in a..16 {
                for c in b..16 {
                    for d in c..16 {
                        let code = encode([a, b, c, d]) as usize;
                        assert!(!std::mem::replace(&mut seen[code], true));
                        assert_eq!(u32::from(NIBBLES[code]), a | b << 4 | c << 8 | d << 12);
                    }
                }
            }
        }
        assert!(seen.iter().all(|&s| s));
    }

    #[test]
    fn four_numbers_in_any_order_are_sorted() {
        for order in 0..4u32.pow(4) {
            let numbers: [u32; 4] = core::array::from_fn(|i| (order >> (2 * i) & 3) * 0x4000_0001);
            let mut want = numbers;
            want.sort_unstable();
            assert_eq!(sorted(numbers), want);
        }
    }

    /// Only what `place` and `clear_slot` write is valid: a known code, and ascending entries.
    #[test]
    fn buckets_that_are_never_written_are_not_valid() {
        let valid = |code: u32, rests: [u32; 4]| {
            let bits = rests.iter().rev().fold(0u64, |bits, &rest| bits << 4 | u64::from(rest));
            let payload = (bits << 12 | u64::from(code)).to_le_bytes()[..4].to_vec();
            let runs = Runs::from_payload(payload, 1, 28).expect("small");
            SemiSorted::<u64>::new(8, runs).is_valid(BucketIndex(0))
        };
        let ones = encode([1, 1, 1, 1]);
        assert!(valid(0, [0, 0, 0, 0]) && valid(ones, [0, 2, 2, 9]) && valid(3875, [15; 4]));
        assert!(!valid(ones, [2, 0, 2, 9]) && !valid(ones, [0, 2, 9, 2]), "not ascending");
        assert!(!valid(3876, [0; 4]) && !valid(4095, [1, 2, 3, 4]), "no such code");
    }
}
