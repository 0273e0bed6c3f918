//! Looking a key up in its segment, fast: one load for the header, one for the codes of the home,
//! all of them compared at once. Knows the layout of a group; everything that is not usual is left
//! to the segment.
#![allow(unsafe_code, reason = "unaligned loads within blocks")]

use core::marker::PhantomData;

use super::address::Address;
use super::bits::read;
use super::code::{MAX_WIDTH, mask};
use super::group::{self, HEADER};
use super::segment::{PLAIN, Segment};
use crate::prefetch::prefetch_at;

/// The widest codes of which three, and the bits before the first in its byte, fit a word.
pub(super) const NARROW: u8 = 19;
/// Codes of a home that are compared at once.
const LANES: u32 = 3;

/// What comparing codes of one width needs. One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Lanes {
    /// The lowest bit of each lane.
    ones: u64,
    /// The highest bit of the first lanes, by their number.
    tops: [u64; LANES as usize + 1],
    code: u64,
}

impl Lanes {
    /// The highest bit of each lane whose ended code begins like an extension; perhaps also those
    /// of lanes above the first of these.
    #[inline(always)]
    fn hits(&self, held: u64, extension: u64) -> u64 {
        let wanted = (extension & self.code).wrapping_mul(self.ones);
        // Up to the lowest bit that differs, in each lane: what is above must be fill.
        let differs = (held ^ wanted) | self.tops[LANES as usize];
        let rest = !(held | (differs ^ differs.wrapping_sub(self.ones)));
        // Lanes that are zero.
        rest.wrapping_sub(self.ones) & !rest
    }

    /// The same for plain codes, which must be equal.
    #[inline(always)]
    fn equals(&self, held: u64, extension: u64) -> u64 {
        let differs = held ^ (extension & self.code).wrapping_mul(self.ones);
        differs.wrapping_sub(self.ones) & !differs
    }

    /// Whether there are hits among the first lanes, or `None` if there may be hits elsewhere.
    #[inline(always)]
    fn answer(&self, hits: u64, held: u64, count: u32, width: u8) -> Option<bool> {
        let hits = hits & self.tops[count as usize];
        // More than three codes if the first is larger than the second. One branch for all that
        // makes the rest of the way necessary: three homes in twenty have three codes or more, which
        // no processor foresees. All in the highest bit: four, if there are three codes and one
        // more; whether the first is larger; and whether there is no hit.
        let order = (held >> width & self.code).wrapping_sub(held & self.code);
        let may_be_elsewhere = order & u64::from(count + 1) << 61 & hits.wrapping_sub(1);
        if (opaque(may_be_elsewhere) as i64) < 0 { None } else { Some(hits != 0) }
    }
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

/// The bit of a segment's block where the group of a key begins.
#[inline(always)]
fn group_at(segment: &Segment, width: usize, group: usize) -> usize {
    // In a wide segment the width is zero: a group's header without slots before it is within the
    // block, whatever is there.
    let base = segment.near_base(group) as usize;
    (HEADER * group).wrapping_add(base.wrapping_mul(width))
}

/// Prefetches the header and the codes of a key.
#[inline(always)]
pub(super) fn prefetch(segment: &Segment, key: Address) {
    let at = group_at(segment, usize::from(segment.tag() & !PLAIN), key.group()) / 8;
    prefetch_at(segment.at.as_ptr().wrapping_add(at));
    prefetch_at(segment.at.as_ptr().wrapping_add(at + 32));
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
    extension: u64,
    segment: PhantomData<&'a Segment>,
}

impl<'a> Probe<'a> {
    /// Prefetches the codes of a key, by their likely place.
    #[inline(always)]
    pub(super) fn new(segment: &'a Segment, key: Address) -> Self {
        let bit = group_at(segment, usize::from(segment.tag() & !PLAIN), key.group());
        Self::at(segment, key, segment.tag(), bit)
    }

    /// The same, knowing the form and where the group begins.
    #[inline(always)]
    fn at(segment: &'a Segment, key: Address, tag: u8, bit: usize) -> Self {
        let home = key.home_in_group();
        let at = segment.at.as_ptr().wrapping_add(bit / 8);
        prefetch_at(at.wrapping_add(6 + 2 * home as usize));
        let extension = key.path >> segment.depth();
        Self { at, bit: bit as u8 % 8, tag, home: home as u8, extension, segment: PhantomData }
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
        let width = self.tag & !PLAIN;
        if width.wrapping_sub(1) >= NARROW {
            return None;
        }
        let (held, count) = self.held::<WIDE>(usize::from(width));
        compare(self.tag, held, self.extension, count)
    }

