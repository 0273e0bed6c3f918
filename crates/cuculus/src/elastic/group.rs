//! Sixteen homes and their codes, as bits: how many codes each home has, and which. Knows nothing
//! of segments; a code is a number of some width.
//!
//! ```text
//!  header, 32 bits      two bits a home: its codes, where three means three or more
//!  inline codes         at most three a home, in the order of the homes
//!  tail                 what homes with more than three codes have besides: for each of them but
//!                       the last how many, then all these codes
//! ```
//!
//! The codes of a home are sorted. Of a home with more than three, the inline codes are the
//! largest and the two smallest, in this order: the first is larger than the second, which is how
//! such a home is told from one with three. No home has more than three equal codes, so this is
//! always possible. A number in the tail fills as many codes as it takes: each but the last is
//! all ones, and all are added.

use super::address::GROUP_HOMES;
use super::bits::{Writer, read, read_all};
use super::code::mask;

/// The bits of a header.
pub(super) const HEADER: usize = 2 * GROUP_HOMES;
/// The most codes of a home that are stored inline.
const INLINE: usize = 3;
/// The most equal codes of a home. What is more is counted elsewhere.
pub(super) const MOST_EQUAL: usize = 3;

/// The sum of the fields below field `home`, and that field.
#[inline(always)]
pub(super) fn before(header: u32, home: u32) -> (u32, u32) {
    let up_to = header << (30 - 2 * home);
    let count = up_to >> 30;
    (sum(up_to) - count, count)
}

/// [`before`] for a processor that counts ones with one instruction.
#[inline(always)]
pub(super) fn before_by_ones(header: u32, home: u32) -> (u32, u32) {
    let below = header & ((1 << (2 * home)) - 1);
    let twos = below & 0xaaaa_aaaa;
    (below.count_ones() + twos.count_ones(), header >> (2 * home) & 3)
}

/// The sum of all fields.
#[inline(always)]
pub(super) fn sum(header: u32) -> u32 {
    let pairs = (header & 0x3333_3333) + (header >> 2 & 0x3333_3333);
    ((pairs + (pairs >> 4)) & 0x0f0f_0f0f).wrapping_mul(0x0101_0101) >> 24
}

/// Three codes, one after the other; whatever is there.
#[inline(always)]
pub(super) fn three(bytes: &[u8], at: usize, width: u32) -> [u64; INLINE] {
    core::array::from_fn(
        #[inline(always)]
        |i| read(bytes, at + i * width as usize, width),
    )
}

/// Three sorted codes and one more, sorted. `None` if all are equal.
#[inline(always)]
pub(super) fn with_fourth([a, b, c]: [u64; INLINE], code: u64) -> Option<[u64; INLINE + 1]> {
    let run = [a.min(code), b.min(code.max(a)), c.min(code.max(b)), c.max(code)];
    (run[0] < run[3]).then_some(run)
}

/// The codes of the homes of a group.
pub(super) struct Homes<'a> {
    pub(super) counts: &'a mut [u16; GROUP_HOMES],
    /// From the first home to the last, each sorted.
    pub(super) codes: &'a mut [u64],
}

/// The slots of width `width` that a number in the tail fills.
#[inline(always)]
fn digits(number: usize, width: u32) -> usize {
    if width >= 16 { 1 } else { number / mask(width) as usize + 1 }
}

/// The slots that homes with so many codes fill.
#[inline(always)]
pub(super) fn slots(counts: &[u16; GROUP_HOMES], width: u32) -> usize {
    let all: u16 = counts.iter().sum();
    if counts.iter().all(|&count| usize::from(count) <= INLINE) {
        return usize::from(all);
    }
    let mut tails = counts.iter().map(|&count| usize::from(count)).filter(|&count| count > INLINE);
    let numbers: usize = tails.clone().map(|count| digits(count - INLINE, width)).sum();
    let last = tails.next_back().map_or(0, |count| digits(count - INLINE, width));
    usize::from(all) + numbers - last
}

