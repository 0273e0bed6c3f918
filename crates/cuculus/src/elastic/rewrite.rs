//! A segment in the making. One pass over the groups of a segment, or of two, writes what their codes
//! become, with others added: that is a split, a merge, another form, a bulk, a union. Nothing has
//! changed until the draft is put in place of a segment.

use super::address::{GROUP_HOMES, GROUPS, PATH_BITS};
use super::bits::Writer;
use super::code::{Form, Step, mask};
use super::group::{Group, HEADER};
use super::lengths::Changes;
use super::pool::UNIT;
use super::segment::{Bases, COUNTED, Counted, MAX_SLOTS, MAX_UNITS, MOST_EQUAL, Plan, Segment};
use crate::wide::Job;

/// The most counted codes of a segment.
pub(super) const MAX_COUNTED: usize = MAX_UNITS * UNIT / COUNTED;
/// The codes of a group for which there is room at first: none by chance has so many.
const USUAL: usize = 128;

/// What a segment is to hold.
pub(super) struct Draft {
    pub(super) about: About,
    bases: Bases,
    /// The groups, and room for a word after them.
    bytes: [u8; MAX_UNITS * UNIT + 8],
}

/// All of a draft but its groups.
pub(super) struct About {
    pub(super) form: Form,
    pub(super) depth: u32,
    /// Whether no others are to come.
    pub(super) is_packed: bool,
    /// What writing it does to the lengths of entries.
    pub(super) changes: Changes,
    /// Whether an entry of the source has no bit for a split, and so is not in the draft.
    pub(super) has_exhausted: bool,
    pub(super) counted: Vec<Counted>,
}

/// Why codes cannot become a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// There are more of them than a segment can have.
    TooMany,
    /// One knows too little of its path for a plain code.
    TooShort,
    /// There is no memory for the work.
    OutOfMemory,
}

/// What a file says of a segment's block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) units: usize,
    /// Of a narrow segment.
    pub(super) slope: Option<u16>,
}

impl Draft {
    pub(super) fn new(form: Form, depth: u32) -> Self {
        let (changes, counted) = (Changes::new(), Vec::new());
        let (is_packed, has_exhausted) = (false, false);
        let about = About { form, depth, is_packed, changes, has_exhausted, counted };
        Self { about, bases: [0; GROUPS + 1], bytes: [0; MAX_UNITS * UNIT + 8] }
    }

    /// Empties the draft, for another form and depth.
    pub(super) fn reset(&mut self, form: Form, depth: u32) {
        (self.about.form, self.about.depth) = (form, depth);
        self.about.changes = Changes::new();
        (self.about.is_packed, self.about.has_exhausted) = (false, false);
        self.about.counted.clear();
    }

    /// Has groups without codes.
    pub(super) fn fill_empty(&mut self) {
        let mut writer = Writer::new(&mut self.bytes);
        (0..GROUPS).for_each(|_| writer.put(mask(HEADER as u32), HEADER as u32));
    }

    /// The entries that have slots.
    pub(super) fn len(&self) -> usize {
        self.bases[GROUPS].into()
    }

    /// Copies besides those in slots.
    pub(super) fn more_copies(&self) -> u64 {
        self.about.counted.iter().map(|counted| u64::from(counted.more)).sum()
    }

    /// The block that it needs, with some bits free.
    pub(super) fn plan(&self, free: usize) -> Result<Plan, Unfit> {
        let plan = Plan::new(
            self.about.form,
            self.about.depth,
            self.bases,
            self.about.counted.len(),
            free,
        );
        let mut plan = plan.ok_or(Unfit::TooMany)?;
        plan.is_packed = self.about.is_packed;
        Ok(plan)
    }

    /// The block that a file says it had, which is no longer than `most` of what it needs.
    pub(super) fn plan_as(
        &self,
        shape: Shape,
        most: impl Fn(usize) -> usize,
    ) -> Result<Plan, Unfit> {
        let (bases, counted) = (self.bases, self.about.counted.len());
        let plan = Plan::as_it_was(self.about.form, self.about.depth, bases, counted, shape.slope);
        let mut plan = plan.ok_or(Unfit::TooMany)?;
        plan.is_packed = self.about.is_packed;
        plan.units = plan.units.max(shape.units.min(most(plan.units))).min(MAX_UNITS);
        Ok(plan)
    }

