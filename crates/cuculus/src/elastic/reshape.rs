//! Segments of a level rewritten in another form or size, split, merged and shrunk. Knows drafts
//! and what they change; when it is time for it is decided by the policy.

use super::code::{Form, MAX_WIDTH, Step};
use super::draft::{self, Draft, Unfit};
use super::group::MOST_EQUAL;
use super::lengths::Changes;
use super::level::{Context, Failure, Level, PartialKey, each_partial_key};
use super::weave::{self, Halves};
use crate::table::OutOfMemory;
use crate::{FullCause, wide};

impl Level {
    #[inline(always)]
    pub(super) fn shrink_if_due(&mut self, index: usize, cx: &mut Context<'_>) {
        let segment = self.directory.get(index);
        if segment.units() > cx.settings.most_units(segment.needed_units()) {
            self.shrink(index, cx);
        }
    }

    #[inline(never)]
    pub(super) fn shrink(&mut self, index: usize, cx: &mut Context<'_>) {
        let segment = self.directory.get(index);
        let form = self.goal_form(index, segment.depth(), cx);
        let is_wide_in_vain = segment.is_wide() && segment.counted_codes() == 0;
        let is_far = !form.is_near(segment.form());
        if (is_wide_in_vain || is_far) && self.rewrite(index, form, cx).is_ok() {
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

    /// Follows what rewriting did to copies.
    pub(super) fn recount(
        &mut self,
        counted_before: usize,
        counted_after: usize,
        changes: &Changes,
    ) {
        self.counted = self.counted + counted_after - counted_before;
        self.entries -= changes.dropped() as usize;
        self.copies += changes.dropped();
    }

    /// Fills a draft with what the codes of one or two segments become at a depth.
    #[inline(never)]
    pub(super) fn remake(
        &self,
        from: &[(usize, Step)],
        depth: u32,
        changes: &mut Changes,
        to: &mut Draft,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut read = |index: usize, to: &mut Draft| {
            let segment = self.directory.get(index);
            let read = wide::run_chosen(cx.settings.chosen, draft::Read { segment, to });
            cx.work.add(to.len());
            read
        };
        let mut first = Draft::new(to.form);
        read(from[0].0, &mut first)?;
        if let [(_, step), (index, other)] = *from {
            let mut second = Draft::new(to.form);
            read(index, &mut second)?;
            let from = [(&first, step), (&second, other)];
            wide::run_chosen(cx.settings.chosen, draft::Make { from: &from, depth, changes, to })?;
        } else {
            let from = [(&first, from[0].1)];
            wide::run_chosen(cx.settings.chosen, draft::Make { from: &from, depth, changes, to })?;
        }
        Ok(())
    }

    /// Rewrites a segment in a form. If that fails it stays as it is.
    pub(super) fn rewrite(
        &mut self,
        index: usize,
        form: Form,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let mut changes = Changes::new();
        let segment = self.directory.get(index);
        let (depth, counted) = (segment.depth(), segment.counted_codes());
        let mut draft = Draft::new(form);
        self.remake(&[(index, Step::Stay)], depth, &mut changes, &mut draft, cx)?;
        if !self.is_overflow && !cx.settings.allows(cx.lengths.sum_after(&changes)) {
            return Err(Failure::Rate);
        }
        self.write(index, &draft, depth, &changes, cx)?;
        self.recount(counted, draft.counted().len(), &changes);
        Ok(())
    }

    /// Writes a draft in place of a segment, with what that does to the lengths of entries. If that
    /// fails nothing has changed.
    pub(super) fn write(
        &mut self,
        index: usize,
        draft: &Draft,
        depth: u32,
        changes: &Changes,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let plan = draft.plan(depth, 0)?;
        cx.lengths.reserve_for(changes)?;
        let prepared = self.directory.prepare(index, draft, &plan, cx.settings.chosen)?;
        self.directory.install(prepared);
        cx.lengths.apply(changes);
        Ok(())
    }

    /// Splits the segment whose turn it is. What knows too little of its path to have a side is
    /// handed to `send`, each with the number of its copies, all together. After an error nothing has
    /// changed.
    pub(super) fn split(
        &mut self,
        cx: &mut Context<'_>,
        send: impl FnOnce(&[(PartialKey, u64)], &mut Context<'_>) -> Result<(), FullCause>,
    ) -> Result<(), Failure> {
        if let Some(split) = self.split_quickly(cx) {
            return split.map_err(Failure::from);
        }
        let count = self.directory.len();
        let index = count - (1usize << count.ilog2());
        let segment = self.directory.get(index);
        let (depth, held) = (segment.depth(), segment.form());
        let mut source = Draft::new(held);
        wide::run_chosen(cx.settings.chosen, draft::Read { segment, to: &mut source })?;
        cx.work.add(source.len());
        let exhausted = exhausted(&source, index, depth)?;
        let goal = cx.settings.goal(0, cx.lengths);
        let mut changes = [Changes::new(), Changes::new()];
        let make = |side: usize, changes: &mut Changes, to: &mut Draft| {
            let from = [(&source, Step::Down(side as u64))];
            let at = if side == 0 { index } else { count };
            let goal = if self.is_overflow {
                // All that they know, which is one bit less below.
                Form { width: held.longest().max(1), ended: true }
            } else {
                goal.form(at, depth + 1)
            };
            let kept = Form { width: held.width.max(goal.width), ended: true };
            for form in [goal, kept] {
                *changes = Changes::new();
                to.reset(form);
                let depth = depth + 1;
                let job = draft::Make { from: &from, depth, changes: &mut *changes, to: &mut *to };
                let made = wide::run_chosen(cx.settings.chosen, job);
                if made == Err(Unfit::OutOfMemory) {
                    return Err(Failure::OutOfMemory);
                }
                if made.is_ok()
                    && (self.is_overflow || cx.settings.allows(cx.lengths.sum_after(changes)))
                {
                    return Ok(());
                }
            }
            Err(Failure::Rate)
        };
        let (mut stay, mut go) = (Draft::new(held), Draft::new(held));
        make(0, &mut changes[0], &mut stay)?;
        make(1, &mut changes[1], &mut go)?;
        let both = cx.lengths.sum_after(&changes[0]) + cx.lengths.sum_after(&changes[1]);
        if !self.is_overflow && !cx.settings.allows(both - cx.lengths.sum()) {
            return Err(Failure::Rate);
        }
        let plans = [stay.plan(depth + 1, 0)?, go.plan(depth + 1, 0)?];
        // All memory first, so that nothing can fail once something has changed.
        changes.iter().try_for_each(|changes| cx.lengths.reserve_for(changes))?;
        self.directory.push_draft(&go, &plans[1], cx.settings.chosen)?;
        let prepared = match self.directory.prepare(index, &stay, &plans[0], cx.settings.chosen) {
            Ok(prepared) => prepared,
            Err(failed) => {
                self.directory.pop();
                return Err(failed.into());
            }
        };
        if !exhausted.is_empty()
            && let Err(cause) = send(&exhausted, cx)
        {
            self.directory.discard(prepared);
            self.directory.pop();
            return Err(Failure::Elsewhere(cause));
        }
        let counted = source.counted().len();
        self.directory.install(prepared);
        changes.iter().for_each(|changes| cx.lengths.apply(changes));
        for &(known, copies) in &exhausted {
            let slots = copies.min(MOST_EQUAL as u64);
            cx.lengths.remove_many(known.bits, slots);
            self.entries -= slots as usize;
            self.copies -= copies - slots;
        }
        self.counted = self.counted + stay.counted().len() + go.counted().len() - counted;
        for changes in &changes {
            self.entries -= changes.dropped() as usize;
            self.copies += changes.dropped();
        }
        Ok(())
    }

    /// [`split`](Self::split), if entries only move: all have a side, and none is shortened or counted.
    /// `None` if it is not so; nothing has changed then, nor after an error.
    fn split_quickly(&mut self, cx: &mut Context<'_>) -> Option<Result<(), OutOfMemory>> {
        let count = self.directory.len();
        let index = count - (1usize << count.ilog2());
        let segment = self.directory.get(index);
        let (depth, held) = (segment.depth(), segment.form());
        let forms = if self.is_overflow {
            [Form { width: held.longest().max(1), ended: true }; 2]
        } else {
            let goal = cx.settings.goal(0, cx.lengths);
            [index, count].map(|at| goal.form(at, depth + 1))
        };
        let is_kept = |form: &Form| form.ended && form.width + 1 >= held.width;
        if segment.is_wide() || !held.ended || !forms.iter().all(is_kept) {
            return None;
        }
        let (mut halves, chosen) = (Halves::default(), cx.settings.chosen);
        let plans = wide::run_chosen(chosen, weave::Split { segment, forms, to: &mut halves })?;
        cx.work.add(segment.slots());
        let [stay, go] = [0, 1].map(|side| halves.groups(side, &plans[side]));
        Some(self.directory.push_draft(&go, &plans[1], chosen).and_then(|()| {
            match self.directory.prepare(index, &stay, &plans[0], chosen) {
                Ok(prepared) => self.directory.install(prepared),
                Err(failed) => {
                    self.directory.pop();
                    return Err(failed);
                }
            }
            Ok(())
        }))
    }

    /// Merges the last segment with the one that it was split from. If that cannot be done nothing
    /// has changed.
    /// Returns the merged segment and its depth.
    pub(super) fn merge(&mut self, cx: &mut Context<'_>) -> Option<(usize, u32)> {
        let index = self
            .directory
            .len()
            .checked_sub(1)?
            .checked_ilog2()
            .map(|depth| self.directory.len() - 1 - (1 << depth))?;
        self.try_merge(cx).ok()?;
        Some((index, self.directory.get(index).depth()))
    }

    fn try_merge(&mut self, cx: &mut Context<'_>) -> Result<(), Failure> {
        let Some(last) = self.directory.len().checked_sub(1).filter(|&last| last > 0) else {
            return Ok(());
        };
        let index = last - (1 << last.ilog2());
        let [stay, go] = [index, last].map(|i| self.directory.get(i));
        let depth = stay.depth() - 1;
        let counted = stay.counted_codes() + go.counted_codes();
        // Codes wide enough for all that both know, if nothing may be shortened.
        let widest = stay.form().longest().max(go.form().longest()) + 2;
        let kept = Form { width: widest.min(MAX_WIDTH), ended: true };
        let goal = if self.is_overflow { kept } else { self.goal_form(index, depth, cx) };
        let from = [(index, Step::Up(0)), (last, Step::Up(1))];
        let mut result = Err(Failure::Rate);
        for form in [goal, kept] {
            let (mut changes, mut draft) = (Changes::new(), Draft::new(form));
            if let Err(failure) = self.remake(&from, depth, &mut changes, &mut draft, cx) {
                result = Err(failure);
                continue;
            }
            if !self.is_overflow && !cx.settings.allows(cx.lengths.sum_after(&changes)) {
                continue;
            }
            let plan = match draft.plan(depth, 0) {
                Ok(plan) => plan,
                Err(unfit) => {
                    result = Err(unfit.into());
                    continue;
                }
            };
            cx.lengths.reserve_for(&changes)?;
            let prepared = self.directory.prepare(index, &draft, &plan, cx.settings.chosen)?;
            self.directory.install(prepared);
            cx.lengths.apply(&changes);
            self.recount(counted, draft.counted().len(), &changes);
            self.directory.pop();
            return Ok(());
        }
        result
    }

    /// Gives back what can be given back, in many steps.
    pub(super) fn shrink_to_fit(&mut self, cx: &mut Context<'_>) {
        while self.directory.len() > 1
            && !cx.settings.are_many(self.weight(), self.directory.len() - 1)
        {
            if self.try_merge(cx).is_err() {
                break;
            }
        }
        for index in 0..self.directory.len() {
            self.shrink(index, cx);
        }
    }
}

/// What has no side in a split, with the number of its copies.
fn exhausted(draft: &Draft, index: usize, depth: u32) -> Result<Vec<(PartialKey, u64)>, Failure> {
    let mut exhausted = Vec::new();
    if !draft.has_code_without_extension() {
        return Ok(exhausted);
    }
    let mut failed = Ok(());
    each_partial_key(draft, index, depth, |known, copies| {
        if known.bits == depth {
            if exhausted.len() == exhausted.capacity() && exhausted.try_reserve(64).is_err() {
                failed = Err(Failure::OutOfMemory);
            } else {
                exhausted.push((known, copies));
            }
        }
    });
    failed.map(|()| exhausted)
}
