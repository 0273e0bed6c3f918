//! The segments of a level and their memory: a list of descriptions, each with a block of slots.
//! Knows bits, lanes and blocks; which segment a key belongs to, and how large one should be, is
//! decided elsewhere.
#![allow(unsafe_code, reason = "slots are read and written in blocks")]

use core::hint::select_unpredictable;
use core::marker::PhantomData;
use core::ptr::NonNull;
use std::alloc::{Layout, handle_alloc_error};

use super::address::{Address, FirstPlaces, MAX_BUCKETS, PLACE_BITS, first_place, low_bits};
use super::form::{Cut, Entry, Form, MAX_WIDTH};
use super::pool::{Block, Ladder, Moved, Pool, Relocate, Rung};
use crate::KeyHash;
use crate::batch::{CandidateGroup, GROUP as N};
use crate::placement::BucketIndex;
use crate::prefetch::prefetch_at;
use crate::relocate::{Search, Space, make_room};
use crate::table::{Lanes, OutOfMemory, WINDOW, Word, fits};

pub(super) const SLOTS: u32 = 4;
/// Descriptions in a page. Only the list of pages is ever copied when there are more of them.
const PAGE: usize = 256;

/// What a segment looks like; its size on the ladder follows from buckets and form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) buckets: u16,
    pub(super) form: Form,
    pub(super) depth: u32,
}

impl Shape {
    /// The bytes of all slots: a bucket is half as many bytes as a slot has bits, and the number of
    /// buckets is even.
    pub(super) fn bytes(&self) -> usize {
        usize::from(self.buckets) * self.form.width as usize / 2
    }

    /// The buckets that fill a block of this size.
    pub(super) fn buckets_in(ladder: Ladder, rung: Rung, width: u32) -> u16 {
        let buckets = ladder.room(rung) * 2 / width as usize;
        buckets.min(usize::from(MAX_BUCKETS)) as u16 & !1
    }
}

/// A segment: where its slots are, and how to read them.
pub(super) struct Segment {
    at: Block,
    buckets: u16,
    pub(super) entries: u16,
    rung: Rung,
    /// The width of a slot, and [`ENDED`].
    form: u8,
    depth: u8,
}

const ENDED: u8 = 0x80;

impl Segment {
    /// The buckets in turn.
    #[inline(always)]
    pub(super) fn rows(&self) -> Rows<'_> {
        Rows {
            segment: self,
            width: u32::from(self.form & !ENDED),
            row: 0,
            firsts: FirstPlaces::new(self.buckets),
        }
    }

    /// The slots in use, each with the first place of its bucket.
    pub(super) fn used_slots(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows().flat_map(|row| row.slots.map(|slot| (slot, row.first))).filter(|s| s.0 != 0)
    }

    #[inline(always)]
    pub(super) fn shape(&self) -> Shape {
        Shape { buckets: self.buckets, form: self.form(), depth: self.depth() }
    }

    #[inline(always)]
    pub(super) fn form(&self) -> Form {
        Form { width: u32::from(self.form & !ENDED), ended: self.form & ENDED != 0 }
    }

    #[inline(always)]
    pub(super) fn depth(&self) -> u32 {
        u32::from(self.depth)
    }

    #[inline(always)]
    pub(super) fn buckets(&self) -> u16 {
        self.buckets
    }

    #[inline(always)]
    pub(super) fn slots(&self) -> u32 {
        u32::from(self.buckets) * SLOTS
    }

    pub(super) fn rung(&self) -> Rung {
        self.rung
    }

    #[inline(always)]
    pub(super) fn cut(&self) -> Cut {
        self.form().cut(self.buckets)
    }

    /// Whether an entry may be of a key.
    #[inline(always)]
    pub(super) fn contains(&self, key: Address) -> bool {
        // Slots with ends are what most filters have. Plain ones are out of line, so that they
        // take no registers here.
        if self.form > ENDED {
            let form = Form { width: u32::from(self.form - ENDED), ended: true };
            Probe { form, ..Probe::new(self, key) }.hit()
        } else {
            self.contains_plain(key)
        }
    }

    #[inline(never)]
    fn contains_plain(&self, key: Address) -> bool {
        Probe::new(self, key).hit()
    }

    /// The slots of a segment as they stand in a file.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: a segment owns its block, which has room for the bytes of its shape; they are
        // borrowed from the segment, so nothing changes them meanwhile.
        unsafe { core::slice::from_raw_parts(self.at.as_ptr(), self.shape().bytes()) }
    }
}

