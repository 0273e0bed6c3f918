//! A segment: the description of a block of groups, and what can be done in place. Knows codes and
//! homes; which segment a key belongs to, and how large one should be, is decided elsewhere.
//!
//! ```text
//!  block    48 groups without gaps, and free bits; in a wide segment then
//!           the counted codes (12 bytes each), 49 bases (u16), the number of counted codes (u16)
//!  base     the slots before group g: (slope · g) / 32 + bases[g]; in a wide segment exact
//! ```
//!
//! Group g begins at bit 32 · g + base(g) · width. A segment is *wide* if its groups differ so
//! much that a base does not fit eight bits, or if it has counted codes: copies of codes beyond
//! the third. Its form reads as zero, which sends every fast path to the slow one.
#![allow(unsafe_code, reason = "blocks are read and written in place")]

use super::address::{Address, GROUPS};
use super::bits::{self, read, shift_down};
use super::code::{Form, mask};
use super::group::{self, HEADER, Homes};
use super::pool::{Block, UNIT};
use super::splice::{Group, Refused};
use crate::prefetch::prefetch_at;
use crate::table::WINDOW;

/// The most slots of a segment. One that is due to be split next holds 1,600 entries on average, with
/// a deviation of 40, which take 1,680 slots with one of 47: chance brings more than this to no segment
/// in 10^13.
pub(super) const MAX_SLOTS: usize = 2040;
/// The most units of a block: room for the most slots, at the greatest width, of all but the most
/// skewed segments.
pub(super) const MAX_UNITS: usize = 336;
/// The bits of all headers.
pub(super) const HEADERS: usize = GROUPS * HEADER;
/// Bases at most this far from their slope make a segment narrow when it is written.
const FIT: i32 = 112;
/// Bases may go this far before the segment is written again.
const STRAIN: i8 = 120;
/// Set in the form of a segment with plain codes.
pub(super) const PLAIN: u8 = 0x80;
/// The bytes of a counted code: home and code (u64), copies beyond those in slots (u32).
pub(super) const COUNTED: usize = 12;
/// The bytes at the end of a wide segment's block.
const TRAILER: usize = 2 * (GROUPS + 1) + 2;
/// The slots before each group, and of all.
pub(super) type Bases = [u16; GROUPS + 1];

/// A code of which there are more copies than slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// The home, and the code in the low 40 bits.
    pub(super) key: u64,
    /// Copies besides those in slots.
    pub(super) more: u32,
}

impl Counted {
    #[inline(always)]
    pub(super) fn key(home: u16, code: u64) -> u64 {
        u64::from(home) << 40 | code
    }

    pub(super) fn home(self) -> u16 {
        (self.key >> 40) as u16
    }

    pub(super) fn code(self) -> u64 {
        self.key & mask(40)
    }
}

/// The numbers of the bases.
const NUMBERS: [u8; GROUPS + 1] = {
    let (mut numbers, mut at) = ([0; GROUPS + 1], 0);
    while at <= GROUPS {
        numbers[at] = at as u8;
        at += 1;
    }
    numbers
};

/// What came of an attempt to add to a segment in place. The last three have changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// There is an entry more, with a slot of its own.
    Slot,
    /// There is one more counted copy of a code.
    Counted,
    /// The same, and none of this code were counted before.
    FirstCounted,
    /// The block is too small.
    NoRoom,
    /// Only rewriting the whole segment can do it.
    Rewrite,
    /// The most copies that can be counted are there.
    TooMany,
}

/// The description of a segment, as long as a cache line.
#[repr(C)]
pub(crate) struct Segment {
    pub(super) at: Block,
    /// 32 times the mean of slots in a group; the form of a wide segment.
    slope: u16,
    units: u16,
    /// The width of codes, and [`PLAIN`]; zero if the segment is wide.
    form: u8,
    depth: u8,
    bases: [i8; GROUPS + 1],
    /// Zero: every byte of a description is written, so that it can be read as words.
    end: u8,
}

