//! A segment in the making: all codes of one, or of two that become one, as numbers. What becomes
//! of each code is decided here; nothing has changed until the draft is written to a block.

use super::address::{Address, GROUP_HOMES, GROUPS, HOMES, PATH_BITS};
use super::bits::Writer;
use super::code::{Form, Step, mask};
use super::directory::Content;
use super::group::{self, Homes, MOST_EQUAL};
use super::lengths::Changes;
use super::policy::Settings;
use super::pool::UNIT;
use super::segment::{Bases, COUNTED, Counted, MAX_SLOTS, MAX_UNITS, Plan, Segment};
use crate::KeyHash;
use crate::wide::{self, Chosen, Job};

/// The most counted codes of a segment.
pub(super) const MAX_COUNTED: usize = MAX_UNITS * UNIT / COUNTED;

/// Codes of all homes.
pub(crate) struct Draft {
    pub(super) form: Form,
    counts: [u16; HOMES],
    codes: [u64; MAX_SLOTS],
    len: usize,
    counted: Vec<Counted>,
}

/// What a file says of a segment's block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) units: usize,
    /// Of a narrow segment.
    pub(super) slope: Option<u16>,
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

impl Draft {
    pub(super) fn new(form: Form) -> Self {
        Self { form, counts: [0; HOMES], codes: [0; MAX_SLOTS], len: 0, counted: Vec::new() }
    }

    /// Empties the draft.
    pub(super) fn reset(&mut self, form: Form) {
        self.form = form;
        self.len = 0;
        self.counts.fill(0);
        self.counted.clear();
    }

    /// Reads all codes of a segment into an empty draft.
    #[inline(always)]
    pub(super) fn read(&mut self, segment: &Segment) -> Result<(), Unfit> {
        self.form = segment.form();
        for (group, counts) in self.counts.as_chunks_mut().0.iter_mut().enumerate() {
            let mut homes = Homes { counts, codes: &mut self.codes[self.len..] };
            self.len += segment.read_group(group, &mut homes).ok_or(Unfit::TooMany)?;
        }
        let counted = segment.counted_codes();
        self.counted.try_reserve_exact(counted).map_err(|_| Unfit::OutOfMemory)?;
        self.counted.extend((0..counted).map(|at| segment.counted(at)));
        Ok(())
    }

    /// The entries that have slots.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether a code knows nothing of its path but what chose the segment.
    pub(super) fn has_code_without_extension(&self) -> bool {
        let code = self.form.encode(0, if self.form.ended { 0 } else { self.form.width });
        self.form.longest() == 0 || self.form.ended && self.codes[..self.len].contains(&code)
    }

    pub(super) fn counted(&self) -> &[Counted] {
        &self.counted
    }

    /// Copies besides those in slots.
    pub(super) fn more_copies(&self) -> u64 {
        self.counted().iter().map(|counted| u64::from(counted.more)).sum()
    }

