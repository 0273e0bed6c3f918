//! What our filter claims against its peers and the machine, computed from one run.

use super::case::{Case, Row};
use super::ours;
use super::phase::Phase;
use crate::verdict::Verdict;

/// From here on filters are larger than the caches of most machines.
const LARGE: usize = 16_000_000;
/// A filter within the caches.
const SMALL: usize = 1_000_000;

/// The claims about this size and rate; none for sizes that nothing is claimed for.
pub(super) fn of(case: &Case) -> Vec<Verdict> {
    let claims = Claims { case };
    match case.items {
        LARGE.. => claims.large(),
        SMALL => claims.small(),
        _ => Vec::new(),
    }
}

/// The most time of the elastic filter over that of the filter of fixed size.
struct Most {
    dependent: f64,
    single: f64,
    batched: f64,
    insert: f64,
    remove: f64,
}

const MOST_SMALL: Most =
    Most { dependent: 1.3, single: 2.2, batched: 1.8, insert: 8.0, remove: 10.0 };
const MOST_LARGE: Most =
    Most { dependent: 1.3, single: 1.8, batched: 1.5, insert: 4.5, remove: 5.0 };

/// The claims about the elastic filter of this size and rate.
pub(super) fn of_elastic(case: &Case) -> Vec<Verdict> {
    let claims = Claims { case };
    match case.items {
        LARGE.. => claims.elastic(&MOST_LARGE),
        SMALL => claims.elastic(&MOST_SMALL),
        _ => Vec::new(),
    }
}

/// How many times as long as the filter of fixed size the elastic one takes.
pub(super) fn elastic_times(case: &Case, phase: Phase) -> Option<f64> {
    let claims = Claims { case };
    ratio(claims.speed(ours::NAME, phase), claims.speed(ours::ELASTIC_NAME, phase))
}

struct Claims<'a> {
    case: &'a Case,
}

impl Claims<'_> {
    fn large(&self) -> Vec<Verdict> {
        let against = |phase, peer, target| self.faster(phase, peer, phase, target);
        vec![
            against(Phase::Present, "sketches", 2.0),
            against(Phase::Absent, "sketches", 2.0),
            against(Phase::Present, "qfilter", 1.5),
            against(Phase::Absent, "qfilter", 1.5),
            self.smaller("sketches", 1.0),
            against(Phase::Build, "sketches", 2.0),
            self.faster(Phase::BuildBatched, "sketches", Phase::Build, 3.0),
            against(Phase::Delete, "qfilter", 2.0),
            self.near_the_limit(Phase::PresentBatched, 0.85),
            self.near_the_limit(Phase::AbsentBatched, 0.85),
            self.near_the_limit(Phase::PresentHashed, 0.85),
            self.near_the_limit(Phase::AbsentHashed, 0.85),
        ]
    }

    fn small(&self) -> Vec<Verdict> {
        let against = |phase, peer, target| self.faster(phase, peer, phase, target);
        vec![
            against(Phase::Present, "bloom-lib", 0.8),
            against(Phase::Absent, "bloom-lib", 0.8),
            self.smaller("bloom-lib", 1.0 / 3.0),
        ]
    }

    fn elastic(&self, most: &Most) -> Vec<Verdict> {
        let times = |phase: Phase, limit| {
            let text = format!("{}, time over that of fixed size", phase.name());
            Verdict::at_most(self.claim(&text), elastic_times(self.case, phase), limit)
        };
        vec![
            times(Phase::Dependent, most.dependent),
            times(Phase::Present, most.single),
            times(Phase::Absent, most.single),
            times(Phase::PresentBatched, most.batched),
            times(Phase::AbsentBatched, most.batched),
            times(Phase::PresentHashed, most.batched),
            times(Phase::AbsentHashed, most.batched),
            times(Phase::Build, most.insert),
            times(Phase::DeleteAll, most.remove),
        ]
    }

    fn row(&self, name: &str) -> Option<&Row> {
        self.case.rows.iter().find(|row| row.name == name)
    }

    fn speed(&self, name: &str, phase: Phase) -> Option<f64> {
        self.row(name)?.speeds.get(phase)
    }

    fn claim(&self, text: &str) -> String {
        format!("{} keys, {} %: {text}", self.case.items, 100.0 * self.case.rate)
    }

    fn faster(&self, ours: Phase, peer: &str, theirs: Phase, target: f64) -> Verdict {
        let value = ratio(self.speed(ours::NAME, ours), self.speed(peer, theirs));
        let text = format!("{}, over {peer} {}", ours.name(), theirs.name());
        Verdict::at_least(self.claim(&text), value, target)
    }

    fn smaller(&self, peer: &str, target: f64) -> Verdict {
        let bits = |name| self.row(name).map(|row| row.bits_per_key);
        let text = format!("bits, over {peer} bits");
        Verdict::at_most(self.claim(&text), ratio(bits(ours::NAME), bits(peer)), target)
    }

    fn near_the_limit(&self, phase: Phase, target: f64) -> Verdict {
        let limit = self.case.limits.map(|limits| limits.two_prefetched);
        let text = format!("{}, over two prefetched lines", phase.name());
        Verdict::at_least(self.claim(&text), ratio(self.speed(ours::NAME, phase), limit), target)
    }
}

