//! Segments of a level rewritten in another form or size, split, merged and shrunk: all of it is making
//! drafts, and one [`commit`](Level::commit). When it is time for it is decided by the policy.

use super::code::{Form, MAX_WIDTH, Step};
use super::lengths::Lengths;
use super::level::{Context, Failure, Level, PartialKey, each_partial_key};
use super::rewrite::{Draft, Rewrite, Unfit};
use super::segment::{MOST_EQUAL, Segment};
use crate::{FullCause, wide};

/// Drafts that take the place of segments.
#[derive(Clone, Copy)]
pub(super) struct Commit<'a> {
    /// The segment that is replaced, and by what.
    pub(super) replaced: Option<(usize, &'a Draft)>,
    /// What becomes a new last segment.
    pub(super) pushed: Option<&'a Draft>,
    /// Whether the last segment goes, since its entries are in the draft.
    pub(super) pops: bool,
    /// Entries that no segment had: what they know, and how many they are.
    pub(super) added: (u32, u64),
    /// The bits of the replaced segment's block that are to be free.
    pub(super) free: usize,
}

impl<'a> Commit<'a> {
    /// A draft in place of a segment, with the same entries.
    pub(super) fn of(index: usize, draft: &'a Draft) -> Self {
        let replaced = Some((index, draft));
        Self { replaced, pushed: None, pops: false, added: (0, 0), free: 0 }
    }

    /// A draft after the last segment, with entries that all know this much.
    pub(super) fn new_segment(draft: &'a Draft, added: (u32, u64)) -> Self {
        Self { replaced: None, pushed: Some(draft), pops: false, added, free: 0 }
    }

    fn drafts(&self) -> impl Iterator<Item = &'a Draft> {
        self.replaced.map(|(_, draft)| draft).into_iter().chain(self.pushed)
    }
}

/// What is counted of segments: entries with slots, counted codes, and their copies.
pub(super) type Counts = (usize, usize, u64);

pub(super) fn counts_of(segment: &Segment) -> Counts {
    let counted = segment.counted_codes();
    let copies = (0..counted).map(|at| u64::from(segment.counted(at).more)).sum();
    (segment.slots(), counted, copies)
}

impl Level {
    /// Fills a draft with what the codes of one or two segments become, and others: as many entries are
    /// rewritten as they have.
    pub(super) fn remake(
        from: &[(&Segment, Step)],
        added: &[u64],
        to: &mut Draft,
        cx: &mut Context<'_>,
    ) -> Result<(), Unfit> {
        cx.work.add(from.iter().map(|(segment, _)| segment.slots()).sum());
        make(from, added, to, cx)
    }

    /// Puts drafts in place of segments, if the rate allows it and there is memory. Nothing has changed
    /// after an error.
    pub(super) fn commit(
        &mut self,
        commit: &Commit<'_>,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        self.commit_with(commit, cx, |_| Ok(()))
    }

