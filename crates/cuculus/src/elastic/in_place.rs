//! What nearly every insertion and removal does, done to a published segment where others see it: a
//! code goes in or out, and the codes after it move. Everything else is done to a copy (copied.rs).
//!
//! What is to be stored is found out first. The stores are then done under the segment's version,
//! and cannot fail or panic.
#![allow(unsafe_code, reason = "words of segments that others read meanwhile")]

use super::address::{Address, GROUPS};
use super::bits::read;
use super::code::mask;
use super::copied::{Copied, room};
use super::group::{self, HEADER};
use super::level::{Context, Level, PartialKey, grown, takes};
use super::policy::Settings;
use super::pool::UNIT;
use super::probe::opaque;
use super::segment::{HEADERS, MAX_SLOTS};
use super::segments::Segments;
use super::shown::Shown;
use super::splice::{Bits, Group, Splice};

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
        let entries = self.entries;
        if segment.is_wide() || self.is_overflow || !takes(form, depth, new, entries, cx) {
            return false;
        }
        let length = (new.bits - depth).min(form.longest());
        let code = form.encode(new.key.path >> depth, length);
        let is_quick = cx.lengths.counts(depth + length)
            && cx.settings.allows(cx.lengths.sum_with(depth + length))
            && match self.directory.insert_shown::<WIDE>(index, new.key, code, segment.units()) {
                Shows::Done => true,
                Shows::NoRoom => self.insert_by_growing_shown(index, new, code, cx),
                Shows::Not => false,
            };
        if is_quick {
            self.entries += 1;
            cx.lengths.add(depth + length);
        }
        is_quick
    }

    /// The same after the block has grown, if there is memory for that where it is.
    #[inline(never)]
    fn insert_by_growing_shown(
        &mut self,
        index: usize,
        new: PartialKey,
        code: u64,
        cx: &Context<'_>,
    ) -> bool {
        let segment = self.directory.get(index);
        let (held, goal) = (segment.units(), self.form_for(index, new, cx));
        let units = grown(segment, goal, cx).filter(|&units| room(units) == room(held));
        units.is_some_and(|units| {
            self.directory.insert_shown::<false>(index, new.key, code, units) == Shows::Done
        })
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
        if segment.is_wide() {
            return false;
        }
        let Some(length) = self.directory.remove_shown::<WIDE>(index, key, cx.settings) else {
            return false;
        };
        cx.lengths.remove(depth + length);
        self.entries -= 1;
        true
    }
}

/// What came of an insertion where others see it. Nothing has changed but after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    Done,
    /// The block is too small.
    NoRoom,
    Not,
}

impl Copied {
    /// [`Segment::insert_quickly`](super::segment::Segment::insert_quickly) for a segment that is
    /// narrow and published, in a block of some units, for which there is memory.
    #[inline(always)]
    fn insert_shown<const WIDE: bool>(
        &mut self,
        index: usize,
        key: Address,
        code: u64,
        units: usize,
    ) -> Shows {
        if self.is_fresh(index) {
            return Shows::Not;
        }
        let segment = self.get(index);
        let (group, home) = (key.group(), key.home_in_group());
        let width = segment.form().width;
        let step = width as usize;
        let at = HEADER * group + segment.near_base(group) as usize * step;
        let slots = segment.near_base(GROUPS) as usize;
        let end = HEADERS + slots * step;
        let bytes = segment.bytes();
        let header = read(bytes, at, HEADER as u32) as u32;
        segment.prefetch(at, end);
        let (before_home, count) = group::before(header, home);
        let splice = match count {
            3 => {
                let slots = (segment.near_base(group + 1) - segment.near_base(group)) as usize;
                let held = Group { bytes, at, slots, width, header };
                let Ok(splice) = held.adding(home, code) else { return Shows::Not };
                Some(splice)
            }
            _ => None,
        };
        let added = splice.as_ref().map_or(1, Splice::slots);
        if slots + added > MAX_SLOTS || added * step >= 64 {
            return Shows::Not;
        }
        if end + added * step > units * UNIT * 8 {
            return Shows::NoRoom;
        }
        let mut description = segment.with_units(units);
        if !description.add_to_near_bases(group, added as i8) {
            return Shows::Not;
        }
        if units > segment.units() {
            let (before, after) = (segment.capacity(), description.capacity());
            self.recount(before, after);
        }
        let segment = self.get(index);
        let first = at + HEADER + before_home as usize * step;
        let to = match count {
            3 => first,
            _ => first + step * segment.smaller(first, width, count, code),
        };
        // SAFETY: it is published, and not freed while it is in the list. This is the writer, which
        // holds the lock, and has no reference to it any more. What is stored to lies within the
        // block, since the group does and there is room for one code more.
        unsafe {
            let shown = Shown::new(self.segments()[index]);
            shown.change(
                &description.to_words(),
                #[inline(always)]
                || {
                    let mut words = Changed::<WIDE>(shown);
                    match splice {
                        Some(splice) => splice.add(&mut words, at, end, width),
                        None => {
                            words.insert(to, end, width, code);
                            words.set(at, HEADER as u32, u64::from(header + (1 << (2 * home))));
                        }
                    }
                },
            );
        }
        Shows::Done
    }

