//! A segment in the making: entries are put where they belong in a segment of another shape, and
//! only when all of them have found a place is it packed. Until then nothing has changed.

use super::address::{FirstPlaces, MAX_BUCKETS, Place, first_place};
use super::form::{Cut, Entry, MAX_WIDTH};
use super::lengths::Shortened;
use super::store::{LANES, SLOTS, Shape};
use crate::placement::BucketIndex;
use crate::relocate::{Search, Space, make_room};

/// Buckets that a search for room may open. At the loads that segments have a search that opens a
/// few hundred has no room to find.
pub(super) const MAX_KICKS: u32 = 500;

/// A bucket, unpacked; the slots in use come first, and the others are zero. It takes more than
/// four until the surplus is spread.
#[derive(Clone, Copy, Default)]
struct Row {
    slots: [u32; 7],
    used: u32,
}

impl Row {
    /// Adds a slot, or nothing if it is empty; says whether there was room. No branch depends on
    /// the slot.
    #[inline(always)]
    fn add(&mut self, slot: u32) -> bool {
        let Some(free) = self.slots.get_mut(self.used as usize) else { return slot == 0 };
        *free = slot;
        self.used += u32::from(slot != 0);
        true
    }

    /// Takes a slot out; the last one in use goes there.
    #[inline(always)]
    fn take(&mut self, lane: usize) -> u32 {
        self.used -= 1;
        self.slots.swap(lane, self.used as usize);
        core::mem::take(&mut self.slots[self.used as usize])
    }
}

/// A segment, unpacked. Its lists are always as long as for the largest: what is taken and given
/// back again and again should leave gaps of one size in the allocator's memory.
pub(super) struct Draft {
    shape: Shape,
    cut: Cut,
    rows: Vec<Row>,
    homeless: Vec<(BucketIndex, u32)>,
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
        let bucket = entry.place.bucket(self.shape.buckets);
        let slot = self.cut.encode(entry);
        if !self.rows[bucket.0 as usize].add(slot) {
            self.homeless.push((bucket, slot));
        }
    }

    /// Counts an entry that is shortened to the longest that fits.
    #[inline(always)]
    pub(super) fn note_shortened(&mut self, length: u32) {
        let depth = self.shape.depth;
        self.shortened.note(depth + length, depth + self.cut.longest());
    }

    /// Adds entries by their slots as they are cut here, each with its bucket, or nothing where a
    /// slot is empty. They go where they were, even if there is no room: the branch for a full
    /// bucket would often be mispredicted.
    #[inline(always)]
    pub(super) fn add_slots(&mut self, buckets: &[u32; LANES], slots: &[u32; LANES]) {
        /// Neighbours go to the same row, and each would wait for the one before. So they come
        /// from several places in turn.
        const STREAMS: usize = 4;
        let rows = &mut self.rows[..];
        for i in 0..LANES / STREAMS {
            for stream in 0..STREAMS {
                let i = i + stream * (LANES / STREAMS);
                if !rows[buckets[i] as usize].add(slots[i]) {
                    self.homeless.push((BucketIndex(buckets[i]), slots[i]));
                }
            }
        }
    }

    /// Moves what is too much for a bucket to its other bucket: any of its entries that has room
    /// there, and only if none has to the homeless, for whom a search is needed.
    #[inline(always)]
    fn spread(&mut self) {
        let mut firsts = FirstPlaces::new(self.shape.buckets);
        for bucket in 0..self.rows.len() {
            let first = firsts.next();
            while self.rows[bucket].used > SLOTS {
                let Row { slots, used } = self.rows[bucket];
                let last = used as usize - 1;
                let mut lane = last;
                // A loop and no closure: see `Rows`.
                while !self.put_other_if_free(self.cut.place(slots[lane], first), slots[lane]) {
                    if lane == 0 {
                        self.homeless.push((BucketIndex(bucket as u32), slots[last]));
                        lane = last;
                        break;
                    }
                    lane -= 1;
                }
                self.rows[bucket].take(lane);
            }
        }
    }

    #[inline(always)]
    fn put_if_free(&mut self, bucket: BucketIndex, slot: u32) -> bool {
        let row = &mut self.rows[bucket.0 as usize];
        row.used < SLOTS && row.add(slot)
    }

    #[inline(always)]
    fn put_other_if_free(&mut self, place: Place, slot: u32) -> bool {
        let other = place.other();
        self.put_if_free(other.bucket(self.shape.buckets), self.cut.with_place(slot, other))
    }

    /// Finds places for those who have none yet. If that fails the draft is of no use.
    #[inline(always)]
    pub(super) fn settle(&mut self) -> bool {
        self.spread();
        while let Some((bucket, slot)) = self.homeless.pop() {
            let place = self.cut.place(slot, first_place(bucket, self.shape.buckets));
            if self.put_if_free(bucket, slot) || self.put_other_if_free(place, slot) {
                continue;
            }
            let buckets = [bucket, place.other().bucket(self.shape.buckets)];
            let put = match make_room(self, &buckets, Search::BreadthFirst, MAX_KICKS) {
                None => false,
                Some(freed) if freed == bucket => self.put_if_free(bucket, slot),
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
        let (bytes, width) = (self.shape.bytes(), self.shape.form.width);
        // Whole words are written, the last of them beyond the end.
        let room = usize::from(MAX_BUCKETS) * MAX_WIDTH as usize / 2 + size_of::<u64>();
        let mut packed = Vec::with_capacity(room);
        packed.resize(bytes + size_of::<u64>(), 0);
        // Bits of the last byte begun, and how many; before it all is written.
        let (mut held, mut bits, mut at) = (0u64, 0, 0);
        for row in &self.rows {
            for pair in row.slots[..SLOTS as usize].as_chunks::<2>().0 {
                // Two slots and what is left of a byte fit a word: see `MAX_WIDTH`.
                held |= (u64::from(pair[0]) | u64::from(pair[1]) << width) << bits;
                if let Some(word) = packed[at..].first_chunk_mut() {
                    *word = held.to_le_bytes();
                }
                bits += 2 * width;
                at += (bits / 8) as usize;
                // By all 64 bits at times, in two steps.
                held = held >> (bits / 8 * 4) >> (bits / 8 * 4);
                bits %= 8;
            }
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
    fn kick(&mut self, from: BucketIndex, slot: u32, to: BucketIndex) {
        let first = first_place(from, self.shape.buckets);
        let held = self.rows[from.0 as usize].take(slot as usize);
        let place = self.cut.place(held, first);
        debug_assert_eq!(place.other().bucket(self.shape.buckets), to);
        self.put_other_if_free(place, held);
    }
}