    /// The codes of each home in turn.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u16, &[u64])> {
        let mut rest = &self.codes[..self.len];
        (0..).zip(&self.counts).map(move |(home, &count)| {
            let (run, others) = rest.split_at(usize::from(count));
            rest = others;
            (home, run)
        })
    }

    /// Fills an empty draft with what the codes of others become in its form, after a step.
    #[inline(always)]
    pub(super) fn make_from(
        &mut self,
        from: &[(&Self, Step)],
        depth: u32,
        changes: &mut Changes,
    ) -> Result<(), Unfit> {
        let form = self.form;
        let draft = self;
        let mut firsts = [0; 2];
        for home in 0..HOMES {
            let start = draft.len;
            for (&(source, step), first) in from.iter().zip(&mut firsts) {
                let end = *first + usize::from(source.counts[home]);
                for &code in &source.codes[*first..end] {
                    let Some(length) = step.length(source.form.length(code)) else { continue };
                    if !step.takes(code) {
                        continue;
                    }
                    if !form.ended && length < form.width {
                        return Err(Unfit::TooShort);
                    }
                    let made = step.made(code, source.form, form, length);
                    if length > form.longest() {
                        changes.shorten(depth + length, depth + form.longest());
                    }
                    let Some(slot) = draft.codes.get_mut(draft.len) else {
                        return Err(Unfit::TooMany);
                    };
                    *slot = made;
                    draft.len += 1;
                    let mut at = draft.len - 1;
                    while at > start && draft.codes[at - 1] > made {
                        draft.codes.swap(at, at - 1);
                        at -= 1;
                    }
                }
                *first = end;
            }
            draft.counts[home] = (draft.len - start) as u16;
            if draft.len - start > MOST_EQUAL {
                draft.count_equal_codes(home as u16, start, depth, changes)?;
            }
        }
        for &(source, step) in from {
            for counted in source.counted() {
                let code = counted.code();
                let Some(length) = step.length(source.form.length(code)) else { continue };
                if step.takes(code) {
                    let made = step.made(code, source.form, form, length);
                    draft.add_counted(counted.home(), made, counted.more)?;
                }
            }
        }
        Ok(())
    }

    /// [`make_from`](Self::make_from) for one segment whose codes stay or go down: all of them in
    /// one loop without branches, then home by home only if some were shortened.
    #[inline(always)]
    pub(super) fn make_from_one(
        &mut self,
        from: &Self,
        step: Step,
        depth: u32,
        changes: &mut Changes,
    ) -> Result<(), Unfit> {
        let mut taken = [0u64; MAX_SLOTS.div_ceil(64) + 1];
        let is_cut = if from.form.ended && self.form.ended {
            self.make_ended_from(from, step, depth, changes, &mut taken)
        } else {
            self.make_other_from(from, step, depth, changes, &mut taken)?
        };
        if let Step::Down(_) = step {
            let mut first = 0;
            for (count, &of) in self.counts.iter_mut().zip(&from.counts) {
                *count = ones(&taken, first, usize::from(of));
                first += usize::from(of);
            }
        } else {
            self.counts = from.counts;
        }
        if is_cut {
            self.sort_homes(depth, changes)?;
        }
        for counted in from.counted() {
            let code = counted.code();
            let Some(length) = step.length(from.form.length(code)) else { continue };
            if step.takes(code) {
                let made = step.made(code, from.form, self.form, length);
                self.add_counted(counted.home(), made, counted.more)?;
            }
        }
        Ok(())
    }

    /// The loop of [`make_from_one`](Self::make_from_one) for ended codes, which are most. Sets the
    /// bits of the codes that were taken, and says whether some were shortened.
    #[inline(always)]
    fn make_ended_from(
        &mut self,
        from: &Self,
        step: Step,
        depth: u32,
        changes: &mut Changes,
        taken: &mut [u64],
    ) -> bool {
        let (all, made_all, longest) =
            (mask(from.form.width), mask(self.form.width), self.form.longest());
        let down = u32::from(matches!(step, Step::Down(_)));
        let (mut len, mut is_cut) = (0, false);
        for (codes, taken) in from.codes[..from.len].chunks(64).zip(taken) {
            for (i, &code) in codes.iter().enumerate() {
                // The end is the highest zero.
                let length = 63 - (!code & all | 1).leading_zeros();
                let is_taken = step.takes(code) & (length >= down);
                let extension = (code & mask(length)) >> down;
                let length = length.wrapping_sub(down) & 63;
                let kept = length.min(longest);
                self.codes[len] = extension & mask(kept) | made_all & !mask(kept + 1);
                // Never as many as codes, as long as one is still to come.
                len += usize::from(is_taken);
                *taken |= u64::from(is_taken) << i;
                if is_taken & (length > longest) {
                    is_cut = true;
                    changes.shorten(depth + length, depth + longest);
                }
            }
        }
        self.len = len;
        is_cut
    }

    /// The same for codes of any form.
    #[inline(never)]
    fn make_other_from(
        &mut self,
        from: &Self,
        step: Step,
        depth: u32,
        changes: &mut Changes,
        taken: &mut [u64],
    ) -> Result<bool, Unfit> {
        let (form, longest) = (self.form, self.form.longest());
        let (mut len, mut is_too_short, mut is_cut) = (0, false, false);
        for (i, &code) in from.codes[..from.len].iter().enumerate() {
            let length = from.form.length(code);
            let has_side = length > 0;
            let is_taken = step.takes(code) & (has_side | !matches!(step, Step::Down(_)));
            let length = step.length(length).unwrap_or(0);
            let made = step.made(
                code,
                from.form,
                form,
                length.max(if form.ended { 0 } else { form.width }),
            );
            self.codes[len.min(MAX_SLOTS - 1)] = made;
            len += usize::from(is_taken);
            taken[i / 64] |= u64::from(is_taken) << (i % 64);
            is_too_short |= is_taken & !form.ended & (length < form.width);
            if is_taken & (length > longest) {
                is_cut = true;
                changes.shorten(depth + length, depth + longest);
            }
        }
        if is_too_short {
            return Err(Unfit::TooShort);
        }
        self.len = len;
        Ok(is_cut)
    }

    /// Brings the codes of each home in order, and counts those beyond the third of a kind.
    #[inline(always)]
    fn sort_homes(&mut self, depth: u32, changes: &mut Changes) -> Result<(), Unfit> {
        let (mut first, all) = (0, self.len);
        let mut kept = 0;
        for home in 0..HOMES {
            let count = usize::from(self.counts[home]);
            if kept < first {
                self.codes.copy_within(first..first + count, kept);
            }
            first += count;
            match &mut self.codes[kept..kept + count] {
                [] | [_] => {}
                [a, b] => (*a, *b) = ((*a).min(*b), (*a).max(*b)),
                [a, b, c] => {
                    (*a, *b) = ((*a).min(*b), (*a).max(*b));
                    (*b, *c) = ((*b).min(*c), (*b).max(*c));
                    (*a, *b) = ((*a).min(*b), (*a).max(*b));
                }
                many => {
                    many.sort_unstable();
                    self.len = kept + count;
                    self.count_equal_codes(home as u16, kept, depth, changes)?;
                }
            }
            kept += usize::from(self.counts[home]);
        }
        debug_assert_eq!(first, all);
        self.len = kept;
        Ok(())
    }

    /// Counts the codes of the last home beyond the third of a kind.
    #[inline(never)]
    fn count_equal_codes(
        &mut self,
        home: u16,
        start: usize,
        depth: u32,
        changes: &mut Changes,
    ) -> Result<(), Unfit> {
        let (mut kept, mut at) = (start, start);
        while at < self.len {
            let code = self.codes[at];
            let run = self.codes[at..self.len].iter().take_while(|&&held| held == code).count();
            let slots = run.min(MOST_EQUAL);
            self.codes[kept..kept + slots].fill(code);
            if run > slots {
                let more = run - slots;
                changes.drop(depth + self.form.length(code), more as u64);
                self.add_counted(home, code, more as u32)?;
            }
            kept += slots;
            at += run;
        }
        self.len = kept;
        self.counts[usize::from(home)] = (kept - start) as u16;
        Ok(())
    }

    fn add_counted(&mut self, home: u16, code: u64, more: u32) -> Result<(), Unfit> {
        let key = Counted::key(home, code);
        let held = &mut self.counted;
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

    /// Adds copies of a code. Says how many of them have slots.
    pub(super) fn add(&mut self, home: u16, code: u64, copies: u32) -> Result<usize, Unfit> {
        let home_at = usize::from(home);
        let first: usize = self.counts[..home_at].iter().map(|&count| usize::from(count)).sum();
        let run = &self.codes[first..first + usize::from(self.counts[home_at])];
        let at = first + run.partition_point(|&held| held < code);
        let equal =
            self.codes[at..first + run.len()].iter().take_while(|&&held| held == code).count();
        let slots = (MOST_EQUAL - equal).min(copies as usize);
        if self.len + slots > MAX_SLOTS {
            return Err(Unfit::TooMany);
        }
        self.codes.copy_within(at..self.len, at + slots);
        self.codes[at..at + slots].fill(code);
        self.len += slots;
        self.counts[home_at] += slots as u16;
        if copies as usize > slots {
            self.add_counted(home, code, copies - slots as u32)?;
        }
        Ok(slots)
    }

    /// Adds keys, each with as long a code as the form has. Says in `changes` which of them are counted
    /// and have no slot.
    #[inline(always)]
    pub(super) fn add_keys(
        &mut self,
        keys: &[KeyHash],
        depth: u32,
        changes: &mut Changes,
    ) -> Result<(), Unfit> {
        let (form, all) = (self.form, self.len + keys.len());
        let length = form.longest().min(PATH_BITS - depth);
        if all > MAX_SLOTS {
            return Err(Unfit::TooMany);
        }
        if !form.ended && length < form.width {
            return Err(Unfit::TooShort);
        }
        let mut next = [0u16; HOMES];
        for &hash in keys {
            next[usize::from(Address::of(hash).home)] += 1;
        }
        // Behind the codes of each home room is made for the new ones, from the last home on.
        let (mut starts, mut shift) = ([0u16; HOMES], keys.len());
        let (mut from, mut moved) = (self.len, self.len);
        for home in (0..HOMES).rev() {
            let old = usize::from(self.counts[home]);
            if next[home] > 0 {
                self.codes.copy_within(from..moved, from + shift);
                moved = from;
                shift -= usize::from(next[home]);
                self.counts[home] += next[home];
                next[home] = (from + shift) as u16;
                starts[home] = (from + shift - old) as u16;
            }
            from -= old;
        }
        self.len = all;
        let mut are_many_equal = false;
        for &hash in keys {
            let key = Address::of(hash);
            let code = form.encode(key.path >> depth, length);
            let home = usize::from(key.home);
            let (mut at, start) = (usize::from(next[home]), usize::from(starts[home]));
            next[home] += 1;
            while at > start && self.codes[at - 1] > code {
                self.codes[at] = self.codes[at - 1];
                at -= 1;
            }
            self.codes[at] = code;
            are_many_equal |= at >= start + MOST_EQUAL && self.codes[at - MOST_EQUAL] == code;
        }
        if are_many_equal { self.sort_homes(depth, changes) } else { Ok(()) }
    }

    /// Takes one entry out that has this code, and no counted copies.
    pub(super) fn take(&mut self, home: u16, code: u64) -> bool {
        let home_at = usize::from(home);
        let first: usize = self.counts[..home_at].iter().map(|&count| usize::from(count)).sum();
        let run = &self.codes[first..first + usize::from(self.counts[home_at])];
        let Ok(at) = run.binary_search(&code) else { return false };
        self.codes.copy_within(first + at + 1..self.len, first + at);
        self.len -= 1;
        self.counts[home_at] -= 1;
        true
    }

    /// Codes as a file has them, in order. `None` if there are too many, or they are not sorted, or
    /// none that a key can have.
    pub(super) fn checked(&self, depth: u32) -> Option<[u32; PATH_BITS as usize + 1]> {
        let mut lengths = [0; PATH_BITS as usize + 1];
        for (_, run) in self.runs() {
            let is_sorted = run.windows(2).all(|pair| pair[0] <= pair[1]);
            let has_few = run.windows(MOST_EQUAL + 1).all(|few| few[0] != few[MOST_EQUAL]);
            if !is_sorted || !has_few {
                return None;
            }
            for &code in run {
                let length = depth + self.form.length(code);
                if !self.form.is_possible(code) || length > PATH_BITS {
                    return None;
                }
                lengths[length as usize] += 1;
            }
        }
        let counted = self.counted();
        let is_sorted = counted.windows(2).all(|pair| pair[0].key < pair[1].key);
        let are_full = counted.iter().all(|counted| {
            let home = usize::from(counted.home());
            home < HOMES && counted.more > 0 && {
                let first: usize = self.counts[..home].iter().map(|&n| usize::from(n)).sum();
                let run = &self.codes[first..first + usize::from(self.counts[home])];
                run.iter().filter(|&&code| code == counted.code()).count() == MOST_EQUAL
            }
        });
        (is_sorted && are_full).then_some(lengths)
    }

    /// The slots before each group.
    #[inline(always)]
    fn bases(&self) -> Option<Bases> {
        let mut bases = [0; GROUPS + 1];
        let mut slots = 0;
        for (group, counts) in self.counts.as_chunks().0.iter().enumerate() {
            slots += group::slots(counts, self.form.width);
            bases[group + 1] = u16::try_from(slots).ok()?;
        }
        Some(bases)
    }

    /// The block that these codes need.
    #[inline(always)]
    pub(super) fn plan(&self, depth: u32, free: usize) -> Result<Plan, Unfit> {
        let bases = self.bases().ok_or(Unfit::TooMany)?;
        Plan::new(self.form, depth, bases, self.counted.len(), free).ok_or(Unfit::TooMany)
    }

    /// The block that a file says these codes had, if a filter can have made it so large.
    pub(super) fn plan_as(
        &self,
        depth: u32,
        shape: Shape,
        settings: &Settings,
    ) -> Result<Plan, Unfit> {
        let bases = self.bases().ok_or(Unfit::TooMany)?;
        let plan = Plan::as_it_was(self.form, depth, bases, self.counted.len(), shape.slope);
        let mut plan = plan.ok_or(Unfit::TooMany)?;
        let most = settings.most_units_in_files(plan.units);
        plan.units = plan.units.max(shape.units.min(most)).min(MAX_UNITS);
        Ok(plan)
    }

    /// Reads a group from bit `at` of a file's bytes; groups come in turn.
    pub(super) fn read_group(
        &mut self,
        bytes: &[u8],
        at: usize,
        group: usize,
        slots: usize,
    ) -> Option<()> {
        let counts = self.counts.get_mut(group * GROUP_HOMES..)?.first_chunk_mut()?;
        let mut homes = Homes { counts, codes: &mut self.codes[self.len..] };
        self.len += group::decode(bytes, at, slots, self.form.width, &mut homes)?;
        Some(())
    }

    /// Reads a counted code of a file.
    pub(super) fn read_counted(&mut self, counted: Counted) -> Option<()> {
        // Home and code have 56 bits; what is above would be lost.
        if counted.key >> 56 != 0 {
            return None;
        }
        self.counted.try_reserve(1).ok()?;
        self.counted.push(counted);
        Some(())
    }

    /// Writes the codes to a segment that was made for the plan.
    #[inline(always)]
    fn write(&self, segment: &mut Segment) {
        let mut writer = Writer::new(segment.group_bytes_mut());
        let mut rest = &self.codes[..self.len];
        for counts in self.counts.as_chunks().0 {
            let (codes, others) =
                rest.split_at(counts.iter().map(|&count| usize::from(count)).sum());
            rest = others;
            group::encode(counts, codes, self.form.width, &mut writer);
        }
        for (at, &counted) in self.counted().iter().enumerate() {
            segment.set_counted(at, counted);
        }
    }
}