    /// Writes it to a segment that was made for its plan.
    pub(super) fn write_to(&self, segment: &mut Segment) {
        let bytes = segment.used_bits().div_ceil(8);
        segment.group_bytes_mut()[..bytes].copy_from_slice(&self.bytes[..bytes]);
        for (at, &counted) in self.about.counted.iter().enumerate() {
            segment.set_counted(at, counted);
        }
    }

    /// Fills an empty draft with the groups of a file, of these sizes. Says how many entries of each
    /// length they have; `None` if they are none that a filter can have written.
    pub(super) fn read_saved(
        &mut self,
        bytes: &[u8],
        sizes: &[u16; GROUPS],
    ) -> Option<[u32; PATH_BITS as usize + 1]> {
        let (mut lengths, mut codes) = ([0; PATH_BITS as usize + 1], [0; MAX_SLOTS]);
        self.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        for (group, &size) in sizes.iter().enumerate() {
            let base = usize::from(self.bases[group]);
            let mut held = Group { ends: [0; GROUP_HOMES], codes: &mut codes };
            let at = HEADER * group + base * self.about.form.step();
            held.read(bytes, at, size.into(), self.about.form.width)?;
            self.bases[group + 1] = self.bases[group] + size;
            for run in (0..GROUP_HOMES).map(|home| &held.codes[held.run(home)]) {
                let has_few = run.windows(MOST_EQUAL + 1).all(|few| few[0] != few[MOST_EQUAL]);
                if !run.is_sorted() || !has_few {
                    return None;
                }
                for &code in run {
                    let length = self.about.depth + self.about.form.length(code);
                    if !self.about.form.is_possible(code) || length > PATH_BITS {
                        return None;
                    }
                    lengths[length as usize] += 1;
                }
            }
        }
        Some(lengths)
    }

    /// Adds a counted code of a file, in their order. `None` if there is no memory, or it cannot be one.
    pub(super) fn read_counted(&mut self, counted: Counted) -> Option<()> {
        let is_next = self.about.counted.last().is_none_or(|last| last.key < counted.key);
        // Home and code have 56 bits; what is above would be lost.
        if counted.key >> 56 != 0 || counted.more == 0 || !is_next {
            return None;
        }
        self.about.counted.try_reserve(1).ok()?;
        self.about.counted.push(counted);
        Some(())
    }
}

impl About {
    fn add_counted(&mut self, home: usize, code: u64, more: u32) -> Result<(), Unfit> {
        let (key, held) = (Counted::key(home as u16, code), &mut self.counted);
        match held.binary_search_by_key(&key, |counted| counted.key) {
            Ok(at) => {
                held[at].more = held[at].more.checked_add(more).ok_or(Unfit::TooMany)?;
            }
            Err(at) => {
                if held.len() == MAX_COUNTED {
                    return Err(Unfit::TooMany);
                }
                held.try_reserve(1).map_err(|_| Unfit::OutOfMemory)?;
                held.insert(at, Counted { key, more });
            }
        }
        Ok(())
    }

    /// Counts the codes of a group beyond the third of a kind.
    #[inline(never)]
    fn count_equal_codes(&mut self, first: usize, group: &mut Group<'_>) -> Result<(), Unfit> {
        for home in 0..GROUP_HOMES {
            let mut at = group.run(home).start;
            while at + MOST_EQUAL < group.run(home).end {
                let (code, end) = (group.codes[at], group.run(home).end);
                let equal = group.codes[at..end].iter().take_while(|&&held| held == code).count();
                let kept = equal.min(MOST_EQUAL);
                if equal > kept {
                    let more = equal - kept;
                    self.changes.drop(self.depth + self.form.length(code), more as u64);
                    self.add_counted(first + home, code, more as u32)?;
                    group.remove(home, at + kept..at + equal);
                }
                at += kept;
            }
        }
        Ok(())
    }
}

