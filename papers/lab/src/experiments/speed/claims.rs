//! What our filters claim against their peers and the machine, computed from one run. A claim whose
//! numbers were not measured is not judged.

use super::Contest;
use super::case::{Case, Row};
use super::phase::Phase;
use crate::candidate::{CUCKOO, ELASTIC, SEMI_SORTED};
use crate::memory::TWO_PREFETCHED;
use crate::prelude::*;

/// The names of the C++ reference's filters, as its adapter gives them.
const REFERENCE: &str = "reference";
const REFERENCE_SEMI_SORTED: &str = "reference semi-sorted";

/// From here on filters are larger than the caches of most machines.
const LARGE: usize = 16_000_000;
const SMALL: usize = 1_000_000;

/// The most time of ours over that of the C++ reference, with fingerprints of 12 bits: the rows, our
/// phase and the reference's, and the limits within the caches and beyond. (Within the caches our
/// batches have no goal relative to its single calls but to be as fast.)
const OF_REFERENCE: [([&str; 2], Phase, Phase, [f64; 2]); 9] = [
    (PLAIN, Phase::Present, Phase::Present, [1.0, 0.85]),
    (PLAIN, Phase::Absent, Phase::Absent, [1.0, 0.85]),
    (PLAIN, Phase::Build, Phase::Build, [0.65, 0.6]),
    (PLAIN, Phase::Delete, Phase::Delete, [0.5, 0.85]),
    (PLAIN, Phase::PresentBatched, Phase::Present, [1.0, 0.55]),
    (PLAIN, Phase::AbsentBatched, Phase::Absent, [1.0, 0.55]),
    (PLAIN, Phase::DeleteBatched, Phase::Delete, [1.0, 0.65]),
    (SORTED, Phase::Build, Phase::Build, [1.0, 1.0]),
    (SORTED, Phase::Delete, Phase::Delete, [1.0, 1.2]),
];
const PLAIN: [&str; 2] = [CUCKOO, REFERENCE];
const SORTED: [&str; 2] = [SEMI_SORTED, REFERENCE_SEMI_SORTED];

/// The most time of the elastic filter over that of the filter of fixed size, within the caches and
/// beyond.
const OF_FIXED: [(Phase, [f64; 2]); 9] = [
    (Phase::Dependent, [1.3, 1.3]),
    (Phase::Present, [2.2, 1.8]),
    (Phase::Absent, [2.2, 1.8]),
    (Phase::PresentBatched, [1.8, 1.5]),
    (Phase::AbsentBatched, [1.8, 1.5]),
    (Phase::PresentHashed, [1.8, 1.5]),
    (Phase::AbsentHashed, [1.8, 1.5]),
    (Phase::Build, [8.0, 4.5]),
    (Phase::DeleteAll, [10.0, 5.0]),
];

pub(super) fn of(case: &Case) -> Vec<Finding> {
    let claims = Claims { case };
    let is_fixed = case.contest == Contest::Fixed;
    let ratios = match case.items {
        LARGE.. if is_fixed => [claims.large(), claims.reference(1)].concat(),
        SMALL if is_fixed => [claims.small(), claims.reference(0)].concat(),
        LARGE.. => claims.elastic(1),
        SMALL => claims.elastic(0),
        _ => Vec::new(),
    };
    let beside = if is_fixed { claims.beside() } else { Vec::new() };
    ratios.into_iter().flatten().chain(beside).collect()
}

pub(super) fn elastic_times(case: &Case, phase: Phase) -> Option<f64> {
    let claims = Claims { case };
    ratio(claims.speed(CUCKOO, phase), claims.speed(ELASTIC, phase))
}

struct Claims<'a> {
    case: &'a Case,
}

