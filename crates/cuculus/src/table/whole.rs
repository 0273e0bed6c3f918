//! Two buckets that are whole bytes, looked at together. The bounds are checked, or the caller has a
//! proof that they are kept; the code is the same.
#![allow(unsafe_code, reason = "buckets read without looking at the bounds")]

use super::lanes::{WINDOW, Word};
use super::packed::Packed;
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
        // SAFETY: as above.
        unsafe { self.flip_either_whole::<CHECKED, SINGLE>([a, b], free, first, new) }
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
        // SAFETY: as above.
        unsafe { self.flip_either_whole::<CHECKED, SINGLE>([a, b], held, first, old) }
    }

    /// [`flip_either`](Self::flip_either) for buckets that are whole bytes.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn flip_either_whole<const CHECKED: bool, const SINGLE: bool>(
        &mut self,
        [a, b]: [BucketIndex; 2],
        places: [W; 2],
        first: bool,
        fingerprint: Fingerprint,
    ) -> bool {
        let (found, bits) = self.flip_in(places, first, fingerprint);
        if !found {
            return false;
        }
        // SAFETY: as above.
        unsafe {
            if SINGLE {
                let runs = [a.0.into(), b.0.into()];
                self.runs.flip_either_whole::<CHECKED, W>(runs, bits, first);
            } else {
                let bucket = if first { a } else { b };
                self.runs.flip_whole::<CHECKED, W>(bucket.0.into(), bits);
            }
        }
        true
    }
}