/// What a block is to be written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(super) form: Form,
    pub(super) depth: u32,
    pub(super) bases: Bases,
    pub(super) counted: usize,
    pub(super) units: usize,
    slope: Option<(u16, [i8; GROUPS + 1])>,
}

impl Plan {
    /// `None` if there are more slots or bytes than a segment can have. `free` bits are left.
    pub(super) fn new(
        form: Form,
        depth: u32,
        bases: Bases,
        counted: usize,
        free: usize,
    ) -> Option<Self> {
        let slope = if counted == 0 { fit(&bases, FIT) } else { None };
        Self::with_slope(form, depth, bases, counted, free, slope)
    }

    /// The plan of a segment that was narrow, with this slope, or wide before it was saved.
    pub(super) fn as_it_was(
        form: Form,
        depth: u32,
        bases: Bases,
        counted: usize,
        slope: Option<u16>,
    ) -> Option<Self> {
        let near = |slope| near_bases(&bases, slope, STRAIN.into());
        let slope = slope.filter(|_| counted == 0).and_then(|slope| Some((slope, near(slope)?)));
        Self::with_slope(form, depth, bases, counted, 0, slope)
    }

    fn with_slope(
        form: Form,
        depth: u32,
        bases: Bases,
        counted: usize,
        free: usize,
        slope: Option<(u16, [i8; GROUPS + 1])>,
    ) -> Option<Self> {
        let slots = usize::from(bases[GROUPS]);
        let trailer = if slope.is_none() { TRAILER + COUNTED * counted } else { 0 };
        let bits = HEADERS + slots * form.width as usize + trailer * 8;
        if slots > MAX_SLOTS || bits > MAX_UNITS * UNIT * 8 {
            return None;
        }
        let units = (bits + free).div_ceil(UNIT * 8).min(MAX_UNITS);
        Some(Self { form, depth, bases, counted, units, slope })
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.slope.is_some()
    }

    /// The bits of all groups.
    pub(super) fn used_bits(&self) -> usize {
        HEADERS + usize::from(self.bases[GROUPS]) * self.form.width as usize
    }
}

/// A slope and the distances of bases from it, none more than `most`.
#[inline(always)]
fn fit(bases: &Bases, most: i32) -> Option<(u16, [i8; GROUPS + 1])> {
    let slope = (u32::from(bases[GROUPS]) * 32).div_ceil(GROUPS as u32) as u16;
    Some((slope, near_bases(bases, slope, most)?))
}

/// The distances of bases from a slope.
#[inline(always)]
fn near_bases(bases: &Bases, slope: u16, most: i32) -> Option<[i8; GROUPS + 1]> {
    let (mut near, mut fits) = ([0; GROUPS + 1], true);
    for (group, (near, &base)) in near.iter_mut().zip(bases).enumerate() {
        let distance = i32::from(base) - ((i32::from(slope) * group as i32) >> 5);
        fits &= (-most..=most).contains(&distance);
        *near = distance as i8;
    }
    fits.then_some(near)
}

impl Segment {
    /// A segment in a block that has the bytes of the plan. The bits of the groups, and the
    /// counted codes, are still to be written.
    pub(super) fn new(at: Block, plan: &Plan) -> Self {
        let tag = plan.form.width as u8 | if plan.form.ended { 0 } else { PLAIN };
        let (units, depth) = (plan.units as u16, plan.depth as u8);
        match plan.slope {
            Some((slope, bases)) => Self { at, slope, units, form: tag, depth, bases, end: 0 },
            None => {
                let (bases, slope) = ([0; GROUPS + 1], u16::from(tag));
                let mut wide = Self { at, slope, units, form: 0, depth, bases, end: 0 };
                (0..=GROUPS).for_each(|group| wide.set_exact_base(group, plan.bases[group]));
                wide.set_counted_codes(plan.counted);
                wide
            }
        }
    }