/// Writes to an empty draft what the codes of up to two segments become, and codes that are added: in the
/// draft's form, each with its home as [`Counted::key`] has them, in the order of their groups.
pub(super) struct Rewrite<'a> {
    pub(super) from: &'a [(&'a Segment, Step)],
    pub(super) added: &'a [u64],
    pub(super) to: &'a mut Draft,
}

impl Job for Rewrite<'_> {
    type Output = Result<(), Unfit>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { from, added, to } = self;
        let usual = Pass::<USUAL> { from, added, to }.run();
        if usual == Err(Unfit::TooMany) { again(from, added, to) } else { usual }
    }
}

/// With room for a group of any size: only chosen keys make such groups.
#[cold]
#[inline(never)]
fn again(from: &[(&Segment, Step)], added: &[u64], to: &mut Draft) -> Result<(), Unfit> {
    to.reset(to.about.form, to.about.depth);
    Pass::<MAX_SLOTS> { from, added, to }.run()
}

/// [`Rewrite`] with room for so many codes of a group.
struct Pass<'a, const ROOM: usize> {
    from: &'a [(&'a Segment, Step)],
    added: &'a [u64],
    to: &'a mut Draft,
}

impl<const ROOM: usize> Pass<'_, ROOM> {
    #[inline(always)]
    fn run(self) -> Result<(), Unfit> {
        let Self { from, mut added, to: Draft { about, bases, bytes } } = self;
        let form = about.form;
        let source = |at: usize| from.get(at).map(|&(of, step)| Source::new(of, step, form));
        let (first, second) = (source(0), source(1));
        let (mut codes, mut others, mut before) = ([0; ROOM], [0; ROOM], [0; ROOM]);
        let (mut slots, mut writer) = (0, Writer::new(bytes));
        for (group, base) in bases[1..].iter_mut().enumerate() {
            let mut made = Group { ends: [0; GROUP_HOMES], codes: &mut codes };
            let mut may_have_equal = false;
            if let Some(source) = &first {
                may_have_equal = source.read(group, &mut made, &mut before, about)?;
            }
            if let Some(source) = &second {
                let mut other = Group { ends: [0; GROUP_HOMES], codes: &mut others };
                source.read(group, &mut other, &mut before, about)?;
                made.merge(&other).ok_or(Unfit::TooMany)?;
                may_have_equal |= other.len() > 0;
            }
            let of_group =
                added.iter().take_while(|&&key| Counted::of(key).group() == group).count();
            if of_group > 0 {
                let (now, rest) = added.split_at(of_group);
                let now = now.iter().map(|&key| {
                    let one = Counted::of(key);
                    (usize::from(one.home()) % GROUP_HOMES, one.code())
                });
                added = rest;
                if made.len() == 0 {
                    made.fill(now).ok_or(Unfit::TooMany)?;
                } else {
                    let mut new = Group { ends: [0; GROUP_HOMES], codes: &mut others };
                    new.fill(now).ok_or(Unfit::TooMany)?;
                    made.merge(&new).ok_or(Unfit::TooMany)?;
                }
                may_have_equal = true;
            }
            if may_have_equal && made.has_equal(MOST_EQUAL) {
                about.count_equal_codes(group * GROUP_HOMES, &mut made)?;
            }
            slots += made.len();
            if slots > MAX_SLOTS {
                return Err(Unfit::TooMany);
            }
            made.write(form.width, &mut writer);
            *base = slots as u16;
        }
        for &(segment, step) in from {
            let held = segment.form();
            for counted in (0..segment.counted_codes()).map(|at| segment.counted(at)) {
                let code = counted.code();
                if let Some(length) = step.length(held.length(code)).filter(|_| step.takes(code)) {
                    let made = step.made(code, held, form, length);
                    about.add_counted(counted.home().into(), made, counted.more)?;
                }
            }
        }
        Ok(())
    }
}

/// A segment, and what becomes of its codes.
struct Source<'a> {
    segment: &'a Segment,
    held: Form,
    step: Step,
    to: Form,
    /// Whether codes only move by a bit, and are filled: all are ended, and none is longer than the
    /// draft's form holds.
    only_moves: bool,
    up: u32,
    fill: u64,
}

