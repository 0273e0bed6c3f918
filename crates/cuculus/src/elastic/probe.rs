//! Looking a key up in its segment, fast: one load for the header, one for the codes of the home,
//! all of them compared at once. Knows the layout of a group; everything that is not usual is left
//! to the segment.
#![allow(unsafe_code, reason = "unaligned loads within blocks")]

use super::address::Address;
use super::bits::read;
use super::code::{MAX_WIDTH, mask};
use super::group::{self, HEADER};
use super::segment::{PLAIN, Segment};
use crate::prefetch::prefetch_at;

/// The widest codes of which three, and the bits before the first in its byte, fit a word.
const NARROW: u8 = 19;
/// Codes of a home that are compared at once.
const LANES: u32 = 3;

/// What comparing codes of one width needs.
#[derive(Clone, Copy)]
struct Lanes {
    /// The lowest bit of each lane.
    ones: u64,
    /// The highest bit of the first lanes, by their number.
    tops: [u64; LANES as usize + 1],
    code: u64,
}

static NARROW_LANES: [Lanes; NARROW as usize + 1] = {
    let mut table =
        [Lanes { ones: 0, tops: [0; LANES as usize + 1], code: 0 }; NARROW as usize + 1];
    let mut width = 1;
    while width <= NARROW as usize {
        let mut lane = 0;
        while lane < LANES as usize {
            table[width].ones |= 1 << (lane * width);
            let top = 1 << (lane * width + width - 1);
            table[width].tops[lane + 1] = table[width].tops[lane] | top;
            lane += 1;
        }
        table[width].code = mask(width as u32);
        width += 1;
    }
    table
};

/// A place in memory where the group of a key begins, and what to look for there.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    segment: &'a Segment,
    /// Only for a narrow segment.
    group_at: usize,
    key: Address,
}

impl<'a> Probe<'a> {
    #[inline(always)]
    pub(super) fn new(segment: &'a Segment, key: Address) -> Self {
        let width = usize::from(segment.tag() & !PLAIN);
        let base = segment.near_base(key.group());
        // In a wide segment the width is zero: the group's header without slots before it is
        // within the block, whatever is there.
        let group_at = HEADER * key.group() + (base as usize).wrapping_mul(width);
        Self { segment, group_at, key }
    }

    /// Prefetches the header and the codes.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        let at = self.segment.at.as_ptr().wrapping_add(self.group_at / 8);
        prefetch_at(at);
        prefetch_at(at.wrapping_add(32));
    }

    /// Whether an entry may be of the key.
    #[inline(always)]
    pub(super) fn hit(&self) -> bool {
        // The codes are likely here; their line is on its way while the header is read.
        let width = usize::from(self.segment.tag() & !PLAIN);
        let codes = self.group_at + HEADER + self.key.home_in_group() as usize * width;
        prefetch_at(self.segment.at.as_ptr().wrapping_add(codes / 8));
        self.hit_prefetched()
    }

    /// The same, after [`prefetch`](Self::prefetch).
    #[inline(always)]
    pub(super) fn hit_prefetched(&self) -> bool {
        let width = self.segment.tag();
        if width.wrapping_sub(1) >= NARROW {
            return hit_of_others(self.segment, self.key, self.group_at);
        }
        let bits = usize::from(width);
        let home = self.key.home_in_group();
        let codes = self.group_at + HEADER;
        // SAFETY: the header of a group lies within the block, and after the block a window can
        // be read.
        let header = unsafe { load(self.segment, self.group_at) } as u32;
        let (before, count) = group::before(header, home);
        // SAFETY: so do the codes of a home, or what comes after the last of them.
        let held = unsafe { load(self.segment, codes + before as usize * bits) };
        // SAFETY: the width is from 1 to NARROW.
        let lanes = unsafe { NARROW_LANES.get_unchecked(bits) };
        let extension = self.key.path >> self.segment.depth();
        let tops = lanes.tops[LANES as usize];
        let wanted = (extension & lanes.code).wrapping_mul(lanes.ones);
        // Up to the lowest bit that differs, in each lane: what is above must be fill.
        let differs = (held ^ wanted) | tops;
        let rest = !(held | (differs ^ differs.wrapping_sub(lanes.ones)));
        let low = tops - lanes.ones;
        let hits = !(((rest & low) + low) | rest) & lanes.tops[count as usize];
        // More than three codes if the first is larger than the second. One branch for all that
        // makes the rest of the way necessary: three homes in twenty have three codes or more,
        // which no processor foresees.
        let (first, second) = (held & lanes.code, held >> bits & lanes.code);
        let is_marked = u64::from(count & count >> 1) & second.wrapping_sub(first) >> 63;
        if opaque(opaque(is_marked).wrapping_sub(1) | hits) == 0 {
            return hit_in_tail(self.segment, self.key);
        }
        hits != 0
    }
}

