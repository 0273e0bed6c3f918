//! What nearly every insertion and removal does, done to a published segment where others see it: a
//! code goes in or out, and the codes after it move. Everything else is done to a copy (copied.rs).
//!
//! What is to be stored is found out first. The stores are then done under the segment's version,
//! and cannot fail or panic.
#![allow(unsafe_code, reason = "words of segments that others read meanwhile")]

use super::address::{Address, GROUPS};
use super::bits::read;
use super::code::mask;
use super::copied::Copied;
use super::group::{self, HEADER};
use super::level::{Context, Level, MOST_ADDED, PartialKey};
use super::policy::Settings;
use super::pool::UNIT;
use super::probe::opaque;
use super::segment::{HEADERS, MAX_SLOTS, MAX_UNITS};
use super::segments::Segments;
use super::shown::Shown;

impl Level<Copied> {
    /// Whether the next insertion or removal may change the number of segments.
    #[inline(always)]
    pub(super) fn may_reshape(&self, settings: &Settings) -> bool {
        settings.may_reshape(self.weight(), self.directory.len())
    }

    /// [`insert_quickly`](Self::insert_quickly) where others see it. If it says no, nothing has
    /// changed.
    #[inline(always)]
    pub(super) fn insert_shown<const WIDE: bool>(
        &mut self,
        new: PartialKey,
        cx: &mut Context<'_>,
    ) -> bool {
        if self.directory.len() == 0 {
            return false;
        }
        let index = self.directory.index(new.key.path);
        let segment = self.directory.get(index);
        let (form, depth) = (segment.form(), segment.depth());
        if segment.is_wide() || !form.ended || new.bits < depth || self.is_overflow {
            return false;
        }
        let length = (new.bits - depth).min(form.longest());
        let code = form.encode(new.key.path >> depth, length);
        let is_allowed = cx.lengths.counts(depth + length)
            && cx.settings.allows(cx.lengths.sum_with(depth + length));
        if !is_allowed {
            return false;
        }
        let (level, settings, lengths) = (&*self, cx.settings, &*cx.lengths);
        // As in `insert_by_growing`.
        let units = segment.units() + settings.growth(segment.units());
        let may_grow = || {
            let goal = settings.goal(1, lengths).form(index, depth);
            let segment = level.directory.get(index);
            let is_one_step = units == segment.units() + 1 && units <= MAX_UNITS;
            is_one_step && goal.is_near(form) && segment.slots() + MOST_ADDED <= MAX_SLOTS
        };
        let grows = level.directory.wants_room(index) && may_grow();
        let is_quick = self.directory.insert_shown::<WIDE>(index, new.key, code, grows);
        if is_quick {
            self.entries += 1;
            cx.lengths.add(depth + length);
        }
        is_quick
    }

    /// [`take_quickly`](Self::take_quickly) where others see it, unless the segment is to shrink
    /// then. If it says no, nothing has changed.
    #[inline(always)]
    pub(super) fn remove_shown<const WIDE: bool>(
        &mut self,
        key: Address,
        cx: &mut Context<'_>,
    ) -> bool {
        if self.directory.len() == 0 {
            return false;
        }
        let index = self.directory.index(key.path);
        let segment = self.directory.get(index);
        let depth = segment.depth();
        let slots = HEADERS + (segment.slots().saturating_sub(1)) * segment.form().width as usize;
        let needed = slots.div_ceil(8 * UNIT);
        if segment.is_wide() || segment.units() > cx.settings.most_units(needed) {
            return false;
        }
        let Some(length) = self.directory.remove_shown::<WIDE>(index, key) else { return false };
        cx.lengths.remove(depth + length);
        self.entries -= 1;
        true
    }
}

impl Copied {
    /// [`Segment::insert_quickly`](super::segment::Segment::insert_quickly) for a segment that is
    /// narrow and published.
    #[inline(always)]
    fn insert_shown<const WIDE: bool>(
        &mut self,
        index: usize,
        key: Address,
        code: u64,
        grows: bool,
    ) -> bool {
        if self.is_fresh(index) {
            return false;
        }
        let segment = self.get(index);
        let (group, home) = (key.group(), key.home_in_group());
        let width = segment.form().width;
        let step = width as usize;
        let at = HEADER * group + segment.near_base(group) as usize * step;
        let slots = segment.near_base(GROUPS) as usize;
        let end = HEADERS + slots * step;
        segment.prefetch(at, end);
        let bytes = segment.bytes();
        let header = read(bytes, at, HEADER as u32) as u32;
        let (before, count) = group::before(header, home);
        let units = segment.units() + usize::from(grows);
        if count == 3 || end + step > units * UNIT * 8 || slots >= MAX_SLOTS {
            return false;
        }
        let mut description = segment.at(segment.at);
        if !description.add_to_near_bases(group, 1) {
            return false;
        }
        let first = at + HEADER + before as usize * step;
        let to = first + step * segment.smaller(first, width, count, code);
        let header = u64::from(header + (1 << (2 * home)));
        if grows {
            self.grow_in_place(index, &mut description);
        }
        // SAFETY: it is published, and not freed while it is in the list. This is the writer, which
        // holds the lock, and has no reference to it any more. What is stored to lies within the
        // block, since the group does and there is room for one code more.
        unsafe {
            let shown = Shown::new(self.segments()[index]);
            shown.change(
                &description.to_words(),
                #[inline(always)]
                || {
                    shift_up::<WIDE>(shown, to, end, width);
                    set(shown, to, width, code);
                    set(shown, at, HEADER as u32, header);
                },
            );
        }
        true
    }

