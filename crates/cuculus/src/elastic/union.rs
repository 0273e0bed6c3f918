//! All entries of one filter added to another. If both are of comparable size they get the same
//! number of segments, and each pair of segments is written once; a small one's entries are
//! inserted in turn.

use super::code::Step;
use super::lengths::Lengths;
use super::level::{Context, Failure, Level, PartialKey, each_partial_key};
use super::levels::Levels;
use super::reshape::Commit;
use super::rewrite::Draft;
use super::segment::{MOST_EQUAL, Segment};
use crate::FullCause;

/// Rewriting a segment takes about as long as inserting a twelfth as many entries.
const SMALL: usize = 12;

impl Levels {
    /// Adds all entries of other levels, whose lengths these are. After an error these levels and
    /// their lengths are of no use.
    pub(super) fn add_all(
        &mut self,
        other: &Levels,
        lengths: &Lengths,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        // All count from the start: what is shortened on the way must not take the room of those
        // that are still to come.
        let mut held = lengths.iter();
        held.try_for_each(|(length, _)| cx.lengths.reserve(length)).map_err(Failure::from)?;
        lengths.iter().for_each(|(length, entries)| cx.lengths.add_many(length, entries));
        // Entries come segment by segment: without enough segments here they would crowd one. Counted
        // copies need no room.
        self.prepare_for(other.main.entries, cx);
        if other.main.entries < self.main.entries / SMALL {
            return self.add_one_by_one(other, cx);
        }
        let mut theirs = other.try_clone().map_err(Failure::from)?;
        if self.split_alike(&mut theirs, cx) {
            self.add_segments(&theirs, cx)
        } else {
            self.add_one_by_one(&theirs, cx)
        }
    }

    fn add_one_by_one(&mut self, other: &Levels, cx: &mut Context<'_>) -> Result<(), FullCause> {
        other.iter().try_for_each(|level| {
            self.prepare_for(level.entries, cx);
            self.add_entries(level, cx)
        })
    }

    fn add_entries(&mut self, level: &Level, cx: &mut Context<'_>) -> Result<(), FullCause> {
        level.each_known(|known, copies| self.add_counted(known, copies, cx))
    }

    /// Adds copies of an entry that is counted among the lengths already.
    fn add_counted(
        &mut self,
        known: PartialKey,
        copies: u64,
        cx: &mut Context<'_>,
    ) -> Result<(), FullCause> {
        cx.work.start();
        cx.lengths.remove_many(known.bits, copies.min(MOST_EQUAL as u64));
        self.insert_copies(known, copies, cx)
    }

    /// Splits these levels and others, whose entries are all counted among the lengths, until both
    /// have as many segments. Says whether they have.
    fn split_alike(&mut self, theirs: &mut Levels, cx: &mut Context<'_>) -> bool {
        let is_split = self.split_to(0, theirs.main.segment_count(), cx).is_ok()
            && theirs.split_to(0, self.main.segment_count(), cx).is_ok();
        let segments = self.main.segment_count();
        is_split && segments > 0 && theirs.main.segment_count() == segments
    }

    fn add_segments(&mut self, theirs: &Levels, cx: &mut Context<'_>) -> Result<(), FullCause> {
        let mut left = Vec::new();
        for (index, segment) in theirs.main.segments().enumerate() {
            cx.work.start();
            match self.main.add_segment(index, segment, cx) {
                Ok(()) => {}
                Err(Failure::OutOfMemory) => return Err(FullCause::OutOfMemory),
                // In turn, when no other segment is still to be found by its number.
                Err(_) => {
                    left.try_reserve(1).map_err(|_| FullCause::OutOfMemory)?;
                    left.push(index);
                }
            }
        }
        for index in left {
            let mut added = Ok(());
            each_partial_key(theirs.main.directory.get(index), index, |known, copies| {
                if added.is_ok() {
                    added = self.add_counted(known, copies, cx);
                }
            });
            added?;
        }
        theirs.overflow.iter().try_for_each(|level| self.add_entries(level, cx))
    }
}

impl Level {
    /// Adds the entries of another segment, of the same depth, to one; their lengths are counted
    /// already. If that fails nothing has changed.
    fn add_segment(
        &mut self,
        index: usize,
        other: &Segment,
        cx: &mut Context<'_>,
    ) -> Result<(), Failure> {
        if other.slots() == 0 {
            return Ok(());
        }
        let segment = self.directory.get(index);
        let (depth, held) = (segment.depth(), segment.form());
        let goal = self.goal_form(index, depth, cx);
        let kept = held.keeping(other.form().longest(), goal.width);
        let (mut draft, mut result) = (Draft::new(goal, depth), Err(Failure::Rate));
        for form in [goal, kept] {
            draft.reset(form, depth);
            let from = [(self.directory.get(index), Step::Stay), (other, Step::Stay)];
            let made = Self::remake(&from, &[], &mut draft, cx).map_err(Failure::from);
            result = made.and_then(|()| self.commit(&Commit::of(index, &draft), cx));
            if matches!(result, Ok(()) | Err(Failure::OutOfMemory)) {
                break;
            }
        }
        result
    }
}
