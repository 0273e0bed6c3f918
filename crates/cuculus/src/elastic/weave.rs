//! Codes put into a segment, or taken out of it, while its groups are copied: what does not change is
//! copied as bits, and never read as codes. For some keys of a segment at once; one by one half of the
//! segment would move for each of them.
//!
//! Knows narrow segments without counted codes, and groups with few codes; everything else is left to
//! drafts.

use super::address::{Address, GROUP_HOMES, GROUPS, PATH_BITS};
use super::bits::{Writer, read, read_all};
use super::code::{Form, mask};
use super::group::{self, Added, HEADER, Homes, MOST_EQUAL, Tails};
use super::pool::UNIT;
use super::segment::{Bases, MAX_UNITS, Plan, Segment};
use crate::KeyHash;
use crate::wide::Job;

/// The most keys at once.
pub(super) const MOST: usize = 512;
/// The most codes of a group that is read.
const MOST_IN_GROUP: usize = 128;
/// Where the home is in a number that stands for a key: above a code, or above a path.
const ABOVE_CODE: u32 = 40;
/// The most codes of a group that is split: a bit for each in a word.
const MOST_SPLIT: usize = 63;
/// Bits that are copied at once.
const PIECE: usize = 56;

/// Memory for the work, to be used again.
pub(super) struct Loom {
    /// The groups as they become, and room for a word after them.
    bytes: [u8; MAX_UNITS * UNIT + 8],
    /// The keys, as numbers; then in the order of their groups.
    unsorted: [u64; MOST],
    keys: [u64; MOST],
    /// Where the keys of each group begin.
    starts: [u16; GROUPS + 1],
    /// Codes of a group that is read.
    codes: [u64; MOST_IN_GROUP],
}

/// What a segment becomes: the groups are in the loom.
pub(super) struct Woven {
    pub(super) plan: Plan,
    /// The bytes of all groups.
    len: usize,
}

impl Default for Loom {
    fn default() -> Self {
        Self {
            bytes: [0; MAX_UNITS * UNIT + 8],
            unsorted: [0; MOST],
            keys: [0; MOST],
            starts: [0; GROUPS + 1],
            codes: [0; MOST_IN_GROUP],
        }
    }
}

impl Loom {
    /// The bytes of the groups of a segment.
    pub(super) fn groups(&self, woven: &Woven) -> &[u8] {
        &self.bytes[..woven.len]
    }

    /// Sorts the keys by group, and as numbers within a group. There are no more than [`MOST`].
    #[inline(always)]
    fn sort(&mut self, keys: &[KeyHash], above: u32, number: impl Fn(KeyHash) -> u64) {
        let group = |number: u64| (number >> above) as usize / GROUP_HOMES;
        let mut next = [0u16; GROUPS + 1];
        for (to, &hash) in self.unsorted.iter_mut().zip(keys) {
            *to = number(hash);
            next[group(*to) + 1] += 1;
        }
        for at in 1..=GROUPS {
            next[at] += next[at - 1];
        }
        self.starts = next;
        for &number in &self.unsorted[..keys.len()] {
            let next = &mut next[group(number)];
            let (mut at, start) = (usize::from(*next), usize::from(self.starts[group(number)]));
            *next += 1;
            while at > start && self.keys[at - 1] > number {
                self.keys[at] = self.keys[at - 1];
                at -= 1;
            }
            self.keys[at] = number;
        }
    }
}

/// Bits of a segment on their way to other places.
struct Shuttle<'a> {
    from: &'a [u8],
    at: usize,
    to: Writer<'a>,
}

impl Shuttle<'_> {
    /// Copies the bits up to one.
    #[inline(always)]
    fn copy_to(&mut self, end: usize) {
        while self.at + PIECE < end {
            self.to.put(read(self.from, self.at, PIECE as u32), PIECE as u32);
            self.at += PIECE;
        }
        let rest = (end - self.at) as u32;
        self.to.put(read(self.from, self.at, rest), rest);
        self.at = end;
    }
}

