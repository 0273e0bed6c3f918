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

/// The highest bit if a home with so many inline codes may have more of them.
static MAY_BE_MARKED: [u64; LANES as usize + 1] = [0, 0, 0, 1 << 63];

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

/// Whether an entry of a segment may be of a key; `None` if that takes longer to say:
/// [`hit_slowly`] does. `WIDE` if the processor has the wider instructions.
#[inline(always)]
pub(super) fn hit<const WIDE: bool>(segment: &Segment, key: Address) -> Option<bool> {
    let width = segment.tag();
    if width.wrapping_sub(1) >= NARROW {
        return None;
    }
    let (bits, home) = (usize::from(width), key.home_in_group());
    let group_at = group_at(segment, bits, key.group());
    let at = segment.at.as_ptr().wrapping_add(group_at / 8);
    // Likely the place of the codes; they are on their way while the header is read.
    prefetch_at(at.wrapping_add(6 + 2 * home as usize));
    // SAFETY: the header of a group lies within the block, and after the block a window can be
    // read.
    let header = unsafe { load(at, group_at % 8) } as u32;
    let (before, count) =
        if WIDE { group::before_by_ones(header, home) } else { group::before(header, home) };
    // SAFETY: so do the codes of a home, or what comes after the last of them.
    let held = unsafe { load(at, group_at % 8 + HEADER + before as usize * bits) };
    // SAFETY: the width is from 1 to NARROW.
    let lanes = unsafe { NARROW_LANES.get_unchecked(bits) };
    let hits = lanes.hits(held, key.path >> segment.depth()) & lanes.tops[count as usize];
    // More than three codes if the first is larger than the second. One branch for all that makes
    // the rest of the way necessary: three homes in twenty have three codes or more, which no
    // processor foresees.
    let order = (held >> bits & lanes.code).wrapping_sub(held & lanes.code);
    let is_marked = order & MAY_BE_MARKED[count as usize];
    if opaque(hits.wrapping_sub(1) & is_marked) != 0 {
        return None;
    }
    Some(hits != 0)
}

/// Keys that are looked up together.
pub(super) const TOGETHER: usize = 32;
type Column = [u64; TOGETHER];

/// Many keys, each with its segment: column by column, so that vectors do the arithmetic and the
/// waits for memory overlap.
pub(super) struct Probes<'a> {
    /// The bytes in which groups begin, and the bits there.
    at: [*const u8; TOGETHER],
    bit: Column,
    width: Column,
    /// Zero if codes are ended, all ones if they are plain.
    plain: Column,
    home: Column,
    extension: Column,
    /// All ones if the codes are wider than can be compared here, or the segment is wide.
    slow: Column,
    segments: core::marker::PhantomData<&'a Segment>,
}

/// A set of keys that are looked up together.
#[derive(Clone, Copy)]
pub(super) struct Slow(u32);

impl Slow {
    #[inline(always)]
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let at = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (at < u32::BITS).then_some(at as usize)
        })
    }
}