/// All segments of a level.
#[derive(Default)]
pub(super) struct Store {
    pages: Vec<Vec<Segment>>,
    count: u32,
    /// The bits of a path that can choose a segment: one more than `count` has, but for the
    /// lowest.
    mask: u32,
    pool: Pool,
}

/// Slots that are in memory, but not yet those of a segment. To be installed or discarded before
/// anything else is changed: nothing keeps track of its block.
pub(super) struct Prepared {
    index: usize,
    segment: Segment,
}

// SAFETY: the blocks that segments point to belong to the pool of the same store.
unsafe impl Send for Store {}
// SAFETY: through a shared reference blocks are only read.
unsafe impl Sync for Store {}

impl Store {
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// The segment that a path leads to, by linear hashing. There must be one.
    #[inline(always)]
    pub(super) fn index(&self, path: u64) -> usize {
        let whole = path as u32 & self.mask;
        (if whole < self.count { whole } else { whole & (self.mask >> 1) }) as usize
    }

    /// [`get`](Self::get) for [`index`](Self::index).
    #[inline(always)]
    pub(super) fn find(&self, path: u64) -> &Segment {
        assert!(self.count > 0, "no segments");
        let index = self.index(path);
        // SAFETY: the index is below the count: either by comparison, or since half of the mask is
        // below the highest bit of the count. Every page but the last is full, so a segment with
        // an index below the count is there.
        unsafe { self.pages.get_unchecked(index / PAGE).get_unchecked(index % PAGE) }
    }

    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.mask = count.checked_ilog2().map_or(0, |depth| ((2u64 << depth) - 1) as u32);
    }

    #[inline(always)]
    pub(super) fn get(&self, index: usize) -> &Segment {
        &self.pages[index / PAGE][index % PAGE]
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, index: usize) -> &mut Segment {
        &mut self.pages[index / PAGE][index % PAGE]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.pages.iter().flatten()
    }

    /// Takes memory for the slots of a segment, one that exists or the next.
    pub(super) fn prepare(
        &mut self,
        ladder: Ladder,
        index: usize,
        shape: Shape,
        entries: u16,
        slots: &[u8],
    ) -> Result<Prepared, OutOfMemory> {
        let rung = ladder.for_bytes(shape.bytes());
        assert_eq!(slots.len(), shape.bytes(), "slots of another shape");
        let at = self.pool.take(ladder, rung, index as u32)?;
        // SAFETY: the block has room for the bytes that its rung was chosen by, and is fresh, so
        // `slots` is somewhere else.
        unsafe { at.copy_from_nonoverlapping(NonNull::from(slots).cast(), slots.len()) };
        let form = shape.form.width as u8 | if shape.form.ended { ENDED } else { 0 };
        let (buckets, depth) = (shape.buckets, shape.depth as u8);
        Ok(Prepared { index, segment: Segment { at, buckets, entries, rung, form, depth } })
    }

    /// Gives the memory back; returns the number of entries of another segment that were moved to
    /// fill the gap.
    pub(super) fn discard(&mut self, prepared: &Prepared) -> u32 {
        self.give_back(&prepared.segment)
    }

    /// Gives a segment the slots prepared for it; returns the number of entries moved, as for
    /// [`discard`](Self::discard).
    pub(super) fn install(&mut self, prepared: Prepared) -> u32 {
        let old = core::mem::replace(self.get_mut(prepared.index), prepared.segment);
        self.give_back(&old)
    }

    fn give_back(&mut self, old: &Segment) -> u32 {
        let Some(Moved { owner, to }) = self.pool.give_back(old.rung, old.at) else { return 0 };
        let other = self.get_mut(owner as usize);
        other.at = to;
        u32::from(other.entries)
    }

    /// Makes room in the list for a segment more.
    pub(super) fn reserve(&mut self) -> Result<(), OutOfMemory> {
        let failed = OutOfMemory { bytes: (PAGE * size_of::<Segment>()) as u64 };
        if self.len().is_multiple_of(PAGE) {
            // Owners of blocks are numbers of 32 bits.
            if self.count > u32::MAX - PAGE as u32 {
                return Err(failed);
            }
            let mut page = Vec::new();
            // Most filters have a few segments, and the list of those is no longer than needed.
            let room = if self.count == 0 { 1 } else { PAGE };
            page.try_reserve_exact(room).map_err(|_| failed)?;
            let more = 1 + self.pages.len() / 8;
            if self.pages.len() == self.pages.capacity() {
                self.pages.try_reserve_exact(more).map_err(|_| failed)?;
            }
            self.pages.push(page);
        }
        let page = self.pages.last_mut().expect("just made, or not full");
        if page.len() == page.capacity() {
            let more = (page.len() / 4).max(1).min(PAGE - page.len());
            page.try_reserve_exact(more).map_err(|_| failed)?;
        }
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(super) fn unreserve(&mut self) {
        while self.pages.last().is_some_and(Vec::is_empty) {
            self.pages.pop();
        }
        if self.pages.capacity() > 2 * self.pages.len() + 4 {
            self.pages.shrink_to_fit();
        }
    }

    /// Adds the segment prepared after the last, for which room was reserved.
    pub(super) fn push(&mut self, prepared: Prepared) {
        debug_assert_eq!(prepared.index, self.len());
        self.pages.last_mut().expect("reserved").push(prepared.segment);
        self.set_count(self.count + 1);
    }

    /// Drops the last segment; returns the number of entries moved, as for
    /// [`discard`](Self::discard).
    pub(super) fn pop(&mut self) -> u32 {
        let Some(old) = self.pages.last_mut().and_then(Vec::pop) else { return 0 };
        self.set_count(self.count - 1);
        if let [page] = &mut self.pages[..]
            && page.capacity() > 2 * page.len()
        {
            page.shrink_to(page.len() + page.len() / 4);
        }
        self.unreserve();
        self.give_back(&old)
    }

    /// [`Pool::relocate`], and segments follow.
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn relocate(&mut self, relocate: &mut Relocate<'_>) {
        let Self { pages, pool, .. } = self;
        let follow = |owner: u32, to: Block| {
            let owner = owner as usize;
            pages[owner / PAGE][owner % PAGE].at = to;
        };
        // SAFETY: the caller's.
        unsafe { pool.relocate(relocate, follow) };
    }

    /// The same once more. Aborts if there is no memory, as clones do.
    pub(super) fn duplicate(&self, ladder: Ladder) -> Self {
        let mut copy = Self::default();
        for (index, segment) in self.iter().enumerate() {
            let added = copy.reserve().and_then(|()| {
                let (shape, slots) = (segment.shape(), segment.bytes());
                copy.prepare(ladder, index, shape, segment.entries, slots)
            });
            match added {
                Ok(prepared) => copy.push(prepared),
                Err(failed) => {
                    let layout = Layout::array::<u8>(failed.bytes as usize);
                    handle_alloc_error(layout.unwrap_or(Layout::new::<Segment>()))
                }
            }
        }
        copy
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let pages: usize =
            self.pages.iter().map(|page| page.capacity() * size_of::<Segment>()).sum();
        self.pool.heap_bytes() + pages + self.pages.capacity() * size_of::<Vec<Segment>>()
    }
}

