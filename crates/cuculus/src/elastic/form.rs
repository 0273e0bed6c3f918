//! What a slot holds: an entry, which is all that is known of a key, cut to the width of the
//! slots of its segment. Knows no memory.
//!
//! ```text
//!  ended slot, w bits:   1 … 1 0 │ extension │ low bits of the place
//!                        └ fill  └ end
//!  plain slot, w bits:             extension │ low bits of the place
//! ```
//!
//! The extension is the part of the path that comes after the bits which chose the segment, the
//! next bit lowest: when a segment is split its lowest bit is spent, when two are merged it comes
//! back. Extensions in ended slots have any length that fits; in plain slots all have the same.
//! All zeros is the empty slot, since the low bits of a place are never all zero.

use super::address::{Address, PATH_BITS, Place, low_bits, place_from};

/// The widest slot: two of them, and the bits before the first in its byte, must fit a word.
pub(super) const MAX_WIDTH: u32 = 29;

/// What is known of a key within its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) place: Place,
    /// The bits of the path that follow the segment's own; those from `length` on mean nothing.
    pub(super) extension: u64,
    pub(super) length: u32,
}

impl Entry {
    /// All of a key, as a segment of this depth sees it.
    #[inline(always)]
    pub(super) fn whole(key: Address, depth: u32) -> Self {
        let (extension, length) = (key.path >> depth, PATH_BITS - depth);
        Self { place: key.place, extension, length }
    }

    /// The same key in its other bucket.
    #[inline(always)]
    pub(super) fn other(self) -> Self {
        Self { place: self.place.other(), ..self }
    }

    /// Which child of a segment that is split the entry goes to, and what it is there. `None` if
    /// the next bit of the path is not known.
    #[inline(always)]
    pub(super) fn descend(self) -> Option<(usize, Self)> {
        let length = self.length.checked_sub(1)?;
        let side = (self.extension & 1) as usize;
        Some((side, Self { extension: self.extension >> 1, length, ..self }))
    }

    /// What an entry of a child is in the parent.
    #[inline(always)]
    pub(super) fn ascend(self, side: usize) -> Self {
        Self { extension: self.extension << 1 | side as u64, length: self.length + 1, ..self }
    }
}

/// How the slots of a segment are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) width: u32,
    /// Whether extensions have an end of their own.
    pub(super) ended: bool,
}

impl Form {
    /// The longest extension in a segment of so many buckets; `None` if not even the place fits.
    #[inline(always)]
    pub(super) fn longest(self, buckets: u16) -> Option<u32> {
        self.width.checked_sub(low_bits(buckets) + u32::from(self.ended))
    }

    #[inline(always)]
    pub(super) fn cut(self, buckets: u16) -> Cut {
        Cut { width: self.width, low: low_bits(buckets), ended: self.ended }
    }
}

/// A form in a segment of known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    width: u32,
    low: u32,
    ended: bool,
}

#[inline(always)]
const fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

impl Cut {
    /// The longest extension.
    #[inline(always)]
    pub(super) fn longest(self) -> u32 {
        self.width - self.low - u32::from(self.ended)
    }

    /// The part of a slot above the place. An extension that is too long is shortened; for plain
    /// slots it must not be too short.
    #[inline(always)]
    fn tail(self, entry: Entry) -> u32 {
        let room = self.width - self.low;
        if self.ended {
            let length = entry.length.min(room - 1);
            // Everything from the end upwards: the end is zero, the fill is ones.
            let fill = u32::MAX << length << 1;
            entry.extension as u32 & mask(length) | fill & mask(room)
        } else {
            debug_assert!(entry.length >= room, "an entry is too short for a plain slot");
            entry.extension as u32 & mask(room)
        }
    }

    #[inline(always)]
    pub(super) fn encode(self, entry: Entry) -> u32 {
        self.tail(entry) << self.low | entry.place.bits() & mask(self.low)
    }

    /// A slot's entry at another place.
    #[inline(always)]
    pub(super) fn with_place(self, slot: u32, place: Place) -> u32 {
        slot & !mask(self.low) | place.bits() & mask(self.low)
    }

    /// The place in a slot of a bucket.
    #[inline(always)]
    pub(super) fn place(self, slot: u32, first_place: u32) -> Place {
        place_from(first_place, slot, self.low)
    }

