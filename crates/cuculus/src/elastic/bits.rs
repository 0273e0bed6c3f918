//! Numbers of any width in memory, without gaps: reading, writing in turn, and moving everything
//! from some bit on. Knows nothing of what the numbers mean. The bits of a byte, and the bytes of
//! a number, begin with the lowest, on every platform.

use super::code::mask;

/// The number at a bit; at most 57 bits. Bytes past the end are zero.
#[inline(always)]
pub(super) fn read(bytes: &[u8], bit: usize, width: u32) -> u64 {
    debug_assert!(width <= 57);
    let word = match bytes.get(bit / 8..).and_then(|rest| rest.first_chunk()) {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => read_near_end(bytes, bit / 8),
    };
    word >> (bit % 8) & mask(width)
}

/// The numbers of one width from a bit on, at most 57 bits each. Three are loaded at once if they are
/// narrow.
#[inline(always)]
pub(super) fn read_all(bytes: &[u8], mut bit: usize, width: u32, to: &mut [u64]) {
    let (threes, mut rest) = to.as_chunks_mut();
    if 3 * width <= 57 {
        for [a, b, c] in threes {
            let word = read(bytes, bit, 3 * width);
            (*a, *b, *c) = (word & mask(width), word >> width & mask(width), word >> (2 * width));
            bit += 3 * width as usize;
        }
    } else {
        rest = to;
    }
    for number in rest {
        *number = read(bytes, bit, width);
        bit += width as usize;
    }
}

#[cold]
fn read_near_end(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Writes a number over what is at a bit; fewer than 64 bits. Words are loaded as they were stored.
#[inline(always)]
pub(super) fn set(words: &mut [u64], bit: usize, width: u32, value: u64) {
    let (at, shift) = (bit / 64, (bit % 64) as u32);
    words[at] = (word(words, at) & !(mask(width) << shift) | value << shift).to_le();
    if shift + width > 64 {
        let kept = word(words, at + 1) & !(mask(width) >> (64 - shift));
        words[at + 1] = (kept | value >> (64 - shift)).to_le();
    }
}

/// Adds to the number that begins at a bit, or takes away from it.
#[inline(always)]
pub(super) fn add(words: &mut [u64], bit: usize, is_more: bool) {
    let (at, one) = (bit / 64, 1u64 << (bit % 64));
    let held = word(words, at);
    let (sum, carries) =
        if is_more { held.overflowing_add(one) } else { held.overflowing_sub(one) };
    words[at] = sum.to_le();
    if carries {
        let held = word(words, at + 1);
        let sum = if is_more { held.wrapping_add(1) } else { held.wrapping_sub(1) };
        words[at + 1] = sum.to_le();
    }
}

/// Writes numbers one after the other from the first bit on.
pub(super) struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
    held: u64,
    bits: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, at: 0, held: 0, bits: 0 }
    }

    /// At most 56 bits.
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 56 && value <= mask(width));
        self.held |= value << self.bits;
        match self.bytes.get_mut(self.at..).and_then(|rest| rest.first_chunk_mut()) {
            Some(chunk) => *chunk = self.held.to_le_bytes(),
            None => self.put_near_end(),
        }
        let bits = self.bits + width;
        self.at += (bits / 8) as usize;
        // At most 63 bits, so at most seven bytes.
        self.held >>= bits / 8 * 8;
        self.bits = bits % 8;
    }

    /// Numbers of one width, at most 56 bits each. Three, or two, go in one piece if they are narrow.
    #[inline(always)]
    pub(super) fn put_all(&mut self, values: &[u64], width: u32) {
        let rest = if 3 * width <= 56 {
            let (threes, rest) = values.as_chunks();
            for &[a, b, c] in threes {
                self.put(a | b << width | c << (2 * width), 3 * width);
            }
            rest
        } else if 2 * width <= 56 {
            let (twos, rest) = values.as_chunks();
            twos.iter().for_each(|&[a, b]| self.put(a | b << width, 2 * width));
            rest
        } else {
            values
        };
        rest.iter().for_each(|&value| self.put(value, width));
    }

    #[cold]
    fn put_near_end(&mut self) {
        let held = self.held.to_le_bytes();
        let rest = self.bytes.get_mut(self.at..).unwrap_or_default();
        rest.iter_mut().zip(held).for_each(|(byte, held)| *byte = held);
    }
}

/// The word at an index, as bits.
#[inline(always)]
fn word(words: &[u64], at: usize) -> u64 {
    u64::from_le(words[at])
}

/// Words that are moved at once.
const MOVED: usize = 8;

/// The bits `k` below those of the word that is second, of two.
#[inline(always)]
fn up(below: u64, held: u64, k: u32) -> u64 {
    held << k | (below >> 1) >> (63 - k)
}

/// The bits `k` above those of the word that is first, of two.
#[inline(always)]
fn down(held: u64, above: u64, k: u32) -> u64 {
    held >> k | (above << 1) << (63 - k)
}

