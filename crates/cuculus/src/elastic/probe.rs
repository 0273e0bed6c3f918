//! Looking a key up in its segment, fast: one load for the header, one for the codes of the home,
//! some of them compared at once. Knows the layout of a group; everything that is not usual is left
//! to the segment.
#![allow(unsafe_code, reason = "unaligned loads within blocks")]

use core::marker::PhantomData;

use super::address::Address;
use super::code::{MAX_WIDTH, mask};
use super::group::{self, ELSEWHERE, FEW, HEADER};
use super::segment::{PLAIN, Segment, WIDTH};
use crate::prefetch::prefetch_at;

/// The most codes of a home that are compared at once, if they are narrow.
const MOST_LANES: u32 = 4;

/// What comparing codes of one width needs. One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes {
    /// The lowest bit of each lane.
    ones: u64,
    /// The highest bit of the first lanes, by their number.
    tops: [u64; MOST_LANES as usize + 1],
    code: u64,
    /// As many as a word has, after the bits before the first in its byte.
    count: u32,
}

impl Lanes {
    /// The highest bit of each lane whose ended code begins like an extension; perhaps also those
    /// of lanes above the first of these.
    #[inline(always)]
    fn hits(&self, held: u64, extension: u64) -> u64 {
        let wanted = (extension & self.code).wrapping_mul(self.ones);
        // Up to the lowest bit that differs, in each lane: what is above must be fill.
        let differs = (held ^ wanted) | self.tops[MOST_LANES as usize];
        let rest = !(held | (differs ^ differs.wrapping_sub(self.ones)));
        // Lanes that are zero.
        rest.wrapping_sub(self.ones) & !rest
    }

    /// [`hits`](Self::hits) of plain codes, which must be equal.
    #[inline(always)]
    fn equals(&self, held: u64, extension: u64) -> u64 {
        let differs = held ^ (extension & self.code).wrapping_mul(self.ones);
        differs.wrapping_sub(self.ones) & !differs
    }

    /// Whether one of the first codes may be of a key. There are no more lanes than [`count`](Self::count).
    #[inline(always)]
    fn find(&self, tag: u8, held: u64, extension: u64, run: u32) -> bool {
        // Nearly all segments of a filter are of one kind.
        let is_ended = tag & PLAIN == 0;
        let hits = if is_ended { self.hits(held, extension) } else { self.equals(held, extension) };
        debug_assert!(run <= self.count);
        // SAFETY: there are no more than MOST_LANES.
        hits & unsafe { self.tops.get_unchecked(run as usize) } != 0
    }
}

static LANES: [Lanes; MAX_WIDTH as usize + 1] = {
    let none = Lanes { ones: 0, tops: [0; MOST_LANES as usize + 1], code: 0, count: 0 };
    let mut table = [none; MAX_WIDTH as usize + 1];
    let mut width = 1;
    while width <= MAX_WIDTH {
        let lanes = &mut table[width as usize];
        let fit = 57 / width;
        lanes.count = if fit < MOST_LANES { fit } else { MOST_LANES };
        let mut lane = 0;
        while lane < MOST_LANES {
            let is_there = lane < lanes.count;
            lanes.ones |= if is_there { 1 << (lane * width) } else { 0 };
            let top = if is_there { 1 << (lane * width + width - 1) } else { 0 };
            lanes.tops[lane as usize + 1] = lanes.tops[lane as usize] | top;
            lane += 1;
        }
        lanes.code = mask(width);
        width += 1;
    }
    table
};

/// Prefetches the header and the codes of a key.
#[inline(always)]
pub(super) fn prefetch(segment: &Segment, key: Address) {
    Probe::new(segment, key).prefetch_header();
}

/// A key and where its group is.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    /// The byte in which the group begins, and the bit there.
    at: *const u8,
    bit: u8,
    /// As in the segment.
    tag: u8,
    home: u8,
    /// The codes of the group; of a wide segment more than [`FEW`].
    codes: u32,
    extension: u64,
    segment: PhantomData<&'a Segment>,
}