/// Writes a group.
#[inline(always)]
pub(super) fn encode(counts: &[u16; GROUP_HOMES], codes: &[u64], width: u32, to: &mut Writer<'_>) {
    let mut header = 0;
    let mut has_tail = false;
    for (home, &count) in counts.iter().enumerate() {
        header |= u64::from(count.min(INLINE as u16)) << (2 * home);
        has_tail |= usize::from(count) > INLINE;
    }
    to.put(header, HEADER as u32);
    if has_tail {
        return encode_with_tail(counts, codes, width, to);
    }
    to.put_all(codes, width);
}

#[inline(never)]
fn encode_with_tail(counts: &[u16; GROUP_HOMES], codes: &[u64], width: u32, to: &mut Writer<'_>) {
    // Where the codes of homes with a tail begin, and how many they are.
    let (mut marked, mut len) = ([(0, 0); GROUP_HOMES], 0);
    let mut first = 0;
    for &count in counts {
        let count = usize::from(count);
        if count > INLINE {
            marked[len] = (first, count);
            len += 1;
        }
        first += count;
    }
    let marked = &marked[..len];
    let mut put_all = |codes: &[u64]| to.put_all(codes, width);
    let mut next = 0;
    for &(first, count) in marked {
        put_all(&codes[next..first]);
        put_all(&[codes[first + count - 1], codes[first], codes[first + 1]]);
        next = first + count;
    }
    put_all(&codes[next..]);
    for &(_, count) in &marked[..len - 1] {
        let mut number = count - INLINE;
        let most = if width >= 16 { usize::MAX } else { mask(width) as usize };
        while number >= most {
            put_all(&[most as u64]);
            number -= most;
        }
        put_all(&[number as u64]);
    }
    for &(first, count) in marked {
        put_all(&codes[first + 2..first + count - 1]);
    }
}

/// Reads a group that fills `slots` slots from bit `at` on; returns the number of its codes.
/// `None` if the bits are no group, or one with more codes than there is room for.
#[inline(always)]
pub(super) fn decode(
    bytes: &[u8],
    at: usize,
    slots: usize,
    width: u32,
    homes: &mut Homes<'_>,
) -> Option<usize> {
    let header = read(bytes, at, HEADER as u32) as u32;
    for (home, count) in homes.counts.iter_mut().enumerate() {
        *count = (header >> (2 * home) & 3) as u16;
    }
    let inline = sum(header) as usize;
    if slots != inline {
        return decode_with_tail(bytes, at, slots, width, homes);
    }
    read_all(bytes, at + HEADER, width, homes.codes.get_mut(..inline)?);
    Some(inline)
}

#[inline(never)]
fn decode_with_tail(
    bytes: &[u8],
    at: usize,
    slots: usize,
    width: u32,
    homes: &mut Homes<'_>,
) -> Option<usize> {
    let slot = |i: usize| read(bytes, at + HEADER + i * width as usize, width);
    let header = read(bytes, at, HEADER as u32) as u32;
    let inline = sum(header) as usize;
    read_all(bytes, at + HEADER, width, homes.codes.get_mut(..inline)?);
    // Homes with a tail, where their codes begin, and how long the tail is.
    let (mut marked, mut len) = ([(0, 0, 0); GROUP_HOMES], 0);
    let mut threes = header & header >> 1 & 0x5555_5555;
    while threes != 0 {
        let home = threes.trailing_zeros() / 2;
        threes &= threes - 1;
        let first = before(header, home).0 as usize;
        if homes.codes[first] > homes.codes[first + 1] {
            marked[len] = (home as usize, first, 0);
            len += 1;
        }
    }
    let (last, others) = marked[..len].split_last_mut()?;
    let mut next = inline;
    let mut known = 0usize;
    for (.., tail) in others {
        loop {
            let digit = if next < slots { slot(next) } else { return None };
            next += 1;
            *tail += digit as usize;
            if width >= 16 || digit != mask(width) {
                break;
            }
        }
        known = known.checked_add(*tail)?;
    }
    last.2 = slots.checked_sub(next)?.checked_sub(known)?;
    // From the last home to the first, so that those before stay where they are.
    let (mut end, mut rest) = (inline, slots);
    for &(home, first, tail) in marked[..len].iter().rev() {
        if tail == 0 || end + tail > homes.codes.len() {
            return None;
        }
        homes.counts[home] += tail as u16;
        let [largest, smallest, second] = *homes.codes[first..].first_chunk()?;
        homes.codes.copy_within(first + INLINE..end, first + INLINE + tail);
        end += tail;
        rest -= tail;
        homes.codes[first] = smallest;
        homes.codes[first + 1] = second;
        for i in 0..tail {
            homes.codes[first + 2 + i] = slot(rest + i);
        }
        homes.codes[first + 2 + tail] = largest;
    }
    Some(end)
}

