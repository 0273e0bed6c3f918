//! A segment: the description of a block of groups, and what can be done in place. Knows codes and
//! homes; which segment a key belongs to, and how large one should be, is decided elsewhere.
//!
//! ```text
//!  block    48 groups without gaps, and free bits; in a wide segment then
//!           the counted codes (12 bytes each), 49 bases (u16), the number of counted codes (u16)
//!  base     the codes before group g: (slope · g) / 32 + bases[g]; in a wide segment exact
//! ```
//!
//! Group g begins at bit 16 · g + base(g) · (width + 1). A segment is *wide* if its groups differ so
//! much that a base does not fit eight bits, or if it has counted codes: copies of codes beyond
//! the third. Its form reads as zero, and its groups as so long that every fast path leaves them to the
//! slow one.
#![allow(unsafe_code, reason = "blocks are read and written in place")]

use super::address::{Address, GROUP_HOMES, GROUPS, HOMES};
use super::bits::{self, read};
use super::code::{Form, mask};
use super::group::{self, ELSEWHERE, FEW, Group, HEADER};
use super::pool::{Block, UNIT};
use crate::prefetch::prefetch_at;
use crate::table::WINDOW;

/// The most codes in slots of a segment. One that is due to be split next holds 1,600 on average, with
/// a deviation of 40: chance brings more than this to no segment in 10^13.
pub(super) const MAX_SLOTS: usize = 2040;
/// The most equal codes of a home. What is more is counted.
pub(super) const MOST_EQUAL: usize = 3;
/// The most units of a block: room for the most slots at the greatest width, and some counted codes.
pub(super) const MAX_UNITS: usize = 336;
/// The bits of all headers.
pub(super) const HEADERS: usize = GROUPS * HEADER;
/// Bases at most this far from their slope make a segment narrow when it is written.
const FIT: i32 = 112;
/// Bases may go this far before the segment is written again.
const STRAIN: i8 = 120;
/// Set in the form of a segment with plain codes.
pub(super) const PLAIN: u8 = 0x80;
/// Set in the form of a segment whose entries were cut since no others were to come: none is added as it is.
const PACKED: u8 = 0x40;
/// The bits of a form that are the width.
pub(super) const WIDTH: u8 = 0x3f;
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
    #[inline]
    pub(super) fn key(home: u16, code: u64) -> u64 {
        u64::from(home) << 40 | code
    }

    /// The home and code of a key, and no copies.
    #[inline]
    pub(super) fn of(key: u64) -> Self {
        Self { key, more: 0 }
    }

    #[inline]
    pub(super) fn home(self) -> u16 {
        (self.key >> 40) as u16
    }

    #[inline]
    pub(super) fn group(self) -> usize {
        usize::from(self.home()) / GROUP_HOMES
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

/// Why a code cannot be put into a segment as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The block is too small, or there are as many codes as can be.
    NoRoom,
    /// The bases are too far from a line: the segment has to be wide.
    Strained,
    /// As many of this code are there as can have slots: copies are to be counted.
    Equal,
}

/// What is to be known of a segment to change a group.
#[derive(Clone, Copy)]
struct Facts {
    form: Form,
    /// The bit where the group begins, and its codes.
    at: usize,
    codes: usize,
    /// The codes of all groups, and the bits that there are for groups.
    slots: usize,
    room: usize,
}

/// Where the codes of a home are.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The bit of the header where its zeros begin.
    zeros: usize,
    /// The bit of its first code.
    first: usize,
    len: usize,
}

/// An entry that may be of a key, and where it is as long as nothing changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) code: u64,
    pub(super) length: u32,
    zero: usize,
    at: usize,
}

/// The description of a segment, as long as a cache line.
#[repr(C)]
pub(crate) struct Segment {
    pub(super) at: Block,
    /// 32 times the mean of slots in a group; the form of a wide segment.
    slope: u16,
    units: u16,
    /// The width of codes, [`PLAIN`] and [`PACKED`]; zero if the segment is wide.
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
    pub(super) is_packed: bool,
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
        let bits = groups_bits(slots, form) + trailer * 8;
        if slots > MAX_SLOTS || bits > MAX_UNITS * UNIT * 8 {
            return None;
        }
        let units = (bits + free).div_ceil(UNIT * 8).min(MAX_UNITS);
        Some(Self { form, depth, bases, counted, units, is_packed: false, slope })
    }
}

