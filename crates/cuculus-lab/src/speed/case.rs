//! One size and one rate: rounds of phases, every filter in turn within a phase, so that a slow
//! minute of the machine hits all filters alike.

use std::collections::HashSet;

use super::contest::Contest;
use super::contestant::Contestant;
use super::phase::{Phase, Speeds};
use crate::clock::mops;
use crate::keys::{WorkKey, Workload};
use crate::memory::{Limits, Lines};

/// The numbers of one size and rate.
pub(super) struct Case {
    pub(super) contest: Contest,
    pub(super) items: usize,
    pub(super) rate: f64,
    pub(super) rows: Vec<Row>,
    /// On a table as large as our plain filter, if that was measured.
    pub(super) limits: Option<Limits>,
    /// On the large table.
    pub(super) large_limits: Limits,
}

/// The numbers of one filter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) label: String,
    pub(crate) speeds: Speeds,
    pub(crate) bits_per_key: f64,
    /// The share of absent keys that were found.
    pub(crate) false_positive_rate: f64,
    /// Keys not taken.
    pub(crate) refused: usize,
    /// Keys taken, one by one or in batches, and not found.
    pub(crate) false_negatives: usize,
    /// Keys taken that could not be removed, and keys not removed that are gone afterwards.
    pub(crate) lost: usize,
}

impl Row {
    fn new<K>(contestant: &dyn Contestant<K>) -> Self {
        Self { name: contestant.name(), label: contestant.label(), ..Self::default() }
    }
}

impl Case {
    /// Measures all contestants.
    pub(super) fn measure<K: WorkKey>(
        contest: Contest,
        work: &Workload<K>,
        rate: f64,
        mut contestants: Vec<Box<dyn Contestant<K>>>,
        rounds: usize,
        large: Option<&Lines>,
        progress: &dyn Fn(&str),
    ) -> anyhow::Result<Self> {
        let mut case = Self {
            contest,
            items: work.keys.len(),
            rate,
            rows: contestants.iter().map(|contestant| Row::new(contestant.as_ref())).collect(),
            limits: None,
            large_limits: Limits::default(),
        };
        let mut own_size = None;
        for round in 0..rounds.max(1) {
            let of = rounds.max(1);
            let percent = 100.0 * rate;
            progress(&format!("{} keys at {percent} %: round {} of {of}", case.items, round + 1));
            for &phase in contest.phases() {
                for (contestant, row) in contestants.iter_mut().zip(&mut case.rows) {
                    run(phase, work, contestant.as_mut(), row, round == 0)?;
                }
            }
            let ours = contestants.iter().find(|contestant| contestant.name() == super::ours::NAME);
            if let (None, Some(ours), Some(_)) = (&own_size, ours, large) {
                own_size = Some(Lines::of_bytes(ours.bytes()));
            }
            contestants.iter_mut().for_each(|contestant| contestant.clear());
            if let Some(lines) = &own_size {
                let limits = lines.measure(&work.numbers);
                case.limits = Some(case.limits.unwrap_or_default().best(limits));
            }
            if let Some(large) = large {
                case.large_limits = case.large_limits.best(large.measure(&work.numbers));
            }
        }
        Ok(case)
    }
}