    /// The slot with which a lookup compares: all of the key that fits, with no end.
    #[inline(always)]
    pub(super) fn pattern(self, entry: Entry) -> u32 {
        let low = entry.place.bits() & mask(self.low);
        (entry.extension as u32) << self.low & mask(self.width) | low
    }

    /// The length of the extension in a slot that is not empty. A slot without an end, which no
    /// key makes, has none.
    #[inline(always)]
    pub(super) fn length(self, slot: u32) -> u32 {
        if !self.ended {
            return self.width - self.low;
        }
        // The end is the highest zero.
        let zeros = !(slot >> self.low) & mask(self.width - self.low);
        31u32.saturating_sub((zeros | 1).leading_zeros())
    }

    /// Whether an entry can have made the part of a slot above the place: one with an end.
    #[inline(always)]
    pub(super) fn is_possible(self, slot: u32) -> bool {
        !self.ended | (slot >> self.low != mask(self.width - self.low))
    }

    /// The entry in a slot that is not empty.
    #[inline(always)]
    pub(super) fn decode(self, slot: u32, first_place: u32) -> Entry {
        let place = self.place(slot, first_place);
        let length = self.length(slot);
        Entry { place, extension: u64::from(slot >> self.low & mask(length)), length }
    }
}

/// From the slots of one segment to those of another, both with ends, without taking entries
/// apart: what is above the place is moved as a whole. The same few operations whatever the step
/// is, and no branch, so that the slots of a bucket are cut together in a vector.
#[derive(Clone, Copy)]
pub(super) struct Recut {
    from: Cut,
    to: Cut,
    /// What comes in below what is above the place: how many bits, and which.
    comes: u32,
    coming: u32,
    /// What goes out below: how many bits, and which they must be.
    goes: u32,
    going: u32,
    /// What is above the place if there is nothing but an end, and so no side to go to.
    exhausted: u32,
    /// The bits above the place, after the step, and those that there is room for.
    bits: u32,
    room: u32,
    /// The ones that fill the room up if it is larger.
    fill: u32,
}

/// What becomes of an entry when its segment is written anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It stays on its level of the tree.
    Stay,
    /// Those of one side go down to that child, the others elsewhere.
    Down(usize),
    /// It comes up from the child on this side.
    Up(usize),
}

impl Recut {
    /// `None` if either has plain slots.
    pub(super) fn new(from: Cut, to: Cut, step: Step) -> Option<Self> {
        if !from.ended || !to.ended {
            return None;
        }
        let (held, room) = (from.width - from.low, to.width - to.low);
        let (comes, coming) = if let Step::Up(side) = step { (1, side as u32) } else { (0, 0) };
        let (goes, going) = if let Step::Down(side) = step { (1, side as u32) } else { (0, 0) };
        // No slot is all ones: there is an end in each.
        let exhausted = if goes > 0 { mask(held) & !1 } else { u32::MAX };
        let bits = held + comes - goes;
        let fill = mask(room) & !mask(bits.min(room));
        Some(Self { from, to, comes, coming, goes, going, exhausted, bits, room, fill })
    }

    /// What is above the place, after the step.
    #[inline(always)]
    fn tail(&self, slot: u32) -> u32 {
        ((slot >> self.from.low) << self.comes | self.coming) >> self.goes
    }

    /// Whether a slot holds an entry that goes to the new segment.
    #[inline(always)]
    fn goes_there(&self, slot: u32) -> bool {
        let tail = slot >> self.from.low;
        // Not `&&`, which would be a branch.
        (slot != 0) & (tail & self.goes == self.going) & (tail != self.exhausted)
    }

    /// Whether there is more above the place than there is room for.
    #[inline(always)]
    fn is_too_long(&self, tail: u32) -> bool {
        // What does not fit must all be fill.
        tail >> self.room != mask(self.bits.max(self.room) - self.room)
    }

    /// The slot of an entry in its new segment, shortened if need be; zero if it does not go there.
    #[inline(always)]
    pub(super) fn slot(&self, slot: u32, place: Place) -> u32 {
        let tail = self.tail(slot);
        let fits = mask(self.room) >> u32::from(self.is_too_long(tail));
        let low = place.bits() & mask(self.to.low);
        let anew = ((tail | self.fill) & fits) << self.to.low | low;
        if self.goes_there(slot) { anew } else { 0 }
    }

