//! How a group changes when one code comes or goes: which slots come or go, and what is written over.
//! Found by reading alone, so that nothing has changed if it cannot be done, and so that it can be
//! carried out in memory that others read as well as in memory that they do not.

use super::bits::{insert, read, set, shift_down, shift_up};
use super::code::{Form, mask};
use super::group::{self, HEADER, IN_PLACE, MOST_EQUAL, Place};

/// A group as bits: where it begins, its slots, their width and its header.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) slots: usize,
    pub(super) width: u32,
    pub(super) header: u32,
}

/// Slots are numbered from the first inline code on, as they are before the change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Splice {
    /// The slot of a code that comes or goes.
    code_at: usize,
    code: u64,
    /// The slot of a tail's length that comes or goes, before that of the code.
    length: Option<(usize, u64)>,
    /// A tail's length that is another.
    changed: Option<(usize, u64)>,
    /// The inline codes of a home, from a slot on.
    inline: Option<(usize, [u64; 3])>,
}

/// Why a code cannot be added by a splice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// There are as many of this code as a home can have.
    IsThere,
    /// Only rewriting the group can do it.
    Rewrite,
}

impl<'a> Group<'a> {
    #[inline(always)]
    pub(super) fn new(bytes: &'a [u8], at: usize, slots: usize, width: u32) -> Self {
        let header = read(bytes, at, HEADER as u32) as u32;
        Self { bytes, at, slots, width, header }
    }

    #[inline(always)]
    fn slot(self, at: usize) -> u64 {
        read(self.bytes, self.at + HEADER + at * self.width as usize, self.width)
    }

    #[inline(always)]
    fn three(self, first: usize) -> [u64; 3] {
        let first = self.at + HEADER + first * self.width as usize;
        group::three(self.bytes, first, self.width)
    }

    /// Whether a tail's length takes one slot.
    #[inline(always)]
    fn is_short(self, length: u64) -> bool {
        self.width >= 16 || length < mask(self.width)
    }

    /// `None` if there are so many codes in tails that the segment is to be rewritten. Only chosen keys
    /// make such tails. A segment that is rewritten by each of them is not split, and so not merged
    /// later: sorting a home of a thousand codes for a merge took a removal 240 µs.
    #[inline(always)]
    fn place(self, marked: u32, home: u32) -> Option<Place> {
        let header = (self.header, marked);
        let place = Place::of(self.bytes, self.at, self.slots, self.width, header, home);
        (place.all < IN_PLACE - 1).then_some(place)
    }

    /// Adds a code to a home with three or more.
    #[inline(always)]
    pub(super) fn adding(self, home: u32, code: u64) -> Result<Splice, Refused> {
        let first = group::before(self.header, home).0 as usize;
        let inline = self.three(first);
        let splice =
            Splice { code_at: self.slots, code, length: None, changed: None, inline: None };
        if inline[0] <= inline[1] {
            // A tail begins.
            let run = group::with_fourth(inline, code).ok_or(Refused::IsThere)?;
            let inline = Some((first, [run[3], run[0], run[1]]));
            let splice = Splice { code: run[2], inline, ..splice };
            if group::sum(self.header) as usize == self.slots {
                return Ok(splice);
            }
            let marked = group::marked(self.bytes, self.at, self.width, self.header);
            let place = self.place(marked, home).ok_or(Refused::Rewrite)?;
            let is_last = marked >> (2 * home) == 0;
            // The length of the tail that was the last so far, or of this one.
            let length = if is_last { place.last as u64 } else { 1 };
            if !self.is_short(length) {
                return Err(Refused::Rewrite);
            }
            let length = Some((place.length_at, length));
            let code_at = if is_last { self.slots } else { place.codes_at };
            return Ok(Splice { code_at, length, ..splice });
        }
        let marked = group::marked(self.bytes, self.at, self.width, self.header);
        let place = self.place(marked, home).ok_or(Refused::Rewrite)?;
        let (tail, end) = (place.codes_at, place.codes_at + place.len);
        let mut equal = inline.iter().filter(|&&held| held == code).count();
        let mut at = tail;
        for slot in tail..end {
            let held = self.slot(slot);
            at += usize::from(held < code);
            equal += usize::from(held == code);
        }
        if equal >= MOST_EQUAL {
            return Err(Refused::IsThere);
        }
        let [largest, smallest, second] = inline;
        let (code_at, code, inline) = if code < second {
            let inline = [largest, smallest.min(code), smallest.max(code)];
            (tail, second, Some((first, inline)))
        } else if code > largest {
            (end, largest, Some((first, [code, smallest, second])))
        } else {
            (at, code, None)
        };
        let changed = self.other_length(place, 1).ok_or(Refused::Rewrite)?;
        Ok(Splice { code_at, code, changed, inline, ..splice })
    }

