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

    fn row(name: &'static str, mops: f64, bits_per_key: f64) -> Row {
        let mut row = Row { name, bits_per_key, ..Row::default() };
        for phase in Phase::ALL {
            row.speeds.keep_best(phase, mops);
        }
        row
    }

    fn case(items: usize, rows: Vec<Row>) -> Case {
        let limits = Limits { two_prefetched: 50.0, ..Limits::default() };
        Case { items, rate: 0.01, rows, limits: Some(limits), large_limits: Limits::default() }
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
}