    /// [`Segment::remove_quickly`](super::segment::Segment::remove_quickly) for a segment that is
    /// narrow and published.
    #[inline(always)]
    fn remove_shown<const WIDE: bool>(&mut self, index: usize, key: Address) -> Option<u32> {
        if self.is_fresh(index) {
            return None;
        }
        let segment = self.get(index);
        let (group, home) = (key.group(), key.home_in_group());
        let form = segment.form();
        let (width, step) = (form.width, form.width as usize);
        let at = HEADER * group + segment.near_base(group) as usize * step;
        let end = HEADERS + segment.near_base(GROUPS) as usize * step;
        segment.prefetch(at, end);
        let bytes = segment.bytes();
        let header = read(bytes, at, HEADER as u32) as u32;
        let (before, count) = group::before(header, home);
        let first = at + HEADER + before as usize * step;
        let codes = group::three(bytes, first, width);
        if count == 3 && codes[0] > codes[1] {
            return None;
        }
        let (best, length) = segment.longest_of(&codes[..count as usize], key)?;
        let mut description = segment.at(segment.at);
        if !description.add_to_near_bases(group, -1) {
            return None;
        }
        let from = first + (best + 1) * step;
        let header = u64::from(header - (1 << (2 * home)));
        // SAFETY: as in `insert_shown`.
        unsafe {
            let shown = Shown::new(self.segments()[index]);
            shown.change(
                &description.to_words(),
                #[inline(always)]
                || {
                    shift_down::<WIDE>(shown, from, end, width);
                    set(shown, at, HEADER as u32, header);
                },
            );
        }
        Some(length)
    }
}

/// Words of a block moved four at a time, where the processor can. The language sees loads and stores of
/// words, by atomic operations, and knows nothing of how. However the processor cuts them into pieces,
/// every byte that a reader gets is that of a word before or after the change, which is all that
/// version.rs asks for.
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod vectors {
    use core::arch::asm;
    use core::arch::x86_64::_mm_cvtsi64_si128;

    use super::Shown;

    /// Moves the words from `first` to before `end` up by some bits, from the last on, as long as there are
    /// four; says where the rest ends.
    ///
    /// # Safety
    /// The block has these words, and one before. Only within [`Shown::change`]. `WIDE` only if the
    /// processor has the wider instructions.
    #[inline(always)]
    pub(super) unsafe fn up<const WIDE: bool>(
        shown: Shown<'_>,
        first: usize,
        end: usize,
        by: u32,
    ) -> usize {
        // SAFETY: the caller's.
        if WIDE { unsafe { up_by_fours(shown.block(), first, end, by) } } else { end }
    }

    /// The same down, from the first on; says where the rest begins.
    ///
    /// # Safety
    /// As for [`up`], but for a word after instead of before.
    #[inline(always)]
    pub(super) unsafe fn down<const WIDE: bool>(
        shown: Shown<'_>,
        first: usize,
        end: usize,
        by: u32,
    ) -> usize {
        // SAFETY: the caller's.
        if WIDE { unsafe { down_by_fours(shown.block(), first, end, by) } } else { first }
    }

    /// # Safety
    /// As for [`up`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn up_by_fours(block: *mut u64, first: usize, mut end: usize, by: u32) -> usize {
        let (left, right) = (_mm_cvtsi64_si128(by.into()), _mm_cvtsi64_si128(64 - i64::from(by)));
        while end >= first + 4 {
            end -= 4;
            // SAFETY: the caller's; nothing but these words is read or written.
            unsafe {
                asm!(
                    "vmovdqu {held}, ymmword ptr [{at}]",
                    "vmovdqu {below}, ymmword ptr [{at} - 8]",
                    "vpsllq {held}, {held}, {left}",
                    "vpsrlq {below}, {below}, {right}",
                    "vpor {held}, {held}, {below}",
                    "vmovdqu ymmword ptr [{at}], {held}",
                    at = in(reg) block.wrapping_add(end),
                    left = in(xmm_reg) left,
                    right = in(xmm_reg) right,
                    held = out(ymm_reg) _,
                    below = out(ymm_reg) _,
                    options(nostack, preserves_flags)
                );
            }
        }
        end
    }

    /// # Safety
    /// As for [`down`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn down_by_fours(block: *mut u64, mut first: usize, end: usize, by: u32) -> usize {
        let (left, right) = (_mm_cvtsi64_si128(64 - i64::from(by)), _mm_cvtsi64_si128(by.into()));
        while first + 4 <= end {
            // SAFETY: the caller's; nothing but these words is read or written.
            unsafe {
                asm!(
                    "vmovdqu {held}, ymmword ptr [{at}]",
                    "vmovdqu {above}, ymmword ptr [{at} + 8]",
                    "vpsrlq {held}, {held}, {right}",
                    "vpsllq {above}, {above}, {left}",
                    "vpor {held}, {held}, {above}",
                    "vmovdqu ymmword ptr [{at}], {held}",
                    at = in(reg) block.wrapping_add(first),
                    left = in(xmm_reg) left,
                    right = in(xmm_reg) right,
                    held = out(ymm_reg) _,
                    above = out(ymm_reg) _,
                    options(nostack, preserves_flags)
                );
            }
            first += 4;
        }
        first
    }
}