/// Puts keys into a segment, each with as long a code as the form has. `None` if that is for a draft
/// to do. The segment is narrow; if its codes are plain, the keys know enough for them.
pub(super) struct Insert<'a> {
    pub(super) segment: &'a Segment,
    pub(super) keys: &'a [KeyHash],
    pub(super) loom: &'a mut Loom,
}

impl Job for Insert<'_> {
    type Output = Option<Woven>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { segment, keys, loom } = self;
        let (form, depth) = (segment.form(), segment.depth());
        let length = form.longest().min(PATH_BITS - depth);
        loom.sort(
            keys,
            ABOVE_CODE,
            #[inline(always)]
            |hash| {
                let key = Address::of(hash);
                u64::from(key.home) << ABOVE_CODE | form.encode(key.path >> depth, length)
            },
        );
        let (width, step) = (form.width, form.width as usize);
        let bytes = segment.bytes();
        let mut shuttle = Shuttle { from: bytes, at: 0, to: Writer::new(&mut loom.bytes) };
        let (mut bases, mut slots): (Bases, usize) = ([0; GROUPS + 1], 0);
        let mut base = 0;
        for group in 0..GROUPS {
            let at = HEADER * group + base * step;
            let next = segment.near_base(group + 1) as usize;
            let held = next - base;
            base = next;
            let new = &loom.keys[loom.starts[group].into()..loom.starts[group + 1].into()];
            slots += held + new.len();
            if !new.is_empty() {
                let header = read(bytes, at, HEADER as u32) as u32;
                // Codes for homes that have three by then, and of those for homes that had three.
                let (mut after, mut over, mut over_three) = (header, 0, 0);
                for &key in new {
                    let shift = 2 * (key >> ABOVE_CODE) as u32 % 32;
                    let is_over = u32::from(after >> shift & 3 == 3);
                    over += is_over;
                    over_three += is_over & u32::from(header >> shift & 3 == 3);
                    after += (1 - is_over) << shift;
                }
                shuttle.copy_to(at);
                if over > over_three {
                    let group = (bytes, at, held, width);
                    let added = insert_into_group(group, new, &mut loom.codes, &mut shuttle.to)?;
                    slots += added - new.len();
                    shuttle.at = at + HEADER + held * step;
                } else {
                    shuttle.to.put(after.into(), HEADER as u32);
                    shuttle.at = at + HEADER;
                    let inline = group::sum(header) as usize;
                    // The first home of the group with more than three has all of the tail.
                    let begins_tail = over == 1 && held == inline;
                    let mut tails = match over > 0 && !begins_tail {
                        true => Some(Tails::read(bytes, at, held, width, 0)?),
                        false => None,
                    };
                    let mut tail = 0;
                    for (i, &key) in new.iter().enumerate() {
                        let home = (key >> ABOVE_CODE) as u32 % GROUP_HOMES as u32;
                        let (before, count) = group::before(header, home);
                        let code = key & mask(ABOVE_CODE);
                        let first = at + HEADER + before as usize * step;
                        if count < 3 {
                            let smaller = segment.smaller(first, width, count, code);
                            shuttle.copy_to(first + smaller * step);
                            shuttle.to.put(code, width);
                            continue;
                        }
                        let of_home = |key: &u64| key >> ABOVE_CODE == new[i] >> ABOVE_CODE;
                        let codes = if let Some(tails) = &mut tails {
                            if i == 0 || !of_home(&new[i - 1]) {
                                tails.turn_to(bytes, at, width, home);
                            }
                            if tails.insert(home, code) != Added::Yes {
                                return None;
                            }
                            if new.get(i + 1).is_some_and(of_home) {
                                continue;
                            }
                            tails.inline()
                        } else {
                            let run = group::with_fourth(group::three(bytes, first, width), code)?;
                            tail = run[2];
                            [run[3], run[0], run[1]]
                        };
                        shuttle.copy_to(first);
                        shuttle.to.put_all(&codes, width);
                        shuttle.at = first + 3 * step;
                    }
                    if begins_tail {
                        shuttle.copy_to(at + HEADER + held * step);
                        shuttle.to.put(tail, width);
                    } else if let Some(tails) = &tails {
                        shuttle.copy_to(at + HEADER + inline * step);
                        tails.each_tail_slot(width, |code| shuttle.to.put(code, width));
                        shuttle.at = at + HEADER + held * step;
                        // What was counted: the codes, without numbers of how long tails are.
                        let now = group::sum(after) as usize + tails.tail_slots(width);
                        slots = slots + now - held - new.len();
                    }
                }
            }
            bases[group + 1] = slots as u16;
        }
        shuttle.copy_to(segment.used_bits());
        let plan = Plan::new(form, depth, bases, 0, 0).filter(Plan::is_narrow)?;
        Some(Woven { plan, len: plan.used_bits().div_ceil(8) })
    }
}