fn ratio(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    Some(ours? / theirs?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Limits;
    use crate::speed::contest::Contest;

    fn row(name: &'static str, mops: f64, bits_per_key: f64) -> Row {
        let mut row = Row { name, bits_per_key, ..Row::default() };
        for &phase in Phase::FIXED.iter().chain(Phase::ELASTIC) {
            row.speeds.keep_best(phase, mops);
        }
        row
    }

    fn case(items: usize, rows: Vec<Row>) -> Case {
        let limits = Limits { two_prefetched: 50.0, ..Limits::default() };
        Case {
            contest: Contest::Fixed,
            items,
            rate: 0.01,
            rows,
            limits: Some(limits),
            large_limits: Limits::default(),
        }
    }

    #[test]
    fn every_claim_follows_the_numbers() {
        let words = |ours: f64, bits: f64| {
            let rows = vec![
                row(ours::NAME, ours, bits),
                row("sketches", 10.0, 10.0),
                row("qfilter", 10.0, 20.0),
                row("bloom-lib", 10.0, 30.0),
            ];
            let mut words: Vec<_> =
                of(&case(LARGE, rows.clone())).iter().map(Verdict::word).collect();
            words.extend(of(&case(SMALL, rows)).iter().map(Verdict::word));
            words
        };
        assert!(words(43.0, 10.0).iter().all(|&word| word == "PASS"));
        assert!(words(7.0, 10.1).iter().all(|&word| word == "MISS"));
        // Faster than sketches by two, than its single insertions not by three, and far from
        // the limit.
        let expected = [
            "PASS", "PASS", "PASS", "PASS", "PASS", "PASS", "MISS", "PASS", "MISS", "MISS", "MISS",
            "MISS", "PASS", "PASS", "PASS",
        ];
        assert_eq!(words(20.0, 10.0), expected);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let alone = case(LARGE + 1, vec![row(ours::NAME, 43.0, 10.0)]);
        let words: Vec<_> = of(&alone).iter().map(Verdict::word).collect();
        let (peers, limit) = words.split_at(8);
        assert!(
            peers.iter().all(|&word| word == "n/a") && limit.iter().all(|&word| word == "PASS")
        );
        assert!(of(&case(SMALL + 1, Vec::new())).is_empty());
    }

    #[test]
    fn elastic_ratios_are_of_times() {
        let words = |elastic: f64| {
            let rows = vec![row(ours::NAME, 10.0, 10.0), row(ours::ELASTIC_NAME, elastic, 12.0)];
            of_elastic(&case(LARGE, rows)).iter().map(Verdict::word).collect::<Vec<_>>()
        };
        assert!(words(8.0).iter().all(|&word| word == "PASS"));
        // Twice the time is too much for questions, and not for insertions and removals.
        let words = words(5.0);
        let (questions, changes) = words.split_at(7);
        assert!(questions.iter().all(|&word| word == "MISS"));
        assert!(changes.iter().all(|&word| word == "PASS"));
    }
}
