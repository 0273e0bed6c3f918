//! Numbers of any width in memory, without gaps: reading, writing in turn, and moving everything
//! from some bit on. Knows nothing of what the numbers mean. The bits of a byte, and the bytes of
//! a number, begin with the lowest, on every platform.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_loadu_si128, _mm_or_si128, _mm_sll_epi64,
    _mm_srl_epi64, _mm256_loadu_si256, _mm256_or_si256, _mm256_sll_epi64, _mm256_srl_epi64,
};

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
#[inline]
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
#[inline(never)]
fn read_near_end(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
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
    #[inline]
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
#[inline]
fn word(words: &[u64], at: usize) -> u64 {
    u64::from_le(words[at])
}

/// Writes all words but the first from their bits and those of the word before, `by` bits up. `WIDE` only
/// where wide.rs has found the instructions.
#[inline(always)]
#[allow(unsafe_code, reason = "rounds are loaded from words and stored there")]
fn shift_words_up<const WIDE: bool>(words: &mut [u64], by: u32) {
    let (first, mut left) = (words.as_mut_ptr(), words.len() - 1);
    if left < ROUND {
        for at in (1..words.len()).rev() {
            words[at] = (word(words, at) << by | word(words, at - 1) >> (64 - by)).to_le();
        }
        return;
    }
    // SAFETY: `left` words after the first are within the slice, and a round after it; the caller answers for the
    // instructions.
    unsafe {
        let lowest = Round::load::<WIDE>(first, 64 - by);
        while left >= ROUND {
            left -= ROUND;
            Round::load::<WIDE>(first.add(left), 64 - by).store(first.add(left + 1));
        }
        lowest.store(first.add(1));
    }
}

/// Writes all words but the last from their bits and those of the word after, `by` bits down.
#[inline(always)]
#[allow(unsafe_code, reason = "rounds are loaded from words and stored there")]
fn shift_words_down<const WIDE: bool>(words: &mut [u64], by: u32) {
    let (mut at, mut left) = (words.as_mut_ptr(), words.len() - 1);
    if left < ROUND {
        for at in 1..words.len() {
            words[at - 1] = (word(words, at - 1) >> by | word(words, at) << (64 - by)).to_le();
        }
        return;
    }
    // SAFETY: `left` words from `at` on and one after them are within the slice, and a round before the last; the
    // caller answers for the instructions.
    unsafe {
        let last = at.add(left - ROUND);
        let highest = Round::load::<WIDE>(last, by);
        while left >= ROUND {
            Round::load::<WIDE>(at, by).store(at);
            (at, left) = (at.add(ROUND), left - ROUND);
        }
        highest.store(last);
    }
}

/// The words that are moved at a time. How many are left after the last round is different each time, and a
/// loop for them would end where no processor foresees it. So a whole round of them is moved in any case, some
/// of them twice: loaded before others are stored, for which it would have to wait.
const ROUND: usize = 16;

/// Words on their way, in vectors: what compilers make of loops over words has twice as many instructions.
#[cfg(target_arch = "x86_64")]
enum Round {
    Wide([__m256i; ROUND / 4]),
    Plain([__m128i; ROUND / 2]),
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vectors are loaded from words and stored there")]
impl Round {
    /// The bits from `by` on of each word of a round, and the lowest of the next.
    ///
    /// # Safety
    /// There is one word more than a round. `WIDE` only with AVX2.
    #[inline(always)]
    unsafe fn load<const WIDE: bool>(at: *const u64, by: u32) -> Self {
        // SAFETY: the caller's.
        unsafe {
            if WIDE {
                let (a, b) = (four(at, by), four(at.add(4), by));
                return Self::Wide([a, b, four(at.add(8), by), four(at.add(12), by)]);
            }
            let (a, b) = (two(at, by), two(at.add(2), by));
            let (c, d) = (two(at.add(4), by), two(at.add(6), by));
            let (e, f) = (two(at.add(8), by), two(at.add(10), by));
            Self::Plain([a, b, c, d, e, f, two(at.add(12), by), two(at.add(14), by)])
        }
    }

    /// # Safety
    /// There are the words of a round.
    #[inline(always)]
    unsafe fn store(self, at: *mut u64) {
        // SAFETY: the caller's.
        unsafe {
            match self {
                Self::Wide(round) => at.cast::<[__m256i; ROUND / 4]>().write_unaligned(round),
                Self::Plain(round) => at.cast::<[__m128i; ROUND / 2]>().write_unaligned(round),
            }
        }
    }
}

/// Four words as [`Round::load`] has them.
///
/// # Safety
/// There are five words, and AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code, reason = "the caller answers for the words and instructions")]
unsafe fn four(at: *const u64, by: u32) -> __m256i {
    // SAFETY: the caller's.
    unsafe {
        let low = _mm256_srl_epi64(_mm256_loadu_si256(at.cast()), _mm_cvtsi32_si128(by as i32));
        let rest = _mm_cvtsi32_si128(64 - by as i32);
        _mm256_or_si256(low, _mm256_sll_epi64(_mm256_loadu_si256(at.add(1).cast()), rest))
    }
}

/// Two words as [`Round::load`] has them.
///
/// # Safety
/// There are three words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code, reason = "the caller answers for the words")]
unsafe fn two(at: *const u64, by: u32) -> __m128i {
    // SAFETY: the caller's; every x86-64 has SSE2.
    unsafe {
        let low = _mm_srl_epi64(_mm_loadu_si128(at.cast()), _mm_cvtsi32_si128(by as i32));
        let rest = _mm_cvtsi32_si128(64 - by as i32);
        _mm_or_si128(low, _mm_sll_epi64(_mm_loadu_si128(at.add(1).cast()), rest))
    }
}

#[cfg(not(target_arch = "x86_64"))]
struct Round([u64; ROUND]);

#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code, reason = "the callers answer for the words")]
impl Round {
    /// As on x86-64.
    #[inline(always)]
    unsafe fn load<const WIDE: bool>(at: *const u64, by: u32) -> Self {
        // SAFETY: the caller's.
        let held = unsafe { at.cast::<[u64; ROUND + 1]>().read() };
        let mut round = [0; ROUND];
        for (i, word) in round.iter_mut().enumerate() {
            *word = (u64::from_le(held[i]) >> by | u64::from_le(held[i + 1]) << (64 - by)).to_le();
        }
        Self(round)
    }

    #[inline(always)]
    unsafe fn store(self, at: *mut u64) {
        // SAFETY: the caller's.
        unsafe { at.cast::<[u64; ROUND]>().write(self.0) };
    }
}

/// Moves the bits from `at` to `end` up, and writes a number of some width, below 64, in the place that
/// is free then. Bits before `at` and from the new end on stay.
#[inline(always)]
pub(super) fn insert<const WIDE: bool>(
    words: &mut [u64],
    at: usize,
    end: usize,
    width: u32,
    value: u64,
) {
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
        shift_words_up::<WIDE>(&mut words[low..=last], width);
        words[low] = (word(words, low) << width | (moved >> 64) as u64).to_le();
    }
    words[first] = (held & mask(shift) | moved as u64).to_le();
    words[last] = (word(words, last) & used | kept).to_le();
}

/// Takes out the `width` bits at `at`, fewer than 64: those after them, up to `end`, move down. Bits from
/// `end` on stay; those that are free then mean nothing.
#[inline(always)]
pub(super) fn remove<const WIDE: bool>(words: &mut [u64], at: usize, end: usize, width: u32) {
    debug_assert!((1..64).contains(&width) && at + width as usize <= end);
    let (first, new_end) = (at / 64, end - width as usize);
    let below = mask((at % 64) as u32);
    let held = word(words, first) & below;
    // What moves into the last word may come from the word after it.
    let last = new_end.saturating_sub(1).max(at) / 64;
    let used = mask((new_end % 64) as u32);
    let (ends_here, kept) = (new_end / 64 == last, word(words, last));
    shift_words_down::<WIDE>(&mut words[first..=last], width);
    let above = words.get(last + 1).map_or(0, |&above| u64::from_le(above));
    let mut moved = word(words, last) >> width | above << (64 - width);
    if ends_here {
        moved = moved & used | kept & !used;
    }
    words[last] = moved.to_le();
    words[first] = (word(words, first) & !below | held).to_le();
}

/// Moves the bits from `at` to `end` up by one, and writes a zero at `at`: a few words, with little ado.
#[inline(always)]
pub(super) fn insert_zero(words: &mut [u64], at: usize, end: usize) {
    let (first, last) = (at / 64, end / 64);
    let (below, above) = (mask((at % 64) as u32), !1 << (end % 64));
    let (low, high) = (word(words, first) & below, word(words, last) & above);
    let mut carry = 0;
    for word in &mut words[first..=last] {
        let held = u64::from_le(*word);
        *word = (held << 1 | carry).to_le();
        carry = held >> 63;
    }
    words[last] = (word(words, last) & !above | high).to_le();
    // The bit below `at` has moved there.
    let up_to = below << 1 | 1;
    words[first] = (word(words, first) & !up_to | low).to_le();
}

/// Takes the bit at `at` out: those after it, up to `end`, move down by one, and another one comes before
/// `end`. A few words.
#[inline]
pub(super) fn remove_bit(words: &mut [u64], at: usize, end: usize, next: u64) {
    let (first, last) = (at / 64, (end - 1) / 64);
    let (below, above) = (mask((at % 64) as u32), !1 << ((end - 1) % 64));
    let (low, high) = (word(words, first) & below, word(words, last) & above);
    let mut carry = 0;
    for word in words[first..=last].iter_mut().rev() {
        let held = u64::from_le(*word);
        *word = (held >> 1 | carry).to_le();
        carry = held << 63;
    }
    let next = next << ((end - 1) % 64);
    words[last] = (word(words, last) & !(above | 1 << ((end - 1) % 64)) | high | next).to_le();
    words[first] = (word(words, first) & !below | low).to_le();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;
    use crate::wide::{self, Instructions, Job};

    /// A number put in between two bits, or as many bits taken out.
    struct Change<'a>(&'a mut [u64], usize, usize, u32, Option<u64>);

    impl Change<'_> {
        #[inline(always)]
        fn make<const WIDE: bool>(self) {
            let Self(words, at, end, width, number) = self;
            match number {
                Some(number) => insert::<WIDE>(words, at, end, width, number),
                None => remove::<WIDE>(words, at, end, width),
            }
        }
    }

    impl Job for Change<'_> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            self.make::<false>();
        }

        #[inline(always)]
        fn run_wide(self) {
            self.make::<true>();
        }
    }

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
            let words: Vec<u64> = (0..1 + random.below(70)).map(|_| random.bits()).collect();
            let all = words.len() * 64;
            let from = random.below(all);
            let end = from + random.below(all - from + 1);
            let before = bits_of(&words);
            let by = random.below(64.min(all - end + 1));
            if by > 0 {
                let number = random.bits() & mask(by as u32);
                for instructions in [Instructions::Baseline, Instructions::Detected] {
                    let mut changed = words.clone();
                    wide::run(
                        instructions,
                        Change(&mut changed, from, end, by as u32, Some(number)),
                    );
                    let after = bits_of(&changed);
                    assert_eq!(after[..from], before[..from]);
                    assert!((0..by).all(|i| after[from + i] == (number >> i & 1 == 1)));
                    assert_eq!(after[from + by..end + by], before[from..end]);
                    assert_eq!(after[end + by..], before[end + by..]);
                    wide::run(instructions, Change(&mut changed, from, end + by, by as u32, None));
                    let after = bits_of(&changed);
                    assert_eq!(after[..end], before[..end]);
                    assert_eq!(after[end + by..], before[end + by..]);
                }
            }
            if end < all {
                let mut inserted = words.clone();
                insert_zero(&mut inserted, from, end);
                let after = bits_of(&inserted);
                assert_eq!(after[..from], before[..from]);
                assert!(!after[from]);
                assert_eq!(after[from + 1..=end], before[from..end]);
                assert_eq!(after[end + 1..], before[end + 1..]);
                let next = random.bits() & 1;
                remove_bit(&mut inserted, from, end + 1, next);
                let after = bits_of(&inserted);
                assert_eq!(after[..end], before[..end]);
                assert_eq!(after[end], next == 1);
                assert_eq!(after[end + 1..], before[end + 1..]);
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