/// Whether the four slots of a bucket are read as one word, or as two.
#[inline(always)]
pub(super) fn is_narrow(width: u32) -> bool {
    width <= 16
}

/// Binds the slots of a segment by the number of words that hold a bucket.
macro_rules! with_slots {
    ($segment:expr, $slots:ident => $body:expr) => {{
        let segment = $segment;
        if $crate::elastic::store::is_narrow(segment.form().width) {
            let $slots = $crate::elastic::store::Slots::<1>::of(segment);
            $body
        } else {
            let $slots = $crate::elastic::store::Slots::<2>::of(segment);
            $body
        }
    }};
}
/// The same for slots that are changed.
macro_rules! with_slots_mut {
    ($segment:expr, $slots:ident => $body:expr) => {{
        let segment = $segment;
        if $crate::elastic::store::is_narrow(segment.form().width) {
            let mut $slots = $crate::elastic::store::SlotsMut::<1>::of(segment);
            $body
        } else {
            let mut $slots = $crate::elastic::store::SlotsMut::<2>::of(segment);
            $body
        }
    }};
}
pub(super) use {with_slots, with_slots_mut};

/// The lanes of slots, `SLOTS / PARTS` to a word, by width.
struct LanesByWidth<const PARTS: usize>;

impl<const PARTS: usize> LanesByWidth<PARTS> {
    const ONES: [u64; MAX_WIDTH as usize + 1] = {
        let mut ones = [0; MAX_WIDTH as usize + 1];
        let mut width = 1;
        while width < ones.len() {
            let mut lane = 0;
            while lane < SLOTS as usize / PARTS && lane * width < 64 {
                ones[width] |= 1 << (lane * width);
                lane += 1;
            }
            width += 1;
        }
        ones
    };

    #[inline(always)]
    fn get(width: u32) -> Lanes<u64> {
        Lanes::of_ones(width, SLOTS / PARTS as u32, Self::ONES[width as usize])
    }
}

