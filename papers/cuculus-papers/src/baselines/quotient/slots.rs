//! Slots with three bits of their own and a remainder each, in a circle. Knows how they are packed
//! and moved, nothing of what the bits mean.

use cuculus::BuildError;

use crate::baselines::memory::zeroed;

/// Slots come in groups: their bits are then words, and are looked at 64 at a time.
pub(super) const GROUP: usize = 64;

/// The three bits of a slot.
#[derive(Clone, Copy)]
pub(super) enum Bit {
    /// Some key has this slot as its own, wherever its remainder lies.
    Occupied = 0,
    /// The remainder here belongs to the same slot as the one before.
    Continuation = 1,
    /// The remainder here does not lie in its own slot.
    Shifted = 2,
}

const BITS: usize = 3;

/// All slots. A group is three words of bits, and as many words of remainders as one has bits: they
/// end where the group does.
///
/// Positions count on past the end and start again from the first slot, up to four times the number
/// of slots.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Slots {
    words: Box<[u64]>,
    groups: usize,
    remainder_bits: u32,
}

impl Slots {
    pub(super) fn new(groups: u64, remainder_bits: u32) -> Result<Self, BuildError> {
        let words = groups * (BITS as u64 + u64::from(remainder_bits));
        Ok(Self { words: zeroed(words)?, groups: groups as usize, remainder_bits })
    }

    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.groups * GROUP
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
    }

    #[inline(always)]
    fn start(&self, position: usize) -> usize {
        let mut group = position / GROUP;
        while group >= self.groups {
            group -= self.groups;
        }
        group * (BITS + self.remainder_bits as usize)
    }

    /// A bit of all slots of the group that a position is in.
    #[inline(always)]
    pub(super) fn word(&self, bit: Bit, position: usize) -> u64 {
        self.words[self.start(position) + bit as usize]
    }

    #[inline(always)]
    pub(super) fn is(&self, bit: Bit, position: usize) -> bool {
        self.word(bit, position) >> (position % GROUP) & 1 == 1
    }

    #[inline(always)]
    pub(super) fn set(&mut self, bit: Bit, position: usize, value: bool) {
        let at = self.start(position) + bit as usize;
        let mask = 1 << (position % GROUP);
        self.words[at] = if value { self.words[at] | mask } else { self.words[at] & !mask };
    }

    /// The slots of a group that hold a remainder. (A slot that is occupied does: its own key's, or
    /// one that was shifted there.)
    #[inline(always)]
    pub(super) fn in_use(&self, position: usize) -> u64 {
        let at = self.start(position);
        self.words[at] | self.words[at + 1] | self.words[at + 2]
    }

    #[inline(always)]
    pub(super) fn remainder(&self, position: usize) -> u64 {
        let bits = self.remainder_bits;
        let first = (position % GROUP) as u32 * bits;
        let (at, shift) = (self.start(position) + BITS + (first / 64) as usize, first % 64);
        let mut remainder = self.words[at] >> shift;
        if shift + bits > 64 {
            remainder |= self.words[at + 1] << (64 - shift);
        }
        remainder & low(bits)
    }

    #[inline(always)]
    pub(super) fn set_remainder(&mut self, position: usize, remainder: u64) {
        let bits = self.remainder_bits;
        let first = (position % GROUP) as u32 * bits;
        let (at, shift) = (self.start(position) + BITS + (first / 64) as usize, first % 64);
        self.words[at] = self.words[at] & !(low(bits) << shift) | remainder << shift;
        if shift + bits > 64 {
            let done = 64 - shift;
            self.words[at + 1] = self.words[at + 1] & !(low(bits) >> done) | remainder >> done;
        }
    }

    /// Moves remainders and continuation bits of `from..to` one slot on. The slot `to` is free; what
    /// is left in `from` is for the caller to replace.
    pub(super) fn open(&mut self, from: usize, to: usize) {
        let mut position = to;
        loop {
            let group = position / GROUP * GROUP;
            let first = from.max(group);
            let bits = self.remainder_bits as usize;
            let at = self.start(position);
            let remainders = &mut self.words[at + BITS..at + BITS + bits];
            move_up(remainders, (first - group) * bits, (position - group) * bits, bits as u32);
            let moved = between(first - group + 1, position - group + 1);
            let continuation = &mut self.words[at + Bit::Continuation as usize];
            *continuation = *continuation & !moved | *continuation << 1 & moved;
            if first > group || from == group {
                return;
            }
            // The last of the group before comes first.
            position = group - 1;
            let (remainder, continues) =
                (self.remainder(position), self.is(Bit::Continuation, position));
            self.set_remainder(group, remainder);
            self.set(Bit::Continuation, group, continues);
        }
    }

    /// Moves remainders, continuation and shifted bits of `from + 1..to` one slot back, over what was
    /// in `from`, and leaves the slot before `to` free.
    pub(super) fn close(&mut self, from: usize, to: usize) {
        let mut first = from;
        let last = to - 1;
        loop {
            let group = first / GROUP * GROUP;
            let end = last.min(group + GROUP - 1);
            let bits = self.remainder_bits as usize;
            let at = self.start(first);
            let remainders = &mut self.words[at + BITS..at + BITS + bits];
            move_down(remainders, (first - group) * bits, (end - group) * bits, bits as u32);
            let moved = between(first - group, end - group);
            for bit in [Bit::Continuation, Bit::Shifted] {
                let word = &mut self.words[at + bit as usize];
                *word = *word & !moved | *word >> 1 & moved;
            }
            if end == last {
                break;
            }
            // The first of the next group comes last.
            first = end + 1;
            let remainder = self.remainder(first);
            self.set_remainder(end, remainder);
            for bit in [Bit::Continuation, Bit::Shifted] {
                let value = self.is(bit, first);
                self.set(bit, end, value);
            }
        }
        self.set_remainder(last, 0);
        self.set(Bit::Continuation, last, false);
        self.set(Bit::Shifted, last, false);
    }

    pub(super) fn set_shifted(&mut self, from: usize, to: usize) {
        let mut position = from;
        while position < to {
            let group = position / GROUP * GROUP;
            let end = to.min(group + GROUP);
            let at = self.start(position) + Bit::Shifted as usize;
            self.words[at] |= between(position - group, end - group);
            position = end;
        }
    }
}

#[inline(always)]
fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[inline(always)]
pub(super) fn between(from: usize, to: usize) -> u64 {
    let below = |bit: usize| if bit >= 64 { u64::MAX } else { (1 << bit) - 1 };
    below(to) & !below(from)
}

/// The bits `first..end` of a row of words move up by `by`, below 64.
#[inline(always)]
fn move_up(words: &mut [u64], first: usize, end: usize, by: u32) {
    if first == end {
        return;
    }
    let (first, end) = (first + by as usize, end + by as usize);
    for at in (first / 64..=(end - 1) / 64).rev() {
        let below = if at > 0 { words[at - 1] >> (64 - by) } else { 0 };
        let moved = words[at] << by | below;
        let mask = between(first.saturating_sub(at * 64), end - at * 64);
        words[at] = words[at] & !mask | moved & mask;
    }
}

/// The bits `first + by..end + by` of a row of words move down by `by`, below 64.
#[inline(always)]
fn move_down(words: &mut [u64], first: usize, end: usize, by: u32) {
    if first == end {
        return;
    }
    for at in first / 64..=(end - 1) / 64 {
        let above = words.get(at + 1).map_or(0, |word| word << (64 - by));
        let moved = words[at] >> by | above;
        let mask = between(first.saturating_sub(at * 64), end - at * 64);
        words[at] = words[at] & !mask | moved & mask;
    }
}