    /// What to write over the length of a tail that changes by one, if it is written at all. `None` if
    /// it takes more slots or fewer then.
    #[inline(always)]
    #[allow(clippy::option_option, reason = "no length is written, or it cannot be done")]
    fn other_length(self, place: Place, by: i64) -> Option<Option<(usize, u64)>> {
        if place.is_last {
            return Some(None);
        }
        let digit = self.slot(place.length_at).checked_add_signed(by)?;
        self.is_short(digit).then_some(Some((place.length_at, digit)))
    }

    /// Takes the longest code that begins like an extension out of a home with more than three;
    /// returns its length too. `None` if there is none, or only rewriting can do it.
    #[inline(always)]
    pub(super) fn taking_longest(
        self,
        home: u32,
        form: Form,
        extension: u64,
    ) -> Option<(Splice, u32)> {
        let (first, inline, place) = self.long_home(home)?;
        let mut best = form.longest_of(&inline, extension);
        for i in 0..place.len {
            let length = form.match_length(self.slot(place.codes_at + i), extension);
            if length > best.map(|(_, longest)| longest) {
                best = length.map(|length| (3 + i, length));
            }
        }
        let (at, length) = best?;
        Some((self.taking_at(at, first, inline, place)?, length))
    }

    /// Takes a code out of a home with more than three. `None` if it is not there, or only rewriting
    /// can do it.
    #[inline(always)]
    pub(super) fn taking(self, home: u32, code: u64) -> Option<Splice> {
        let (first, inline, place) = self.long_home(home)?;
        let in_tail = || (0..place.len).find(|&i| self.slot(place.codes_at + i) == code);
        let at = inline.iter().position(|&held| held == code);
        let at = at.or_else(|| in_tail().map(|at| 3 + at))?;
        self.taking_at(at, first, inline, place)
    }

    #[inline(always)]
    fn long_home(self, home: u32) -> Option<(usize, [u64; 3], Place)> {
        let first = group::before(self.header, home).0 as usize;
        let marked = group::marked(self.bytes, self.at, self.width, self.header);
        Some((first, self.three(first), self.place(marked, home)?))
    }

    /// Takes an inline code out, or one of the tail.
    #[inline(always)]
    fn taking_at(self, at: usize, first: usize, held: [u64; 3], place: Place) -> Option<Splice> {
        let [largest, smallest, second] = held;
        let (tail, last) = (place.codes_at, place.codes_at + place.len.checked_sub(1)?);
        let (code_at, mut inline) = match at {
            0 => (last, [self.slot(last), smallest, second]),
            1 => (tail, [largest, second, self.slot(tail)]),
            2 => (tail, [largest, smallest, self.slot(tail)]),
            _ => (tail + at - 3, held),
        };
        let (mut length, mut changed) = (None, None);
        if place.len == 1 {
            // The tail ends.
            inline.rotate_left(1);
            if !place.is_only {
                // A length of several slots is not taken out here.
                let gone = if place.is_last { place.before_last as u64 } else { 1 };
                length = Some((self.is_short(gone).then_some(place.length_at)?, 0));
            }
        } else {
            changed = self.other_length(place, -1)?;
        }
        let inline = Some((first, inline));
        Some(Splice { code_at, code: 0, length, changed, inline })
    }
}

impl Splice {
    /// The slots that come or go.
    #[inline(always)]
    pub(super) fn slots(&self) -> usize {
        1 + usize::from(self.length.is_some())
    }

    /// Adds the code to a group, which begins at a bit; `end` is that of the segment.
    #[inline(always)]
    pub(super) fn add(&self, words: &mut [u64], at: usize, end: usize, width: u32) {
        let step = width as usize;
        let bit = |slot: usize| at + HEADER + slot * step;
        match self.length {
            None => insert(words, bit(self.code_at), end, width, self.code),
            Some((slot, length)) => {
                shift_up(words, bit(self.code_at), end, 2 * step);
                insert(words, bit(slot), bit(self.code_at), width, length);
                set(words, bit(self.code_at + 1), width, self.code);
            }
        }
        self.write_over(words, at, width);
    }

    /// Takes the code out.
    #[inline(always)]
    pub(super) fn take(&self, words: &mut [u64], at: usize, end: usize, width: u32) {
        let step = width as usize;
        let bit = |slot: usize| at + HEADER + slot * step;
        if let Some((slot, _)) = self.length {
            shift_down(words, bit(slot + 1), bit(self.code_at), step);
        }
        shift_down(words, bit(self.code_at + 1), end, step * self.slots());
        self.write_over(words, at, width);
    }