/// Writes a group with some codes more, of which some are for homes with three or more. Says how many
/// slots it has more. `None` if it has too many codes, or too many equal ones.
#[inline(never)]
fn insert_into_group(
    (bytes, at, held, width): (&[u8], usize, usize, u32),
    new: &[u64],
    codes: &mut [u64; MOST_IN_GROUP],
    to: &mut Writer<'_>,
) -> Option<usize> {
    let mut counts = [0; GROUP_HOMES];
    let mut len = group::decode(bytes, at, held, width, &mut Homes { counts: &mut counts, codes })?;
    if len + new.len() > MOST_IN_GROUP {
        return None;
    }
    for &key in new {
        let home = (key >> ABOVE_CODE) as usize % GROUP_HOMES;
        let code = key & mask(ABOVE_CODE);
        let first: usize = counts[..home].iter().map(|&count| usize::from(count)).sum();
        let run = &codes[first..first + usize::from(counts[home])];
        let smaller = run.iter().filter(|&&held| held < code).count();
        if run.iter().filter(|&&held| held == code).count() == MOST_EQUAL {
            return None;
        }
        codes.copy_within(first + smaller..len, first + smaller + 1);
        codes[first + smaller] = code;
        counts[home] += 1;
        len += 1;
    }
    group::encode(&counts, &codes[..len], width, to);
    Some(group::slots(&counts, width) - held)
}

/// Two segments in the making, of one that is split.
pub(super) struct Halves {
    bytes: [[u8; MAX_UNITS * UNIT + 8]; 2],
}

impl Default for Halves {
    fn default() -> Self {
        Self { bytes: [[0; MAX_UNITS * UNIT + 8]; 2] }
    }
}

impl Halves {
    /// The bytes of the groups of one of them.
    pub(super) fn groups(&self, side: usize, plan: &Plan) -> &[u8] {
        &self.bytes[side][..plan.used_bits().div_ceil(8)]
    }
}

/// The ones of a number below eight, two bits for each.
const ONES: u32 = 0b11_10_10_01_10_01_01_00;

/// Splits a segment: entries go to the side that their next bit says, and spend it. `None` if one has no
/// next bit, or it is for a draft to do. The segment is narrow, and no entry has to be shortened.
pub(super) struct Split<'a> {
    pub(super) segment: &'a Segment,
    pub(super) forms: [Form; 2],
    pub(super) to: &'a mut Halves,
}