impl<'a> Source<'a> {
    #[inline]
    fn new(segment: &'a Segment, step: Step, to: Form) -> Self {
        let held = segment.form();
        let (up, down, side) = match step {
            Step::Stay => (0, 0, 0),
            Step::Down(_) => (0, 1, 0),
            Step::Up(side) => (1, 0, side),
        };
        let width = held.width + up - down;
        let only_moves = held.ended && to.ended && width <= to.width;
        let fill = if only_moves { mask(to.width) & !mask(width) | side } else { 0 };
        Self { segment, held, step, to, only_moves, up, fill }
    }

    /// Reads a group as it becomes. Says whether codes were shortened, and so may be equal that were not.
    #[inline(always)]
    fn read(
        &self,
        group: usize,
        to: &mut Group<'_>,
        before: &mut [u64],
        about: &mut About,
    ) -> Result<bool, Unfit> {
        let (at, len) = self.segment.group(group);
        to.read(self.segment.bytes(), at, len, self.held.width).ok_or(Unfit::TooMany)?;
        if !self.only_moves {
            return self.change(to, before, about);
        }
        if let Step::Down(side) = self.step {
            // All ones but the end: it knows nothing but what chose the segment.
            let exhausted = mask(self.held.width) ^ 1;
            let (mut kept, mut has_exhausted) = (0, false);
            for (i, before) in before[..len].iter_mut().enumerate() {
                let code = to.codes[i];
                *before = kept as u64;
                to.codes[kept] = code >> 1 | self.fill;
                has_exhausted |= code == exhausted;
                kept += usize::from((code & 1 == side) & (code != exhausted));
            }
            about.has_exhausted |= has_exhausted;
            to.end_before(before, kept);
        } else if self.up != 0 || self.fill != 0 {
            to.codes[..len].iter_mut().for_each(|code| *code = *code << self.up | self.fill);
        }
        Ok(false)
    }

    /// [`read`](Self::read) for codes of any form.
    #[inline(never)]
    fn change(
        &self,
        to: &mut Group<'_>,
        before: &mut [u64],
        about: &mut About,
    ) -> Result<bool, Unfit> {
        let (form, longest) = (self.to, self.to.longest());
        let (mut kept, mut is_cut) = (0, false);
        for (i, before) in before[..to.len()].iter_mut().enumerate() {
            let code = to.codes[i];
            *before = kept as u64;
            let Some(length) = self.step.length(self.held.length(code)) else {
                about.has_exhausted = true;
                continue;
            };
            if !self.step.takes(code) {
                continue;
            }
            if !form.ended && length < form.width {
                return Err(Unfit::TooShort);
            }
            to.codes[kept] = self.step.made(code, self.held, form, length);
            kept += 1;
            if length > longest {
                is_cut = true;
                about.changes.shorten(about.depth + length, about.depth + longest);
            }
        }
        to.end_before(before, kept);
        if is_cut {
            (0..GROUP_HOMES).for_each(|home| {
                let run = to.run(home);
                to.codes[run].sort_unstable();
            });
        }
        Ok(is_cut)
    }
}

impl Group<'_> {
    /// Homes end where they did, but for codes that were left out: of so many kept in all, these came
    /// before each.
    #[inline(always)]
    fn end_before(&mut self, before: &[u64], kept: usize) {
        let len = self.len();
        for end in &mut self.ends {
            let at = usize::from(*end);
            *end = if at == len { kept as u16 } else { before[at] as u16 };
        }
    }
}

impl Step {
    /// The length of an extension after the step, if it has a side.
    #[inline]
    fn length(self, length: u32) -> Option<u32> {
        match self {
            Self::Stay => Some(length),
            Self::Down(_) => length.checked_sub(1),
            Self::Up(_) => Some(length + 1),
        }
    }

    /// Whether an entry that has a side is of this one.
    #[inline]
    fn takes(self, code: u64) -> bool {
        !matches!(self, Self::Down(side) if code & 1 != side)
    }

