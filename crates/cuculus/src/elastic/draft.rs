//! A segment in the making: entries are put where they belong in a segment of another shape, and
//! only when all of them have found a place is it packed. Until then nothing has changed.

use super::address::{FirstPlaces, MAX_BUCKETS, Place, first_place};
use super::form::{Cut, Entry, MAX_WIDTH};
use super::lengths::Shortened;
use super::store::{SLOTS, Shape};
use crate::placement::BucketIndex;
use crate::relocate::{Search, Space, make_room};

/// Buckets that a search for room may open. At the loads that segments have a search that opens a
/// few hundred has no room to find.
pub(super) const MAX_KICKS: u32 = 500;

/// A bucket, unpacked; the slots in use come first. It takes more than four until the surplus is
/// spread.
#[derive(Clone, Copy, Default)]
struct Row {
    slots: [u32; 7],
    used: u32,
}

impl Row {
    /// Takes a slot out; the last one in use goes there.
    #[inline(always)]
    fn take(&mut self, slot: u32) -> u32 {
        self.used -= 1;
        self.slots.swap(slot as usize, self.used as usize);
        core::mem::take(&mut self.slots[self.used as usize])
    }
}

/// A segment, unpacked. Its lists are always as long as for the largest: what is taken and given
/// back again and again should leave gaps of one size in the allocator's memory.
pub(super) struct Draft {
    shape: Shape,
    cut: Cut,
    rows: Vec<Row>,
    homeless: Vec<(Place, u32)>,
    entries: u32,
    pub(super) shortened: Shortened,
}

impl Draft {
    /// An empty segment for so many entries.
    pub(super) fn new(shape: Shape, entries: u32) -> Self {
        let mut rows = Vec::with_capacity(usize::from(MAX_BUCKETS));
        rows.resize(usize::from(shape.buckets), Row::default());
        Self {
            shape,
            cut: shape.form.cut(shape.buckets),
            rows,
            homeless: Vec::with_capacity(64),
            entries,
            shortened: Shortened::default(),
        }
    }