impl Job for Split<'_> {
    type Output = Option<[Plan; 2]>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { segment, forms, to } = self;
        let (form, depth, bytes) = (segment.form(), segment.depth(), segment.bytes());
        let (width, step) = (form.width, form.width as usize);
        let widths = forms.map(|form| form.width);
        // What is longer is filled with ones; without its lowest bit a code is one bit shorter.
        let fill = widths.map(|width| mask(width) & !mask(form.width - 1));
        let without_side = mask(width) ^ 1;
        let [stay, go] = &mut to.bytes;
        let mut to = [Writer::new(stay), Writer::new(go)];
        let (mut slots, mut bases) = ([0; 2], [[0; GROUPS + 1]; 2]);
        let (mut is_exhausted, mut base) = (false, 0);
        let (mut codes, mut halves) = ([0; MOST_SPLIT], [[0; MOST_SPLIT + 1]; 2]);
        for group in 0..GROUPS {
            let at = HEADER * group + base * step;
            let next = segment.near_base(group + 1) as usize;
            let held = next - base;
            base = next;
            let header = read(bytes, at, HEADER as u32) as u32;
            let has_tail = held != group::sum(header) as usize;
            let mut counts = [0; GROUP_HOMES];
            let len = if has_tail {
                let homes = &mut Homes { counts: &mut counts, codes: &mut codes };
                group::decode(bytes, at, held, width, homes)?
            } else {
                read_all(bytes, at + HEADER, width, codes.get_mut(..held)?);
                held
            };
            let (lens, mut sides) = divide(&codes[..len], fill, &mut halves);
            is_exhausted |= codes[..len].contains(&without_side);
            let halves = [&halves[0][..lens[0]], &halves[1][..lens[1]]];
            if has_tail {
                let mut of_side = [[0; GROUP_HOMES]; 2];
                for (home, &count) in counts.iter().enumerate() {
                    let ones = (sides & mask(count.into())).count_ones() as u16;
                    sides >>= count;
                    (of_side[0][home], of_side[1][home]) = (count - ones, ones);
                }
                for side in [0, 1] {
                    group::encode(&of_side[side], halves[side], widths[side], &mut to[side]);
                    slots[side] += group::slots(&of_side[side], widths[side]);
                }
            } else {
                let mut headers = [0, 0];
                for home in 0..GROUP_HOMES {
                    let count = header >> (2 * home) & 3;
                    let ones = ONES >> (2 * (sides & mask(count))) & 3;
                    sides >>= count;
                    headers[0] |= u64::from(count - ones) << (2 * home);
                    headers[1] |= u64::from(ones) << (2 * home);
                }
                for side in [0, 1] {
                    to[side].put(headers[side], HEADER as u32);
                    to[side].put_all(halves[side], widths[side]);
                    slots[side] += lens[side];
                }
            }
            for side in [0, 1] {
                bases[side][group + 1] = slots[side] as u16;
            }
        }
        if is_exhausted {
            return None;
        }
        let plan = |side: usize| Plan::new(forms[side], depth + 1, bases[side], 0, 0);
        let plans = [plan(0)?, plan(1)?];
        plans.iter().all(Plan::is_narrow).then_some(plans)
    }
}