/// The most codes in the tail of a group that is changed in place.
pub(super) const IN_PLACE: usize = 64;

/// What came of adding a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Added {
    Yes,
    /// There are as many of this code as a home can have.
    IsThere,
    /// There are too many codes to change the group in place.
    NoRoom,
}

/// A home with more than three codes.
#[derive(Clone, Copy, Default)]
struct Marked {
    home: u8,
    /// The codes in its tail.
    tail: u8,
}

/// The tails of a group, and the inline codes of the home that changes.
pub(super) struct Tails {
    header: u32,
    marked: [Marked; GROUP_HOMES],
    len: usize,
    codes: [u64; IN_PLACE],
    codes_len: usize,
    /// The inline codes of the home that is changed.
    inline: [u64; INLINE],
}

impl Tails {
    /// Reads the tails of a group, to change a home with three codes or more. `None` if there are
    /// too many codes in them.
    #[inline(always)]
    pub(super) fn read(
        bytes: &[u8],
        at: usize,
        slots: usize,
        width: u32,
        home: u32,
    ) -> Option<Self> {
        let header = read(bytes, at, HEADER as u32) as u32;
        let mut tails = Self {
            header,
            marked: [Marked::default(); GROUP_HOMES],
            len: 0,
            codes: [0; IN_PLACE],
            codes_len: 0,
            inline: three(
                bytes,
                at + HEADER + before(header, home).0 as usize * width as usize,
                width,
            ),
        };
        let slot = |i: usize| read(bytes, at + HEADER + i * width as usize, width);
        let inline = sum(header) as usize;
        let mut threes = header & header >> 1 & 0x5555_5555;
        while threes != 0 {
            let home = threes.trailing_zeros() / 2;
            threes &= threes - 1;
            let first = before(header, home).0 as usize;
            if slot(first) > slot(first + 1) {
                tails.marked[tails.len].home = home as u8;
                tails.len += 1;
            }
        }
        let (mut next, mut known) = (inline, 0);
        if let Some((last, others)) = tails.marked[..tails.len].split_last_mut() {
            for marked in others {
                let mut number = 0;
                loop {
                    let digit = if next < slots { slot(next) } else { return None };
                    next += 1;
                    number += digit;
                    if width >= 16 || digit != mask(width) {
                        break;
                    }
                }
                marked.tail = u8::try_from(number).ok()?;
                known += usize::from(marked.tail);
            }
            tails.codes_len = slots - next;
            if tails.codes_len >= IN_PLACE - 1 {
                return None;
            }
            last.tail = (tails.codes_len - known) as u8;
        }
        for i in 0..tails.codes_len {
            tails.codes[i] = slot(next + i);
        }
        Some(tails)
    }

    /// The place of a home among those with a tail, the codes in tails before its own, and the
    /// length of its tail.
    fn place(&self, home: u32) -> (usize, usize, usize) {
        let is_before = |marked: &&Marked| u32::from(marked.home) < home;
        let place = self.marked[..self.len].iter().take_while(is_before).count();
        let skipped = self.marked[..place].iter().map(|marked| usize::from(marked.tail)).sum();
        let own = self.marked[..self.len].get(place);
        let own = own.filter(|marked| u32::from(marked.home) == home);
        (place, skipped, own.map_or(0, |marked| usize::from(marked.tail)))
    }

    /// All codes of a home with three or more, sorted, and their number.
    fn run(&self, skipped: usize, tail: usize) -> [u64; IN_PLACE + INLINE] {
        let mut run = [0; IN_PLACE + INLINE];
        let inline = self.inline;
        if tail == 0 {
            run[..INLINE].copy_from_slice(&inline);
        } else {
            (run[0], run[1], run[2 + tail]) = (inline[1], inline[2], inline[0]);
            run[2..2 + tail].copy_from_slice(&self.codes[skipped..skipped + tail]);
        }
        run
    }