impl<'a> Probes<'a> {
    #[inline(always)]
    pub(super) fn new(key: impl Fn(usize) -> (&'a Segment, Address)) -> Self {
        let none = [0; TOGETHER];
        let mut probes = Self {
            at: [core::ptr::null(); TOGETHER],
            bit: none,
            width: none,
            plain: none,
            home: none,
            extension: none,
            slow: none,
            segments: core::marker::PhantomData,
        };
        for i in 0..TOGETHER {
            let (segment, key) = key(i);
            let tag = segment.tag();
            let bit = group_at(segment, usize::from(tag & !PLAIN), key.group());
            let at = segment.at.as_ptr().wrapping_add(bit / 8);
            prefetch_at(at);
            prefetch_at(at.wrapping_add(6 + 2 * key.home_in_group() as usize));
            probes.at[i] = at;
            probes.bit[i] = bit as u64 % 8;
            probes.width[i] = tag.into();
            probes.home[i] = key.home_in_group().into();
            probes.extension[i] = key.path >> segment.depth();
        }
        for i in 0..TOGETHER {
            let tag = probes.width[i];
            let width = tag & u64::from(!PLAIN);
            probes.plain[i] = 0u64.wrapping_sub(u64::from(tag != width));
            probes.slow[i] = 0u64.wrapping_sub(u64::from(width.wrapping_sub(1) >= NARROW.into()));
            probes.width[i] = width;
        }
        probes
    }

    /// Whether an entry may be of each key, but for some, for which [`hit_slowly`] says it.
    #[inline(always)]
    pub(super) fn look_up(&self, hits: &mut [bool; TOGETHER]) -> Slow {
        let (mut headers, mut firsts, mut counts) = ([0; TOGETHER], [0; TOGETHER], [0; TOGETHER]);
        for (header, &at) in headers.iter_mut().zip(&self.at) {
            // SAFETY: as in `hit`: whatever the width is, this is within the block or the window
            // after it; the segments are borrowed meanwhile.
            *header = unsafe { load(at, 0) };
        }
        for i in 0..TOGETHER {
            let header = headers[i] >> self.bit[i];
            let twice = 2 * self.home[i];
            let below = header & ((1 << twice) - 1);
            let pairs = (below & 0x3333_3333) + (below >> 2 & 0x3333_3333);
            let fours = (pairs + (pairs >> 4)) & 0x0f0f_0f0f;
            let eights = fours + (fours >> 8);
            let before = (eights + (eights >> 16)) & 0xff;
            counts[i] = header >> twice & 3;
            firsts[i] = self.bit[i] + HEADER as u64 + low_product(before, self.width[i]);
        }
        let mut held = [0; TOGETHER];
        for ((held, &at), &first) in held.iter_mut().zip(&self.at).zip(&firsts) {
            // SAFETY: as above, and as in `hit`.
            *held = unsafe { load(at, (first & !7) as usize) };
        }
        let (mut found, mut rest) = ([0; TOGETHER], [0; TOGETHER]);
        for i in 0..TOGETHER {
            let (width, held) = (self.width[i].min(NARROW.into()), held[i] >> (firsts[i] % 8));
            let (one, code) = (1u64 << width, (1 << width) - 1u64);
            let ones = 1 | one | one << width;
            let tops = ones << (width.wrapping_sub(1) & 63);
            let extension = self.extension[i] & code;
            let wanted = extension | extension << width | extension << (2 * width);
            // As in `Lanes::hits`; plain codes must be equal.
            let unequal = held ^ wanted;
            let differs = unequal | tops;
            let above = !(held | (differs ^ differs.wrapping_sub(ones)));
            let apart = above & !self.plain[i] | unequal & self.plain[i];
            let used = (1u64 << low_product(counts[i], width)) - 1;
            let hits = apart.wrapping_sub(ones) & !apart & tops & used;
            let order = (held >> width & code).wrapping_sub(held & code);
            let three = 0u64.wrapping_sub(counts[i] >> 1 & counts[i]);
            found[i] = hits;
            rest[i] = (hits.wrapping_sub(1) & order & three) >> 63 | self.slow[i];
        }
        let mut slow = 0;
        for i in 0..TOGETHER {
            hits[i] = found[i] != 0;
            slow |= u32::from(rest[i] != 0) << i;
        }
        Slow(slow)
    }
}

/// The product of two small numbers, by an instruction that vectors have.
#[inline(always)]
fn low_product(a: u64, b: u64) -> u64 {
    (a & 0xffff_ffff) * (b & 0xffff_ffff)
}

/// Whether an entry of a segment may be of a key: what [`hit`] leaves to say.
#[inline(never)]
pub(super) fn hit_slowly(segment: &Segment, key: Address) -> bool {
    if segment.is_wide() {
        let mut hit = false;
        segment.each_match(key, |_, _| hit = true);
        return hit;
    }
    let form = segment.form();
    let (width, home) = (form.width, key.home_in_group());
    let bits = width as usize;
    let (group_at, slots) = segment.group(key.group());
    let at = segment.at.as_ptr();
    // SAFETY: as in `Probe::hit`.
    let header = unsafe { load(at, group_at) } as u32;
    let extension = key.path >> segment.depth();
    if segment.tag() <= NARROW {
        // Not among the inline codes, or it would have been found. A tail of up to three slots is
        // compared at once; if one is equal, it may be another home's.
        let inline = group::sum(header) as usize;
        let tail = slots - inline;
        if tail <= LANES as usize {
            let lanes = &NARROW_LANES[bits];
            // SAFETY: as in `Probe::hit`.
            let held = unsafe { load(at, group_at + HEADER + inline * bits) };
            if lanes.hits(held, extension) & lanes.tops[tail] == 0 {
                return false;
            }
        }
    }
    let (before, count) = group::before(header, home);
    let first = group_at + HEADER + before as usize * bits;
    const { assert!(3 * MAX_WIDTH + 7 < 128) };
    // SAFETY: as in `Probe::hit`; a window is as long as what is loaded here.
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