/// The bits of all groups with so many codes.
#[inline]
fn groups_bits(codes: usize, form: Form) -> usize {
    HEADERS + codes * form.step()
}

/// Bases of a wide segment: whoever takes them for those of a narrow one finds no group that is short
/// enough to be read at once.
const FAR_APART: [i8; GROUPS + 1] = {
    let (mut bases, mut at) = ([-100; GROUPS + 1], 1);
    while at <= GROUPS {
        bases[at] = 100;
        at += 2;
    }
    bases
};

/// A slope and the distances of bases from it, none more than `most`.
#[inline]
fn fit(bases: &Bases, most: i32) -> Option<(u16, [i8; GROUPS + 1])> {
    let slope = (u32::from(bases[GROUPS]) * 32).div_ceil(GROUPS as u32) as u16;
    Some((slope, near_bases(bases, slope, most)?))
}

/// The distances of bases from a slope.
#[inline]
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
        let tag = plan.form.width as u8
            | if plan.form.ended { 0 } else { PLAIN }
            | if plan.is_packed { PACKED } else { 0 };
        let (units, depth) = (plan.units as u16, plan.depth as u8);
        match plan.slope {
            Some((slope, bases)) => Self { at, slope, units, form: tag, depth, bases, end: 0 },
            None => {
                let (bases, slope) = (FAR_APART, u16::from(tag));
                let mut wide = Self { at, slope, units, form: 0, depth, bases, end: 0 };
                (0..=GROUPS).for_each(|group| wide.set_exact_base(group, plan.bases[group]));
                wide.set_counted_codes(plan.counted);
                wide
            }
        }
    }

    #[inline]
    pub(super) fn is_wide(&self) -> bool {
        self.form == 0
    }

    /// The form as fast paths see it: the width of ended codes in a narrow segment.
    #[inline]
    pub(super) fn tag(&self) -> u8 {
        self.form
    }

    #[inline]
    pub(super) fn form(&self) -> Form {
        Self::form_of(self.any_tag())
    }

    #[inline(always)]
    fn any_tag(&self) -> u8 {
        if self.is_wide() { self.slope as u8 } else { self.form }
    }

    /// Whether a code can be added only by rewriting the segment.
    #[inline(always)]
    pub(super) fn is_packed(&self) -> bool {
        self.any_tag() & PACKED != 0
    }

    /// The form of a narrow segment by its tag.
    #[inline]
    pub(super) fn form_of(tag: u8) -> Form {
        Form { width: u32::from(tag & WIDTH), ended: tag & PLAIN == 0 }
    }

    #[inline]
    pub(super) fn depth(&self) -> u32 {
        u32::from(self.depth)
    }

    pub(super) fn set_depth(&mut self, depth: u32) {
        self.depth = depth as u8;
    }

    #[inline]
    pub(super) fn units(&self) -> usize {
        usize::from(self.units)
    }

    /// The base of a group in a narrow segment.
    #[inline]
    pub(super) fn near_base(&self, group: usize) -> i32 {
        debug_assert!(group <= GROUPS);
        // SAFETY: homes are below HOMES (address.rs), so groups are below GROUPS.
        let distance = unsafe { *self.bases.get_unchecked(group) };
        ((i32::from(self.slope) * group as i32) >> 5) + i32::from(distance)
    }

    #[inline]
    pub(super) fn base(&self, group: usize) -> usize {
        if self.is_wide() { self.exact_base(group) } else { self.near_base(group) as usize }
    }

    /// The slots in use.
    #[inline]
    pub(super) fn slots(&self) -> usize {
        self.base(GROUPS)
    }

    /// The slots that the block has room for.
    pub(super) fn capacity(&self) -> usize {
        (self.units() * UNIT * 8 - HEADERS.min(self.units() * UNIT * 8)) / self.form().step()
    }

    /// The bits of all groups.
    #[inline]
    pub(super) fn used_bits(&self) -> usize {
        groups_bits(self.slots(), self.form())
    }

    /// The bits that are free.
    #[inline]
    pub(super) fn free_bits(&self) -> usize {
        (self.units() * UNIT - self.trailer_bytes()) * 8 - self.used_bits()
    }

    /// The fewest units that the segment fits.
    #[inline]
    pub(super) fn needed_units(&self) -> usize {
        (self.used_bits().div_ceil(8) + self.trailer_bytes()).div_ceil(UNIT)
    }

    /// All bytes of the block, and a window after them.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: a segment owns its block of so many units, after which a window can be read
        // (pool.rs); nothing changes them while the segment is borrowed.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.units() * UNIT + WINDOW) }
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `bytes`, without the window; borrowed exclusively.
        unsafe { core::slice::from_raw_parts_mut(self.at.as_ptr(), self.units() * UNIT) }
    }

    /// Becomes what the plan says, in the block that it has, whose length fits. The bits of the groups,
    /// and the counted codes, are still to be written.
    pub(super) fn become_as(&mut self, plan: &Plan) {
        *self = Self::new(self.at, &Plan { units: self.units(), ..*plan });
    }

    #[inline]
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
    #[inline]
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

    /// Whether each counted code is in as many slots as can be.
    pub(super) fn counts_only_full_codes(&self) -> bool {
        (0..self.counted_codes()).map(|at| self.counted(at)).all(|counted| {
            let home = counted.home();
            if usize::from(home) >= HOMES {
                return false;
            }
            let key = Address { path: 0, home };
            let run = self.run::<false>(&self.facts(key.group()), key.home_in_group());
            let width = self.form().width;
            let codes = (0..run.len).map(|i| run.code(self.bytes(), i, width));
            codes.filter(|&code| code == counted.code()).count() == MOST_EQUAL
        })
    }

    /// Copies of a code besides those in slots.
    pub(super) fn more_copies(&self, home: u16, code: u64) -> u32 {
        match self.find_counted(Counted::key(home, code)) {
            Ok(at) => self.counted(at).more,
            Err(_) => 0,
        }
    }

    /// The bytes that the block lacks to be wide, with so many bytes more.
    pub(super) fn missing_for_wide(&self, more: usize) -> usize {
        let trailer = if self.is_wide() { 0 } else { TRAILER };
        (trailer + more).saturating_sub(self.free_bits() / 8)
    }

    /// Becomes wide; the block has room for that.
    pub(super) fn widen(&mut self) {
        if self.is_wide() {
            return;
        }
        let bases: Bases = core::array::from_fn(|group| self.base(group) as u16);
        (self.slope, self.form, self.bases) = (self.form.into(), 0, FAR_APART);
        (0..=GROUPS).for_each(|group| self.set_exact_base(group, bases[group]));
        self.set_counted_codes(0);
    }

    /// Is no longer wide, if it need not be.
    pub(super) fn narrow(&mut self) {
        if self.is_wide() && self.counted_codes() == 0 {
            let bases: Bases = core::array::from_fn(|group| self.base(group) as u16);
            if let Some((slope, near)) = fit(&bases, FIT) {
                (self.form, self.slope, self.bases) = (self.slope as u8, slope, near);
            }
        }
    }

    /// Counts copies of a code of which as many as can be are in slots. The segment is wide, with room for
    /// a counted code. Says whether the code is a new one; `None` if there are too many copies.
    pub(super) fn count_up(&mut self, home: u16, code: u64, copies: u32) -> Option<bool> {
        let key = Counted::key(home, code);
        match self.find_counted(key) {
            Ok(at) => {
                let more = self.counted(at).more.checked_add(copies)?;
                self.set_counted(at, Counted { key, more });
                Some(false)
            }
            Err(at) => {
                let (count, end) = (self.counted_codes(), self.trailer());
                let start = end - COUNTED * count;
                let bytes = self.bytes_mut();
                bytes.copy_within(start..start + COUNTED * at, start - COUNTED);
                self.set_counted_codes(count + 1);
                self.set_counted(at, Counted { key, more: copies });
                Some(true)
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
    pub(super) fn count_down(&mut self, home: u16, code: u64) -> Option<bool> {
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

    /// Where a group begins, and its codes.
    #[inline]
    pub(super) fn group(&self, group: usize) -> (usize, usize) {
        let base = self.base(group);
        (HEADER * group + base * self.form().step(), self.base(group + 1) - base)
    }

    /// Calls `visit` for each code in a slot, home after home.
    pub(super) fn each_code(&self, mut visit: impl FnMut(u16, u64)) {
        let (mut codes, width) = ([0; MAX_SLOTS], self.form().width);
        for group in 0..GROUPS {
            let (at, len) = self.group(group);
            let mut held = Group { ends: [0; GROUP_HOMES], codes: &mut codes };
            // Every group in memory is one.
            let Some(()) = held.read(self.bytes(), at, len, width) else { continue };
            for home in 0..GROUP_HOMES {
                let run = &held.codes[held.run(home)];
                run.iter().for_each(|&code| visit((group * GROUP_HOMES + home) as u16, code));
            }
        }
    }

    /// Adds to the bases after a group. Says whether they can take it; if not they stay.
    #[inline(always)]
    fn add_to_bases(&mut self, group: usize, more: i8) -> bool {
        if self.is_wide() {
            self.add_to_exact_bases(group, more);
            return true;
        }
        // Nothing but arithmetic on bytes, so that vectors do it.
        let (mut bases, mut strained) = (self.bases, 0);
        for (base, at) in bases.iter_mut().zip(NUMBERS) {
            *base = base.wrapping_add(if at > group as u8 { more } else { 0 });
            let distance = base.wrapping_add(STRAIN) as u8;
            strained |= u8::from(distance > 2 * STRAIN as u8);
        }
        if strained == 0 {
            self.bases = bases;
            return true;
        }
        let Some((slope, bases)) = self.with_more(group, more) else { return false };
        (self.slope, self.bases) = (slope, bases);
        true
    }

    /// A slope and bases with some codes more in a group, of a narrow segment.
    #[inline(never)]
    fn with_more(&self, group: usize, more: i8) -> Option<(u16, [i8; GROUPS + 1])> {
        let added = |at: usize| if at > group { i32::from(more) } else { 0 };
        let exact = core::array::from_fn(|at| (self.near_base(at) + added(at)) as u16);
        let as_now = || Some((self.slope, near_bases(&exact, self.slope, STRAIN.into())?));
        fit(&exact, FIT).or_else(as_now)
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

    /// Prefetches what moves when something is put into a group, of a segment of the usual size.
    #[inline]
    pub(super) fn prefetch(&self, bit: usize) {
        let at = self.at.as_ptr().wrapping_add(bit / 8);
        for line in 0..12 {
            prefetch_at(at.wrapping_add(64 * line));
        }
    }

    /// What is to be known of a segment to change a group.
    #[inline]
    fn facts(&self, group: usize) -> Facts {
        if self.is_wide() {
            return self.facts_of_wide(group);
        }
        let (form, base) = (Self::form_of(self.form), self.near_base(group) as usize);
        let codes = self.near_base(group + 1) as usize - base;
        let (at, slots) = (HEADER * group + base * form.step(), self.near_base(GROUPS) as usize);
        Facts { form, at, codes, slots, room: self.units() * UNIT * 8 }
    }

    #[cold]
    fn facts_of_wide(&self, group: usize) -> Facts {
        let (form, (at, codes), slots) = (self.form(), self.group(group), self.slots());
        let room = (self.units() * UNIT - self.trailer_bytes()) * 8;
        Facts { form, at, codes, slots, room }
    }

    /// The codes of a home.
    #[inline(always)]
    fn run<const WIDE: bool>(&self, facts: &Facts, home: u32) -> Run {
        let (bytes, Facts { form, at, codes, .. }) = (self.bytes(), *facts);
        let (mut before, mut len) = (0, ELSEWHERE);
        if codes <= FEW {
            (before, len) = group::find_as::<WIDE>(read(bytes, at, 57), home, codes as u32);
        }
        let (before, len) = match len {
            ELSEWHERE => group::find_anywhere(bytes, at, home),
            _ => (before as usize, len as usize),
        };
        let first = at + HEADER + codes + before * form.width as usize;
        Run { zeros: at + home as usize + before, first, len }
    }

    /// Puts a code into its home, if it can. Otherwise nothing has changed.
    #[inline(always)]
    pub(super) fn put<const WIDE: bool>(&mut self, key: Address, code: u64) -> bool {
        let facts = self.facts(key.group());
        self.prefetch(facts.at);
        let (width, end) = (facts.form.width, groups_bits(facts.slots, facts.form));
        let run = self.run::<WIDE>(&facts, key.home_in_group());
        let Some(smaller) = run.smaller(self.bytes(), width, code) else { return false };
        let has_room = end + facts.form.step() <= facts.room && facts.slots < MAX_SLOTS;
        if !has_room || !self.add_to_bases(key.group(), 1) {
            return false;
        }
        let words = self.words_mut();
        let slot = run.first + smaller * width as usize;
        // Room for the code and, before it, for the last bit of what moves up for the zero.
        bits::insert::<WIDE>(words, slot, end, width + 1, code << 1);
        bits::insert_zero(words, run.zeros, slot);
        true
    }

    /// Why a code was not put into its home.
    pub(super) fn obstacle(&self, key: Address, code: u64) -> Option<Obstacle> {
        let facts = self.facts(key.group());
        let (group, form) = (key.group(), facts.form);
        let run = self.run::<false>(&facts, key.home_in_group());
        if run.smaller(self.bytes(), form.width, code).is_none() {
            return Some(Obstacle::Equal);
        }
        // Before the room: if it is to be wide, it needs more.
        let is_near = self.bases.iter().all(|base| (1 - STRAIN..STRAIN).contains(base));
        if !self.is_wide() && !is_near && self.with_more(group, 1).is_none() {
            return Some(Obstacle::Strained);
        }
        let is_full = self.free_bits() < form.step() || facts.slots >= MAX_SLOTS;
        is_full.then_some(Obstacle::NoRoom)
    }

    /// The longest entry that may be of a key.
    #[inline(always)]
    pub(super) fn longest_match<const WIDE: bool>(&self, key: Address) -> Option<Found> {
        let facts = self.facts(key.group());
        let (bytes, form, extension) = (self.bytes(), facts.form, key.path >> self.depth());
        self.prefetch(facts.at);
        let run = self.run::<WIDE>(&facts, key.home_in_group());
        let (mut best, mut at, mut code) = (None, 0, 0);
        let mut consider = |i: usize| {
            let held = run.code(bytes, i, form.width);
            let length = form.match_length(held, extension).filter(|_| i < run.len);
            // Of equal ones the first.
            if length > best {
                (best, at, code) = (length, i, held);
            }
        };
        // Of three, which most homes have at most, without asking how many there are.
        consider(0);
        consider(1);
        consider(2);
        (3..run.len).for_each(consider);
        let at = run.first + at * form.width as usize;
        Some(Found { code, length: best?, zero: run.zeros, at })
    }

    /// Calls `visit` for each entry that may be of a key.
    #[inline(always)]
    pub(super) fn each_match(&self, key: Address, mut visit: impl FnMut(Found)) {
        let facts = self.facts(key.group());
        let (bytes, form) = (self.bytes(), facts.form);
        let run = self.run::<false>(&facts, key.home_in_group());
        let extension = key.path >> self.depth();
        for i in 0..run.len {
            let code = run.code(bytes, i, form.width);
            if let Some(length) = form.match_length(code, extension) {
                let at = run.first + i * form.width as usize;
                visit(Found { code, length, zero: run.zeros, at });
            }
        }
    }

    /// Takes an entry of a group out that was found there. Says whether it could: if not, the segment has
    /// to be wide first.
    #[inline(always)]
    pub(super) fn take<const WIDE: bool>(&mut self, group: usize, found: Found) -> bool {
        let (width, end) = (self.form().width, self.used_bits());
        if !self.add_to_bases(group, -1) {
            return false;
        }
        // First all that is behind, by vectors: of a word that was stored alone they would have to wait. The bit
        // before the code goes with it, and comes back where the one is free that the header has less.
        let last = read(self.bytes(), found.at - 1, 1);
        let words = self.words_mut();
        bits::remove::<WIDE>(words, found.at - 1, end, width + 1);
        bits::remove_bit(words, found.zero, found.at - 1, last);
        true
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

impl Run {
    #[inline]
    fn code(&self, bytes: &[u8], i: usize, width: u32) -> u64 {
        read(bytes, self.first + i * width as usize, width)
    }

    /// How many codes are smaller than one; `None` if as many are equal as can be.
    #[inline(always)]
    fn smaller(&self, bytes: &[u8], width: u32, code: u64) -> Option<usize> {
        if self.len > 2 {
            return self.smaller_of_many(bytes, width, code);
        }
        let held = [self.code(bytes, 0, width), self.code(bytes, 1, width)];
        // Without branches, which no processor would foresee.
        Some(
            usize::from((held[0] < code) & (self.len > 0))
                + usize::from((held[1] < code) & (self.len > 1)),
        )
    }

    #[inline(never)]
    fn smaller_of_many(&self, bytes: &[u8], width: u32, code: u64) -> Option<usize> {
        let (mut smaller, mut equal) = (0, 0);
        for i in 0..self.len {
            let held = self.code(bytes, i, width);
            smaller += usize::from(held < code);
            equal += usize::from(held == code);
        }
        (equal < MOST_EQUAL).then_some(smaller)
    }
}