    /// The code after the step in another form, shortened if need be.
    #[inline(always)]
    fn made(self, code: u64, from: Form, to: Form, length: u32) -> u64 {
        let extension = code & mask(from.length(code));
        let extension = match self {
            Self::Stay => extension,
            Self::Down(_) => extension >> 1,
            Self::Up(side) => extension << 1 | side,
        };
        to.encode(extension, length)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::conformance::Random;
    use crate::wide::{self, Instructions};

    use super::super::address::{Address, HOMES};
    use super::super::directory::Directory;
    use super::super::lengths::Lengths;
    use super::super::segment::Obstacle;

    /// Miri is some thousand times slower.
    fn rounds(many: usize) -> usize {
        if cfg!(miri) { many.div_ceil(60).min(9) } else { many }
    }

    /// A home, a code, and its copies.
    type Entry = (u16, u64, u64);

    /// Entries in order, each code once.
    fn tidy(mut entries: Vec<Entry>) -> Vec<Entry> {
        entries.sort_unstable();
        entries.dedup_by(|next, last| {
            let is_equal = (next.0, next.1) == (last.0, last.1);
            last.2 += if is_equal { next.2 } else { 0 };
            is_equal
        });
        entries
    }

    /// Codes of many lengths, of which some are equal, some homes have many, and some copies are counted.
    fn some_entries(random: &mut Random, form: Form, most: usize) -> Vec<Entry> {
        let crowded = random.below(HOMES) as u16;
        let mut entries: Vec<Entry> = Vec::new();
        for _ in 0..random.below(most) {
            let shorter = if form.ended { random.below(form.width as usize) as u32 / 2 } else { 0 };
            let code = form.encode(random.bits(), form.longest() - shorter);
            let home = random.below(HOMES) as u16;
            let is_again = !entries.is_empty() && random.below(40) == 0;
            entries.push(match random.below(30) {
                0 => (crowded, code, 1),
                1 => (home, code, 1 + random.below(9) as u64),
                _ if is_again => entries[random.below(entries.len())],
                _ => (home, code, 1),
            });
        }
        tidy(entries)
    }

    /// One number for each copy, in the order of groups and no other.
    fn numbers(random: &mut Random, entries: &[Entry]) -> Vec<u64> {
        let copies = entries.iter().flat_map(|&(home, code, copies)| {
            core::iter::repeat_n(Counted::key(home, code), copies as usize)
        });
        let mut numbers: Vec<(usize, usize, u64)> =
            copies.map(|key| (Counted::of(key).group(), random.below(1000), key)).collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|(_, _, number)| number).collect()
    }

    fn made(
        from: &[(&Segment, Step)],
        added: &[u64],
        form: Form,
        depth: u32,
    ) -> Result<Draft, Unfit> {
        let mut drafts = [Instructions::Baseline, Instructions::Detected].map(|instructions| {
            let mut draft = Draft::new(form, depth);
            let job = Rewrite { from, added, to: &mut draft };
            wide::run_chosen(instructions.choose(), job).map(|()| draft)
        });
        if let [Ok(plain), Ok(wide)] = &drafts {
            let bytes = (HEADER * GROUPS + plain.len() * form.step()) / 8;
            assert!(plain.bytes[..bytes] == wide.bytes[..bytes] && plain.bases == wide.bases);
        }
        core::mem::replace(&mut drafts[1], Err(Unfit::TooMany))
    }

    /// A directory with one segment.
    pub(in crate::elastic) fn with_segment(draft: &Draft) -> Directory {
        let mut directory = Directory::default();
        directory.push(draft, &draft.plan(0).expect("few codes")).expect("memory");
        directory
    }

    fn segment_of(random: &mut Random, entries: &[Entry], form: Form, depth: u32) -> Directory {
        let numbers = numbers(random, entries);
        with_segment(&made(&[], &numbers, form, depth).expect("few codes"))
    }

    /// What is in a segment, which has no more equal codes in slots than can be.
    pub(in crate::elastic) fn entries_of(segment: &Segment) -> Vec<Entry> {
        let mut entries = Vec::new();
        segment.each_code(|home, code| entries.push((home, code, 1)));
        assert!(entries.is_sorted());
        let mut entries = tidy(entries);
        for (home, code, copies) in &mut entries {
            assert!(*copies <= MOST_EQUAL as u64);
            let more = u64::from(segment.more_copies(*home, *code));
            assert!(more == 0 || *copies == MOST_EQUAL as u64);
            *copies += more;
        }
        entries
    }