    #[inline(always)]
    pub(super) fn is_wide(&self) -> bool {
        self.form == 0
    }

    /// The form as fast paths see it: the width of ended codes in a narrow segment.
    #[inline(always)]
    pub(super) fn tag(&self) -> u8 {
        self.form
    }

    #[inline(always)]
    pub(super) fn form(&self) -> Form {
        Self::form_of(if self.is_wide() { self.slope as u8 } else { self.form })
    }

    /// The form of a narrow segment by its tag.
    #[inline(always)]
    pub(super) fn form_of(tag: u8) -> Form {
        Form { width: u32::from(tag & !PLAIN), ended: tag & PLAIN == 0 }
    }

    #[inline(always)]
    pub(super) fn depth(&self) -> u32 {
        u32::from(self.depth)
    }

    pub(super) fn set_depth(&mut self, depth: u32) {
        self.depth = depth as u8;
    }

    #[inline(always)]
    pub(super) fn units(&self) -> usize {
        usize::from(self.units)
    }

    /// The base of a group in a narrow segment.
    #[inline(always)]
    pub(super) fn near_base(&self, group: usize) -> i32 {
        debug_assert!(group <= GROUPS);
        // SAFETY: homes are below HOMES (address.rs), so groups are below GROUPS.
        let distance = unsafe { *self.bases.get_unchecked(group) };
        ((i32::from(self.slope) * group as i32) >> 5) + i32::from(distance)
    }

    #[inline(always)]
    pub(super) fn base(&self, group: usize) -> usize {
        if self.is_wide() { self.exact_base(group) } else { self.near_base(group) as usize }
    }