/// The ones among `count` bits from bit `first` on.
#[inline(always)]
fn ones(bits: &[u64], first: usize, count: usize) -> u16 {
    if count > 32 {
        return (first..first + count).filter(|&i| bits[i / 64] >> (i % 64) & 1 == 1).count()
            as u16;
    }
    let (low, high) = (bits[first / 64], bits[first / 64 + 1]);
    let word = low >> (first % 64) | (high << 1) << (63 - first % 64);
    (word & mask(count as u32)).count_ones() as u16
}

/// [`Draft::read`], with the widest instructions.
pub(super) struct Read<'a> {
    pub(super) segment: &'a Segment,
    pub(super) to: &'a mut Draft,
}

impl Job for Read<'_> {
    type Output = Result<(), Unfit>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.to.read(self.segment)
    }
}

/// [`Draft::make_from`], with the widest instructions.
pub(super) struct Make<'a> {
    pub(super) from: &'a [(&'a Draft, Step)],
    pub(super) depth: u32,
    pub(super) changes: &'a mut Changes,
    pub(super) to: &'a mut Draft,
}

impl Job for Make<'_> {
    type Output = Result<(), Unfit>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        // Rewriting a segment as it is, splitting and merging: each has a loop of its own.
        match *self.from {
            [(from, Step::Stay)] => {
                self.to.make_from_one(from, Step::Stay, self.depth, self.changes)
            }
            [(from, Step::Down(side))] => {
                self.to.make_from_one(from, Step::Down(side), self.depth, self.changes)
            }
            ref from => self.to.make_from(from, self.depth, self.changes),
        }
    }
}

/// [`Draft::write`], with the widest instructions.
struct Write<'a> {
    draft: &'a Draft,
    to: &'a mut Segment,
}

impl Content for Draft {
    fn write_to(&self, segment: &mut Segment, chosen: Chosen) {
        wide::run_chosen(chosen, Write { draft: self, to: segment });
    }
}

impl Job for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.draft.write(self.to);
    }
}

impl Step {
    /// The length of an extension after the step, if it has a side.
    #[inline(always)]
    fn length(self, length: u32) -> Option<u32> {
        match self {
            Self::Stay => Some(length),
            Self::Down(_) => length.checked_sub(1),
            Self::Up(_) => Some(length + 1),
        }
    }

    /// Whether an entry that has a side is of this one.
    #[inline(always)]
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