    /// Adds a code to a home with three or more.
    #[inline(always)]
    pub(super) fn insert(&mut self, home: u32, code: u64) -> Added {
        let (place, skipped, tail) = self.place(home);
        let mut run = self.run(skipped, tail);
        let count = INLINE + tail;
        let at = run[..count].iter().filter(|&&held| held < code).count();
        let equal = run[..count].iter().filter(|&&held| held == code).count();
        if equal >= MOST_EQUAL {
            return Added::IsThere;
        }
        if count + 1 >= IN_PLACE || self.codes_len + 1 >= IN_PLACE {
            return Added::NoRoom;
        }
        run.copy_within(at..count, at + 1);
        run[at] = code;
        if tail == 0 {
            self.marked.copy_within(place..self.len, place + 1);
            self.marked[place] = Marked { home: home as u8, tail: 0 };
            self.len += 1;
        }
        self.codes.copy_within(skipped + tail..self.codes_len, skipped + tail + 1);
        self.codes_len += 1;
        self.put(place, skipped, &run[..count + 1]);
        Added::Yes
    }

    /// Replaces the codes of the home with a tail that has this place.
    fn put(&mut self, place: usize, skipped: usize, run: &[u64]) {
        if let [smallest, second, tail @ .., largest] = run
            && !(tail.is_empty() || run.len() == INLINE)
        {
            self.inline = [*largest, *smallest, *second];
            self.codes[skipped..skipped + tail.len()].copy_from_slice(tail);
            self.marked[place].tail = tail.len() as u8;
        } else {
            self.inline.copy_from_slice(run);
        }
    }

    /// Goes on with another home that has three codes or more.
    #[inline(always)]
    pub(super) fn turn_to(&mut self, bytes: &[u8], at: usize, width: u32, home: u32) {
        let first = before(self.header, home).0 as usize;
        self.inline = three(bytes, at + HEADER + first * width as usize, width);
    }

    /// The inline codes of the home that was changed.
    pub(super) fn inline(&self) -> [u64; INLINE] {
        self.inline
    }

    /// The slots of the tails now.
    pub(super) fn tail_slots(&self, width: u32) -> usize {
        let others = self.marked[..self.len].split_last().map_or(&[][..], |(_, others)| others);
        let numbers = others.iter().map(|marked| digits(usize::from(marked.tail), width));
        numbers.sum::<usize>() + self.codes_len
    }

    /// What the slots of the tails hold.
    #[inline(always)]
    pub(super) fn each_tail_slot(&self, width: u32, mut put: impl FnMut(u64)) {
        for marked in self.marked[..self.len].iter().rev().skip(1).rev() {
            let mut number = u64::from(marked.tail);
            while width < 16 && number >= mask(width) {
                put(mask(width));
                number -= mask(width);
            }
            put(number);
        }
        self.codes[..self.codes_len].iter().for_each(|&code| put(code));
    }
}

/// The lowest bit of the field of each home that has more than three codes.
#[inline(always)]
pub(super) fn marked(bytes: &[u8], at: usize, width: u32, header: u32) -> u32 {
    let slot = |i: usize| read(bytes, at + HEADER + i * width as usize, width);
    let (mut marked, mut threes) = (0, header & header >> 1 & 0x5555_5555);
    while threes != 0 {
        let lowest = threes & threes.wrapping_neg();
        threes ^= lowest;
        let first = before(header, lowest.trailing_zeros() / 2).0 as usize;
        marked |= if slot(first) > slot(first + 1) { lowest } else { 0 };
    }
    marked
}

/// Where the tail of a home is among those of its group, or would be. Slots are numbered from the first
/// inline code on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The first slot of its codes, and how many they are.
    pub(super) codes_at: usize,
    pub(super) len: usize,
    /// The slot of its length, or the last of these; of a home without a tail, where it would be; of the
    /// last home with a tail, that of the home before, which goes with it.
    pub(super) length_at: usize,
    /// Whether it is the last home with a tail, so that its length is what is left; and the only one.
    pub(super) is_last: bool,
    pub(super) is_only: bool,
    /// The codes in all tails of the group.
    pub(super) all: usize,
    /// How long the last tail is, and the one before it.
    pub(super) last: usize,
    pub(super) before_last: usize,
}