    /// The slots in use.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        self.base(GROUPS)
    }

    /// The slots that the block has room for.
    pub(super) fn capacity(&self) -> usize {
        (self.units() * UNIT * 8 - HEADERS.min(self.units() * UNIT * 8))
            / self.form().width as usize
    }

    /// The bits of all groups.
    #[inline(always)]
    pub(super) fn used_bits(&self) -> usize {
        HEADERS + self.slots() * self.form().width as usize
    }

    /// The bits that are free.
    #[inline(always)]
    pub(super) fn free_bits(&self) -> usize {
        (self.units() * UNIT - self.trailer_bytes()) * 8 - self.used_bits()
    }

    /// The fewest units that the segment fits.
    #[inline(always)]
    pub(super) fn needed_units(&self) -> usize {
        (self.used_bits().div_ceil(8) + self.trailer_bytes()).div_ceil(UNIT)
    }

    /// All bytes of the block, and a window after them.
    #[inline(always)]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: a segment owns its block of so many units, after which a window can be read
        // (pool.rs); nothing changes them while the segment is borrowed.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.units() * UNIT + WINDOW) }
    }

    #[inline(always)]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, without the window; borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.at.as_ptr(), self.units() * UNIT) }
    }

    /// Replaces the groups by others, which are as the plan says. Both are narrow; the block stays, and
    /// has room for them.
    pub(super) fn set_groups(&mut self, plan: &Plan, groups: &[u8]) {
        let units = self.units();
        *self = Self::new(self.at, &Plan { units, ..*plan });
        self.bytes_mut()[..groups.len()].copy_from_slice(groups);
    }

    #[inline(always)]
    fn words_mut(&mut self) -> &mut [u64] {
        let words = self.units() * UNIT / 8;
        // SAFETY: as for `bytes_mut`; blocks are aligned for words (pool.rs).
        unsafe { core::slice::from_raw_parts_mut(self.at.cast::<u64>().as_ptr(), words) }
    }

    /// The bytes for groups: all but the trailer and the counted codes.
    pub(super) fn group_bytes_mut(&mut self) -> &mut [u8] {
        let trailer = self.trailer_bytes();
        let bytes = self.bytes_mut();
        let end = bytes.len() - trailer;
        &mut bytes[..end]
    }

    /// The bytes of the counted codes and what is after them.
    #[inline(always)]
    fn trailer_bytes(&self) -> usize {
        if self.is_wide() { TRAILER + COUNTED * self.counted_codes() } else { 0 }
    }

    fn trailer(&self) -> usize {
        self.units() * UNIT - TRAILER
    }

    fn exact_base(&self, group: usize) -> usize {
        read(self.bytes(), (self.trailer() + 2 * group) * 8, 16) as usize
    }

    fn set_exact_base(&mut self, group: usize, base: u16) {
        let at = self.trailer() + 2 * group;
        self.bytes_mut()[at..at + 2].copy_from_slice(&base.to_le_bytes());
    }

    /// The number of counted codes.
    pub(super) fn counted_codes(&self) -> usize {
        if self.is_wide() { self.exact_base(GROUPS + 1) } else { 0 }
    }

    fn set_counted_codes(&mut self, counted: usize) {
        self.set_exact_base(GROUPS + 1, counted as u16);
    }

    pub(super) fn counted(&self, at: usize) -> Counted {
        let start = self.trailer() - COUNTED * (self.counted_codes() - at);
        let bytes = self.bytes();
        let key = read(bytes, start * 8, 56);
        Counted { key, more: read(bytes, (start + 8) * 8, 32) as u32 }
    }

    pub(super) fn set_counted(&mut self, at: usize, counted: Counted) {
        let start = self.trailer() - COUNTED * (self.counted_codes() - at);
        let to = &mut self.bytes_mut()[start..start + COUNTED];
        to[..8].copy_from_slice(&counted.key.to_le_bytes());
        to[8..].copy_from_slice(&counted.more.to_le_bytes());
    }

    /// Where a counted code is, or would be.
    fn find_counted(&self, key: u64) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.counted_codes());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.counted(middle).key < key { low = middle + 1 } else { high = middle }
        }
        let is_there = low < self.counted_codes() && self.counted(low).key == key;
        if is_there { Ok(low) } else { Err(low) }
    }

    /// Copies of a code besides those in slots.
    pub(super) fn more_copies(&self, home: u16, code: u64) -> u32 {
        match self.find_counted(Counted::key(home, code)) {
            Ok(at) => self.counted(at).more,
            Err(_) => 0,
        }
    }

    /// Counts copies of a code of which as many as may be are in slots.
    #[cold]
    fn count_up(&mut self, home: u16, code: u64, copies: u32) -> Change {
        if !self.is_wide() {
            return Change::Rewrite;
        }
        let key = Counted::key(home, code);
        match self.find_counted(key) {
            Ok(at) => {
                let Some(more) = self.counted(at).more.checked_add(copies) else {
                    return Change::TooMany;
                };
                self.set_counted(at, Counted { key, more });
                Change::Counted
            }
            Err(at) => {
                if self.free_bits() < COUNTED * 8 {
                    return Change::NoRoom;
                }
                let (count, end) = (self.counted_codes(), self.trailer());
                let start = end - COUNTED * count;
                let bytes = self.bytes_mut();
                bytes.copy_within(start..start + COUNTED * at, start - COUNTED);
                self.set_counted_codes(count + 1);
                self.set_counted(at, Counted { key, more: copies });
                Change::FirstCounted
            }
        }
    }

    /// Takes counted copies of a code away, but leaves one; returns how many.
    pub(super) fn uncount(&mut self, home: u16, code: u64, most: u32) -> u32 {
        let Ok(at) = self.find_counted(Counted::key(home, code)) else { return 0 };
        let counted = self.counted(at);
        let taken = most.min(counted.more - 1);
        self.set_counted(at, Counted { more: counted.more - taken, ..counted });
        taken
    }

    /// Takes one counted copy of a code away, if there is one. Says whether a counted code is no
    /// longer one.
    fn count_down(&mut self, home: u16, code: u64) -> Option<bool> {
        let at = self.find_counted(Counted::key(home, code)).ok()?;
        let counted = self.counted(at);
        if counted.more > 1 {
            self.set_counted(at, Counted { more: counted.more - 1, ..counted });
            return Some(false);
        }
        let (count, end) = (self.counted_codes(), self.trailer());
        let start = end - COUNTED * count;
        self.bytes_mut().copy_within(start..start + COUNTED * at, start + COUNTED);
        self.set_counted_codes(count - 1);
        Some(true)
    }

    /// Where a group begins, and its slots.
    #[inline(always)]
    pub(super) fn group(&self, group: usize) -> (usize, usize) {
        let base = self.base(group);
        (HEADER * group + base * self.form().width as usize, self.base(group + 1) - base)
    }

    /// Reads a group.
    #[inline(always)]
    pub(super) fn read_group(&self, group: usize, homes: &mut Homes<'_>) -> Option<usize> {
        let (at, slots) = self.group(group);
        group::decode(self.bytes(), at, slots, self.form().width, homes)
    }

    /// Adds to the bases after a group. Says whether they can take it; if not they stay.
    #[inline(always)]
    fn add_to_bases(&mut self, group: usize, slots: i8) -> bool {
        if self.is_wide() {
            self.add_to_exact_bases(group, slots);
            return true;
        }
        self.add_to_near_bases(group, slots)
    }

    #[inline(always)]
    pub(super) fn add_to_near_bases(&mut self, group: usize, slots: i8) -> bool {
        // Nothing but arithmetic on bytes, so that vectors do it.
        let (mut bases, mut strained) = (self.bases, 0);
        for (base, at) in bases.iter_mut().zip(NUMBERS) {
            *base = base.wrapping_add(if at > group as u8 { slots } else { 0 });
            let distance = base.wrapping_add(STRAIN) as u8;
            strained |= u8::from(distance > 2 * STRAIN as u8);
        }
        if strained != 0 {
            return self.add_to_strained_bases(group, slots);
        }
        self.bases = bases;
        true
    }

    /// Adds to bases by giving them another slope.
    #[inline(never)]
    fn add_to_strained_bases(&mut self, group: usize, slots: i8) -> bool {
        let mut exact = [0; GROUPS + 1];
        for (at, exact) in exact.iter_mut().enumerate() {
            let more = if at > group { i32::from(slots) } else { 0 };
            *exact = (self.near_base(at) + more) as u16;
        }
        let Some((slope, bases)) = fit(&exact, FIT) else { return false };
        (self.slope, self.bases) = (slope, bases);
        true
    }

    /// The slope of a narrow segment.
    pub(super) fn slope(&self) -> Option<u16> {
        (!self.is_wide()).then_some(self.slope)
    }

    #[inline(never)]
    fn add_to_exact_bases(&mut self, group: usize, slots: i8) {
        for at in group + 1..=GROUPS {
            let base = self.exact_base(at) as i32 + i32::from(slots);
            self.set_exact_base(at, base as u16);
        }
    }

    /// Whether the block of a narrow segment is too small for one more code of a key, whatever it is.
    pub(super) fn is_full_for(&self, key: Address) -> bool {
        let at = self.group(key.group()).0;
        let header = read(self.bytes(), at, HEADER as u32) as u32;
        let is_short = group::before(header, key.home_in_group()).1 < 3;
        !self.is_wide() && is_short && self.free_bits() < self.form().width as usize
    }

    /// Puts a code into its home, if it is a home of a narrow segment and there is room: what nearly
    /// every insert does. Otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn insert_quickly(&mut self, key: Address, code: u64) -> bool {
        debug_assert!(!self.is_wide());
        let (group, home) = (key.group(), key.home_in_group());
        let width = u32::from(self.form & !PLAIN);
        let step = width as usize;
        let at = HEADER * group + self.near_base(group) as usize * step;
        let slots = self.near_base(GROUPS) as usize;
        let end = HEADERS + slots * step;
        // Before the loop, which ends where no processor foresees it.
        let header = read(self.bytes(), at, HEADER as u32) as u32;
        self.prefetch(at, end);
        let (before, count) = group::before(header, home);
        if count == 3 {
            return self.splice_quickly(group, (at, end), header, home, code);
        }
        if end + step > self.units() * UNIT * 8 || slots >= MAX_SLOTS {
            return false;
        }
        if !self.add_to_near_bases(group, 1) {
            return false;
        }
        self.put(at, home, (before, count), end, (width, code));
        true
    }

    /// [`insert_quickly`](Self::insert_quickly) for a home with three codes or more.
    #[inline(always)]
    fn splice_quickly(
        &mut self,
        group: usize,
        (at, end): (usize, usize),
        header: u32,
        home: u32,
        code: u64,
    ) -> bool {
        let width = u32::from(self.form & !PLAIN);
        let slots = (self.near_base(group + 1) - self.near_base(group)) as usize;
        let bytes = self.bytes();
        let Ok(splice) = (Group { bytes, at, slots, width, header }).adding(home, code) else {
            return false;
        };
        let added = splice.slots();
        if end + added * width as usize > self.units() * UNIT * 8
            || self.near_base(GROUPS) as usize + added > MAX_SLOTS
            || !self.add_to_near_bases(group, added as i8)
        {
            return false;
        }
        splice.add(self.words_mut(), at, end, width);
        true
    }

    /// Prefetches what moves when something is put into a group.
    #[inline(always)]
    pub(super) fn prefetch(&self, at: usize, end: usize) {
        let end = self.at.as_ptr().wrapping_add(end / 8);
        let mut line = self.at.as_ptr().wrapping_add(at / 8);
        while line <= end {
            prefetch_at(line);
            line = line.wrapping_add(64);
        }
    }

    /// Writes a code into a home with fewer than three, for which bases and room are there.
    #[inline(always)]
    fn put(
        &mut self,
        at: usize,
        home: u32,
        (before, count): (u32, u32),
        end: usize,
        (width, code): (u32, u64),
    ) {
        let step = width as usize;
        let first = at + HEADER + before as usize * step;
        let to = first + step * self.smaller(first, width, count, code);
        let words = self.words_mut();
        bits::insert(words, to, end, width, code);
        bits::add(words, at + 2 * home as usize, true);
    }

    /// How many codes of a home with fewer than three are smaller than one.
    #[inline(always)]
    pub(super) fn smaller(&self, first: usize, width: u32, count: u32, code: u64) -> usize {
        let bytes = self.bytes();
        let held = [read(bytes, first, width), read(bytes, first + width as usize, width)];
        // Without branches, which no processor would foresee.
        let smaller = (u32::from(held[0] < code) & u32::from(count > 0))
            + (u32::from(held[1] < code) & (count >> 1));
        smaller as usize
    }

    /// Puts a code into its home.
    pub(super) fn insert(&mut self, key: Address, code: u64) -> Change {
        let (group, home) = (key.group(), key.home_in_group());
        let width = self.form().width;
        let at = HEADER * group + self.base(group) * width as usize;
        let end = self.used_bits();
        let header = read(self.bytes(), at, HEADER as u32) as u32;
        let (before, count) = group::before(header, home);
        if count == 3 {
            return self.insert_in_full_home(key, code);
        }
        if self.free_bits() < width as usize || self.slots() >= MAX_SLOTS {
            return Change::NoRoom;
        }
        if !self.add_to_bases(group, 1) {
            return Change::Rewrite;
        }
        self.put(at, home, (before, count), end, (width, code));
        Change::Slot
    }

    #[inline(never)]
    fn insert_in_full_home(&mut self, key: Address, code: u64) -> Change {
        let (group, width) = (key.group(), self.form().width);
        let (at, slots) = self.group(group);
        let held = Group::new(self.bytes(), at, slots, width);
        let splice = match held.adding(key.home_in_group(), code) {
            Ok(splice) => splice,
            Err(Refused::IsThere) => return self.count_up(key.home, code, 1),
            Err(Refused::Rewrite) => return Change::Rewrite,
        };
        let (added, end) = (splice.slots(), self.used_bits());
        if self.free_bits() < added * width as usize || self.slots() + added > MAX_SLOTS {
            return Change::NoRoom;
        }
        if !self.add_to_bases(group, added as i8) {
            return Change::Rewrite;
        }
        splice.add(self.words_mut(), at, end, width);
        Change::Slot
    }

    /// The code of the longest entry that may be of a key, and its length.
    #[inline(always)]
    pub(super) fn longest_match(&self, key: Address) -> Option<(u64, u32)> {
        let mut best: Option<(u64, u32)> = None;
        self.each_match(key, |code, length| {
            if best.is_none_or(|(_, longest)| length > longest) {
                best = Some((code, length));
            }
        });
        best
    }

    /// Calls `visit` for each entry that may be of a key, with its code and length.
    #[inline(always)]
    pub(super) fn each_match(&self, key: Address, visit: impl FnMut(u64, u32)) {
        let extension = key.path >> self.depth();
        let group = self.group(key.group());
        each_match_in(self.bytes(), group, self.form(), key.home_in_group(), extension, visit);
    }

    /// Takes the longest entry that may be of a key out of its home, in a narrow segment and a
    /// home without a tail: what nearly every removal does. Returns its length; if `None`, nothing
    /// has changed.
    #[inline(always)]
    pub(super) fn remove_quickly(&mut self, key: Address) -> Option<u32> {
        debug_assert!(!self.is_wide());
        let (group, home) = (key.group(), key.home_in_group());
        let form = self.form();
        let (width, step) = (form.width, form.width as usize);
        let at = HEADER * group + self.near_base(group) as usize * step;
        let end = HEADERS + self.near_base(GROUPS) as usize * step;
        let bytes = self.bytes();
        let header = read(bytes, at, HEADER as u32) as u32;
        self.prefetch(at, end);
        let (before, count) = group::before(header, home);
        let first = at + HEADER + before as usize * step;
        let codes = group::three(bytes, first, width);
        if count == 3 && codes[0] > codes[1] {
            let slots = (self.near_base(group + 1) - self.near_base(group)) as usize;
            let held = Group { bytes, at, slots, width, header };
            let (splice, length) = held.taking_longest(home, form, key.path >> self.depth())?;
            if !self.add_to_near_bases(group, -(splice.slots() as i8)) {
                return None;
            }
            splice.take(self.words_mut(), at, end, width);
            return Some(length);
        }
        let (best, length) = self.longest_of(&codes[..count as usize], key)?;
        if !self.add_to_near_bases(group, -1) {
            return None;
        }
        let words = self.words_mut();
        shift_down(words, first + (best + 1) * step, end, step);
        bits::add(words, at + 2 * home as usize, false);
        Some(length)
    }

    /// The longest of a few codes that may be of a key, and its length.
    #[inline(always)]
    pub(super) fn longest_of(&self, codes: &[u64], key: Address) -> Option<(usize, u32)> {
        self.form().longest_of(codes, key.path >> self.depth())
    }

    /// Takes an entry with this code out of its home, where there is one. `Err` if only
    /// rewriting the segment can do it; `Ok` says whether a counted code is no longer one.
    #[inline(always)]
    pub(super) fn remove(&mut self, key: Address, code: u64) -> Result<Removed, ()> {
        if self.is_wide()
            && let Some(ended) = self.count_down(key.home, code)
        {
            return Ok(if ended { Removed::LastCounted } else { Removed::Counted });
        }
        let (group, home) = (key.group(), key.home_in_group());
        let width = self.form().width;
        let (at, slots) = self.group(group);
        let header = read(self.bytes(), at, HEADER as u32) as u32;
        let (before, count) = group::before(header, home);
        let step = width as usize;
        let first = at + HEADER + before as usize * step;
        let bytes = self.bytes();
        let slot = |i: usize| read(bytes, first + i * step, width);
        if count == 3 && slots > group::sum(header) as usize && slot(0) > slot(1) {
            return self.remove_of_many(key, code);
        }
        let at_slot = (0..count as usize).find(|&i| slot(i) == code).ok_or(())?;
        let end = self.used_bits();
        if !self.add_to_bases(group, -1) {
            return Err(());
        }
        let words = self.words_mut();
        shift_down(words, first + (at_slot + 1) * step, end, step);
        bits::add(words, at + 2 * home as usize, false);
        Ok(Removed::Slot)
    }

    #[inline(never)]
    fn remove_of_many(&mut self, key: Address, code: u64) -> Result<Removed, ()> {
        let (group, width) = (key.group(), self.form().width);
        let (at, slots) = self.group(group);
        let held = Group::new(self.bytes(), at, slots, width);
        let splice = held.taking(key.home_in_group(), code).ok_or(())?;
        let end = self.used_bits();
        if !self.add_to_bases(group, -(splice.slots() as i8)) {
            return Err(());
        }
        splice.take(self.words_mut(), at, end, width);
        Ok(Removed::Slot)
    }

    /// Adds copies of a code that is in its home as often as may be.
    pub(super) fn add_copies(&mut self, home: u16, code: u64, copies: u32) -> Change {
        self.count_up(home, code, copies)
    }

    /// Follows the block, which is longer, or will be shorter: what is at its end moves.
    pub(super) fn set_units(&mut self, units: usize) {
        let trailer = self.trailer_bytes();
        let (old, new) = (self.units() * UNIT, units * UNIT);
        self.units = self.units.max(units as u16);
        self.bytes_mut().copy_within(old - trailer..old, new - trailer);
        self.units = units as u16;
    }

    /// The same slots in another block, larger or smaller; both have the same form.
    pub(super) fn move_to(&self, at: Block, units: usize) -> Self {
        let bytes = self.used_bits().div_ceil(8);
        let from = self.bytes();
        let mut moved = Self {
            at,
            slope: self.slope,
            units: units as u16,
            form: self.form,
            depth: self.depth,
            bases: self.bases,
            end: 0,
        };
        moved.bytes_mut()[..bytes].copy_from_slice(&from[..bytes]);
        if self.is_wide() {
            let tail = self.trailer_bytes();
            let (from_end, to_end) = (self.units() * UNIT, units * UNIT);
            let to = &mut moved.bytes_mut()[to_end - tail..];
            to.copy_from_slice(&from[from_end - tail..from_end]);
        }
        moved
    }
}

