//! Two buckets that are whole bytes, looked at together. The bounds are checked, or the caller has a
//! proof that they are kept; the code is the same.
#![allow(unsafe_code, reason = "buckets read without looking at the bounds")]

use super::lanes::{WINDOW, Word};
use super::packed::Packed;
use crate::guess::choose;
use crate::placement::{BucketIndex, Fingerprint};

/// # Safety
/// Of every function: if not `CHECKED`, both buckets must be below [`buckets`](Self::buckets).
impl<W: Word, const PARTS: usize, const WHOLE: bool> Packed<W, PARTS, WHOLE> {
    /// The number of buckets.
    #[inline(always)]
    pub(crate) fn buckets(&self) -> u64 {
        self.runs.count() / PARTS as u64
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn windows<const CHECKED: bool>(
        &self,
        a: BucketIndex,
        b: BucketIndex,
    ) -> [&[u8; WINDOW]; 2] {
        debug_assert!(WHOLE && PARTS == 1);
        // SAFETY: as above, since a bucket is one run.
        unsafe { [self.runs.whole::<CHECKED>(a.0.into()), self.runs.whole::<CHECKED>(b.0.into())] }
    }

    /// [`contains_either`](super::Buckets::contains_either).
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub(crate) unsafe fn whole_contain<const CHECKED: bool>(
        &self,
        a: BucketIndex,
        b: BucketIndex,
        fingerprint: Fingerprint,
    ) -> bool {
        // SAFETY: as above.
        let windows = unsafe { self.windows::<CHECKED>(a, b) };
        W::either_equal(windows, self.lanes.splat(fingerprint.0), &self.lanes)
    }

    /// [`place_in_emptier`](super::Buckets::place_in_emptier).
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub(crate) unsafe fn place_in_emptier_whole<const CHECKED: bool, const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        new: Fingerprint,
    ) -> bool {
        // SAFETY: as above.
        let windows = unsafe { self.windows::<CHECKED>(a, b) };
        let free = W::free_in_each(windows, &self.lanes);
        let first = self.lanes.count(free[0]) >= self.lanes.count(free[1]);
        if SINGLE && !self.runs.is_large() {
            // SAFETY: as above.
            return unsafe { self.flip_either_whole::<CHECKED>([a, b], free, first, new) };
        }
        let (bucket, free) = choose::<SINGLE, _>(first, (a, free[0]), (b, free[1]));
        let found = free != W::ZERO;
        if found {
            let bits = W::from(new.0) << self.lanes.first_bit(free);
            // SAFETY: as above.
            unsafe { self.runs.flip_whole::<CHECKED, W>(u64::from(bucket.0), bits) };
        }
        found
    }

    /// [`remove_from_either`](super::Buckets::remove_from_either).
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub(crate) unsafe fn remove_from_either_whole<const CHECKED: bool, const SINGLE: bool>(
        &mut self,
        a: BucketIndex,
        b: BucketIndex,
        old: Fingerprint,
    ) -> bool {
        // SAFETY: as above.
        let windows = unsafe { self.windows::<CHECKED>(a, b) };
        let held = W::equal_in_each(windows, self.lanes.splat(old.0), &self.lanes);
        let first = held[0] != W::ZERO;
        if SINGLE && !self.runs.is_large() {
            // SAFETY: as above.
            return unsafe { self.flip_either_whole::<CHECKED>([a, b], held, first, old) };
        }
        let (bucket, places) = choose::<SINGLE, _>(first, (a, held[0]), (b, held[1]));
        let found = places != W::ZERO;
        if found {
            let bits = W::from(old.0) << self.lanes.first_bit(places);
            // SAFETY: as above.
            unsafe { self.runs.flip_whole::<CHECKED, W>(u64::from(bucket.0), bits) };
        }
        found
    }

    /// Flips the bits of a fingerprint in the first of the places in a bucket, the first bucket or the
    /// second, and says whether there is a place in either. Both are written ([`guess`](crate::guess)).
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn flip_either_whole<const CHECKED: bool>(
        &mut self,
        buckets: [BucketIndex; 2],
        places: [W; 2],
        first: bool,
        fingerprint: Fingerprint,
    ) -> bool {
        let found = places[0] | places[1] != W::ZERO;
        if found {
            let bits = self.lanes.in_first_of(places, usize::from(!first), fingerprint.0);
            for (bucket, bits) in buckets.into_iter().zip(bits) {
                // SAFETY: as above. The second is read after the first is written: their windows may
                // overlap.
                unsafe { self.runs.flip_whole::<CHECKED, W>(u64::from(bucket.0), bits) };
            }
        }
        found
    }
}