impl Place {
    /// At least one home must have a tail.
    #[inline(always)]
    pub(super) fn of(
        bytes: &[u8],
        at: usize,
        slots: usize,
        width: u32,
        (header, marked): (u32, u32),
        home: u32,
    ) -> Self {
        let slot = |i: usize| read(bytes, at + HEADER + i * width as usize, width);
        let own = 1u32 << (2 * home);
        let last_bit = 1u32 << (31 - (marked | 1).leading_zeros());
        let mut next = sum(header) as usize;
        let (mut skipped, mut others, mut before_last) = (0, 0, 0);
        let (mut len, mut length_at) = (0, None);
        // How long the tails are of all but the last, then the codes.
        let mut left = marked & !last_bit;
        while left != 0 {
            let lowest = left & left.wrapping_neg();
            left ^= lowest;
            if lowest > own && length_at.is_none() {
                length_at = Some(next);
            }
            before_last = 0;
            while next < slots {
                let digit = slot(next);
                next += 1;
                before_last += digit as usize;
                if width >= 16 || digit != mask(width) {
                    break;
                }
            }
            if lowest == own {
                (len, length_at) = (before_last, Some(next - 1));
            }
            skipped += if lowest < own { before_last } else { 0 };
            others += before_last;
        }
        let last = slots.saturating_sub(next + others);
        let (is_last, is_only) = (own == last_bit, marked == own);
        if is_last {
            len = last;
        }
        let ends = usize::from(is_last && !is_only);
        let codes_at = next + skipped + if own > last_bit { last } else { 0 };
        let length_at = length_at.unwrap_or(next - ends);
        let all = slots.saturating_sub(next);
        Self { codes_at, len, length_at, is_last, is_only, all, last, before_last }
    }
}