    /// Starts again with another shape.
    pub(super) fn reset(&mut self, shape: Shape) {
        *self = Self::new(shape, self.entries);
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn slots(&self) -> usize {
        usize::from(self.shape.buckets) * SLOTS as usize
    }

    pub(super) fn entries(&self) -> u16 {
        self.entries as u16
    }

    #[inline(always)]
    pub(super) fn cut(&self) -> Cut {
        self.cut
    }

    /// The longest extension.
    pub(super) fn longest(&self) -> u32 {
        self.cut.longest()
    }

    /// Whether an entry is too short to be held in this form.
    #[inline(always)]
    pub(super) fn is_too_short(&self, entry: Entry) -> bool {
        !self.shape.form.ended && entry.length < self.cut.longest()
    }

    /// Adds an entry, shortened to the longest that fits.
    #[inline(always)]
    pub(super) fn add(&mut self, entry: Entry) {
        let longest = self.cut.longest();
        if entry.length > longest {
            self.note_shortened(entry.length);
        }
        self.add_slot(entry.place, self.cut.encode(entry));
    }

    /// Counts an entry that is shortened to the longest that fits.
    #[inline(always)]
    pub(super) fn note_shortened(&mut self, length: u32) {
        let depth = self.shape.depth;
        self.shortened.note(depth + length, depth + self.cut.longest());
    }

    /// Adds an entry by its slot as it is cut here, or nothing if that is empty. It goes where it
    /// was, even if there is no room: this is a stream, since the buckets of a segment rise with
    /// the places, and the branch for a full bucket would often be mispredicted.
    #[inline(always)]
    pub(super) fn add_slot(&mut self, place: Place, slot: u32) {
        let row = &mut self.rows[place.bucket(self.shape.buckets).0 as usize];
        if let Some(free) = row.slots.get_mut(row.used as usize) {
            *free = slot;
            row.used += u32::from(slot != 0);
        } else if slot != 0 {
            self.homeless.push((place, slot));
        }
    }

    /// Moves what is too much for a bucket to its other bucket.
    #[inline(always)]
    fn spread(&mut self) {
        let mut firsts = FirstPlaces::new(self.shape.buckets);
        for bucket in 0..self.rows.len() {
            let first = firsts.next();
            while self.rows[bucket].used > SLOTS {
                let slot = self.rows[bucket].take(SLOTS);
                let place = self.cut.place(slot, first);
                if !self.put_other_if_free(place, slot) {
                    self.homeless.push((place, slot));
                }
            }
        }
    }

    #[inline(always)]
    fn put_if_free(&mut self, place: Place, slot: u32) -> bool {
        let row = &mut self.rows[place.bucket(self.shape.buckets).0 as usize];
        let free = row.used < SLOTS;
        if free {
            row.slots[row.used as usize] = slot;
            row.used += 1;
        }
        free
    }

    #[inline(always)]
    fn put_other_if_free(&mut self, place: Place, slot: u32) -> bool {
        let other = place.other();
        self.put_if_free(other, self.cut.with_place(slot, other))
    }

    /// Finds places for those who have none yet. If that fails the draft is of no use.
    #[inline(always)]
    pub(super) fn settle(&mut self) -> bool {
        self.spread();
        while let Some((place, slot)) = self.homeless.pop() {
            if self.put_if_free(place, slot) || self.put_other_if_free(place, slot) {
                continue;
            }
            let buckets = [place, place.other()].map(|p| p.bucket(self.shape.buckets));
            let put = match make_room(self, &buckets, Search::BreadthFirst, MAX_KICKS) {
                None => false,
                Some(bucket) if bucket == buckets[0] => self.put_if_free(place, slot),
                Some(_) => self.put_other_if_free(place, slot),
            };
            if !put {
                return false;
            }
        }
        true
    }

    /// The packed slots.
    pub(super) fn pack(&self) -> Vec<u8> {
        let bytes = self.shape.bytes();
        let mut packed = Vec::with_capacity(usize::from(MAX_BUCKETS) * MAX_WIDTH as usize / 2 + 8);
        packed.resize(bytes.next_multiple_of(8), 0);
        let width = self.shape.form.width;
        // Bits that are not yet a whole word.
        let (mut held, mut bits, mut at) = (0u64, 0, 0);
        let mut flush = |held: u64| {
            if let Some(word) = packed.get_mut(at..at + 8) {
                word.copy_from_slice(&held.to_le_bytes());
            }
            at += 8;
        };
        for row in &self.rows {
            for &slot in &row.slots[..SLOTS as usize] {
                let slot = u64::from(slot);
                held |= slot << bits;
                bits += width;
                if bits >= 64 {
                    flush(held);
                    bits -= 64;
                    held = slot >> (width - bits);
                }
            }
        }
        if bits > 0 {
            flush(held);
        }
        packed.truncate(bytes);
        packed
    }
}

impl Space for Draft {
    const OPENED_TOGETHER: usize = 1;

    #[inline(always)]
    fn has_room(&self, bucket: BucketIndex) -> bool {
        self.rows[bucket.0 as usize].used < SLOTS
    }

    #[inline(always)]
    fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
        let first = first_place(bucket, self.shape.buckets);
        for (slot, &held) in (0..SLOTS).zip(&self.rows[bucket.0 as usize].slots) {
            visit(slot, self.cut.place(held, first).other().bucket(self.shape.buckets));
        }
    }

    #[inline(always)]
    fn prefetch(&self, _: BucketIndex) {}

    #[inline(always)]
    fn relocate(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let first = first_place(from, self.shape.buckets);
        let held = self.rows[from.0 as usize].take(slot);
        let place = self.cut.place(held, first);
        debug_assert_eq!(place.other().bucket(self.shape.buckets), to);
        self.put_other_if_free(place, held);
    }
}