/// The slots of a segment, a bucket in `PARTS` words.
pub(super) struct Slots<'a, const PARTS: usize> {
    at: Block,
    buckets: u16,
    form: Form,
    lanes: Lanes<u64>,
    cut: Cut,
    segment: PhantomData<&'a Segment>,
}

impl<'a, const PARTS: usize> Slots<'a, PARTS> {
    #[inline(always)]
    pub(super) fn of(segment: &'a Segment) -> Self {
        let form = segment.form();
        debug_assert!(fits::<u64>(form.width * SLOTS / PARTS as u32));
        Self {
            at: segment.at,
            buckets: segment.buckets,
            form,
            lanes: LanesByWidth::<PARTS>::get(form.width),
            cut: segment.cut(),
            segment: PhantomData,
        }
    }

    /// Where a part of a bucket starts, and at which bit of that byte.
    #[inline(always)]
    fn spot(&self, bucket: BucketIndex, part: usize) -> (NonNull<[u8; WINDOW]>, u32) {
        assert!(bucket.0 < u32::from(self.buckets), "a bucket past the end");
        debug_assert!(part < PARTS);
        let (byte, bit) = spot::<PARTS>(bucket, part, self.form.width);
        // SAFETY: the bucket is one of the segment, so it starts in the segment's block, and after
        // a block come WINDOW bytes more.
        (unsafe { self.at.add(byte).cast() }, bit)
    }

    /// The lanes of a part of a bucket, and, above them, bits of what follows.
    #[inline(always)]
    fn word(&self, bucket: BucketIndex, part: usize) -> u64 {
        let (window, bit) = self.spot(bucket, part);
        // SAFETY: as `spot` says; the block is borrowed, and bytes can be read unaligned.
        u64::load(unsafe { window.as_ref() }) >> bit
    }

    #[inline(always)]
    fn words(&self, bucket: BucketIndex) -> [u64; PARTS] {
        core::array::from_fn(|part| self.word(bucket, part))
    }

    #[inline(always)]
    fn get(&self, SlotIndex { bucket, lane }: SlotIndex) -> u32 {
        let lanes = SLOTS / PARTS as u32;
        self.lanes.get(self.word(bucket, (lane / lanes) as usize), lane % lanes)
    }

    /// The slots of a bucket.
    #[inline(always)]
    fn slots(&self, bucket: BucketIndex) -> [u32; SLOTS as usize] {
        let (words, lanes) = (self.words(bucket), SLOTS / PARTS as u32);
        core::array::from_fn(|i| self.lanes.get(words[i / lanes as usize], i as u32 % lanes))
    }

    /// The lanes of each part of a bucket whose entries may be of a key, as masks.
    #[inline(always)]
    fn matches(&self, bucket: BucketIndex, key: Entry) -> [u64; PARTS] {
        let pattern = self.lanes.splat(self.cut.pattern(key));
        let mut masks = self.words(bucket);
        for word in &mut masks {
            *word = if self.form.ended {
                self.lanes.prefixes(*word, pattern)
            } else {
                self.lanes.equal(*word, pattern)
            };
        }
        masks
    }

    #[inline(always)]
    fn buckets_of(&self, key: Entry) -> [(BucketIndex, Entry); 2] {
        [key, key.other()].map(|entry| (entry.place.bucket(self.buckets), entry))
    }

    /// How many entries may be of a key.
    pub(super) fn count(&self, key: Entry) -> u32 {
        let masks = self.buckets_of(key).map(|(bucket, entry)| self.matches(bucket, entry));
        masks.as_flattened().iter().map(|&mask| self.lanes.count(mask)).sum()
    }

    /// The longest entry that may be of a key, and its length.
    #[inline(always)]
    pub(super) fn longest_match(&self, key: Entry) -> Option<(SlotIndex, u32)> {
        let buckets = self.buckets_of(key);
        let [(a, in_a), (b, in_b)] = buckets;
        let masks = [self.matches(a, in_a), self.matches(b, in_b)];
        let (mut found, mut either) = (0, [0; PARTS]);
        for part in 0..PARTS {
            either[part] = masks[0][part] | masks[1][part];
            found += self.lanes.count(masks[0][part]) + self.lanes.count(masks[1][part]);
        }
        match found {
            0 => None,
            1 => {
                // Nearly always. Where it is cannot be foretold, so no branch depends on it.
                let second = masks[0] == [0; PARTS];
                let bucket = BucketIndex(select_unpredictable(second, b.0, a.0));
                let (part, mask) = first_part(either);
                let lane = self.lanes.first_in(mask).unwrap_or_default();
                let slot = SlotIndex { bucket, lane: part * (SLOTS / PARTS as u32) + lane };
                Some((slot, self.cut.length(self.get(slot))))
            }
            _ => self.longest_of(buckets, masks),
        }
    }

