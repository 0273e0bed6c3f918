//! The memory under a table: equal runs of bits without gaps, zeroed, allocated without aborting,
//! and padded so that a whole word can be read wherever a run starts.
#![allow(unsafe_code, reason = "fallible zeroed allocation, and one bounds check a load")]

use core::hint::select_unpredictable;
use std::alloc::{self, Layout};

use super::lanes::{WINDOW, Word};
use super::pages;
use crate::prefetch::prefetch;

/// The allocator has no such memory.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory {
    pub bytes: u64,
}

/// The first bit of a run, counted from the first of all. Worked out once by those who come back
/// to the same run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spot(u64);

impl Spot {
    #[inline]
    fn byte(self) -> usize {
        (self.0 >> 3) as usize
    }

    /// The bit of the byte.
    #[inline]
    fn bit(self) -> u32 {
        self.0 as u32 & 7
    }

    /// The spot `bits` bits further on.
    #[inline]
    pub(crate) fn plus(self, bits: u32) -> Self {
        Self(self.0 + u64::from(bits))
    }
}

/// Runs of `bits` bits each, the first at the lowest bit of the first byte, and after the last a
/// window's length of zero bytes.
pub struct Runs {
    bytes: Vec<u8>,
    bits: u32,
    /// The whole bytes of a run.
    stride: usize,
    count: u64,
    huge_pages: bool,
}

impl Clone for Runs {
    fn clone(&self) -> Self {
        let mut bytes = Vec::with_capacity(self.bytes.len());
        if self.huge_pages {
            pages::ask_for_huge(bytes.spare_capacity_mut());
        }
        bytes.extend_from_slice(&self.bytes);
        Self { bytes, ..*self }
    }
}

impl Runs {
    /// The length of `count` runs in bytes, saturating.
    pub(crate) fn payload_bytes(count: u64, bits: u32) -> u64 {
        count.saturating_mul(u64::from(bits)).div_ceil(8)
    }

    /// All bits zero. Fresh pages come from the system as they are first written, so a large
    /// table that is never filled stays small.
    pub(crate) fn new(count: u64, bits: u32) -> Result<Self, OutOfMemory> {
        let failed = OutOfMemory { bytes: Self::payload_bytes(count, bits) };
        let payload = usize::try_from(failed.bytes).map_err(|_| failed)?;
        let len = payload.checked_add(WINDOW).ok_or(failed)?;
        let layout = Layout::array::<u8>(len).map_err(|_| failed)?;
        // SAFETY: the layout has WINDOW bytes at least, so it is not of size zero.
        let start = unsafe { alloc::alloc_zeroed(layout) };
        if start.is_null() {
            return Err(failed);
        }
        // SAFETY: `start` is a fresh allocation of the global allocator with the layout of `len`
        // bytes, all of them initialised to zero, and nobody else has it.
        let bytes = unsafe { Vec::from_raw_parts(start, len, len) };
        Ok(Self::over(bytes, count, bits))
    }

    fn over(bytes: Vec<u8>, count: u64, bits: u32) -> Self {
        Self { bytes, bits, stride: (bits / 8) as usize, count, huge_pages: false }
    }

    /// Asks the system for huge pages under the runs, and under every clone of them.
    pub(crate) fn ask_for_huge_pages(&mut self) {
        self.huge_pages = true;
        pages::ask_for_huge(&self.bytes);
    }

    /// The runs that a payload of exactly their length holds.
    pub(crate) fn from_payload(
        mut bytes: Vec<u8>,
        count: u64,
        bits: u32,
    ) -> Result<Self, OutOfMemory> {
        debug_assert_eq!(bytes.len() as u64, Self::payload_bytes(count, bits));
        let failed = OutOfMemory { bytes: bytes.len() as u64 };
        bytes.try_reserve_exact(WINDOW).map_err(|_| failed)?;
        bytes.resize(bytes.len() + WINDOW, 0);
        Ok(Self::over(bytes, count, bits))
    }

