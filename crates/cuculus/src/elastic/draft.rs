//! A segment in the making: entries are put where they belong in a segment of another shape, and
//! only when all of them have found a place is it packed. Until then nothing has changed.

use super::address::{FirstPlaces, Place, first_place};
use super::form::{Cut, Entry, MAX_WIDTH};
use super::lengths::Shortened;
use super::store::{SLOTS, Shape};
use crate::placement::BucketIndex;
use crate::relocate::{Search, Space, make_room};

const MAX_BUCKETS: usize = super::address::MAX_BUCKETS as usize;
/// Buckets that a search for room may open. At the loads that segments have a search that opens a
/// few hundred has no room to find.
pub(super) const MAX_KICKS: u32 = 500;

/// What a bucket can take before its surplus is spread.
const ROW: usize = 8;

/// One unpacked slot a word; a bucket's slots in use come first.
pub(super) struct Draft {
    shape: Shape,
    cut: Cut,
    slots: [[u32; ROW]; MAX_BUCKETS],
    used: [u8; MAX_BUCKETS],
    homeless: Vec<(Place, u32)>,
    entries: u32,
    pub(super) shortened: Shortened,
}

/// The bytes of the largest segment, and those of a word that is not full.
const MAX_BYTES: usize = MAX_BUCKETS * MAX_WIDTH as usize / 2 + 8;

impl Draft {
    /// An empty segment for so many entries. Large: to be used where it is made.
    #[inline(always)]
    pub(super) fn new(shape: Shape, entries: u32) -> Self {
        Self {
            shape,
            cut: shape.form.cut(shape.buckets),
            slots: [[0; ROW]; MAX_BUCKETS],
            used: [0; MAX_BUCKETS],
            homeless: Vec::new(),
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

    /// Whether the slots of an entry here are as in a segment that is cut like this.
    #[inline(always)]
    pub(super) fn is_cut_like(&self, other: Cut) -> bool {
        self.cut == other
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
            self.shortened.note(self.shape.depth + entry.length, self.shape.depth + longest);
        }
        self.add_slot(entry.place, self.cut.encode(entry));
    }

    /// Adds an entry by its slot as it is cut here, or nothing if that is empty. It goes where it
    /// was, even if there is no room: this is a stream, since the buckets of a segment rise with
    /// the places, and the branch for a full bucket would often be mispredicted.
    #[inline(always)]
    pub(super) fn add_slot(&mut self, place: Place, slot: u32) {
        let bucket = place.bucket(self.shape.buckets).0 as usize;
        let (row, used) = (&mut self.slots[bucket], &mut self.used[bucket]);
        if let Some(free) = row.get_mut(usize::from(*used)) {
            *free = slot;
            *used += u8::from(slot != 0);
        } else if slot != 0 {
            self.homeless.push((place, slot));
        }
    }

    /// Moves what is too much for a bucket to its other bucket.
    #[inline(always)]
    fn spread(&mut self) {
        let mut firsts = FirstPlaces::new(self.shape.buckets);
        for bucket in 0..usize::from(self.shape.buckets) {
            let first = firsts.next();
            while u32::from(self.used[bucket]) > SLOTS {
                let used = &mut self.used[bucket];
                *used -= 1;
                let slot = core::mem::take(&mut self.slots[bucket][usize::from(*used)]);
                let place = self.cut.place(slot, first);
                if !self.put_other_if_free(place, slot) {
                    self.homeless.push((place, slot));
                }
            }
        }
    }

    #[inline(always)]
    fn put_if_free(&mut self, place: Place, slot: u32) -> bool {
        let bucket = place.bucket(self.shape.buckets).0 as usize;
        let used = &mut self.used[bucket];
        let free = u32::from(*used) < SLOTS;
        if free {
            self.slots[bucket][usize::from(*used)] = slot;
            *used += 1;
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

    /// Hands the packed slots to `write`.
    #[inline(always)]
    pub(super) fn pack<T>(&self, write: impl FnOnce(&[u8]) -> T) -> T {
        let mut packed = [0; MAX_BYTES];
        let width = self.shape.form.width;
        // Bits that are not yet a whole word.
        let (mut held, mut bits, mut at) = (0u64, 0, 0);
        let mut flush = |held: u64| {
            packed[at..at + 8].copy_from_slice(&held.to_le_bytes());
            at += 8;
        };
        for bucket in &self.slots[..usize::from(self.shape.buckets)] {
            for &slot in &bucket[..SLOTS as usize] {
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
        write(&packed[..self.shape.bytes()])
    }
}

impl Space for Draft {
    #[inline(always)]
    fn has_room(&self, bucket: BucketIndex) -> bool {
        u32::from(self.used[bucket.0 as usize]) < SLOTS
    }

    #[inline(always)]
    fn ways_out(&self, bucket: BucketIndex, mut visit: impl FnMut(u32, BucketIndex)) {
        let first = first_place(bucket, self.shape.buckets);
        for (slot, &held) in (0..SLOTS).zip(&self.slots[bucket.0 as usize]) {
            visit(slot, self.cut.place(held, first).other().bucket(self.shape.buckets));
        }
    }

    #[inline(always)]
    fn prefetch(&self, _: BucketIndex) {}

    #[inline(always)]
    fn relocate(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let first = first_place(from, self.shape.buckets);
        let held = self.slots[from.0 as usize][slot as usize];
        let place = self.cut.place(held, first);
        debug_assert_eq!(place.other().bucket(self.shape.buckets), to);
        self.put_other_if_free(place, held);
        let used = &mut self.used[from.0 as usize];
        *used -= 1;
        let bucket = &mut self.slots[from.0 as usize];
        bucket[slot as usize] = bucket[usize::from(*used)];
        bucket[usize::from(*used)] = 0;
    }
}