impl<'a> Probe<'a> {
    /// Prefetches the codes of a key, by their likely place.
    #[inline(always)]
    pub(super) fn new(segment: &'a Segment, key: Address) -> Self {
        let (group, tag) = (key.group(), segment.tag());
        let base = segment.near_base(group);
        let codes = segment.near_base(group + 1).wrapping_sub(base) as u32;
        let step = usize::from(tag & WIDTH) + 1;
        let bit = (HEADER * group).wrapping_add((base as usize).wrapping_mul(step));
        let home = key.home_in_group();
        let at = segment.at.as_ptr().wrapping_add(bit / 8);
        prefetch_at(at.wrapping_add(8 + 2 * home as usize));
        let extension = key.path >> segment.depth();
        let (bit, home) = (bit as u8 % 8, home as u8);
        Self { at, bit, tag, home, codes, extension, segment: PhantomData }
    }

    /// Prefetches the header as well.
    #[inline(always)]
    pub(super) fn prefetch_header(&self) {
        prefetch_at(self.at);
    }

    /// Whether an entry may be of the key; `None` if that takes longer to say: [`hit_slowly`] does.
    /// `WIDE` if the processor has the wider instructions.
    #[inline(always)]
    pub(super) fn hit<const WIDE: bool>(&self) -> Option<bool> {
        if self.codes > FEW as u32 {
            return None;
        }
        let (bit, home, width) = (usize::from(self.bit), self.home.into(), self.tag & WIDTH);
        // SAFETY: the header of a group lies within the block, and after the block a window can be
        // read; the segment is borrowed meanwhile, and not wide.
        let header = unsafe { load(self.at, bit) };
        let (before, run) = group::find_as::<WIDE>(header, home, self.codes);
        // SAFETY: the width of a narrow segment is from 1 to MAX_WIDTH.
        let lanes = unsafe { LANES.get_unchecked(usize::from(width)) };
        let first = HEADER + self.codes as usize + before as usize * usize::from(width);
        if run > lanes.count {
            let (at, extension) = (self.at, self.extension);
            // SAFETY: the codes of a home lie within the block.
            return (run < ELSEWHERE)
                .then(|| unsafe { hit_in_long(at, bit + first, run, self.tag, extension) });
        }
        // SAFETY: as for the header.
        let held = unsafe { load(self.at, bit + first) };
        Some(lanes.find(self.tag, held, self.extension, run))
    }
}

/// Whether one of many codes may be of a key; the first begins at a bit.
///
/// # Safety
/// All lie within a block.
#[inline(never)]
unsafe fn hit_in_long(at: *const u8, mut bit: usize, run: u32, tag: u8, extension: u64) -> bool {
    let (lanes, mut left) = (&LANES[usize::from(tag & WIDTH)], run);
    while left > 0 {
        let some = left.min(lanes.count);
        // SAFETY: the caller's.
        if lanes.find(tag, unsafe { load(at, bit) }, extension, some) {
            return true;
        }
        left -= some;
        bit += (some * u32::from(tag & WIDTH)) as usize;
    }
    false
}

/// Whether an entry of a segment may be of a key.
#[inline(always)]
pub(super) fn contains(segment: &Segment, key: Address) -> bool {
    Probe::new(segment, key).hit::<false>().unwrap_or_else(|| hit_slowly(segment, key))
}

/// Whether an entry of a segment may be of a key: what [`Probe::hit`] leaves to say.
#[inline(never)]
pub(super) fn hit_slowly(segment: &Segment, key: Address) -> bool {
    let mut hit = false;
    segment.each_match(key, |_| hit = true);
    hit
}

/// The word at a bit from an address on, of which 57 bits are good.
///
/// # Safety
/// The bit is within a block, or the window after it has the bytes.
#[inline(always)]
unsafe fn load(at: *const u8, bit: usize) -> u64 {
    // SAFETY: the caller's.
    let bytes = unsafe { at.add(bit / 8).cast::<[u8; 8]>().read_unaligned() };
    u64::from_le_bytes(bytes) >> (bit % 8)
}