/// Where in a group the tail of a home begins, in slots, and how long it is. The home must have
/// three inline codes of which the first is larger than the second.
#[inline(always)]
pub(super) fn tail(bytes: &[u8], at: usize, slots: usize, width: u32, home: u32) -> (usize, usize) {
    let header = read(bytes, at, HEADER as u32) as u32;
    let marked = marked(bytes, at, width, header);
    // The only one, so its tail is all that follows.
    if marked & marked.wrapping_sub(1) == 0 {
        let inline = sum(header) as usize;
        return (inline, slots - inline);
    }
    let place = Place::of(bytes, at, slots, width, (header, marked), home);
    (place.codes_at, place.len)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::conformance::Random;

    /// Codes as homes hold them: sorted, at most three equal.
    pub(in crate::elastic) fn some_homes(
        random: &mut Random,
        width: u32,
        most: usize,
    ) -> [Vec<u64>; GROUP_HOMES] {
        core::array::from_fn(|_| {
            let mut run: Vec<u64> =
                (0..random.below(most)).map(|_| random.bits() & mask(width)).collect();
            run.sort_unstable();
            let mut kept: Vec<u64> = Vec::new();
            for code in run {
                if kept.iter().filter(|&&held| held == code).count() < MOST_EQUAL {
                    kept.push(code);
                }
            }
            kept
        })
    }

    pub(in crate::elastic) fn counts_of(homes: &[Vec<u64>; GROUP_HOMES]) -> [u16; GROUP_HOMES] {
        core::array::from_fn(|home| homes[home].len() as u16)
    }

    /// Groups of all kinds, there and back: the bits are those that were counted.
    #[test]
    fn decoding_inverts_encoding() {
        let mut random = Random::new(1);
        let mut bytes = vec![0u8; 1 << 14];
        for round in 0..40_000 {
            let width = 2 + random.below(39) as u32;
            let most = [3, 5, 8, 40][round % 4];
            let homes = some_homes(&mut random, width, most);
            let (counts, codes) = (counts_of(&homes), homes.concat());
            let slots = slots(&counts, width);
            // As after something else, at any bit.
            let lead = random.below(50) as u32;
            let mut writer = Writer::new(&mut bytes);
            writer.put(0, lead);
            encode(&counts, &codes, width, &mut writer);
            writer.put(1, 1);
            let end = lead as usize + HEADER + slots * width as usize;
            assert_eq!(read(&bytes, end, 1), 1, "slots are not as many as counted");
            let (mut read_counts, mut read_codes) = ([0; GROUP_HOMES], vec![0; 700]);
            let mut homes = Homes { counts: &mut read_counts, codes: &mut read_codes };
            let found = decode(&bytes, lead as usize, slots, width, &mut homes).expect("a group");
            assert_eq!((read_counts, &read_codes[..found]), (counts, &codes[..]));
        }
    }

    /// Codes added to tails are in what is written then, as they are after encoding.
    #[test]
    fn tails_change_as_groups_do() {
        let mut random = Random::new(4);
        for round in 0..20_000 {
            let width = 2 + random.below(39) as u32;
            let (mut counts, mut codes) = ([0u16; GROUP_HOMES], Vec::new());
            for count in &mut counts {
                let most = [5, 7, 9][round % 3];
                let mut run: Vec<u64> =
                    (0..random.below(most)).map(|_| random.bits() & mask(width)).collect();
                run.sort_unstable();
                if run.windows(4).any(|few| few[0] == few[3]) {
                    run.clear();
                }
                *count = run.len() as u16;
                codes.extend(run);
            }
            let old = slots(&counts, width);
            let mut bytes = vec![0u8; 1000];
            encode(&counts, &codes, width, &mut Writer::new(&mut bytes));
            let full: Vec<usize> = (0..16).filter(|&home| counts[home] >= 3).collect();
            let Some(&home) = full.get(random.below(full.len().max(1))) else { continue };
            let first: usize = counts[..home].iter().map(|&n| usize::from(n)).sum();
            let run = first..first + usize::from(counts[home]);
            let mut tails = Tails::read(&bytes, 0, old, width, home as u32).expect("few codes");
            let is_held = random.below(2) == 0;
            let code = if is_held { codes[run.start] } else { random.bits() & mask(width) };
            let equal = codes[run.clone()].iter().filter(|&&held| held == code).count();
            let added = tails.insert(home as u32, code);
            assert_eq!(added, if equal == 3 { Added::IsThere } else { Added::Yes });
            if equal == 3 {
                continue;
            }
            let at = run.start + codes[run].partition_point(|&held| held < code);
            codes.insert(at, code);
            counts[home] += 1;
            encode(&counts, &codes, width, &mut Writer::new(&mut bytes));
            let header = read(&bytes, 0, HEADER as u32) as u32;
            let slot = |i: usize| read(&bytes, HEADER + i * width as usize, width);
            let inline = before(header, home as u32).0 as usize;
            assert_eq!(tails.inline(), core::array::from_fn(|i| slot(inline + i)));
            let mut next = sum(header) as usize;
            assert_eq!(next + tails.tail_slots(width), slots(&counts, width));
            tails.each_tail_slot(width, |held| {
                assert_eq!(held, slot(next));
                next += 1;
            });
        }
    }

    #[test]
    fn fields_are_summed() {
        let mut random = Random::new(2);
        for _ in 0..1000 {
            let header = random.bits() as u32;
            let field = |home: u32| header >> (2 * home) & 3;
            for home in 0..16 {
                assert_eq!(before(header, home), ((0..home).map(field).sum(), field(home)));
                assert_eq!(before_by_ones(header, home), before(header, home));
            }
            assert_eq!(sum(header), (0..16).map(field).sum::<u32>());
        }
    }

    /// Bits that nobody wrote are refused or read as some group; never more codes than fit.
    #[test]
    fn any_bits_are_read_or_refused() {
        let mut random = Random::new(3);
        let mut refused = 0;
        for _ in 0..50_000 {
            let bytes: Vec<u8> = (0..64).map(|_| random.bits() as u8).collect();
            let (mut counts, mut codes) = ([0; GROUP_HOMES], [0; 60]);
            let mut homes = Homes { counts: &mut counts, codes: &mut codes };
            let (slots, width) = (random.below(70), 1 + random.below(40) as u32);
            match decode(&bytes, random.below(30), slots, width, &mut homes) {
                Some(found) => assert!(found <= 60),
                None => refused += 1,
            }
        }
        assert!(refused > 1000);
    }
}
