//! Fingerprints side by side: no bit between slots, none between buckets.
#![allow(unsafe_code, reason = "calls of functions that check their bounds, or not")]

use core::hint::select_unpredictable;

use super::lanes::{Lanes, Word};
use super::{Buckets, MAX_SLOTS, Runs, Spot};
use crate::placement::{BucketIndex, Fingerprint};

/// A table whose bucket is `PARTS` runs, each read into a word of lanes. If `WHOLE`, a run is a whole
/// number of bytes and starts with one: nothing is shifted, and the lanes are the same everywhere.
/// The bytes of the table are those that it would have otherwise.
#[derive(Clone)]
pub struct Packed<W, const PARTS: usize, const WHOLE: bool> {
    pub(super) runs: Runs,
    pub(super) lanes: Lanes<W>,
    lanes_per_part: u32,
    /// The lowest and the highest bits of the lanes of a part that starts at each bit of a byte.
    /// A lookup shifts these instead of what it has read, so that less is left to do when the
    /// memory answers.
    shifted: [(W, W); 8],
}

impl<W: Word, const PARTS: usize, const WHOLE: bool> Packed<W, PARTS, WHOLE> {
    pub(crate) fn new(width: u32, slots: u32, runs: Runs) -> Self {
        let lanes_per_part = slots / PARTS as u32;
        let lanes: Lanes<W> = Lanes::new(width, lanes_per_part);
        let shifted = core::array::from_fn(|bit| lanes.shifted(bit as u32));
        Self { runs, lanes, lanes_per_part, shifted }
    }

    #[inline]
    fn run(bucket: BucketIndex, part: u32) -> u64 {
        u64::from(bucket.0) * PARTS as u64 + u64::from(part)
    }

    /// The lanes of a part of a bucket, and, above them, bits of what follows.
    #[inline(always)]
    fn part(&self, bucket: BucketIndex, part: u32) -> W {
        let run = Self::run(bucket, part);
        if WHOLE {
            // SAFETY: it is checked.
            return W::load(unsafe { self.runs.whole::<true>(run) });
        }
        self.runs.load(run)
    }

    /// Flips bits of a part of a bucket.
    #[inline(always)]
    fn flip(&mut self, bucket: BucketIndex, part: u32, bits: W) {
        let run = Self::run(bucket, part);
        if WHOLE {
            // SAFETY: it is checked.
            return unsafe { self.runs.flip_whole::<true, W>(run, bits) };
        }
        self.runs.flip(run, bits);
    }

    /// Flips the bits of a fingerprint in the first of the places in a part of one of two buckets, the
    /// first bucket or the second, and says whether there is a place there.
    #[inline(always)]
    fn flip_either<const SINGLE: bool>(
        &mut self,
        [a, b]: [BucketIndex; 2],
        part: u32,
        places: [W; 2],
        first: bool,
        fingerprint: Fingerprint,
    ) -> bool {
        let (found, bits) = self.flip_in(places, first, fingerprint);
        if found && SINGLE {
            self.runs.flip_either([Self::run(a, part), Self::run(b, part)], bits, first);
        } else if found {
            self.flip(if first { a } else { b }, part, bits);
        }
        found
    }

    /// Whether the first of two parts or the second has a place, and what to flip there.
    #[inline(always)]
    pub(super) fn flip_in(
        &self,
        places: [W; 2],
        first: bool,
        fingerprint: Fingerprint,
    ) -> (bool, W) {
        let places = select_unpredictable(first, places[0], places[1]);
        (places != W::ZERO, self.lanes.in_first(places, fingerprint.0))
    }

    #[inline(always)]
    fn remove_from_part<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
        part: u32,
    ) -> bool {
        let pattern = self.lanes.splat(old.0);
        let held = [a, b].map(|bucket| self.lanes.any_equal(self.part(bucket, part), pattern));
        let first = held[0] != W::ZERO;
        self.flip_either::<SINGLE>([a, b], part, held, first, old)
    }

    #[inline(never)]
    fn remove_from_parts<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
    ) -> bool {
        (0..PARTS as u32).any(|part| self.remove_from_part::<SINGLE>(a, b, old, part))
    }

    /// The lowest and the highest bit of each lane of a part.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn lane_ends(&self) -> (W, W) {
        self.lanes.ends()
    }

    /// Whether either of the parts that start at two spots has the fingerprint.
    #[inline]
    fn parts_contain(&self, spots: [Spot; 2], fingerprint: Fingerprint) -> bool {
        let [(word_a, bit_a), (word_b, bit_b)] = spots.map(|s| self.runs.load_unshifted::<W>(s));
        let ((ones_a, highs_a), (ones_b, highs_b)) = (self.shifted[bit_a], self.shifted[bit_b]);
        let value = W::from(fingerprint.0);
        let differences =
            [word_a ^ ones_a.wrapping_mul(value), word_b ^ ones_b.wrapping_mul(value)];
        W::either_has_zero(differences, [ones_a, ones_b], [highs_a, highs_b])
    }
}

impl<W: Word, const PARTS: usize, const WHOLE: bool> Buckets for Packed<W, PARTS, WHOLE> {
    #[inline]
    fn spot(&self, bucket: BucketIndex) -> Spot {
        self.runs.spot(Self::run(bucket, 0))
    }