/// Elsewhere one after the other.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod vectors {
    use super::Shown;

    /// # Safety
    /// Nothing is done.
    pub(super) unsafe fn up<const WIDE: bool>(_: Shown<'_>, _: usize, end: usize, _: u32) -> usize {
        end
    }

    /// # Safety
    /// Nothing is done.
    pub(super) unsafe fn down<const WIDE: bool>(
        _: Shown<'_>,
        first: usize,
        _: usize,
        _: u32,
    ) -> usize {
        first
    }
}

/// Stores a number of fewer than 64 bits over what is at a bit.
///
/// # Safety
/// The block has the bits. Only within [`Shown::change`].
#[inline(always)]
unsafe fn set(shown: Shown<'_>, bit: usize, width: u32, value: u64) {
    let (at, shift) = (bit / 64, (bit % 64) as u32);
    // SAFETY: the caller's; the second word only if some of the bits are there.
    unsafe {
        let low = shown.block_word(at) & !(mask(width) << shift);
        shown.set_block_word(at, low | value << shift);
        if shift + width > 64 {
            let high = shown.block_word(at + 1) & !(mask(width) >> (64 - shift));
            shown.set_block_word(at + 1, high | value >> (64 - shift));
        }
    }
}

/// The bits of a word but for some. The compiler must not see that both make a word: it would shift
/// two words with one instruction, which takes longer than three on many processors.
#[inline(always)]
fn remainder(by: u32) -> u32 {
    opaque(u64::from(64 - by)) as u32
}

/// [`bits::shift_up`](super::bits::shift_up) by fewer than 64 bits, and not none. `WIDE` if the processor has
/// the wider instructions.
///
/// # Safety
/// The block has the bits up to the new end. Only within [`Shown::change`].
#[inline(always)]
unsafe fn shift_up<const WIDE: bool>(shown: Shown<'_>, from: usize, end: usize, by: u32) {
    if from >= end {
        return;
    }
    let (first, last) = (from / 64, (end + by as usize - 1) / 64);
    let keep = mask((from % 64) as u32);
    let moved = mask(((end + by as usize - 1) % 64) as u32) << 1 | 1;
    let rest = remainder(by);
    // SAFETY: the caller's.
    unsafe {
        let mut held = shown.block_word(last);
        let kept = held & !moved;
        if first == last {
            let up = held & keep | (held & !keep) << by;
            return shown.set_block_word(last, up & moved | kept);
        }
        let mut below = shown.block_word(last - 1);
        shown.set_block_word(last, (held << by | below >> rest) & moved | kept);
        let last = vectors::up::<WIDE>(shown, first + 1, last, by);
        below = shown.block_word(last - 1);
        for at in (first + 1..last).rev() {
            held = below;
            below = shown.block_word(at - 1);
            shown.set_block_word(at, held << by | below >> rest);
        }
        shown.set_block_word(first, below & keep | (below & !keep) << by);
    }
}

/// [`bits::shift_down`](super::bits::shift_down) by fewer than 64 bits, and not none. `WIDE` as above.
///
/// # Safety
/// The block has the bits. Only within [`Shown::change`].
#[inline(always)]
unsafe fn shift_down<const WIDE: bool>(shown: Shown<'_>, from: usize, end: usize, by: u32) {
    if from >= end {
        return;
    }
    let to = from - by as usize;
    let (first, last) = (to / 64, (end - by as usize - 1) / 64);
    let keep = mask((to % 64) as u32);
    let moved = mask(((end - by as usize - 1) % 64) as u32) << 1 | 1;
    let rest = remainder(by);
    // SAFETY: the caller's; after the last word of the block is that of the window.
    unsafe {
        let mut held = shown.block_word(first);
        let mut above = shown.block_word(first + 1);
        let down = held & keep | (held >> by | above << rest) & !keep;
        if first == last {
            return shown.set_block_word(first, down & moved | held & !moved);
        }
        shown.set_block_word(first, down);
        let from = vectors::down::<WIDE>(shown, first + 1, last, by);
        above = shown.block_word(from);
        for at in from..last {
            held = above;
            above = shown.block_word(at + 1);
            shown.set_block_word(at, held >> by | above << rest);
        }
        (held, above) = (above, shown.block_word(last + 1));
        let down = held >> by | above << rest;
        shown.set_block_word(last, down & moved | held & !moved);
    }
}