/// Calls `visit` for each entry of a home that may be of a key, with its code and length: the group
/// begins at some bit, and has some slots.
#[inline(always)]
pub(super) fn each_match_in(
    bytes: &[u8],
    (at, slots): (usize, usize),
    form: Form,
    home: u32,
    extension: u64,
    mut visit: impl FnMut(u64, u32),
) {
    let header = read(bytes, at, HEADER as u32) as u32;
    let (before, count) = group::before(header, home);
    let step = form.width as usize;
    let first = at + HEADER + before as usize * step;
    let slot = |i: usize| read(bytes, first + i * step, form.width);
    for i in 0..count as usize {
        let code = slot(i);
        if let Some(length) = form.match_length(code, extension) {
            visit(code, length);
        }
    }
    if count == 3 && slots > group::sum(header) as usize && slot(0) > slot(1) {
        let (first, len) = group::tail(bytes, at, slots, form.width, home);
        for i in first..first + len {
            let code = read(bytes, at + HEADER + i * step, form.width);
            if let Some(length) = form.match_length(code, extension) {
                visit(code, length);
            }
        }
    }
}

/// What was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// An entry with a slot of its own.
    Slot,
    /// One of several counted copies.
    Counted,
    /// The last counted copy of a code.
    LastCounted,
}