impl Claims<'_> {
    fn large(&self) -> Vec<Option<Finding>> {
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

    fn small(&self) -> Vec<Option<Finding>> {
        let against = |phase, peer, target| self.faster(phase, peer, phase, target);
        vec![
            against(Phase::Present, "bloom-lib", 0.8),
            against(Phase::Absent, "bloom-lib", 0.8),
            self.smaller("bloom-lib", 1.0 / 3.0),
        ]
    }

    /// Times over those of the reference, if it was measured.
    fn reference(&self, size: usize) -> Vec<Option<Finding>> {
        let times = |&([ours, peer], of, over, limits): &([&str; 2], Phase, Phase, [f64; 2])| {
            let text = format!("{ours} {}, time over {peer} {},", of.name(), over.name());
            self.at_most(&text, ratio(self.speed(peer, over), self.speed(ours, of)), limits[size])
        };
        OF_REFERENCE.iter().map(times).collect()
    }

    fn elastic(&self, size: usize) -> Vec<Option<Finding>> {
        let times = |&(phase, limits): &(Phase, [f64; 2])| {
            let text = format!("{}, time over that of fixed size", phase.name());
            self.at_most(&text, elastic_times(self.case, phase), limits[size])
        };
        OF_FIXED.iter().map(times).collect()
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

    fn at_most(&self, text: &str, value: Option<f64>, limit: f64) -> Option<Finding> {
        Some(Finding::at_most(self.claim(text), value?, limit))
    }

    fn at_least(&self, text: &str, value: Option<f64>, limit: f64) -> Option<Finding> {
        Some(Finding::at_least(self.claim(text), value?, limit))
    }

    fn faster(&self, ours: Phase, peer: &str, theirs: Phase, limit: f64) -> Option<Finding> {
        let value = ratio(self.speed(CUCKOO, ours), self.speed(peer, theirs));
        self.at_least(&format!("{}, over {peer} {},", ours.name(), theirs.name()), value, limit)
    }

    fn smaller(&self, peer: &str, limit: f64) -> Option<Finding> {
        let (ours, theirs) = (self.row(CUCKOO)?, self.row(peer)?);
        let value = ratio(Some(ours.bits_per_key), Some(theirs.bits_per_key))?;
        let rates = [ours, theirs].map(|row| row.false_positive_rate);
        // Fewer bits are a saving at no higher rate, but for chance.
        let same_rate = rates[0] <= 1.1 * rates[1].max(self.case.rate);
        let text = format!("bits at no higher rate, over {peer} bits, at most {limit:.3}");
        let measured = format!("{value:.3}; rates {:.2e} and {:.2e}", rates[0], rates[1]);
        let finding = claim!("{}", self.claim(&text); "{measured}"; value <= limit && same_rate);
        Some(finding.valued(value))
    }

    fn near_the_limit(&self, phase: Phase, limit: f64) -> Option<Finding> {
        let reads = self.case.limits.map(|limits| limits.mops[TWO_PREFETCHED]);
        let text = format!("{}, over two prefetched lines,", phase.name());
        self.at_least(&text, ratio(self.speed(CUCKOO, phase), reads), limit)
    }

    /// Our filters against all crates that remove keys.
    fn beside(&self) -> Vec<Finding> {
        let rows = &self.case.rows;
        let Some(ours) = self.row(CUCKOO) else { return Vec::new() };
        let own: Vec<&Row> = rows.iter().filter(|row| row.is_ours()).collect();
        let peers: Vec<&Row> = rows.iter().filter(|row| !row.is_ours() && row.removes()).collect();
        let ahead = |claim: &str, rows: &[&Row], better: &dyn Fn(&Row) -> bool| {
            let behind: Vec<&str> =
                rows.iter().filter(|row| !better(row)).map(|row| row.name).collect();
            let measured = match behind.is_empty() {
                true => format!("all {}", rows.len()),
                false => format!("not {}", behind.join(", ")),
            };
            let holds = Holds::in_cases(rows.len() - behind.len(), rows.len());
            claim!("{}", self.claim(claim); "{measured}"; holds)
        };
        let mut findings = vec![
            ahead("our filters refuse, lose and forget no key", &own, &|row| {
                row.refused + row.false_negatives + row.lost == 0
            }),
            ahead("our filters keep the rate that they were built for", &own, &|row| {
                row.false_positive_rate <= self.case.rate
            }),
        ];
        if !peers.is_empty() {
            let claim = "fewer bits over the lower bound than every crate that removes";
            let fewer = |row: &Row| ours.over_the_bound() < row.over_the_bound();
            findings.push(ahead(claim, &peers, &fewer).because(
                "a number of keys just below a power of two suits crates that round up to one",
            ));
            for (phase, verb) in [
                (Phase::Present, "hits"),
                (Phase::Absent, "misses"),
                (Phase::Build, "builds"),
                (Phase::Delete, "removes"),
            ] {
                let claim = format!("{verb} faster than every crate that removes");
                let speed = |row: &Row| row.speeds.get(phase).unwrap_or(0.0);
                findings.push(ahead(&claim, &peers, &|row| speed(ours) > speed(row)));
            }
        }
        findings
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
        let mut row = Row { name, bits_per_key, false_positive_rate: 0.001, ..Row::default() };
        for phase in Phase::all_but(&[]) {
            row.speeds.keep_best(phase, mops);
        }
        row
    }

    fn case(contest: Contest, items: usize, rows: Vec<Row>) -> Case {
        let limits = Some(Limits { mops: [50.0; 4], ..Limits::default() });
        Case { contest, items, rate: 0.01, rows, limits, large_limits: Limits::default() }
    }

    /// The verdicts of the ratios, without the comparison with all crates.
    fn holds(case: &Case, ratios: usize) -> Vec<bool> {
        of(case)[..ratios].iter().map(|finding| finding.holds == Holds::Yes).collect()
    }

    #[test]
    fn every_claim_follows_the_numbers() {
        let verdicts = |ours: f64, bits: f64| {
            let rows = vec![
                row(CUCKOO, ours, bits),
                row("sketches", 10.0, 10.0),
                row("qfilter", 10.0, 20.0),
                row("bloom-lib", 10.0, 30.0),
            ];
            let large = holds(&case(Contest::Fixed, LARGE, rows.clone()), 12);
            [large, holds(&case(Contest::Fixed, SMALL, rows), 3)].concat()
        };
        assert_eq!(verdicts(43.0, 10.0), [true; 15]);
        assert_eq!(verdicts(7.0, 10.1), [false; 15]);
        // Faster than sketches by two, than its single insertions not by three, and far from
        // the limit.
        let missed: Vec<usize> = (0..15).filter(|&at| !verdicts(20.0, 10.0)[at]).collect();
        assert_eq!(missed, [6, 8, 9, 10, 11]);
    }

    #[test]
    fn what_was_not_measured_is_not_judged() {
        let alone = of(&case(Contest::Fixed, LARGE + 1, vec![row(CUCKOO, 43.0, 10.0)]));
        let claims: Vec<_> = alone.iter().map(|finding| finding.claim.as_str()).collect();
        assert_eq!(claims.len(), 4 + 2, "{claims:?}");
        assert!(of(&case(Contest::Elastic, SMALL + 1, Vec::new())).is_empty());
    }

    #[test]
    fn elastic_ratios_are_of_times() {
        let verdicts = |elastic: f64| {
            let rows = vec![row(CUCKOO, 10.0, 10.0), row(ELASTIC, elastic, 12.0)];
            holds(&case(Contest::Elastic, LARGE, rows), 9)
        };
        assert_eq!(verdicts(8.0), [true; 9]);
        // Twice the time is too much for lookups, and not for insertions and removals.
        assert_eq!(verdicts(5.0), [false, false, false, false, false, false, false, true, true]);
    }

    #[test]
    fn ratios_to_the_reference_are_of_times() {
        let verdicts = |items, ours: f64| {
            let rows = vec![
                row(CUCKOO, ours, 10.0),
                row(SEMI_SORTED, ours, 10.0),
                row(REFERENCE, 10.0, 10.0),
                row(REFERENCE_SEMI_SORTED, 10.0, 10.0),
            ];
            let case = case(Contest::Fixed, items, rows);
            let all = of(&case).into_iter().filter(|of| of.claim.contains(", time over reference"));
            all.map(|finding| finding.holds == Holds::Yes).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(LARGE, 20.0), [true; 9]);
        assert_eq!(verdicts(SMALL, 20.0), [true; 9]);
        let large = [true, true, false, true, false, false, false, true, true];
        assert_eq!(verdicts(LARGE, 1.0 / 0.0849), large);
        let small = [true, true, false, false, true, true, true, true, true];
        assert_eq!(verdicts(SMALL, 10.0), small);
        assert_eq!(verdicts(SMALL + 1, 20.0), [true; 0]);
    }

    #[test]
    fn those_that_are_not_beaten_are_named() {
        let rows = vec![row(CUCKOO, 10.0, 13.0), row("slow", 5.0, 14.0), row("fast", 20.0, 12.0)];
        let findings = of(&case(Contest::Fixed, SMALL + 1, rows));
        assert_eq!((findings.len(), findings[0].holds), (7, Holds::Yes));
        assert!(findings[2..].iter().all(|finding| finding.holds == Holds::Partly));
        assert!(findings[2..].iter().all(|finding| finding.measured == "not fast"));
    }
}