    /// [`commit`](Self::commit), and before anything is replaced what `send` does, if it can.
    fn commit_with(
        &mut self,
        commit: &Commit<'_>,
        cx: &mut Context<'_>,
        send: impl FnOnce(&mut Context<'_>) -> Result<(), FullCause>,
    ) -> Result<(), Failure> {
        let Commit { replaced, pushed, pops, added: (length, entries), free } = *commit;
        if !self.is_overflow {
            let before = cx.lengths.sum();
            let more = commit.drafts().map(|of| cx.lengths.sum_after(&of.about.changes) - before);
            let added = Lengths::weight_of(length, entries);
            if !cx.settings.allows(before + more.sum::<u128>() + added) {
                return Err(Failure::Rate);
            }
        }
        // All memory first, so that nothing can fail once something has changed.
        let plan = replaced.map(|(_, draft)| draft.plan(free)).transpose()?;
        let pushed = pushed.map(|draft| Ok::<_, Unfit>((draft, draft.plan(0)?))).transpose()?;
        commit.drafts().try_for_each(|draft| cx.lengths.reserve_for(&draft.about.changes))?;
        if entries > 0 {
            cx.lengths.reserve(length)?;
        }
        if let Some((draft, plan)) = &pushed {
            self.directory.push(draft, plan)?;
        }
        let held = replaced.map(|(index, _)| (index, self.directory.get(index).units()));
        let grown = match (held, &plan) {
            (Some((index, units)), Some(plan)) if plan.units > units => {
                self.directory.resize(index, plan.units)
            }
            _ => Ok(()),
        };
        let ready = grown.map_err(Failure::from).and_then(|()| {
            let sent = send(cx).map_err(Failure::Elsewhere);
            if sent.is_err()
                && let Some((index, units)) = held
                && self.directory.get(index).units() > units
            {
                _ = self.directory.resize(index, units);
            }
            sent
        });
        if let Err(failed) = ready {
            if pushed.is_some() {
                self.directory.pop();
            }
            return Err(failed);
        }
        let last = self.directory.len() - 1;
        let gone = [replaced.map(|(index, _)| index), pops.then_some(last)];
        for (entries, counted, copies) in
            gone.into_iter().flatten().map(|index| counts_of(self.directory.get(index)))
        {
            self.entries -= entries;
            self.counted -= counted;
            self.copies -= copies;
        }
        cx.lengths.add_many(length, entries);
        for draft in commit.drafts() {
            self.count_in(draft.len(), draft.about.counted.len(), draft.more_copies());
            cx.lengths.apply(&draft.about.changes);
        }
        if let (Some((index, draft)), Some(plan)) = (replaced, &plan) {
            self.directory.replace(index, draft, plan);
        }
        if pops {
            self.directory.pop();
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn shrink_if_due(&mut self, index: usize, cx: &mut Context<'_>) {
        let segment = self.directory.get(index);
        if segment.units() > cx.settings.most_units(segment.needed_units()) {
            self.shrink(index, cx);
        }
    }

    #[inline(never)]
    pub(super) fn shrink(&mut self, index: usize, cx: &mut Context<'_>) {
        let segment = self.directory.get_mut(index);
        segment.narrow();
        let (depth, held) = (segment.depth(), segment.form());
        let form = self.goal_form(index, depth, cx);
        if !form.is_near(held) && self.rewrite(index, form, cx).is_ok() {
            return;
        }
        let segment = self.directory.get(index);
        let needed = segment.needed_units();
        let units = needed + cx.settings.growth(needed) - 1;
        if units < segment.units() {
            // Without memory for the copy it stays as it is.
            let _ = self.directory.resize(index, units);
        }
    }

    /// Rewrites a segment in a form. If that fails it stays as it is.
    pub(super) fn rewrite(
        &mut self,
        index: usize,
        form: Form,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        self.rewrite_as(index, form, false, cx)
    }

    /// Rewrites a segment, to which others are to come or not.
    fn rewrite_as(
        &mut self,
        index: usize,
        form: Form,
        is_packed: bool,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let segment = self.directory.get(index);
        let mut draft = Draft::new(form, segment.depth());
        draft.about.is_packed = is_packed;
        Self::remake(&[(segment, Step::Stay)], &[], &mut draft, cx)?;
        self.commit(&Commit::of(index, &draft), cx)
    }

    /// Splits the segment whose turn it is. What knows too little of its path to have a side is
    /// handed to `send`, each with the number of its copies, all together. After an error nothing has
    /// changed.
    pub(super) fn split(
        &mut self,
        cx: &mut Context<'_>,
        mut send: impl FnMut(&[(PartialKey, u64)], &mut Context<'_>) -> Result<(), FullCause>,
    ) -> Result<(), Failure> {
        let count = self.directory.len();
        let index = count - (1usize << count.ilog2());
        let segment = self.directory.get(index);
        let (depth, held) = (segment.depth(), segment.form());
        let goals = if self.is_overflow {
            // All that they know, which is one bit less below.
            [Form { width: held.longest().max(1), ended: true }; 2]
        } else {
            let goal = cx.settings.goal(0, cx.lengths);
            [index, count].map(|at| goal.form(at, depth + 1))
        };
        let kept = goals.map(|goal| Form { width: held.width.max(goal.width), ended: true });
        cx.work.add(segment.slots());
        let mut drafts = [Draft::new(goals[0], depth + 1), Draft::new(goals[1], depth + 1)];
        let mut result = Err(Failure::Rate);
        for is_kept in [false, true] {
            for (side, draft) in drafts.iter_mut().enumerate() {
                let from = [(self.directory.get(index), Step::Down(side as u64))];
                draft.reset(if is_kept { kept[side] } else { goals[side] }, depth + 1);
                let mut made = make(&from, &[], draft, cx);
                if made == Err(Unfit::TooShort) {
                    draft.reset(kept[side], depth + 1);
                    made = make(&from, &[], draft, cx);
                }
                made?;
            }
            let exhausted = match drafts[0].about.has_exhausted {
                true => self.exhausted(index, depth)?,
                false => Vec::new(),
            };
            let [stay, go] = &drafts;
            let commit = Commit { pushed: Some(go), ..Commit::of(index, stay) };
            result = self.commit_with(&commit, cx, |cx| match &exhausted[..] {
                [] => Ok(()),
                some => send(some, cx),
            });
            match result {
                Ok(()) => {
                    for (known, copies) in exhausted {
                        cx.lengths.remove_many(known.bits, copies.min(MOST_EQUAL as u64));
                    }
                    return Ok(());
                }
                Err(Failure::Rate) => {}
                Err(_) => return result,
            }
        }
        result
    }

    /// What has no side in a split, with the number of its copies.
    #[cold]
    fn exhausted(&self, index: usize, depth: u32) -> Result<Vec<(PartialKey, u64)>, Failure> {
        let (mut exhausted, mut result) = (Vec::new(), Ok(()));
        each_partial_key(self.directory.get(index), index, |known, copies| {
            if known.bits == depth && result.is_ok() {
                match exhausted.try_reserve(1) {
                    Ok(()) => exhausted.push((known, copies)),
                    Err(_) => result = Err(Failure::OutOfMemory),
                }
            }
        });
        result.map(|()| exhausted)
    }

    /// Merges the last segment with the one that it was split from. If that cannot be done nothing
    /// has changed. Returns the merged segment and its depth.
    pub(super) fn merge(&mut self, cx: &mut Context<'_>) -> Option<(usize, u32)> {
        let last = self.directory.len().checked_sub(1)?;
        let index = last - (1 << last.checked_ilog2()?);
        let [stay, go] = [index, last].map(|i| self.directory.get(i));
        let depth = stay.depth() - 1;
        // Codes wide enough for all that both know, if nothing may be shortened.
        let widest = stay.form().longest().max(go.form().longest()) + 2;
        let kept = Form { width: widest.min(MAX_WIDTH), ended: true };
        let goal = if self.is_overflow { kept } else { self.goal_form(index, depth, cx) };
        let mut draft = Draft::new(goal, depth);
        let is_merged = [goal, kept].into_iter().any(|form| {
            draft.reset(form, depth);
            let [stay, go] = [index, last].map(|i| self.directory.get(i));
            let from = [(stay, Step::Up(0)), (go, Step::Up(1))];
            let is_made = Self::remake(&from, &[], &mut draft, cx).is_ok();
            let commit = Commit { pops: true, ..Commit::of(index, &draft) };
            is_made && self.commit(&commit, cx).is_ok()
        });
        is_merged.then_some((index, depth))
    }

    /// Merges segments as long as there are not too few of them, in many steps.
    pub(super) fn merge_all(&mut self, cx: &mut Context<'_>) {
        while self.directory.len() > 1
            && !cx.settings.are_many(self.weight(), self.directory.len() - 1)
            && self.merge(cx).is_some()
        {}
    }

    /// Cuts all entries to what the rate asks for, and gives back what memory can be given back.
    pub(super) fn pack(&mut self, cx: &mut Context<'_>) {
        let packed = cx.settings.packed(cx.lengths).filter(|_| !self.is_overflow);
        for index in 0..self.directory.len() {
            self.directory.get_mut(index).narrow();
            let segment = self.directory.get(index);
            let (depth, held) = (segment.depth(), segment.form());
            let forms = packed.iter().flatten().map(|goal| goal.form(index, depth));
            let mut shorter = forms.filter(|form| form.width < held.width);
            if !shorter.any(|form| self.rewrite_as(index, form, true, cx).is_ok()) {
                let needed = self.directory.get(index).needed_units();
                // (Without memory for the copy it stays as it is.)
                _ = self.directory.resize(index, needed);
            }
        }
        self.directory.fit();
    }
}

#[inline(never)]
fn make(
    from: &[(&Segment, Step)],
    added: &[u64],
    to: &mut Draft,
    cx: &mut Context<'_>,
) -> Result<(), Unfit> {
    wide::run_chosen(cx.settings.chosen, Rewrite { from, added, to })
}