    fn some_form(random: &mut Random) -> Form {
        Form { width: 6 + random.below(24) as u32, ended: random.below(4) > 0 }
    }

    /// Segments of one kind into others, by every step: what each entry becomes, one by one.
    #[test]
    fn segments_become_what_their_entries_do() {
        let (mut random, mut short, mut many) = (Random::new(1), 0, 0);
        for round in 0..rounds(3000) {
            let (held, depth) = (some_form(&mut random), 1 + random.below(20) as u32);
            let size = [20, 400, 1500][round % 3];
            let sources: Vec<Vec<Entry>> =
                (0..2).map(|_| some_entries(&mut random, held, size / 2)).collect();
            let directories: Vec<Directory> = sources
                .iter()
                .map(|held_by| segment_of(&mut random, held_by, held, depth))
                .collect();
            let segments: Vec<&Segment> = directories.iter().map(|of| of.get(0)).collect();
            let side = random.below(2) as u64;
            let (steps, to_depth) = match round / 3 % 4 {
                0 => (vec![Step::Stay], depth),
                1 => (vec![Step::Down(side)], depth + 1),
                2 => (vec![Step::Up(0), Step::Up(1)], depth - 1),
                _ => (vec![Step::Stay, Step::Stay], depth),
            };
            let form = match random.below(3) {
                0 => some_form(&mut random),
                1 => Form { width: held.width + random.below(3) as u32, ended: true },
                _ => held,
            };
            let added = match form.ended || held.ended {
                true => some_entries(&mut random, form, 1 + size / 8),
                false => Vec::new(),
            };
            let from: Vec<(&Segment, Step)> = segments.iter().copied().zip(steps).collect();
            let (mut expected, mut has_exhausted) = (added.clone(), false);
            let mut is_too_short = false;
            for (entries, (_, step)) in sources.iter().zip(&from) {
                for &(home, code, copies) in entries {
                    let Some(length) = step.length(held.length(code)) else {
                        has_exhausted = true;
                        continue;
                    };
                    if step.takes(code) {
                        is_too_short |= !form.ended && length < form.width;
                        let length = length.max(if form.ended { 0 } else { form.width });
                        expected.push((home, step.made(code, held, form, length), copies));
                    }
                }
            }
            let expected = tidy(expected);
            let numbers = numbers(&mut random, &added);
            match made(&from, &numbers, form, to_depth) {
                Err(Unfit::TooShort) => {
                    assert!(is_too_short);
                    short += 1;
                }
                Err(_) => many += 1,
                Ok(draft) => {
                    assert!(!is_too_short);
                    assert_eq!(draft.about.has_exhausted, has_exhausted);
                    let Ok(_) = draft.plan(0) else {
                        many += 1;
                        continue;
                    };
                    let directory = with_segment(&draft);
                    assert!(entries_of(directory.get(0)) == expected, "round {round}");
                    // What happened to lengths, beside that of copies without slots.
                    let slots = |of: &Segment| {
                        let mut lengths = Lengths::default();
                        (0..=PATH_BITS).for_each(|length| lengths.reserve(length).expect("memory"));
                        let (form, depth) = (of.form(), of.depth());
                        of.each_code(|_, code| {
                            lengths.add((depth + form.length(code)).min(PATH_BITS));
                        });
                        lengths
                    };
                    if let [(segment, Step::Stay)] = from[..]
                        && added.is_empty()
                        && to_depth + form.longest().max(held.longest()) <= PATH_BITS
                    {
                        let mut before = slots(segment);
                        before.apply(&draft.about.changes);
                        assert_eq!(before.sum(), slots(directory.get(0)).sum());
                    }
                }
            }
        }
        assert!(cfg!(miri) || short > 30 && many < 60, "{short} {many}");
    }

    /// A home with more codes than a segment can have, and one with as many.
    #[test]
    fn too_many_codes_are_refused() {
        let form = Form { width: 20, ended: true };
        for (count, fits) in [(MAX_SLOTS, true), (MAX_SLOTS + 1, false)] {
            let numbers: Vec<u64> =
                (0..count as u64).map(|i| Counted::key(7, form.encode(i, 19))).collect();
            assert_eq!(made(&[], &numbers, form, 3).is_ok(), fits);
            let spread: Vec<u64> = (0..count as u64)
                .map(|i| Counted::key((i * HOMES as u64 / count as u64) as u16, form.encode(i, 19)))
                .collect();
            assert_eq!(made(&[], &spread, form, 3).is_ok(), fits);
        }
    }