    #[cold]
    fn longest_of(
        &self,
        buckets: [(BucketIndex, Entry); 2],
        masks: [[u64; PARTS]; 2],
    ) -> Option<(SlotIndex, u32)> {
        let mut longest = None;
        for ((bucket, _), masks) in buckets.into_iter().zip(masks) {
            for (part, mut matches) in masks.into_iter().enumerate() {
                while let Some(lane) = self.lanes.first_in(matches) {
                    let lanes = SLOTS / PARTS as u32;
                    let slot = SlotIndex { bucket, lane: part as u32 * lanes + lane };
                    let length = self.cut.length(self.get(slot));
                    if longest.is_none_or(|(_, other)| length > other) {
                        longest = Some((slot, length));
                    }
                    matches &= !self.lanes.mask(lane);
                }
            }
        }
        longest
    }

    /// An entry that may be of a key and has this length.
    pub(super) fn match_of_length(&self, key: Entry, length: u32) -> Option<SlotIndex> {
        self.buckets_of(key).into_iter().find_map(|(bucket, entry)| {
            let wanted = self.cut.encode(Entry { length, ..entry });
            let lane = (0..).zip(self.slots(bucket)).find(|&(_, slot)| slot == wanted)?.0;
            Some(SlotIndex { bucket, lane })
        })
    }

    /// Whether both buckets of a key are full of entries with its places: no segment of any size
    /// would have room for another.
    pub(super) fn is_full_of_equals(&self, key: Entry) -> bool {
        self.buckets_of(key).into_iter().all(|(bucket, entry)| {
            let first = first_place(bucket, self.buckets);
            let is_equal = |slot| slot != 0 && self.cut.place(slot, first) == entry.place;
            self.slots(bucket).into_iter().all(is_equal)
        })
    }
}

/// A bucket as it is read: its slots, empty ones too, and the first of its places.
pub(super) struct Row {
    pub(super) first: u32,
    pub(super) slots: [u32; SLOTS as usize],
}

/// The buckets of a segment, one after the other. An iterator and no closure, since loops over it
/// are compiled for wider instructions, and closures are not always inlined there.
pub(super) struct Rows<'a> {
    segment: &'a Segment,
    width: u32,
    row: u32,
    firsts: FirstPlaces,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    #[inline(always)]
    fn next(&mut self) -> Option<Row> {
        if self.row == u32::from(self.segment.buckets) {
            return None;
        }
        let (width, mask) = (self.width, (1u64 << self.width) - 1);
        let word = |bit: u32| {
            // SAFETY: bits up to the last of the segment's buckets are within its block, and after
            // it come WINDOW bytes more.
            let at = unsafe { self.segment.at.add(bit as usize / 8).cast::<[u8; WINDOW]>() };
            // SAFETY: as above; the segment is borrowed.
            u64::load(unsafe { at.as_ref() }) >> (bit % 8)
        };
        let bit = self.row * SLOTS * width;
        let slots = if is_narrow(width) {
            let word = word(bit);
            [0, 1, 2, 3].map(|lane| (word >> (lane * width) & mask) as u32)
        } else {
            let halves = [word(bit), word(bit + 2 * width)];
            [0, 1, 2, 3].map(|lane| (halves[lane / 2] >> (lane as u32 % 2 * width) & mask) as u32)
        };
        self.row += 1;
        Some(Row { first: self.firsts.next(), slots })
    }
}

/// Slots that are read together: as many as a few vectors hold.
pub(super) const LANES: usize = 64;

/// The slots of some buckets, empty ones too, each with the first place of its bucket.
pub(super) struct RowGroup {
    pub(super) slots: [u32; LANES],
    pub(super) firsts: [u32; LANES],
}

impl RowGroup {
    pub(super) const EMPTY: Self = Self { slots: [0; LANES], firsts: [0; LANES] };

    /// Reads the next buckets, and empty ones after the last; says whether there were any.
    #[inline(always)]
    pub(super) fn read(&mut self, rows: &mut Rows<'_>) -> bool {
        let (slots, firsts) = (self.slots.as_chunks_mut().0, self.firsts.as_chunks_mut().0);
        let mut read = 0;
        for (slots, firsts) in slots.iter_mut().zip(firsts) {
            let Some(row) = rows.next() else {
                *slots = [0; SLOTS as usize];
                continue;
            };
            *slots = row.slots;
            *firsts = [row.first; SLOTS as usize];
            read += 1;
        }
        read > 0
    }
}