    /// Whether [`slot`](Self::slot) shortens an entry.
    #[inline(always)]
    pub(super) fn shortens(&self, slot: u32) -> bool {
        self.goes_there(slot) & self.is_too_long(self.tail(slot))
    }

    /// The length of an entry after the step, not shortened.
    #[inline(always)]
    pub(super) fn length(&self, slot: u32) -> u32 {
        let zeros = !self.tail(slot) & mask(self.bits);
        31 - (zeros | 1).leading_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::super::address::first_place;
    use super::*;
    use crate::KeyHash;
    use crate::conformance::Random;

    /// Every width, size and length, there and back.
    #[test]
    fn decoding_inverts_encoding() {
        let mut random = Random::new(1);
        for buckets in [2, 6, 30, 128, 254, 512, 1022] {
            for width in 1..=MAX_WIDTH {
                for ended in [false, true] {
                    let form = Form { width, ended };
                    let Some(longest) = form.longest(buckets) else { continue };
                    let cut = form.cut(buckets);
                    for length in 0..=longest {
                        let key = Address::of(KeyHash::new(random.bits()));
                        let entry = Entry { length, ..Entry::whole(key, 0) };
                        let bits = entry.extension & ((1 << length) - 1);
                        if !ended && length < longest {
                            continue;
                        }
                        let slot = cut.encode(entry);
                        assert!(slot != 0 && slot < 1 << width);
                        let first = first_place(entry.place.bucket(buckets), buckets);
                        assert_eq!(cut.decode(slot, first), Entry { extension: bits, ..entry });
                    }
                }
            }
        }
    }

    /// Of all values of a slot, those that no entry makes are told from the others.
    #[test]
    fn what_no_entry_makes_is_not_possible() {
        for (buckets, width) in [(2, 17), (128, 9), (512, 9), (1022, 16)] {
            for ended in [false, true] {
                let cut = Form { width, ended }.cut(buckets);
                let possible = |slot| cut.encode(cut.decode(slot, 0)) == slot;
                assert!((1..1 << width).all(|slot| cut.is_possible(slot) == possible(slot)));
            }
        }
    }

    /// Cutting a slot anew is decoding it, taking the step and encoding it.
    #[test]
    fn cutting_anew_agrees_with_decoding() {
        let mut random = Random::new(2);
        for _ in 0..200_000 {
            let forms = [(); 2].map(|()| {
                let buckets = 2 * (1 + random.below(511)) as u16;
                let low = low_bits(buckets);
                let width = low + 1 + random.below((MAX_WIDTH - low) as usize) as u32;
                (buckets, Form { width, ended: true }.cut(buckets))
            });
            let [(buckets, from), (_, to)] = forms;
            let key = Address::of(KeyHash::new(random.bits()));
            let length = random.below(from.longest() as usize + 1) as u32;
            let slot = from.encode(Entry { length, ..Entry::whole(key, 0) });
            let first = first_place(key.place.bucket(buckets), buckets);
            let entry = from.decode(slot, first);
            for step in [Step::Stay, Step::Up(0), Step::Up(1), Step::Down(0), Step::Down(1)] {
                let recut = Recut::new(from, to, step).expect("both have ends");
                let moved = match step {
                    Step::Stay => Some(entry),
                    Step::Up(side) => Some(entry.ascend(side)),
                    Step::Down(side) => {
                        entry.descend().filter(|&(its, _)| its == side).map(|(_, entry)| entry)
                    }
                };
                let expected = moved.map_or(0, |moved| to.encode(moved));
                assert_eq!(recut.slot(slot, key.place), expected, "{step:?} {from:?} {to:?}");
                let longer = moved.is_some_and(|moved| moved.length > to.longest());
                assert_eq!(recut.shortens(slot), longer);
                assert!(moved.is_none_or(|moved| recut.length(slot) == moved.length));
                assert_eq!(recut.slot(0, key.place), 0);
            }
        }
    }

    #[test]
    fn splitting_and_merging_are_inverses() {
        let key = Address::of(KeyHash::new(0x0123_4567_89ab_cdef));
        let entry = Entry { length: 5, ..Entry::whole(key, 3) };
        let (side, child) = entry.descend().expect("five bits are known");
        assert_eq!(child.length, 4);
        let again = child.ascend(side);
        assert_eq!((again.extension, again.length), (entry.extension, entry.length));
        assert_eq!(Entry { length: 0, ..entry }.descend(), None);
    }
}