    /// [`Segment::remove_quickly`](super::segment::Segment::remove_quickly) for a segment that is
    /// narrow and published, unless it is to shrink then.
    #[inline(always)]
    fn remove_shown<const WIDE: bool>(
        &mut self,
        index: usize,
        key: Address,
        settings: &Settings,
    ) -> Option<u32> {
        if self.is_fresh(index) {
            return None;
        }
        let segment = self.get(index);
        let (group, home) = (key.group(), key.home_in_group());
        let form = segment.form();
        let (width, step) = (form.width, form.width as usize);
        let at = HEADER * group + segment.near_base(group) as usize * step;
        let end = HEADERS + segment.near_base(GROUPS) as usize * step;
        let bytes = segment.bytes();
        let header = read(bytes, at, HEADER as u32) as u32;
        segment.prefetch(at, end);
        let (before, count) = group::before(header, home);
        let first = at + HEADER + before as usize * step;
        let codes = group::three(bytes, first, width);
        let (splice, from, length) = if count == 3 && codes[0] > codes[1] {
            let slots = (segment.near_base(group + 1) - segment.near_base(group)) as usize;
            let held = Group { bytes, at, slots, width, header };
            let extension = key.path >> segment.depth();
            let (splice, length) = held.taking_longest(home, form, extension)?;
            (Some(splice), first, length)
        } else {
            let (best, length) = segment.longest_of(&codes[..count as usize], key)?;
            (None, first + (best + 1) * step, length)
        };
        let gone = splice.as_ref().map_or(1, Splice::slots);
        let needed = (end - gone * step).div_ceil(8 * UNIT);
        if segment.units() > settings.most_units(needed) {
            return None;
        }
        let mut description = segment.at(segment.at);
        if gone * step >= 64 || !description.add_to_near_bases(group, -(gone as i8)) {
            return None;
        }
        // SAFETY: as in `insert_shown`.
        unsafe {
            let shown = Shown::new(self.segments()[index]);
            shown.change(
                &description.to_words(),
                #[inline(always)]
                || {
                    let mut words = Changed::<WIDE>(shown);
                    match splice {
                        Some(splice) => splice.take(&mut words, at, end, width),
                        None => {
                            words.shift_down(from, end, step);
                            words.set(at, HEADER as u32, u64::from(header - (1 << (2 * home))));
                        }
                    }
                },
            );
        }
        Some(length)
    }
}

/// A segment within [`Shown::change`], whose block has all bits that are changed. What moves, moves by
/// fewer than 64 bits.
struct Changed<'a, const WIDE: bool>(Shown<'a>);

impl<const WIDE: bool> Bits for Changed<'_, WIDE> {
    #[inline(always)]
    fn insert(&mut self, at: usize, end: usize, width: u32, value: u64) {
        // SAFETY: as the type says.
        unsafe {
            shift_up::<WIDE>(self.0, at, end, width);
            set(self.0, at, width, value);
        }
    }

    #[inline(always)]
    fn shift_up(&mut self, from: usize, end: usize, by: usize) {
        // SAFETY: as the type says.
        unsafe { shift_up::<WIDE>(self.0, from, end, by as u32) };
    }

    #[inline(always)]
    fn shift_down(&mut self, from: usize, end: usize, by: usize) {
        // SAFETY: as the type says.
        unsafe { shift_down::<WIDE>(self.0, from, end, by as u32) };
    }

    #[inline(always)]
    fn set(&mut self, at: usize, width: u32, value: u64) {
        // SAFETY: as the type says.
        unsafe { set(self.0, at, width, value) };
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

/// [`bits::shift_up`](super::bits::shift_up) by fewer than 64 bits, and not none.
///
/// # Safety
/// The block has the bits up to the new end. Only within [`Shown::change`]. If `WIDE`, the processor has
/// AVX2.
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
        let mut left = last;
        if WIDE {
            left -= shown.move_up(first + 1, last, by);
            below = shown.block_word(left - 1);
        }
        for at in (first + 1..left).rev() {
            held = below;
            below = shown.block_word(at - 1);
            shown.set_block_word(at, held << by | below >> rest);
        }
        shown.set_block_word(first, below & keep | (below & !keep) << by);
    }
}

/// [`bits::shift_down`](super::bits::shift_down) by fewer than 64 bits, and not none.
///
/// # Safety
/// The block has the bits. Only within [`Shown::change`]. If `WIDE`, the processor has AVX2.
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
        let mut done = first + 1;
        if WIDE {
            done += shown.move_down(done, last, by);
            above = shown.block_word(done);
        }
        for at in done..last {
            held = above;
            above = shown.block_word(at + 1);
            shown.set_block_word(at, held >> by | above << rest);
        }
        (held, above) = (above, shown.block_word(last + 1));
        let down = held >> by | above << rest;
        shown.set_block_word(last, down & moved | held & !moved);
    }
}