/// A slot of a segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotIndex {
    bucket: BucketIndex,
    lane: u32,
}

/// [`Slots`] that can be changed.
pub(super) struct SlotsMut<'a, const PARTS: usize> {
    slots: Slots<'a, PARTS>,
    segment: PhantomData<&'a mut Segment>,
}

impl<'a, const PARTS: usize> SlotsMut<'a, PARTS> {
    #[inline(always)]
    pub(super) fn of(segment: &'a mut Segment) -> Self {
        Self { slots: Slots::of(segment), segment: PhantomData }
    }

    /// Flips bits of a part of a bucket; the bits around it stay.
    #[inline(always)]
    fn flip(&mut self, bucket: BucketIndex, part: usize, bits: u64) {
        let (mut window, bit) = self.slots.spot(bucket, part);
        // SAFETY: as `spot` says; the segment is borrowed for changes, and so is its block. What
        // follows the block is written back as it was.
        let window = unsafe { window.as_mut() };
        (u64::load(window) ^ bits << bit).store(window);
    }

    /// The free lanes of each part of a bucket, as masks.
    #[inline(always)]
    fn free(&self, bucket: BucketIndex) -> [u64; PARTS] {
        self.slots.words(bucket).map(|word| self.slots.lanes.equal(word, 0))
    }

    #[inline(always)]
    fn count_free(&self, free: [u64; PARTS]) -> u32 {
        free.map(|mask| self.slots.lanes.count(mask)).iter().sum()
    }

    /// Puts a slot into the first free lane of a bucket, if there is one.
    #[inline(always)]
    fn put(&mut self, bucket: BucketIndex, free: [u64; PARTS], slot: u32) -> bool {
        let (part, mask) = first_part(free);
        if mask == 0 {
            return false;
        }
        let bits = u64::from(slot) << self.slots.lanes.first_bit(mask);
        self.flip(bucket, part as usize, bits);
        true
    }

    /// Puts an entry into the emptier of its buckets and says whether either had room.
    #[inline(always)]
    pub(super) fn place_in_emptier(&mut self, entry: Entry) -> bool {
        let [(a, in_a), (b, in_b)] = self.slots.buckets_of(entry);
        let (free_a, free_b) = (self.free(a), self.free(b));
        // Which it is cannot be foretold: to guess wrong, and to find that out when the bucket has
        // come from memory, takes longer than anything else here.
        let second = self.count_free(free_a) < self.count_free(free_b);
        let bucket = BucketIndex(select_unpredictable(second, b.0, a.0));
        let place = select_unpredictable(second, in_b.place, in_a.place);
        let mut free = free_a;
        for part in 0..PARTS {
            free[part] = select_unpredictable(second, free_b[part], free_a[part]);
        }
        self.put(bucket, free, self.slots.cut.encode(Entry { place, ..entry }))
    }

    /// Makes room for an entry by moving others, and puts it there.
    #[inline(always)]
    pub(super) fn place_by_kicks(&mut self, entry: Entry, max_kicks: u32) -> bool {
        let [(a, in_a), (b, in_b)] = self.slots.buckets_of(entry);
        let freed = make_room(self, &[a, b], Search::BreadthFirst, max_kicks);
        freed.is_some_and(|bucket| {
            let slot = self.slots.cut.encode(if bucket == a { in_a } else { in_b });
            self.put(bucket, self.free(bucket), slot)
        })
    }

    #[inline(always)]
    pub(super) fn clear(&mut self, SlotIndex { bucket, lane }: SlotIndex) {
        let lanes = SLOTS / PARTS as u32;
        let part = (lane / lanes) as usize;
        let held = self.slots.word(bucket, part) & self.slots.lanes.mask(lane % lanes);
        self.flip(bucket, part, held);
    }
}

impl<const PARTS: usize> Space for SlotsMut<'_, PARTS> {
    const OPENED_TOGETHER: usize = 1;

    #[inline(always)]
    fn has_room(&self, bucket: BucketIndex) -> bool {
        self.free(bucket) != [0; PARTS]
    }

    #[inline(always)]
    fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
        let slots = &self.slots;
        let first = first_place(bucket, slots.buckets);
        for (lane, slot) in (0..).zip(slots.slots(bucket)) {
            let place = slots.cut.place(slot, first);
            visit(lane, place.other().bucket(slots.buckets));
        }
    }

    #[inline(always)]
    fn prefetch(&self, bucket: BucketIndex) {
        prefetch_at(self.slots.spot(bucket, 0).0.as_ptr());
    }

    #[inline(always)]
    fn kick(&mut self, from: BucketIndex, lane: u32, to: BucketIndex) {
        let at = SlotIndex { bucket: from, lane };
        let slot = self.slots.get(at);
        let place = self.slots.cut.place(slot, first_place(from, self.slots.buckets));
        self.clear(at);
        self.put(to, self.free(to), self.slots.cut.with_place(slot, place.other()));
    }
}