    /// The codes of the home, and the number of those inline.
    #[inline(always)]
    fn held<const WIDE: bool>(&self, width: usize) -> (u64, u32) {
        let (bit, home) = (usize::from(self.bit), u32::from(self.home));
        // SAFETY: the header of a group lies within the block, and after the block a window can be
        // read; the segment is borrowed meanwhile.
        let header = unsafe { load(self.at, bit) } as u32;
        let (before, count) =
            if WIDE { group::before_by_ones(header, home) } else { group::before(header, home) };
        // SAFETY: so do the codes of a home, or what comes after the last of them.
        (unsafe { load(self.at, bit + HEADER + before as usize * width) }, count)
    }
}

/// Whether one of the codes of a home may be of a key: those inline, the first ones in a word. `None`
/// if there may be others. The width in the tag is from 1 to [`NARROW`].
#[inline(always)]
pub(super) fn compare(tag: u8, held: u64, extension: u64, count: u32) -> Option<bool> {
    let (lanes, hits) = hits_in(tag, held, extension);
    lanes.answer(hits, held, count, tag & !PLAIN)
}

/// Whether a key that is not among the inline codes of its home, which has more, is in the group's tail
/// of so many codes, the first ones in a word. `None` if that must be looked at more closely: the tail is
/// longer, or has three codes, of which an equal one may be another home's. (One or two are all of this
/// home.) The width in the tag is from 1 to [`NARROW`].
#[inline(always)]
pub(super) fn compare_tail(tag: u8, held: u64, extension: u64, tail: usize) -> Option<bool> {
    let (lanes, hits) = hits_in(tag, held, extension);
    let is_hit = hits & lanes.tops.get(tail)? != 0;
    (tail < LANES as usize || !is_hit).then_some(is_hit)
}

/// The highest bit of each lane that is a hit, and perhaps of some above the first of these.
#[inline(always)]
fn hits_in(tag: u8, held: u64, extension: u64) -> (&'static Lanes, u64) {
    let width = tag & !PLAIN;
    debug_assert!((1..=NARROW).contains(&width));
    // SAFETY: all callers have looked at the width.
    let lanes = unsafe { NARROW_LANES.get_unchecked(usize::from(width)) };
    // Nearly all segments of a filter are of one kind.
    let hits =
        if tag == width { lanes.hits(held, extension) } else { lanes.equals(held, extension) };
    (lanes, hits)
}

/// Whether an entry of a segment may be of a key.
#[inline(always)]
pub(super) fn contains(segment: &Segment, key: Address) -> bool {
    Probe::new(segment, key).hit::<false>().unwrap_or_else(|| hit_slowly(segment, key))
}

/// Whether an entry of a segment may be of a key: what [`Probe::hit`] leaves to say.
#[inline(never)]
pub(super) fn hit_slowly(segment: &Segment, key: Address) -> bool {
    if segment.is_wide() {
        // As for most segments, from where the group is: who chooses keys can make many wide ones.
        let (form, (group_at, _)) = (segment.form(), segment.group(key.group()));
        let plain = if form.ended { 0 } else { PLAIN };
        let probe = Probe::at(segment, key, form.width as u8 | plain, group_at);
        if let Some(hit) = probe.hit::<false>() {
            return hit;
        }
        let mut hit = false;
        segment.each_match(key, |_, _| hit = true);
        return hit;
    }
    let form = segment.form();
    let (width, home) = (form.width, key.home_in_group());
    let bits = width as usize;
    let (group_at, slots) = segment.group(key.group());
    let at = segment.at.as_ptr();
    // SAFETY: as in `Probe::held`.
    let header = unsafe { load(at, group_at) } as u32;
    let extension = key.path >> segment.depth();
    if segment.tag() & !PLAIN <= NARROW {
        let inline = group::sum(header) as usize;
        // SAFETY: as in `Probe::held`.
        let held = unsafe { load(at, group_at + HEADER + inline * bits) };
        if let Some(hit) = compare_tail(segment.tag(), held, extension, slots - inline) {
            return hit;
        }
    }
    let (before, count) = group::before(header, home);
    let first = group_at + HEADER + before as usize * bits;
    const { assert!(3 * MAX_WIDTH + 7 < 128) };
    // SAFETY: as in `Probe::held`; a window is as long as what is loaded here.
    let held = unsafe {
        let at = at.add(first / 8).cast::<[u8; 16]>();
        u128::from_le_bytes(at.read_unaligned())
    } >> (first % 8);
    let lanes = [held as u64, (held >> width) as u64, (held >> (2 * width)) as u64];
    let lanes = lanes.map(|lane| lane & mask(width));
    let mut hits = 0;
    for (lane, &code) in (0..).zip(&lanes) {
        // The bits that differ, below the end or anywhere.
        let differs = (code ^ extension) & mask(form.length(code));
        hits |= u64::from((differs == 0) & (lane < count));
    }
    let is_marked = u64::from(count & count >> 1) & lanes[1].wrapping_sub(lanes[0]) >> 63;
    if opaque(opaque(is_marked).wrapping_sub(1) | hits) != 0 {
        return hits != 0;
    }
    let bytes = segment.bytes();
    let (first, len) = group::tail(bytes, group_at, slots, width, home);
    (first..first + len).any(|i| {
        let code = read(bytes, group_at + HEADER + i * bits, width);
        form.match_length(code, extension).is_some()
    })
}

/// The same number, of which the compiler knows nothing: it cannot turn what led to it into
/// branches.
#[inline(always)]
pub(super) fn opaque(value: u64) -> u64 {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))]
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
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    core::hint::black_box(value)
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
