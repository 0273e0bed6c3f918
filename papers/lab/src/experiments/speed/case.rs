//! One size and one rate: rounds of phases, every filter in turn within a phase, so that a slow
//! minute of the machine hits all filters alike.

use std::collections::HashSet;

use cuculus::KeyHash;

use super::Contest;
use super::phase::{Phase, Speeds};
use crate::candidate::{Built, CUCKOO, Candidate};
use crate::memory::{Limits, Lines};
use crate::prelude::*;
use crate::subject::Subject;

pub(super) struct Case {
    pub(super) contest: Contest,
    pub(super) items: usize,
    pub(super) rate: f64,
    pub(super) rows: Vec<Row>,
    /// On a table as large as our plain filter, if that was measured.
    pub(super) limits: Option<Limits>,
    pub(super) large_limits: Limits,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) label: String,
    pub(super) speeds: Speeds,
    pub(super) bits_per_key: f64,
    pub(super) false_positive_rate: f64,
    pub(super) refused: usize,
    /// Keys taken, one by one or in batches, and not found.
    pub(super) false_negatives: usize,
    /// Keys taken that could not be removed, and keys not removed that are gone afterwards.
    pub(super) lost: usize,
}

impl Row {
    pub(super) fn is_ours(&self) -> bool {
        self.name.starts_with(CUCKOO)
    }

    pub(super) fn removes(&self) -> bool {
        [Phase::Delete, Phase::DeleteAll].iter().any(|&phase| self.speeds.get(phase).is_some())
    }

    /// Bits per key over what no filter can do without at its measured rate.
    pub(super) fn over_the_bound(&self) -> f64 {
        self.bits_per_key / -self.false_positive_rate.log2()
    }
}

impl Case {
    pub(super) fn measure(
        contest: Contest,
        work: &Workload,
        rate: f64,
        candidates: &[Candidate],
        rounds: usize,
        large: &Lines,
        settings: &Settings<'_>,
    ) -> anyhow::Result<Self> {
        let items = work.keys.len();
        let row = |of: &Candidate| Row { name: of.name, label: of.label(), ..Row::default() };
        let mut case = Self {
            contest,
            items,
            rate,
            rows: candidates.iter().map(row).collect(),
            limits: None,
            large_limits: Limits::default(),
        };
        let mut own_size = None;
        for round in 0..rounds {
            let (percent, turn) = (100.0 * rate, round + 1);
            (settings.progress)(&format!("{items} keys at {percent} %: round {turn} of {rounds}"));
            let mut built: Vec<Option<Built>> = candidates.iter().map(|_| None).collect();
            for phase in contest.phases() {
                for ((candidate, built), row) in
                    candidates.iter().zip(&mut built).zip(&mut case.rows)
                {
                    run(phase, work, candidate, rate, built, row, round == 0)?;
                }
            }
            let ours = candidates.iter().zip(&built).find(|(of, _)| of.name == CUCKOO);
            if let (None, Some((_, Some(ours)))) = (&own_size, ours) {
                own_size = Some(Lines::of_bytes(ours.bytes));
            }
            drop(built);
            if let Some(lines) = &own_size {
                let limits = lines.measure(&work.absent);
                case.limits = Some(case.limits.unwrap_or_default().best(limits));
            }
            case.large_limits = case.large_limits.best(large.measure(&work.absent));
        }
        Ok(case)
    }

    pub(super) fn wrong_answers_of_ours(&self) -> usize {
        let ours = self.rows.iter().filter(|row| row.is_ours());
        ours.map(|row| row.false_negatives + row.lost).sum()
    }
}

/// Runs a phase for one filter; the first time, the answers are checked too.
fn run(
    phase: Phase,
    work: &Workload,
    candidate: &Candidate,
    rate: f64,
    built: &mut Option<Built>,
    row: &mut Row,
    check: bool,
) -> anyhow::Result<()> {
    let all = work.keys.len();
    if phase == Phase::Build {
        let new = candidate.build(&work.keys, rate)?;
        row.refused = new.refused.len();
        row.bits_per_key = new.bytes as f64 * 8.0 / (all - row.refused).max(1) as f64;
        row.speeds.keep_best(phase, mops(all, new.time));
        if check {
            row.false_negatives += missing(&*new.filter, &work.keys, &new.refused);
        }
        *built = Some(new);
        return Ok(());
    }
    if phase == Phase::BuildBatched {
        if let Some(other) = candidate.build_batched(&work.keys, rate)? {
            row.speeds.keep_best(phase, mops(all, other.time));
            if check {
                row.false_negatives += missing(&*other.filter, &work.keys, &other.refused);
            }
        }
        return Ok(());
    }
    let Some(Built { filter, refused, .. }) = built else { return Ok(()) };
    if phase == Phase::DeleteBatched && filter.remove_batch(&[]).is_none() {
        return Ok(());
    }
    let keys: &[u64] = match phase {
        Phase::Absent | Phase::AbsentBatched | Phase::AbsentHashed => &work.absent,
        Phase::Mixed | Phase::Dependent => &work.mixed,
        Phase::Delete | Phase::DeleteBatched => &taken(work.removed(), refused),
        Phase::DeleteAll => &taken(&work.shuffled, refused),
        _ => &work.present,
    };
    match phase {
        // Other filters had their turn since. The keys are few, so a small table that has to come
        // back into the caches first would take more of the time than its removals.
        Phase::Delete => {
            filter.count(keys);
        }
        Phase::DeleteBatched => row.lost += filter.insert_all(keys).len(),
        _ => {}
    }
    let (time, hits) = match phase {
        Phase::Dependent => timed(|| Some(filter.count_dependent(keys))),
        Phase::PresentBatched | Phase::AbsentBatched => timed(|| filter.count_batch(keys)),
        Phase::PresentHashed | Phase::AbsentHashed => {
            let hashes: Vec<KeyHash> = match filter.as_filter() {
                Some(filter) => keys.iter().map(|key| filter.hasher().hash(key)).collect(),
                None => Vec::new(),
            };
            timed(|| filter.count_hashed(&hashes))
        }
        Phase::Delete | Phase::DeleteAll => timed(|| filter.remove_all(keys)),
        Phase::DeleteBatched => timed(|| filter.remove_batch(keys)),
        _ => timed(|| Some(filter.count(keys))),
    };
    // Not a thing that this filter can do.
    let Some(hits) = hits else { return Ok(()) };
    row.speeds.keep_best(phase, mops(keys.len(), time));
    if phase == Phase::Absent {
        row.false_positive_rate = hits as f64 / keys.len() as f64;
    }
    if check {
        match phase {
            Phase::Mixed if refused.is_empty() => {
                row.false_negatives += work.mixed_present.saturating_sub(hits);
            }
            Phase::PresentBatched if refused.is_empty() => row.false_negatives += keys.len() - hits,
            Phase::Delete => {
                row.lost = keys.len() - hits + missing(&**filter, work.kept(), refused);
            }
            Phase::DeleteBatched => {
                row.lost += keys.len() - hits + missing(&**filter, work.kept(), refused);
            }
            Phase::DeleteAll => row.lost = keys.len() - hits,
            _ => {}
        }
    }
    Ok(())
}