/// The first part whose mask is not zero, and the mask; zero if none is. Without a branch.
#[inline(always)]
fn first_part<const PARTS: usize>(masks: [u64; PARTS]) -> (u32, u64) {
    let (mut part, mut first) = (0, masks[0]);
    for &mask in &masks[1..] {
        part += u32::from(first == 0);
        first = select_unpredictable(first == 0, mask, first);
    }
    (part, first)
}

/// The byte of a segment in which a part of a bucket starts, and the bit of that byte.
#[inline(always)]
fn spot<const PARTS: usize>(bucket: BucketIndex, part: usize, width: u32) -> (usize, u32) {
    let lanes = SLOTS / PARTS as u32;
    let bit = (bucket.0 * PARTS as u32 + part as u32) * (width * lanes);
    ((bit / 8) as usize, bit % 8)
}

/// A lookup in a segment: where to look, and for what.
#[derive(Clone, Copy)]
pub(super) struct Probe<'a> {
    at: [*const u8; 2],
    bits: [u32; 2],
    patterns: [u32; 2],
    form: Form,
    segment: PhantomData<&'a Segment>,
}

impl<'a> Probe<'a> {
    #[inline(always)]
    pub(super) fn new(segment: &'a Segment, key: Address) -> Self {
        let (form, cut) = (segment.form(), segment.cut());
        let entry = Entry::whole(key, segment.depth());
        let places = [entry.place, entry.place.other()];
        let spots = places.map(|place| spot::<1>(place.bucket(segment.buckets), 0, form.width));
        Self {
            // SAFETY: the bucket of a place is one of the segment's, so it starts in its block.
            at: spots.map(|(byte, _)| unsafe { segment.at.as_ptr().add(byte).cast_const() }),
            bits: spots.map(|(_, bit)| bit),
            patterns: places.map(|place| cut.pattern(Entry { place, ..entry })),
            form,
            segment: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.at.iter().for_each(|&at| prefetch_at(at));
    }

    /// Whether an entry in one of the two buckets may be of the key.
    #[inline(always)]
    pub(super) fn hit(&self) -> bool {
        if is_narrow(self.form.width) { self.hit_narrow() } else { self.hit_wide() }
    }

    /// The word that starts so many bits after a bucket does.
    #[inline(always)]
    fn word(&self, i: usize, further: u32) -> u64 {
        let bit = self.bits[i] + further;
        // SAFETY: the bucket starts in the block of a segment that is borrowed, and what is read
        // is within the bucket or less than WINDOW bytes after the block.
        let window = unsafe { &*self.at[i].add(bit as usize / 8).cast() };
        u64::load(window) >> (bit % 8)
    }

    #[inline(always)]
    fn is_match(&self, lanes: Lanes<u64>, word: u64, i: usize) -> u64 {
        let pattern = lanes.splat(self.patterns[i]);
        if self.form.ended {
            lanes.any_prefix(word, pattern)
        } else {
            lanes.any_equal(word, pattern)
        }
    }

    #[inline(always)]
    fn hit_narrow(&self) -> bool {
        let lanes = LanesByWidth::<1>::get(self.form.width);
        // Both loads are under way before either is tested.
        let words = [self.word(0, 0), self.word(1, 0)];
        self.is_match(lanes, words[0], 0) | self.is_match(lanes, words[1], 1) != 0
    }

    #[inline(never)]
    fn hit_wide(&self) -> bool {
        let lanes = LanesByWidth::<2>::get(self.form.width);
        let half = 2 * self.form.width;
        let words = [0, 1].map(|i| [self.word(i, 0), self.word(i, half)]);
        let hit =
            |i: usize| self.is_match(lanes, words[i][0], i) | self.is_match(lanes, words[i][1], i);
        hit(0) | hit(1) != 0
    }
}

/// Lookups of a group of keys, one array a field.
pub(super) struct Probes<'a> {
    store: &'a Store,
    at: [*const u8; N],
    /// The bits, counted from there, at which the two buckets start.
    bits: [[u32; N]; 2],
    patterns: [[u32; N]; 2],
    widths: [u32; N],
    /// All ones where extensions have ends.
    ended: [u64; N],
    /// Whether a bucket of each fits a word.
    narrow: bool,
}