/// Runs a phase for one filter; the first time, the answers are checked too.
fn run<K: WorkKey>(
    phase: Phase,
    work: &Workload<K>,
    filter: &mut dyn Contestant<K>,
    row: &mut Row,
    check: bool,
) -> anyhow::Result<()> {
    let all = work.keys.len();
    let (operations, counted) = match phase {
        Phase::Build => {
            let time = filter.build(&work.keys)?;
            row.refused = filter.refused().len();
            row.bits_per_key = filter.bytes() as f64 * 8.0 / (all - row.refused).max(1) as f64;
            if check {
                row.false_negatives += missing(filter, &work.keys);
            }
            (all, Some((time, 0)))
        }
        Phase::BuildBatched => {
            let built = filter.build_batched(&work.keys)?;
            if let Some((_, found)) = built.filter(|_| check) {
                row.false_negatives += (all - found).saturating_sub(row.refused);
            }
            (all, built)
        }
        Phase::Present => (work.present.len(), Some(filter.count(&work.present))),
        Phase::Absent => {
            let (time, hits) = filter.count(&work.absent);
            row.false_positive_rate = hits as f64 / work.absent.len() as f64;
            (work.absent.len(), Some((time, hits)))
        }
        Phase::Mixed => {
            let (time, hits) = filter.count(&work.mixed);
            if check && row.refused == 0 {
                row.false_negatives += work.mixed_present.saturating_sub(hits);
            }
            (work.mixed.len(), Some((time, hits)))
        }
        Phase::Dependent => (work.mixed.len(), Some(filter.count_dependent(&work.mixed))),
        Phase::PresentBatched => {
            let counted = filter.count_batched(&work.present);
            if let Some((_, hits)) = counted.filter(|_| check && row.refused == 0) {
                row.false_negatives += work.present.len() - hits;
            }
            (work.present.len(), counted)
        }
        Phase::AbsentBatched => (work.absent.len(), filter.count_batched(&work.absent)),
        Phase::PresentHashed => (work.present.len(), filter.count_hashed(&work.present)),
        Phase::AbsentHashed => (work.absent.len(), filter.count_hashed(&work.absent)),
        Phase::Delete => {
            let keys = taken(work.removed(), filter.refused());
            let counted = filter.remove_all(&keys);
            if let Some((_, removed)) = counted.filter(|_| check) {
                row.lost = keys.len() - removed + missing(filter, work.kept());
            }
            (keys.len(), counted)
        }
        Phase::DeleteAll => {
            let keys = taken(work.shuffled(), filter.refused());
            let counted = filter.remove_all(&keys);
            if let Some((_, removed)) = counted.filter(|_| check) {
                row.lost = keys.len() - removed;
            }
            (keys.len(), counted)
        }
    };
    if let Some((time, _)) = counted {
        row.speeds.keep_best(phase, mops(operations, time));
    }
    Ok(())
}

/// The keys that the filter took, of these.
fn taken<K: WorkKey>(keys: &[K], refused: &[K]) -> Vec<K> {
    let refused: HashSet<K> = refused.iter().copied().collect();
    keys.iter().filter(|key| !refused.contains(key)).copied().collect()
}

/// How many of these keys the filter took and does not find.
fn missing<K: WorkKey>(filter: &dyn Contestant<K>, keys: &[K]) -> usize {
    let keys = taken(keys, filter.refused());
    keys.len() - filter.count(&keys).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{Adapter, Built, Deletes, Entry};

    const HONEST: u8 = 0;
    const REFUSING: u8 = 1;
    const FORGETFUL: u8 = 2;

    /// An exact set with one fault: it refuses every tenth key, or takes it and forgets it, and
    /// then also forgets another key with every one that it removes.
    struct Toy<const FAULT: u8>(HashSet<u64>);

    impl<const FAULT: u8> Adapter<u64> for Toy<FAULT> {
        const NAME: &'static str = "toy";

        fn build(keys: &[u64], _: f64) -> anyhow::Result<Built<Self, u64>> {
            Ok(Built::one_by_one(Self(HashSet::new()), keys, |toy, key| {
                let tenth = FAULT != HONEST && key % 10 == 0;
                if !tenth {
                    toy.0.insert(*key);
                }
                !(tenth && FAULT == REFUSING)
            }))
        }

        fn contains(&self, key: &u64) -> bool {
            self.0.contains(key)
        }
    }

    impl<const FAULT: u8> Deletes<u64> for Toy<FAULT> {
        fn remove(&mut self, key: &u64) -> bool {
            let other = self.0.iter().find(|&other| other != key).copied();
            if let Some(other) = other.filter(|_| FAULT == FORGETFUL) {
                self.0.remove(&other);
            }
            self.0.remove(key)
        }
    }

    fn measured<const FAULT: u8>(contest: Contest, work: &Workload<u64>) -> Row {
        let toy = Box::new(Entry::<Toy<FAULT>, u64>::new(0.01).deleting());
        let lines = Lines::of_bytes(64);
        let case = Case::measure(contest, work, 0.01, vec![toy], 2, Some(&lines), &|_| ()).unwrap();
        case.rows[0].clone()
    }

    #[test]
    fn faults_are_counted_as_what_they_are() {
        let work = Workload::<u64>::new(1, 2000, 100);
        let tenth = work.keys.iter().filter(|&key| key % 10 == 0).count();

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
        let work = Workload::<u64>::new(1, 2000, 100);
        let honest = measured::<HONEST>(Contest::Elastic, &work);
        assert_eq!((honest.false_negatives, honest.lost), (0, 0));
        let forgetful = measured::<FORGETFUL>(Contest::Elastic, &work);
        assert!(forgetful.lost > 800);
    }
}
