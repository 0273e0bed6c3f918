//! Sixteen homes and their codes, as bits: how many codes each home has, and which. Knows nothing
//! of segments; a code is a number of some width.
//!
//! ```text
//!  header, 16 bits and one for each code    for each home as many zeros as it has codes, then a one
//!  codes                                    home after home, those of each home sorted
//! ```
//!
//! So a group with n codes of w bits takes 16 + n · (w + 1) bits, and its bits are a function of what
//! is in it.
//!
//! **Finding a home.** With PDEP, two instructions. Without it: of n codes some n · q / 16 come before
//! home q, give or take a few, so its place in the header is nearly known. The ones below a window of
//! nine bits there are counted; one byte of a table says where in the window the home begins. One home
//! in fifty begins elsewhere and is looked for word by word.

use super::address::GROUP_HOMES;
use super::bits::{Writer, read, read_all};
use super::code::mask;

/// The bits of a header without codes.
pub(super) const HEADER: usize = GROUP_HOMES;
/// The most codes of a group whose header can be read at once.
pub(super) const FEW: usize = 57 - HEADER;
/// The bits that are looked at for a home.
const WINDOW: u32 = 9;
/// Zeros before the header, so that every window begins in the word.
const PAD: u32 = WINDOW / 2 + 1;
/// The place of a home that begins elsewhere: every bit is shifted out, and the run looks as long.
pub(super) const ELSEWHERE: u32 = 63;

/// One more than the place of the one with this number in a window: `PLACES[16 + number][window]`. Of
/// numbers that do not occur, [`ELSEWHERE`].
static PLACES: [[u8; 1 << WINDOW]; 2 * GROUP_HOMES] = {
    let mut table = [[ELSEWHERE as u8; 1 << WINDOW]; 2 * GROUP_HOMES];
    let (mut window, mut bit, mut number) = (0, 0, 0);
    while window < 1 << WINDOW {
        if window >> bit & 1 == 1 {
            table[GROUP_HOMES + number][window] = bit as u8 + 1;
            number += 1;
        }
        bit += 1;
        if bit == WINDOW {
            (window, bit, number) = (window + 1, 0, 0);
        }
    }
    table
};

/// The ones of a number that has at most 16; for 16 it says none. Few instructions where none counts ones.
#[inline]
fn ones(bits: u64) -> u32 {
    let pairs = bits - (bits >> 1 & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    (fours.wrapping_mul(0x1111_1111_1111_1111) >> 60) as u32
}

/// The codes before those of a home, and how many it has: [`ELSEWHERE`] if that takes longer to say.
/// The header is of [`FEW`] codes at most; what follows it may be anything.
#[inline(always)]
pub(super) fn find(header: u64, home: u32, codes: u32) -> (u32, u32) {
    debug_assert!(home < GROUP_HOMES as u32 && codes <= FEW as u32);
    // With a one before it where home 0 begins, home q begins behind the one with number q.
    let header = header << (PAD + 1) | 1 << PAD;
    let likely = (home * codes) >> 4;
    let from = home + likely + 1;
    let window = header >> from;
    // If 16 ones are said to be none, no one is left for the window, or the row has none of that number.
    let below = ones(header << (64 - from));
    let row = (GROUP_HOMES as u32 + home).wrapping_sub(below) as usize % PLACES.len();
    let place = u32::from(PLACES[row][(window & mask(WINDOW)) as usize]);
    let run = (window >> place | 1 << 63).trailing_zeros();
    ((likely + place).wrapping_sub(PAD), run)
}

/// [`find`] for a processor that has PDEP, where it never takes longer.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code, reason = "instructions that the caller answers for")]
pub(super) unsafe fn find_by_deposit(header: u64, home: u32) -> (u32, u32) {
    // SAFETY: the caller has BMI2.
    let both = unsafe { core::arch::x86_64::_pdep_u64(3 << home, header << 1 | 1) };
    let first = both.trailing_zeros();
    (first.wrapping_sub(home), 62u32.wrapping_sub(both.leading_zeros() + first))
}

/// [`find`], or the shorter way that a processor with the wider instructions has.
#[inline(always)]
#[allow(unsafe_code, reason = "the caller answers for the instructions")]
pub(super) fn find_as<const WIDE: bool>(header: u64, home: u32, codes: u32) -> (u32, u32) {
    #[cfg(target_arch = "x86_64")]
    if WIDE {
        // SAFETY: `WIDE` only where wide.rs has found BMI2, among others.
        return unsafe { find_by_deposit(header, home) };
    }
    find(header, home, codes)
}

/// [`find`] for a header of any length, which begins at a bit.
#[inline(never)]
pub(super) fn find_anywhere(bytes: &[u8], at: usize, home: u32) -> (usize, usize) {
    const PIECE: usize = 56;
    let next = |at: usize| read(bytes, at, PIECE as u32);
    let (mut bit, mut left, end) = (at, home, bytes.len() * 8);
    while left > 0 && bit < end {
        let (mut piece, found) = (next(bit), next(bit).count_ones());
        if found < left {
            (bit, left) = (bit + PIECE, left - found);
            continue;
        }
        (1..left).for_each(|_| piece &= piece - 1);
        bit += piece.trailing_zeros() as usize + 1;
        left = 0;
    }
    let first = bit;
    while next(bit) == 0 && bit < end {
        bit += PIECE;
    }
    (first - at - home as usize, bit - first + next(bit).trailing_zeros() as usize)
}

/// The codes of a group, as numbers.
pub(super) struct Group<'a> {
    /// The codes up to the end of each home.
    pub(super) ends: [u16; GROUP_HOMES],
    /// The first ones are the group's.
    pub(super) codes: &'a mut [u64],
}