    /// In place, codes come and go as in lists, and the bits are those of a segment made at once.
    #[test]
    fn what_changes_in_place_is_what_is_made_at_once() {
        let (mut random, mut widened, mut counted) = (Random::new(2), 0, 0);
        for round in 0..rounds(300) {
            let (form, depth) = (some_form(&mut random), random.below(20) as u32);
            let mut entries = some_entries(&mut random, form, [30, 600, 1900][round % 3]);
            entries.iter_mut().for_each(|entry| entry.2 = entry.2.min(MOST_EQUAL as u64));
            let mut directory = segment_of(&mut random, &entries, form, depth);
            for _ in 0..rounds([200, 200, 600][round / 3 % 3]) {
                let home = random.below([HOMES, HOMES, 20][round / 3 % 3]) as u16;
                let code = form.encode(random.bits(), form.longest());
                let held = entries.get(random.below(entries.len().max(1))).copied();
                let segment = directory.get_mut(0);
                let (home, code, copies) = match held {
                    Some(held) if random.below(3) > 0 => held,
                    _ => (home, code, 0),
                };
                let key = Address { path: code << depth, home };
                if random.below(2) == 0 && copies > 0 {
                    let extension = code & mask(form.length(code));
                    let found =
                        segment.longest_match::<false>(Address { path: extension << depth, home });
                    let found = found.expect("it is there");
                    assert!(found.length >= form.length(code));
                    if !segment.take::<false>(key.group(), found) {
                        let units = segment.units() + segment.missing_for_wide(0).div_ceil(UNIT);
                        directory.resize(0, units).expect("memory");
                        directory.get_mut(0).widen();
                        assert!(directory.get_mut(0).take::<false>(key.group(), found));
                        widened += 1;
                    }
                    let at = entries.iter().position(|of| (of.0, of.1) == (home, found.code));
                    entries[at.expect("one of them")].2 -= 1;
                    entries.retain(|of| of.2 > 0);
                    continue;
                }
                let is_there = loop {
                    let segment = directory.get_mut(0);
                    if segment.put::<false>(key, code) {
                        break true;
                    }
                    let obstacle = segment.obstacle(key, code).expect("why not");
                    let more = match obstacle {
                        Obstacle::NoRoom if segment.slots() == MAX_SLOTS => break false,
                        Obstacle::NoRoom => UNIT,
                        Obstacle::Strained => segment.missing_for_wide(form.step().div_ceil(8)),
                        Obstacle::Equal => {
                            let of = |entry: &&Entry| (entry.0, entry.1) == (home, code);
                            let held = entries.iter().find(of).expect("some of them");
                            assert_eq!(held.2, MOST_EQUAL as u64);
                            counted += 1;
                            break false;
                        }
                    };
                    let units = segment.units() + more.div_ceil(UNIT);
                    directory.resize(0, units).expect("memory");
                    if obstacle == Obstacle::Strained {
                        directory.get_mut(0).widen();
                        widened += 1;
                    }
                };
                if is_there {
                    entries.push((home, code, 1));
                    entries = tidy(entries);
                }
            }
            assert!(entries_of(directory.get(0)) == entries, "round {round}");
            for &(home, code, copies) in &entries {
                let extension = code & mask(form.length(code));
                let key = Address { path: extension << depth, home };
                let mut found = 0;
                directory.get(0).each_match(key, |of| found += u64::from(of.code == code));
                assert_eq!(found, copies);
                assert!(super::super::probe::contains(directory.get(0), key));
            }
            let again = segment_of(&mut random, &entries, form, depth);
            let bytes = again.get(0).used_bits() / 8;
            assert!(directory.get(0).bytes()[..bytes] == again.get(0).bytes()[..bytes]);
        }
        assert!(cfg!(miri) || widened > 10 && counted > 100, "{widened} {counted}");
    }
}