/// Writes the words from `low` on, without it, up to `at` from those `skip` words and `k` bits below.
#[inline(always)]
fn shift_words_up(words: &mut [u64], low: usize, mut at: usize, skip: usize, k: u32) {
    while at >= low + MOVED {
        move_up(words, at, skip, k, 0);
        at -= MOVED;
    }
    // Those that are left, fewer than are moved at once: how many is different each time, so a loop
    // would end where no processor foresees it.
    if at >= skip + MOVED {
        move_up(words, at, skip, k, MOVED - (at - low));
        return;
    }
    for at in (low + 1..=at).rev() {
        words[at] = up(word(words, at - skip - 1), word(words, at - skip), k).to_le();
    }
}

/// Writes the last words up to `at` from those `skip` words and `k` bits below, but leaves the first
/// `kept` of them.
#[inline(always)]
fn move_up(words: &mut [u64], at: usize, skip: usize, k: u32, kept: usize) {
    let from = at - skip - MOVED;
    let Some(&held) = words[from..].first_chunk::<{ MOVED + 1 }>() else { return };
    let Some(to) = words[from + skip + 1..].first_chunk_mut::<MOVED>() else { return };
    let mut moved = *to;
    for i in 0..MOVED {
        let up = up(u64::from_le(held[i]), u64::from_le(held[i + 1]), k).to_le();
        moved[i] = if i < kept { moved[i] } else { up };
    }
    *to = moved;
}

/// Writes the words from `at` to `end`, without it, from those `skip` words and `k` bits above. The word
/// `skip` after the end exists.
#[inline(always)]
fn shift_words_down(words: &mut [u64], mut at: usize, end: usize, skip: usize, k: u32) {
    while at + MOVED <= end {
        move_down(words, at, skip, k, 0);
        at += MOVED;
    }
    // As above; those before have been moved.
    if end >= MOVED {
        move_down(words, end - MOVED, skip, k, MOVED - (end - at));
        return;
    }
    for at in at..end {
        words[at] = down(word(words, at + skip), word(words, at + skip + 1), k).to_le();
    }
}

/// Writes the words from `at` on from those `skip` words and `k` bits above, but leaves the first `kept`
/// of them.
#[inline(always)]
fn move_down(words: &mut [u64], at: usize, skip: usize, k: u32, kept: usize) {
    let Some(&held) = words[at + skip..].first_chunk::<{ MOVED + 1 }>() else { return };
    let Some(to) = words[at..].first_chunk_mut::<MOVED>() else { return };
    let mut moved = *to;
    for i in 0..MOVED {
        let down = down(u64::from_le(held[i]), u64::from_le(held[i + 1]), k).to_le();
        moved[i] = if i < kept { moved[i] } else { down };
    }
    *to = moved;
}

/// Moves the bits from `at` to `end` up, and writes a number of some width in the place that is free
/// then. Bits before `at` and from the new end on stay. In one go, since a load of what was stored
/// with other bounds just before has to wait.
#[inline(always)]
pub(super) fn insert(words: &mut [u64], at: usize, end: usize, width: u32, value: u64) {
    debug_assert!((1..64).contains(&width) && value <= mask(width) && at <= end);
    let (first, shift) = (at / 64, (at % 64) as u32);
    let new_end = end + width as usize;
    let last = (new_end - 1) / 64;
    let used = mask(((new_end - 1) % 64) as u32) << 1 | 1;
    let kept = word(words, last) & !used;
    let held = word(words, first);
    // The number and what was after it in its word, at most 63 bits more than a word.
    let moved = (u128::from(value) | u128::from(held >> shift) << width) << shift;
    if last > first {
        let low = first + 1;
        shift_words_up(words, low, last, 0, width);
        words[low] = (word(words, low) << width | (moved >> 64) as u64).to_le();
    }
    words[first] = (held & mask(shift) | moved as u64).to_le();
    words[last] = (word(words, last) & used | kept).to_le();
}

/// Moves the bits from `from` to `end` up by some bits. Those before `from` and those from the new
/// end on stay; those that are left behind mean nothing.
#[inline(always)]
pub(super) fn shift_up(words: &mut [u64], from: usize, end: usize, by: usize) {
    if from >= end {
        return;
    }
    let (skip, k) = (by / 64, (by % 64) as u32);
    let (first, last) = (from / 64, (end + by - 1) / 64);
    let low = first + skip;
    let (moved, kept) = (mask(((end + by - 1) % 64) as u32) << 1 | 1, word(words, last));
    shift_words_up(words, low, last, skip, k);
    let keep = mask((from % 64) as u32);
    let held = word(words, first);
    let below = if skip == 0 { held & keep } else { 0 };
    // With k > 0 the bits that leave this word upwards were taken above, if there is one.
    words[low] = (below | (held & !keep) << k).to_le();
    words[last] = (word(words, last) & moved | kept & !moved).to_le();
}