/// Whether the rest of a home's codes, beyond the three that were looked at, has the key's.
#[inline(never)]
fn hit_in_tail(segment: &Segment, key: Address) -> bool {
    let form = segment.form();
    let (at, slots) = segment.group(key.group());
    let bytes = segment.bytes();
    let (first, len) = group::tail(bytes, at, slots, form.width, key.home_in_group());
    let extension = key.path >> segment.depth();
    (first..first + len).any(|i| {
        let code = read(bytes, at + HEADER + i * form.width as usize, form.width);
        form.match_length(code, extension).is_some()
    })
}

/// Codes that are wider, plain, or in a wide segment.
#[inline(never)]
fn hit_of_others(segment: &Segment, key: Address, group_at: usize) -> bool {
    if segment.is_wide() {
        let mut hit = false;
        segment.each_match(key, |_, _| hit = true);
        return hit;
    }
    let form = segment.form();
    let (width, home) = (form.width, key.home_in_group());
    let bits = width as usize;
    let codes = group_at + HEADER;
    // SAFETY: as in `Probe::hit`.
    let header = unsafe { load(segment, group_at) } as u32;
    let (before, count) = group::before(header, home);
    let at = codes + before as usize * bits;
    const { assert!(3 * MAX_WIDTH + 7 < 128) };
    // SAFETY: as in `Probe::hit`; a window is as long as what is loaded here.
    let held = unsafe {
        let at = segment.at.as_ptr().add(at / 8).cast::<[u8; 16]>();
        u128::from_le_bytes(at.read_unaligned())
    } >> (at % 8);
    let extension = key.path >> segment.depth();
    let lanes = [held as u64, (held >> width) as u64, (held >> (2 * width)) as u64];
    let lanes = lanes.map(|lane| lane & mask(width));
    let mut hits = 0;
    for (lane, &code) in (0..).zip(&lanes) {
        // The bits that differ, below the end or anywhere.
        let differs = (code ^ extension) & mask(form.length(code));
        hits |= u64::from((differs == 0) & (lane < count));
    }
    let is_marked = u64::from(count & count >> 1) & lanes[1].wrapping_sub(lanes[0]) >> 63;
    if opaque(opaque(is_marked).wrapping_sub(1) | hits) == 0 {
        return hit_in_tail(segment, key);
    }
    hits != 0
}

/// The same number, of which the compiler knows nothing: it cannot turn what led to it into
/// branches.
#[inline(always)]
fn opaque(value: u64) -> u64 {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut value = value;
        // SAFETY: no instruction at all.
        unsafe {
            core::arch::asm!(
                "/* {0} */",
                inout(reg) value,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    core::hint::black_box(value)
}

/// The word at a bit of a segment's block, of which 57 bits are good.
///
/// # Safety
/// The bit is within the block, or the window after it has the bytes.
#[inline(always)]
unsafe fn load(segment: &Segment, bit: usize) -> u64 {
    // SAFETY: the caller's.
    let bytes = unsafe { segment.at.as_ptr().add(bit / 8).cast::<[u8; 8]>().read_unaligned() };
    u64::from_le_bytes(bytes) >> (bit % 8)
}