/// Where nothing is found, before a group is set: slots that are all empty.
static NOWHERE: [u8; 2 * WINDOW] = [0; 2 * WINDOW];

impl<'a> Probes<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self {
            store,
            at: [NOWHERE.as_ptr(); N],
            bits: [[0; N]; 2],
            patterns: [[1; N]; 2],
            widths: [1; N],
            ended: [0; N],
            narrow: true,
        }
    }

    /// The word in which a bit of the segment of key `i` is lowest.
    #[inline(always)]
    fn word(&self, i: usize, bit: u32) -> u64 {
        // SAFETY: `set` worked the bits out from a segment that is borrowed and a place, whose
        // bucket is one of the segment's; so all of its slots start in its block, and after a block
        // come WINDOW bytes more. Before `set` there is only `NOWHERE`, which is longer.
        let window = unsafe { &*self.at[i].add(bit as usize / 8).cast() };
        u64::load(window) >> (bit % 8)
    }
}

impl CandidateGroup for Probes<'_> {
    #[inline(always)]
    fn set(&mut self, hashes: &[KeyHash; N]) {
        let (mut paths, mut places, mut others) = ([0; N], [0; N], [0; N]);
        for i in 0..N {
            let Address { path, place } = Address::of(hashes[i]);
            paths[i] = path;
            places[i] = place.bits();
            others[i] = place.other().bits();
        }
        let (mut buckets, mut lows, mut depths) = ([0; N], [0; N], [0; N]);
        let mut widest = 0;
        for i in 0..N {
            let segment = self.store.find(paths[i]);
            let width = u32::from(segment.form & !ENDED);
            self.at[i] = segment.at.as_ptr().cast_const();
            self.widths[i] = width;
            self.ended[i] = if segment.form & ENDED != 0 { u64::MAX } else { 0 };
            buckets[i] = u32::from(segment.buckets);
            depths[i] = segment.depth();
            lows[i] = low_bits(segment.buckets);
            widest = widest.max(width);
        }
        self.narrow = is_narrow(widest);
        for (side, places) in [places, others].iter().enumerate() {
            for i in 0..N {
                let extension = ((paths[i] >> depths[i]) as u32) << lows[i];
                let (low, whole) = ((1 << lows[i]) - 1, (1 << self.widths[i]) - 1);
                let bucket = (places[i] * buckets[i]) >> PLACE_BITS;
                self.bits[side][i] = bucket * (SLOTS * self.widths[i]);
                self.patterns[side][i] = extension & whole | places[i] & low;
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, i: usize) {
        for bits in &self.bits {
            prefetch_at(self.at[i].wrapping_add(bits[i] as usize / 8));
        }
    }

    /// Whether an entry in one of the two buckets of key `i` may be of the key.
    #[inline(always)]
    fn is_contained(&self, i: usize) -> bool {
        let (bits, width) = ([self.bits[0][i], self.bits[1][i]], self.widths[i]);
        let patterns = [self.patterns[0][i], self.patterns[1][i]];
        if self.narrow {
            let lanes = LanesByWidth::<1>::get(width);
            let words = bits.map(|bit| self.word(i, bit));
            let ended = self.ended[i];
            return any_match(lanes, words, patterns.map(|p| lanes.splat(p)), ended);
        }
        // Halves of buckets: slots of any width fit a word in twos.
        let lanes = LanesByWidth::<2>::get(width);
        let [a, b] = patterns.map(|pattern| lanes.splat(pattern));
        let [c, d] = bits.map(|bit| bit + 2 * width);
        let words = [bits[0], c, bits[1], d].map(|bit| self.word(i, bit));
        any_match(lanes, words, [a, a, b, b], self.ended[i])
    }
}

/// Whether a lane of some word matches that of its pattern: is a prefix where `ended` is all ones,
/// is equal where it is zero. Without a branch, and for all words alike, so that vectors do it.
#[inline(always)]
fn any_match<const N: usize>(
    lanes: Lanes<u64>,
    words: [u64; N],
    patterns: [u64; N],
    ended: u64,
) -> bool {
    let mut hits = 0;
    for i in 0..N {
        let beyond = lanes.beyond_prefix(words[i], patterns[i]);
        let rest = beyond & ended | (words[i] ^ patterns[i]) & !ended;
        hits |= lanes.any_equal(rest, 0);
    }
    hits != 0
}