/// The keys that the filter took, of these.
fn taken(keys: &[u64], refused: &[u64]) -> Vec<u64> {
    let refused: HashSet<u64> = refused.iter().copied().collect();
    keys.iter().filter(|key| !refused.contains(key)).copied().collect()
}

/// How many of these keys the filter took and does not find.
fn missing(filter: &dyn Subject, keys: &[u64], refused: &[u64]) -> usize {
    let keys = taken(keys, refused);
    keys.len() - filter.count(&keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    const HONEST: u8 = 0;
    const REFUSING: u8 = 1;
    const FORGETFUL: u8 = 2;

    /// An exact set with one fault: it refuses every tenth key, or takes it and forgets it, and
    /// then also forgets another key with every one that it removes.
    struct Toy<const FAULT: u8>(HashSet<u64>);

    impl<const FAULT: u8> Subject for Toy<FAULT> {
        fn insert(&mut self, key: &u64) -> bool {
            let tenth = FAULT != HONEST && key.is_multiple_of(10);
            if !tenth {
                self.0.insert(*key);
            }
            !(tenth && FAULT == REFUSING)
        }

        fn contains(&self, key: &u64) -> bool {
            self.0.contains(key)
        }

        fn remove(&mut self, key: &u64) -> Option<bool> {
            let other = self.0.iter().find(|&other| other != key).copied();
            if let Some(other) = other.filter(|_| FAULT == FORGETFUL) {
                self.0.remove(&other);
            }
            Some(self.0.remove(key))
        }
    }

    fn measured<const FAULT: u8>(contest: Contest, work: &Workload) -> Row {
        let toy = Candidate::new("toy", "", |_| anyhow::Ok(Toy::<FAULT>(HashSet::new())));
        let lines = Lines::of_bytes(64);
        let case = Case::measure(contest, work, 0.01, &[toy], 2, &lines, &QUICK).unwrap();
        case.rows[0].clone()
    }

    #[test]
    fn only_our_wrong_answers_are_ours() {
        let rows = [("sketches", 1, 0), (CUCKOO, 0, 0), (CUCKOO, 1, 0), (CUCKOO, 0, 1)];
        let row =
            |(name, false_negatives, lost)| Row { name, false_negatives, lost, ..Row::default() };
        let case = Case {
            contest: Contest::Fixed,
            items: 1,
            rate: 0.01,
            rows: rows.map(row).to_vec(),
            limits: None,
            large_limits: Limits::default(),
        };
        assert_eq!(case.wrong_answers_of_ours(), 2);
    }

    #[test]
    fn faults_are_counted_as_what_they_are() {
        let work = Workload::new(1, 2000, 100);
        let tenth = work.keys.iter().filter(|key| key.is_multiple_of(10)).count();

        let honest = measured::<HONEST>(Contest::Fixed, &work);
        assert_eq!((honest.refused, honest.false_negatives, honest.lost), (0, 0, 0));
        assert_eq!(honest.false_positive_rate, 0.0);
        assert!(honest.speeds.get(Phase::Delete).is_some());
        assert_eq!(honest.speeds.get(Phase::PresentBatched), None);

        let refusing = measured::<REFUSING>(Contest::Fixed, &work);
        assert_eq!((refusing.refused, refusing.false_negatives, refusing.lost), (tenth, 0, 0));

        let forgetful = measured::<FORGETFUL>(Contest::Fixed, &work);
        assert_eq!(forgetful.refused, 0);
        assert!(forgetful.false_negatives >= tenth);
        assert!(forgetful.lost > 400);
    }

    #[test]
    fn removing_all_keys_counts_those_that_are_gone_before() {
        let work = Workload::new(1, 2000, 100);
        let honest = measured::<HONEST>(Contest::Elastic, &work);
        assert_eq!((honest.false_negatives, honest.lost), (0, 0));
        let forgetful = measured::<FORGETFUL>(Contest::Elastic, &work);
        assert!(forgetful.lost > 800);
    }
}