/// Each code to the side that its lowest bit says, without that bit: how many there are on each, and a bit
/// for each code that says its side. Without branches: each is written to both, where only one keeps it.
#[inline(always)]
fn divide(
    codes: &[u64],
    fill: [u64; 2],
    halves: &mut [[u64; MOST_SPLIT + 1]; 2],
) -> ([usize; 2], u64) {
    let (mut lens, mut sides) = ([0usize; 2], 0u64);
    for (i, &code) in codes.iter().enumerate() {
        let side = code & 1;
        halves[0][lens[0] % (MOST_SPLIT + 1)] = code >> 1 | fill[0];
        halves[1][lens[1] % (MOST_SPLIT + 1)] = code >> 1 | fill[1];
        lens[0] += 1 - side as usize;
        lens[1] += side as usize;
        sides |= side << i;
    }
    (lens, sides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Random;
    use crate::wide::{self, Instructions};

    use super::super::address::HOMES;
    use super::super::code::Step;
    use super::super::directory::Directory;
    use super::super::draft::Draft;
    use super::super::lengths::Changes;

    /// A directory of one segment.
    fn with_segment(draft: &Draft, depth: u32) -> Directory {
        let plan = draft.plan(depth, 0).expect("few codes");
        let mut directory = Directory::default();
        let chosen = Instructions::Baseline.choose();
        directory.push_draft(draft, &plan, chosen).expect("memory");
        directory
    }

    /// Keys of a segment, of which some look alike.
    fn some_keys(random: &mut Random, keys: usize) -> Vec<KeyHash> {
        let mut all: Vec<KeyHash> = Vec::new();
        for _ in 0..keys {
            let again = (!all.is_empty() && random.below(60) == 0).then(|| random.below(all.len()));
            all.push(again.map_or_else(|| KeyHash::new(random.bits()), |at| all[at]));
        }
        all
    }

    /// Entries of several lengths, as keys of a set that has grown.
    fn some_draft(random: &mut Random, form: Form, depth: u32) -> (Draft, Vec<KeyHash>) {
        let entries = random.below(1600);
        let keys = some_keys(random, entries);
        let mut draft = Draft::new(form);
        for &hash in &keys {
            let key = Address::of(hash);
            let shorter = if form.ended { random.below(form.width as usize) as u32 / 2 } else { 0 };
            let code = form.encode(key.path >> depth, form.longest() - shorter);
            draft.add(key.home, code, 1).expect("room");
        }
        (draft, keys)
    }

    fn some_form(random: &mut Random) -> Form {
        Form { width: 7 + random.below(18) as u32, ended: random.below(4) > 0 }
    }

    fn read_draft(segment: &Segment) -> Draft {
        let mut draft = Draft::new(segment.form());
        draft.read(segment).expect("few codes");
        draft
    }

    #[test]
    fn keys_are_put_in_as_by_a_draft() {
        let (mut random, mut loom, mut left) = (Random::new(1), Loom::default(), 0);
        for round in 0..600 {
            let (form, depth) = (some_form(&mut random), random.below(20) as u32);
            let (draft, _) = some_draft(&mut random, form, depth);
            let directory = with_segment(&draft, depth);
            let segment = directory.get(0);
            let count = random.below([3, 100, MOST][round % 3]);
            let keys = some_keys(&mut random, count);
            if segment.is_wide() {
                continue;
            }
            let choice = [Instructions::Baseline, Instructions::Detected][round % 2];
            let job = Insert { segment, keys: &keys, loom: &mut loom };
            let woven = wide::run_chosen(choice.choose(), job);
            let (mut expected, mut changes) = (read_draft(segment), Changes::new());
            let added = expected.add_keys(&keys, depth, &mut changes);
            let Some(woven) = woven else {
                left += 1;
                continue;
            };
            added.expect("room");
            assert!(expected.counted().is_empty(), "too many equal codes");
            let plan = expected.plan(depth, 0).expect("room");
            assert_eq!((plan.bases, plan.units), (woven.plan.bases, woven.plan.units));
            let expected = with_segment(&expected, depth);
            let groups = &expected.get(0).bytes()[..expected.get(0).used_bits().div_ceil(8)];
            assert_eq!(loom.groups(&woven), groups, "round {round}");
        }
        assert!(left < 100, "{left} left to drafts");
    }

    #[test]
    fn segments_are_split_as_by_drafts() {
        let (mut random, mut halves, mut left) = (Random::new(3), Halves::default(), 0);
        for round in 0..600 {
            let form = Form { width: 7 + random.below(18) as u32, ended: true };
            let depth = random.below(20) as u32;
            let (draft, _) = some_draft(&mut random, form, depth);
            let directory = with_segment(&draft, depth);
            let segment = directory.get(0);
            if segment.is_wide() {
                continue;
            }
            let more = [random.below(3) as u32, random.below(3) as u32];
            let forms = more.map(|more| Form { width: form.width - 1 + more, ended: true });
            let choice = [Instructions::Baseline, Instructions::Detected][round % 2];
            let job = Split { segment, forms, to: &mut halves };
            let Some(plans) = wide::run_chosen(choice.choose(), job) else {
                left += 1;
                continue;
            };
            let source = read_draft(segment);
            let mut entries = 0;
            for side in [0, 1] {
                let (mut expected, mut changes) = (Draft::new(forms[side]), Changes::new());
                let step = Step::Down(side as u64);
                let made = expected.make_from_one(&source, step, depth + 1, &mut changes);
                made.expect("long enough");
                entries += expected.len();
                let expected = with_segment(&expected, depth + 1);
                let groups = &expected.get(0).bytes()[..expected.get(0).used_bits().div_ceil(8)];
                assert_eq!(halves.groups(side, &plans[side]), groups, "round {round}");
            }
            assert_eq!(entries, source.len());
            assert_eq!(source.runs().count(), HOMES);
        }
        assert!(left < 100, "{left} left to drafts");
    }
}