    /// Adds zero runs at the end, or takes runs away there, up to this number. What is kept in
    /// reserve, so that many small steps are cheap, is a 64th at most, so that a table that was loaded
    /// takes as much memory; after an error nothing has changed.
    #[cfg(any(test, feature = "lab"))]
    pub(crate) fn resize(&mut self, count: u64) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: Self::payload_bytes(count, self.bits) };
        let payload = usize::try_from(failed.bytes).map_err(|_| failed)?;
        let len = payload.checked_add(WINDOW).ok_or(failed)?;
        let reserve = len / 128;
        if len > self.bytes.capacity() {
            let more = len.saturating_add(reserve) - self.bytes.len();
            self.bytes.try_reserve_exact(more).map_err(|_| failed)?;
        }
        let end = Spot(count.min(self.count) * u64::from(self.bits));
        self.bytes.resize(end.byte() + 1, 0); // never beyond the window of the last run
        if let Some(last) = self.bytes.last_mut() {
            *last &= (1 << end.bit()) - 1;
        }
        self.bytes.resize(len, 0);
        self.count = count;
        if self.bytes.capacity() > len + 2 * reserve {
            crate::memory::shrink(&mut self.bytes, reserve);
        }
        Ok(())
    }

    /// Where a run starts.
    #[inline]
    pub(crate) fn spot(&self, run: u64) -> Spot {
        Spot(run * u64::from(self.bits))
    }

    /// The bytes from `at` on. A slice of two bounds would be checked by two comparisons and an
    /// addition, which a lookup feels; this is one.
    #[inline]
    fn window(&self, at: usize) -> &[u8; WINDOW] {
        assert!(at <= self.bytes.len() - WINDOW, "a run past the end");
        // SAFETY: `bytes` has WINDOW bytes at least, by both constructors, and WINDOW of them
        // from `at` on, as just checked.
        unsafe { &*self.bytes.as_ptr().add(at).cast() }
    }

    #[inline]
    fn window_mut(&mut self, at: usize) -> &mut [u8; WINDOW] {
        assert!(at <= self.bytes.len() - WINDOW, "a run past the end");
        // SAFETY: as for `window`; the borrow of `self` is exclusive.
        unsafe { &mut *self.bytes.as_mut_ptr().add(at).cast() }
    }

    /// Flips bits in the word at one of two places, and none in that at the other.
    ///
    /// # Safety
    /// If not `CHECKED`, there must be a window from each place on.
    #[inline(always)]
    unsafe fn flip_either_at<const CHECKED: bool, W: Word>(
        &mut self,
        at: [usize; 2],
        bits: [W; 2],
        first: bool,
    ) {
        if CHECKED {
            let last = self.bytes.len() - WINDOW;
            assert!(at[0] <= last && at[1] <= last, "a run past the end");
        }
        let start = self.bytes.as_mut_ptr();
        // SAFETY: as for `window`, or as above.
        let windows: [*mut [u8; WINDOW]; 2] = at.map(|at| unsafe { start.add(at).cast() });
        // Half of the guesses at such a choice are wrong: no branch.
        let bits = [
            select_unpredictable(first, bits[0], W::ZERO),
            select_unpredictable(first, W::ZERO, bits[1]),
        ];
        for (window, bits) in windows.into_iter().zip(bits) {
            // SAFETY: as above; the borrow of `self` is exclusive. One after the other, since the
            // windows may overlap.
            let window = unsafe { &mut *window };
            (W::load(window) ^ bits).store(window);
        }
    }

    /// A run in the low bits of a word and, above it, bits of what follows. The run must fit the
    /// word wherever in a byte it starts ([`fits`](super::lanes::fits)).
    #[inline]
    pub(crate) fn load<W: Word>(&self, run: u64) -> W {
        let spot = self.spot(run);
        W::load(self.window(spot.byte())) >> spot.bit()
    }

    /// The bytes of a run of whole bytes, and what follows: nothing to shift.
    ///
    /// # Safety
    /// If not `CHECKED`, the run must be below the [`count`](Self::count).
    #[inline]
    pub(crate) unsafe fn whole<const CHECKED: bool>(&self, run: u64) -> &[u8; WINDOW] {
        let at = run as usize * self.stride;
        if CHECKED {
            return self.window(at);
        }
        debug_assert!(run < self.count, "a run past the end");
        // SAFETY: `bytes` has the whole bytes of `count` runs and a window after them, so there is a
        // window from the start of every run on.
        unsafe { &*self.bytes.as_ptr().add(at).cast() }
    }

    /// Flips bits of a run of whole bytes.
    ///
    /// # Safety
    /// As for [`whole`](Self::whole).
    #[inline(always)]
    pub(crate) unsafe fn flip_whole<const CHECKED: bool, W: Word>(&mut self, run: u64, bits: W) {
        let at = run as usize * self.stride;
        let window = if CHECKED {
            self.window_mut(at)
        } else {
            debug_assert!(run < self.count, "a run past the end");
            // SAFETY: as for `whole`; the borrow of `self` is exclusive.
            unsafe { &mut *self.bytes.as_mut_ptr().add(at).cast() }
        };
        (W::load(window) ^ bits).store(window);
    }

    /// [`flip_either`](Self::flip_either) for runs of whole bytes.
    ///
    /// # Safety
    /// As for [`whole`](Self::whole), for both.
    #[inline(always)]
    pub(crate) unsafe fn flip_either_whole<const CHECKED: bool, W: Word>(
        &mut self,
        runs: [u64; 2],
        bits: W,
        first: bool,
    ) {
        debug_assert!(CHECKED || runs.iter().all(|&run| run < self.count), "a run past the end");
        let at = runs.map(|run| run as usize * self.stride);
        // SAFETY: as for `whole`.
        unsafe { self.flip_either_at::<CHECKED, W>(at, [bits; 2], first) };
    }

    /// The number of runs.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The bytes of all runs and of the window after them, and the length of a run of whole bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn bytes_and_stride(&self) -> (&[u8], usize) {
        (&self.bytes, self.stride)
    }

    /// The word that a run starts in, and the bit (below eight) at which it does. Bits before it
    /// are of what comes before.
    #[inline]
    pub(crate) fn load_unshifted<W: Word>(&self, spot: Spot) -> (W, usize) {
        (W::load(self.window(spot.byte())), spot.bit() as usize)
    }

    /// Flips bits of a run; the bits around it stay.
    #[inline]
    pub(crate) fn flip<W: Word>(&mut self, run: u64, bits: W) {
        let spot = self.spot(run);
        let window = self.window_mut(spot.byte());
        (W::load(window) ^ bits << spot.bit()).store(window);
    }

    /// Flips bits of the first of two runs or of the second. Both are written, one of them as it is.
    ///
    /// This is for a single insert or removal, which changes one of two buckets, by what they hold. If
    /// one alone were written, the address of the store would be known when both buckets have arrived
    /// from memory, and until then whatever is read after it waits: the fields of the filter, and so
    /// the buckets of the next key. That was a third to half of the time, in every cache and out of
    /// them. The addresses of both follow from the key alone. A branch between two stores, which the
    /// processor guesses, is wrong every other time and took half as long again in cache, and as long
    /// out of it. The price: two cache lines are changed where one would do.
    ///
    /// In a batch the fields are in registers and the buckets were prefetched: there is nothing to wait
    /// for, and one is written.
    #[inline(always)]
    pub(crate) fn flip_either<W: Word>(&mut self, runs: [u64; 2], bits: W, first: bool) {
        let spots = runs.map(|run| self.spot(run));
        let bits = spots.map(|spot| bits << spot.bit());
        // SAFETY: it is checked.
        unsafe { self.flip_either_at::<true, W>(spots.map(Spot::byte), bits, first) };
    }

    #[inline]
    pub(crate) fn prefetch(&self, spot: Spot) {
        prefetch(&self.bytes, spot.byte());
    }

    /// The runs as they stand in a file. Bits past the last run are zero.
    pub fn payload(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - WINDOW]
    }

    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Whether the bits of the last byte that belong to no run are zero.
    pub fn ends_in_zeros(&self) -> bool {
        let end = self.spot(self.count);
        self.bytes[end.byte()] >> end.bit() == 0
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