/// Moves the bits from `from` to `end` down by some bits, over what was there. Those from `end` on
/// stay.
#[inline(always)]
pub(super) fn shift_down(words: &mut [u64], from: usize, end: usize, by: usize) {
    if from >= end {
        return;
    }
    let (skip, k) = (by / 64, (by % 64) as u32);
    let to = from - by;
    let (first, last) = (to / 64, (end - by - 1) / 64);
    let keep = mask((to % 64) as u32);
    let (moved, kept) = (mask(((end - by - 1) % 64) as u32) << 1 | 1, word(words, last));
    let below = word(words, first) & keep;
    shift_words_down(words, first, last, skip, k);
    let above = words.get(last + skip + 1).map_or(0, |&above| u64::from_le(above));
    words[last] = down(word(words, last + skip), above, k).to_le();
    words[first] = (word(words, first) & !keep | below).to_le();
    words[last] = (word(words, last) & moved | kept & !moved).to_le();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    fn bits_of(words: &[u64]) -> Vec<bool> {
        words
            .iter()
            .flat_map(|&word| (0..64).map(move |i| u64::from_le(word) >> i & 1 == 1))
            .collect()
    }

    #[test]
    fn bits_move_and_nothing_else_does() {
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let words: Vec<u64> = (0..1 + random.below(24)).map(|_| random.bits()).collect();
            let all = words.len() * 64;
            let from = random.below(all);
            let end = from + random.below(all - from + 1);
            let before = bits_of(&words);
            let most = all - end;
            let by = random.below(most.min(200) + 1);
            if (1..64).contains(&by) {
                let (mut inserted, number) = (words.clone(), random.bits() & mask(by as u32));
                insert(&mut inserted, from, end, by as u32, number);
                let after = bits_of(&inserted);
                assert_eq!(after[..from], before[..from]);
                assert!((0..by).all(|i| after[from + i] == (number >> i & 1 == 1)));
                assert_eq!(after[from + by..end + by], before[from..end]);
                assert_eq!(after[end + by..], before[end + by..]);
            }
            if (1..64).contains(&by) {
                let (mut written, number) = (words.clone(), random.bits() & mask(by as u32));
                set(&mut written, from, by as u32, number);
                let after = bits_of(&written);
                assert!((0..by).all(|i| after[from + i] == (number >> i & 1 == 1)));
                assert_eq!(after[..from], before[..from]);
                assert_eq!(after[from + by..], before[from + by..]);
                if number < mask(by as u32) {
                    add(&mut written, from, true);
                    let mut expected = words.clone();
                    set(&mut expected, from, by as u32, number + 1);
                    assert_eq!(written, expected);
                    add(&mut written, from, false);
                    set(&mut expected, from, by as u32, number);
                    assert_eq!(written, expected);
                }
            }
            if by > 0 {
                let mut moved = words.clone();
                shift_up(&mut moved, from, end, by);
                let after = bits_of(&moved);
                assert_eq!(after[from + by..end + by], before[from..end]);
                assert_eq!(after[..from], before[..from]);
                assert_eq!(after[end + by..], before[end + by..]);
            }
            let by = random.below(from.min(200) + 1);
            if by > 0 {
                let mut moved = words.clone();
                shift_down(&mut moved, from, end, by);
                let after = bits_of(&moved);
                assert_eq!(after[from - by..end - by], before[from..end]);
                assert_eq!(after[..from - by], before[..from - by]);
                assert_eq!(after[end..], before[end..]);
            }
        }
    }

    #[test]
    fn numbers_written_are_read_back() {
        let mut random = Random::new(2);
        let mut bytes = [0u8; 600];
        for _ in 0..500 {
            let numbers: Vec<(u64, u32)> = (0..60)
                .map(|_| {
                    let width = 1 + random.below(56) as u32;
                    (random.bits() & mask(width), width)
                })
                .collect();
            bytes.fill(0);
            let mut writer = Writer::new(&mut bytes);
            numbers.iter().for_each(|&(value, width)| writer.put(value, width));
            let mut at = 0;
            for &(value, width) in &numbers {
                assert_eq!(read(&bytes, at, width), value);
                at += width as usize;
            }
        }
    }

    #[test]
    fn numbers_of_one_width_are_written_and_read_as_one_after_the_other() {
        let mut random = Random::new(3);
        for _ in 0..2000 {
            let (lead, width) = (random.below(50) as u32, 1 + random.below(56) as u32);
            let numbers: Vec<u64> =
                (0..random.below(20)).map(|_| random.bits() & mask(width)).collect();
            let mut bytes = [[0u8; 160]; 2];
            let [together, in_turn] = bytes.each_mut().map(|bytes| Writer::new(bytes));
            for (is_together, mut writer) in [(true, together), (false, in_turn)] {
                writer.put(0, lead);
                match is_together {
                    true => writer.put_all(&numbers, width),
                    false => numbers.iter().for_each(|&number| writer.put(number, width)),
                }
                writer.put(1, 1);
            }
            assert_eq!(bytes[0], bytes[1]);
            let mut read_back = vec![0; numbers.len()];
            read_all(&bytes[0], lead as usize, width, &mut read_back);
            assert_eq!(read_back, numbers);
        }
    }
}