impl Group<'_> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.ends[GROUP_HOMES - 1])
    }

    /// Where the codes of a home are.
    #[inline(always)]
    pub(super) fn run(&self, home: usize) -> core::ops::Range<usize> {
        home.checked_sub(1).map_or(0, |before| self.ends[before].into())..self.ends[home].into()
    }

    /// Reads a group of some codes that begins at a bit. `None` if there is no such group, or it has
    /// more codes than there is room for.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: &[u8], at: usize, len: usize, width: u32) -> Option<()> {
        let first = at + HEADER + len;
        read_all(bytes, first, width, self.codes.get_mut(..len)?);
        if len > FEW {
            return self.read_ends(bytes, at, len);
        }
        let mut header = read(bytes, at, (HEADER + len) as u32);
        // Sixteen ones, of which the last comes last.
        if header.count_ones() != GROUP_HOMES as u32 || header >> (HEADER + len - 1) == 0 {
            return None;
        }
        for (home, end) in self.ends.iter_mut().enumerate() {
            *end = header.trailing_zeros() as u16 - home as u16;
            header &= header - 1;
        }
        Some(())
    }

    #[inline(never)]
    fn read_ends(&mut self, bytes: &[u8], at: usize, len: usize) -> Option<()> {
        let (mut bit, mut before) = (at, 0);
        for end in &mut self.ends {
            let (_, run) = find_anywhere(bytes, bit, 0);
            before += run;
            if before > len {
                return None;
            }
            *end = before as u16;
            bit += run + 1;
        }
        (before == len).then_some(())
    }

    /// Becomes a group of some homes and codes. `None` if there is no room for them.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        of: impl ExactSizeIterator<Item = (usize, u64)> + Clone,
    ) -> Option<()> {
        let codes = self.codes.get_mut(..of.len())?;
        let (mut next, mut len) = ([0u16; GROUP_HOMES], 0);
        of.clone().for_each(|(home, _)| next[home] += 1);
        for (first, end) in next.iter_mut().zip(&mut self.ends) {
            len += core::mem::replace(first, len);
            *end = len;
        }
        let starts = next;
        for (home, code) in of {
            let (mut at, start) = (usize::from(next[home]), usize::from(starts[home]));
            next[home] += 1;
            while at > start && codes[at - 1] > code {
                codes[at] = codes[at - 1];
                at -= 1;
            }
            codes[at] = code;
        }
        Some(())
    }

    /// Adds all codes of another group. `None` if there is no room.
    #[inline(always)]
    pub(super) fn merge(&mut self, other: &Group<'_>) -> Option<()> {
        // From the last on, so that each moves to a place that is free. Those before the first that is added
        // stay.
        let (mut end, mut left) = (self.len(), other.len());
        if end + left > self.codes.len() {
            return None;
        }
        for home in (0..GROUP_HOMES).rev() {
            let theirs = other.run(home);
            if theirs.is_empty() {
                continue;
            }
            let mine = self.run(home);
            self.codes.copy_within(mine.end..end, mine.end + left);
            end = mine.end;
            for &code in other.codes[theirs].iter().rev() {
                while end > mine.start && self.codes[end - 1] > code {
                    end -= 1;
                    self.codes[end + left] = self.codes[end];
                }
                left -= 1;
                self.codes[end + left] = code;
            }
        }
        self.ends.iter_mut().zip(other.ends).for_each(|(end, more)| *end += more);
        Some(())
    }

    /// Whether a home has more equal codes than some.
    #[inline]
    pub(super) fn has_equal(&self, most: usize) -> bool {
        // Within the group as a whole: two homes seldom have equal codes next to each other.
        let codes = &self.codes[..self.len()];
        codes.iter().zip(codes.get(most..).unwrap_or_default()).any(|(code, other)| code == other)
    }

    /// Takes some of the codes of a home out.
    pub(super) fn remove(&mut self, home: usize, some: core::ops::Range<usize>) {
        let len = self.len();
        self.codes.copy_within(some.end..len, some.start);
        self.ends[home..].iter_mut().for_each(|end| *end -= some.len() as u16);
    }

    /// Writes the group, with codes of this width.
    #[inline(always)]
    pub(super) fn write(&self, width: u32, to: &mut Writer<'_>) {
        let len = self.len();
        if HEADER + len <= 56 {
            let ends = self.ends.iter().enumerate();
            let header =
                ends.fold(0, |header, (home, &end)| header | 1 << (usize::from(end) + home));
            to.put(header, (HEADER + len) as u32);
        } else {
            self.write_ends(to);
        }
        to.put_all(&self.codes[..len], width);
    }

    #[inline(never)]
    fn write_ends(&self, to: &mut Writer<'_>) {
        for home in 0..GROUP_HOMES {
            self.run(home).for_each(|_| to.put(0, 1));
            to.put(1, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;

    /// Sorted codes of each home: few, as usual, or many.
    fn some_homes(random: &mut Random, width: u32, most: usize) -> Vec<Vec<u64>> {
        let home = |_| {
            let count = random.below(most);
            let mut run: Vec<u64> = (0..count).map(|_| random.bits() & mask(width)).collect();
            run.sort_unstable();
            run
        };
        (0..GROUP_HOMES).map(home).collect()
    }

    fn group_of<'a>(homes: &[Vec<u64>], codes: &'a mut Vec<u64>) -> Group<'a> {
        *codes = homes.concat();
        let mut end = 0;
        let ends = core::array::from_fn(|home| {
            end += homes[home].len() as u16;
            end
        });
        codes.resize(codes.len() + 1, 0);
        Group { ends, codes }
    }

    /// Groups of all kinds, there and back; every home is found where it is, in every way.
    #[test]
    fn what_is_written_is_read_and_found() {
        let mut random = Random::new(1);
        let (mut bytes, mut elsewhere, mut found) = (vec![0u8; 1 << 14], 0, 0);
        for round in 0..20_000 {
            let width = 2 + random.below(39) as u32;
            let homes = some_homes(&mut random, width, [3, 4, 5, 60][round % 4]);
            let (len, lead) = (homes.concat().len(), random.below(50) as u32);
            let mut writer = Writer::new(&mut bytes);
            writer.put(0, lead);
            let (mut codes, at) = (Vec::new(), lead as usize);
            group_of(&homes, &mut codes).write(width, &mut writer);
            writer.put(1, 1);
            let end = at + HEADER + len * (width as usize + 1);
            assert_eq!(read(&bytes, end, 1), 1, "the bits are not as many as counted");
            let mut codes = vec![0; 1000];
            let mut group = Group { ends: [0; GROUP_HOMES], codes: &mut codes };
            group.read(&bytes, at, len, width).expect("a group");
            for (home, run) in homes.iter().enumerate() {
                assert_eq!(group.codes[group.run(home)], run[..]);
                let before = group.run(home).start;
                let place = (before, run.len());
                assert_eq!(find_anywhere(&bytes, at, home as u32), place);
                if len > FEW {
                    continue;
                }
                let header = read(&bytes, at, 57);
                let (start, count) = find(header, home as u32, len as u32);
                if count == ELSEWHERE {
                    elsewhere += 1;
                } else {
                    assert_eq!((start as usize, count as usize), place);
                    found += 1;
                }
                #[cfg(target_arch = "x86_64")]
                if is_x86_feature_detected!("bmi2") {
                    #[allow(unsafe_code, reason = "the instruction is there")]
                    // SAFETY: it was detected.
                    let (start, count) = unsafe { find_by_deposit(header, home as u32) };
                    assert_eq!((start as usize, count as usize), place);
                }
            }
        }
        assert!(elsewhere * 30 < found && elsewhere > 0, "{elsewhere} of {found} elsewhere");
    }

    #[test]
    fn codes_come_and_go_where_they_belong() {
        let mut random = Random::new(2);
        for _ in 0..2000 {
            let mut homes = some_homes(&mut random, 10, 6);
            let mut codes = Vec::new();
            let mut group = group_of(&homes, &mut codes);
            let most = [2, 5][random.below(2)];
            let (more, mut theirs) = (some_homes(&mut random, 10, most), [0; 100]);
            let numbers = |of: &[Vec<u64>]| -> Vec<(usize, u64)> {
                let homes = of.iter().enumerate();
                homes
                    .flat_map(|(home, run)| run.iter().rev().map(move |&code| (home, code)))
                    .collect()
            };
            let mut theirs = Group { ends: [0; GROUP_HOMES], codes: &mut theirs };
            theirs.fill(numbers(&more).into_iter()).expect("room");
            assert!((0..GROUP_HOMES).all(|home| theirs.codes[theirs.run(home)] == more[home]));
            let len = theirs.len();
            let mut few = Group { ends: [0; GROUP_HOMES], codes: &mut vec![0; len.max(1) - 1] };
            assert!(len == 0 || few.fill(numbers(&more).into_iter()).is_none(), "there is no room");
            assert!(len < 2 || group.merge(&theirs).is_none(), "there is no room");
            let mut codes = [0; 200];
            codes[..group.len()].copy_from_slice(&group.codes[..group.len()]);
            let mut group = Group { ends: group.ends, codes: &mut codes };
            group.merge(&theirs).expect("room");
            for (home, more) in homes.iter_mut().zip(more) {
                home.extend(more);
                home.sort_unstable();
            }
            let other = random.below(GROUP_HOMES);
            let run = group.run(other);
            let gone = run.start + random.below(run.len() + 1)..run.end;
            homes[other].truncate(gone.start - run.start);
            group.remove(other, gone);
            assert!((0..GROUP_HOMES).all(|home| group.codes[group.run(home)] == homes[home]));
        }
    }

    /// Bits that nobody wrote are refused or read as some group; never more codes than fit.
    #[test]
    fn any_bits_are_read_or_refused() {
        let mut random = Random::new(3);
        let (mut refused, mut codes) = (0, [0; 60]);
        for _ in 0..50_000 {
            let bytes: Vec<u8> = (0..64).map(|_| random.bits() as u8).collect();
            let mut group = Group { ends: [0; GROUP_HOMES], codes: &mut codes };
            let (len, width) = (random.below(70), 1 + random.below(40) as u32);
            match group.read(&bytes, random.below(30), len, width) {
                Some(()) => assert!(group.ends.is_sorted() && group.len() == len),
                None => refused += 1,
            }
        }
        assert!(refused > 1000);
    }
}
