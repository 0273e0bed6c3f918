//! Fingerprints side by side: no bit between slots, none between buckets.

use super::lanes::{Lanes, Word};
use super::{Buckets, MAX_SLOTS, Runs};
use crate::placement::{BucketIndex, Fingerprint};

/// A table whose bucket is `PARTS` runs, each read into a word of lanes.
#[derive(Clone)]
pub(crate) struct Packed<W, const PARTS: usize> {
    runs: Runs,
    lanes: Lanes<W>,
    lanes_per_part: u32,
}

impl<W: Word, const PARTS: usize> Packed<W, PARTS> {
    pub(crate) fn new(width: u32, slots: u32, runs: Runs) -> Self {
        let lanes_per_part = slots / PARTS as u32;
        Self { runs, lanes: Lanes::new(width, lanes_per_part), lanes_per_part }
    }

    #[inline(always)]
    fn run(bucket: BucketIndex, part: u32) -> u64 {
        u64::from(bucket.0) * PARTS as u64 + u64::from(part)
    }

    /// The lanes of a part of a bucket, and, above them, bits of what follows.
    #[inline(always)]
    fn part(&self, bucket: BucketIndex, part: u32) -> W {
        self.runs.load(Self::run(bucket, part))
    }

    #[inline(always)]
    fn any_in(&self, bucket: BucketIndex, pattern: W) -> W {
        (0..PARTS as u32)
            .fold(W::ZERO, |any, part| any | self.lanes.any_equal(self.part(bucket, part), pattern))
    }
}

impl<W: Word, const PARTS: usize> Buckets for Packed<W, PARTS> {
    #[inline(always)]
    fn contains_either(&self, a: BucketIndex, b: BucketIndex, fingerprint: Fingerprint) -> bool {
        // Both loads are under way before either is tested, and there is one test: a branch
        // between them would keep the next key's loads waiting for this one's.
        let pattern = self.lanes.splat(fingerprint.0);
        self.any_in(a, pattern) | self.any_in(b, pattern) != W::ZERO
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
            self.runs.flip(
                Self::run(bucket, part),
                W::from(fingerprint.0) << self.lanes.first_bit(free),
            );
            Some(part * self.lanes_per_part + lane)
        })
    }

    #[inline(always)]
    fn clear_slot(&mut self, bucket: BucketIndex, slot: u32) {
        let (part, lane) = (slot / self.lanes_per_part, slot % self.lanes_per_part);
        let held = self.part(bucket, part) & self.lanes.mask(lane);
        self.runs.flip(Self::run(bucket, part), held);
    }

    #[inline(always)]
    fn prefetch(&self, bucket: BucketIndex) {
        self.runs.prefetch(Self::run(bucket, 0));
    }

    fn slots_per_bucket(&self) -> u32 {
        self.lanes_per_part * PARTS as u32
    }

    fn is_valid(&self, _: BucketIndex) -> bool {
        true
    }

    fn runs(&self) -> &Runs {
        &self.runs
    }

    fn runs_mut(&mut self) -> &mut Runs {
        &mut self.runs
    }
}