    #[inline(always)]
    fn write_over(&self, words: &mut [u64], at: usize, width: u32) {
        let step = width as usize;
        let bit = |slot: usize| at + HEADER + slot * step;
        if let Some((slot, length)) = self.changed {
            set(words, bit(slot), width, length);
        }
        if let Some((first, codes)) = self.inline {
            for (slot, code) in (first..).zip(codes) {
                set(words, bit(slot), width, code);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;
    use crate::elastic::address::GROUP_HOMES;
    use crate::elastic::bits::Writer;
    use crate::elastic::group::tests::{counts_of, some_homes};
    use crate::elastic::group::{Homes, decode, encode, slots};

    /// Adding and taking a code is decoding, changing and encoding, and what comes after the group stays.
    #[test]
    fn groups_change_as_their_homes_do() {
        let mut random = Random::new(4);
        let (mut added, mut taken, mut rewritten) = (0, 0, 0);
        for round in 0..60_000 {
            let width = 1 + random.below(40) as u32;
            let mut homes = some_homes(&mut random, width, [4, 5, 7, 40][round % 4]);
            let full: Vec<usize> = (0..GROUP_HOMES).filter(|&home| homes[home].len() > 2).collect();
            let Some(&home) = full.get(random.below(full.len().max(1))) else { continue };
            let lead = random.below(50) as u32;
            let (old, after) = (slots(&counts_of(&homes), width), random.bits() & mask(40));
            let mut words = vec![0u64; 700];
            let mut bytes = vec![0u8; words.len() * 8];
            let mut writer = Writer::new(&mut bytes);
            writer.put(0, lead);
            encode(&counts_of(&homes), &homes.concat(), width, &mut writer);
            writer.put(after, 40);
            for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
                *word = u64::from_ne_bytes(bytes.try_into().expect("eight"));
            }
            let (at, step) = (lead as usize, width as usize);
            let end = at + HEADER + old * step + 40;
            let group = Group::new(&bytes, at, old, width);
            let run = &mut homes[home];
            let now = if run.len() > 3 && random.below(2) == 0 {
                let code = run[random.below(run.len())];
                let form = Form { width, ended: round % 2 == 0 };
                let is_possible = run.iter().all(|&code| form.is_possible(code));
                let by_match = is_possible && random.below(2) == 0;
                let splice = if by_match {
                    let longest = group.taking_longest(home as u32, form, code);
                    assert!(longest.is_none_or(|(_, length)| length >= form.length(code)));
                    longest.map(|(splice, _)| splice)
                } else {
                    group.taking(home as u32, code)
                };
                let Some(splice) = splice else {
                    rewritten += 1;
                    continue;
                };
                splice.take(&mut words, at, end, width);
                taken += 1;
                let gone = if by_match {
                    let of_code = |held: &u64| form.match_length(*held, code);
                    let longest = run.iter().filter_map(of_code).max();
                    run.iter().position(|held| of_code(held) == longest)
                } else {
                    run.iter().position(|&held| held == code)
                };
                run.remove(gone.expect("it was taken"));
                old - splice.slots()
            } else {
                let is_held = random.below(2) == 0;
                let code = if is_held { run[0] } else { random.bits() & mask(width) };
                let equal = run.iter().filter(|&&held| held == code).count();
                let splice = match group.adding(home as u32, code) {
                    Ok(splice) => splice,
                    Err(refused) => {
                        let is_there = refused == Refused::IsThere;
                        assert!(is_there == (equal == MOST_EQUAL) || !is_there && round % 4 == 3);
                        rewritten += usize::from(refused == Refused::Rewrite);
                        continue;
                    }
                };
                assert!(equal < MOST_EQUAL);
                splice.add(&mut words, at, end, width);
                added += 1;
                run.insert(run.partition_point(|&held| held < code), code);
                old + splice.slots()
            };
            assert_eq!(now, slots(&counts_of(&homes), width));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(read(&bytes, at + HEADER + now * step, 40), after);
            let (mut read_counts, mut codes) = ([0; GROUP_HOMES], vec![0; 700]);
            let mut read_homes = Homes { counts: &mut read_counts, codes: &mut codes };
            let found = decode(&bytes, at, now, width, &mut read_homes).expect("a group");
            assert_eq!((read_counts, &codes[..found]), (counts_of(&homes), &homes.concat()[..]));
        }
        assert!(
            added > 15_000 && taken > 6000 && rewritten < 20_000,
            "{added} {taken} {rewritten}"
        );
    }
}