    #[inline(always)]
    fn spots_contain(&self, a: Spot, b: Spot, fingerprint: Fingerprint) -> bool {
        // Both loads are under way before either is tested, and there is one test: a branch
        // between them would keep the next key's loads waiting for this one's.
        let part_bits = self.lanes.bits(self.lanes_per_part);
        (0..PARTS as u32).fold(false, |any, part| {
            let further = part * part_bits;
            any | self.parts_contain([a.plus(further), b.plus(further)], fingerprint)
        })
    }

    #[inline(always)]
    fn contains_either(&self, a: BucketIndex, b: BucketIndex, fingerprint: Fingerprint) -> bool {
        if WHOLE {
            // SAFETY: it is checked.
            return unsafe { self.whole_contain::<true>(a, b, fingerprint) };
        }
        self.spots_contain(self.spot(a), self.spot(b), fingerprint)
    }

    #[inline(always)]
    fn count(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> u32 {
        let pattern = self.lanes.splat(fingerprint.0);
        let parts = 0..PARTS as u32;
        parts.map(|part| self.lanes.count(self.lanes.equal(self.part(bucket, part), pattern))).sum()
    }

    #[inline(always)]
    fn find(&self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32> {
        let pattern = self.lanes.splat(fingerprint.0);
        (0..PARTS as u32).find_map(|part| {
            let lane =
                self.lanes.first_in(self.lanes.any_equal(self.part(bucket, part), pattern))?;
            Some(part * self.lanes_per_part + lane)
        })
    }

    #[inline(always)]
    fn entries(&self, bucket: BucketIndex) -> [Fingerprint; MAX_SLOTS] {
        let mut entries = [Fingerprint::EMPTY; MAX_SLOTS];
        for part in 0..PARTS as u32 {
            let word = self.part(bucket, part);
            for lane in 0..self.lanes_per_part {
                entries[(part * self.lanes_per_part + lane) as usize] =
                    Fingerprint(self.lanes.get(word, lane));
            }
        }
        entries
    }

    #[inline(always)]
    fn place(&mut self, bucket: BucketIndex, fingerprint: Fingerprint) -> Option<u32> {
        (0..PARTS as u32).find_map(|part| {
            let free = self.lanes.any_equal(self.part(bucket, part), W::ZERO);
            let lane = self.lanes.first_in(free)?;
            self.flip(bucket, part, self.lanes.in_first(free, fingerprint.0));
            Some(part * self.lanes_per_part + lane)
        })
    }

    /// One word a bucket: both are looked at at once.
    #[inline(always)]
    fn place_in_emptier<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        new: Fingerprint,
    ) -> bool {
        if WHOLE {
            // SAFETY: it is checked.
            return unsafe { self.place_in_emptier_whole::<true, SINGLE>(a, b, new) };
        }
        if PARTS > 1 {
            let free = |bucket| self.count(bucket, Fingerprint::EMPTY);
            return self.place(if free(a) >= free(b) { a } else { b }, new).is_some();
        }
        let free = [a, b].map(|bucket| self.lanes.equal(self.part(bucket, 0), W::ZERO));
        let first = self.lanes.count(free[0]) >= self.lanes.count(free[1]);
        self.flip_either::<SINGLE>([a, b], 0, free, first, new)
    }

    /// As for placing. What is flipped is the fingerprint itself.
    #[inline(always)]
    fn remove_from_either<const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
    ) -> bool {
        if WHOLE {
            // SAFETY: it is checked.
            return unsafe { self.remove_from_either_whole::<true, SINGLE>(a, b, old) };
        }
        if PARTS > 1 {
            return self.remove_from_parts::<SINGLE>(a, b, old);
        }
        self.remove_from_part::<SINGLE>(a, b, old, 0)
    }

    #[inline(always)]
    fn clear_slot(&mut self, bucket: BucketIndex, slot: u32) {
        let (part, lane) = (slot / self.lanes_per_part, slot % self.lanes_per_part);
        let held = self.part(bucket, part) & self.lanes.mask(lane);
        self.flip(bucket, part, held);
    }

    fn restore(&mut self, bucket: BucketIndex, entries: [Fingerprint; MAX_SLOTS]) {
        for (part, entries) in entries.chunks(self.lanes_per_part as usize).take(PARTS).enumerate()
        {
            let part = part as u32;
            let word = self.part(bucket, part);
            let flip = (0..).zip(entries).fold(W::ZERO, |flip, (lane, entry)| {
                let differs = self.lanes.get(word, lane) ^ entry.0;
                flip | W::from(differs) << self.lanes.bits(lane)
            });
            self.flip(bucket, part, flip);
        }
    }

    fn slots_per_bucket(&self) -> u32 {
        self.lanes_per_part * PARTS as u32
    }

    fn runs_per_bucket(&self) -> u64 {
        PARTS as u64
    }

    fn is_valid(&self, _: BucketIndex) -> bool {
        true
    }

    #[inline]
    fn runs(&self) -> &Runs {
        &self.runs
    }

    #[inline]
    fn runs_mut(&mut self) -> &mut Runs {
        &mut self.runs
    }
}
