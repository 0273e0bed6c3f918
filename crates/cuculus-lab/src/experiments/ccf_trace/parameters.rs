//! The paper's Fig. 5: CCF_B with one parameter after the other changed.

use cuculus::analysis::ring_threshold;
use cuculus::lab::Search;
use cuculus_page::table::percent;
use cuculus_page::{Axis, Finding, Plot, Shape};

use super::filters::{Consistent, Contender, PAPER_BUCKETS, Paper, Way};
use super::{PAPER_FLOWS, Row, SAME, SAME_SHARE, distribution, tables};
use crate::experiment::{Experiment, Outcome, Settings, choices};
use crate::flows::Synthetic;

use super::followed::Course;

pub(in super::super) const PARAMETERS: Experiment = Experiment {
    name: "ccf-parameters",
    title: "Parameters of a consistent cuckoo filter",
    question: "How full is a CCF_B with other numbers of candidates, slots, kicks and nodes while \
               flows come and go? (CCF Fig. 5)",
    options: &[choices::FLOWS, choices::ONLY],
    run,
};

/// Enough for the paper's Fig. 5.
const FEW_FLOWS: usize = 8000;
const AS_IN_THE_PAPER: &str = "as in the paper";

struct Change {
    name: &'static str,
    with: Consistent,
    /// The paper's mean.
    paper: Option<f64>,
    /// What our rows show, where ours is not the paper's.
    reason: &'static str,
}

const PAPER: Consistent = Consistent::PAPER;

const fn change(name: &'static str, with: Consistent) -> Change {
    Change { name, with, paper: None, reason: "" }
}

const BREADTH_FIRST: Consistent = Consistent { search: Search::BreadthFirst, ..PAPER };

const CHANGES: [Change; 14] = [
    Change {
        paper: Some(PAPER_BUCKETS),
        reason: "the trace is synthetic, and removals sweep over a few more buckets",
        ..change("as in the paper", PAPER)
    },
    change("k = 4", Consistent { candidates: 4, ..PAPER }),
    change("k = 8", Consistent { candidates: 8, ..PAPER }),
    Change {
        paper: Some(0.9599),
        reason: "higher: four candidates are enough to fill nearly every slot, and more add little",
        ..change("k = 16", Consistent { candidates: 16, ..PAPER })
    },
    Change {
        paper: Some(0.9986),
        reason: "a bucket with two of six is kept; the mean follows the rule, not b alone",
        ..change("b = 6 removed below 2", Consistent { slots: 6, ..PAPER })
    },
    Change {
        paper: Some(0.9986),
        reason: "buckets with five of six are kept",
        ..change("b = 6 removed below 5", Consistent { slots: 6, sparse_below: 5, ..PAPER })
    },
    // The library's walk does not return to a bucket and ends where it is stuck, before either
    // limit; a breadth-first search uses all that it is allowed.
    change("max = 700", Consistent { max_kicks: 700, ..PAPER }),
    change("max = 1200 bfs", BREADTH_FIRST),
    change("max = 700 bfs", Consistent { max_kicks: 700, ..BREADTH_FIRST }),
    change("max = 50", Consistent { max_kicks: 50, ..PAPER }),
    Change {
        paper: Some(0.9298),
        reason: "removing sparse buckets leaves those with long arcs, which helps, but not so far",
        ..change("v = 1", Consistent { virtual_nodes: 1, ..PAPER })
    },
    change("v = 2", Consistent { virtual_nodes: 2, ..PAPER }),
    change("v = 5", Consistent { virtual_nodes: 5, ..PAPER }),
    change("v = 20", Consistent { virtual_nodes: 20, ..PAPER }),
];

/// The reference and its changes.
fn all() -> impl Iterator<Item = Contender> {
    CHANGES.iter().map(|change| Contender {
        name: change.name.to_owned(),
        way: Way::Consistent(change.with),
        paper: Paper { mean: change.paper, ..Paper::default() },
        target: None,
    })
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let flows = settings.value(choices::FLOWS, settings.pick(FEW_FLOWS, PAPER_FLOWS))?.max(1);
    let course = Course::new(&Synthetic::yahoo(settings.seed).scaled(flows).trace(), settings.seed);
    let contenders = all().filter(|contender| settings.wants(&contender.name));
    let rows = course.follow_all(contenders, settings)?;
    let plot = |title: &str, names: &[&str]| {
        let names = [AS_IN_THE_PAPER].iter().chain(names);
        let shown = names.filter_map(|name| rows.iter().find(|row| row.contender.name == *name));
        let y = Axis::from_zero("share of the samples");
        shown.fold(Plot::new(title, Axis::linear("utilisation"), y), |plot, row| {
            let points = distribution(&row.followed.utilizations);
            plot.series(&row.contender.name, Shape::Line, points)
        })
    };
    Ok(Outcome {
        findings: findings(&rows),
        plots: vec![
            plot("candidates (Fig. 5 a)", &["k = 4", "k = 8", "k = 16"]),
            plot("slots (Fig. 5 b)", &["b = 6 removed below 2", "b = 6 removed below 5"]),
            plot(
                "limit on kicks (Fig. 5 c)",
                &["max = 700", "max = 50", "max = 1200 bfs", "max = 700 bfs"],
            ),
            plot("nodes of a bucket (Fig. 5 d)", &["v = 1", "v = 2", "v = 5", "v = 20"]),
        ],
        tables: tables(&rows),
        notes: vec![format!("{flows} flows, at most {} alive.", course.peak())],
        wrong_answers: rows.iter().map(|row| row.followed.wrong_answers()).sum(),
        ..Outcome::default()
    })
}

/// For every figure of the paper whether ours is the same, and if not why.
fn findings(rows: &[Row]) -> Vec<Finding> {
    let means = rows.iter().filter_map(|row| mean(row.followed.mean_utilization, &row.contender));
    means.chain(shares(rows)).collect()
}

/// The paper's mean beside ours, and what random arcs allow, which nothing that removes sparse
/// buckets has to keep to.
fn mean(ours: f64, contender: &Contender) -> Option<Finding> {
    let change = CHANGES.iter().find(|change| change.name == contender.name)?;
    let paper = change.paper?;
    let Consistent { candidates, slots, virtual_nodes, .. } = change.with;
    let random = ring_threshold(candidates, slots, virtual_nodes) / f64::from(slots);
    let finding = Finding::when(
        format!("{}: {paper:.4} of the slots in use on average (within {SAME})", change.name),
        format!("{ours:.4}; T̂ of random arcs {random:.3}"),
        (ours - paper).abs() <= SAME,
    );
    Some(finding.because(change.reason))
}

/// Shares of the samples above a utilisation, as the paper's text has them.
fn shares(rows: &[Row]) -> Vec<Finding> {
    // Of the first it is said that there are fewer.
    let said: [(&str, f64, [f64; 2], &str); 4] = [
        (AS_IN_THE_PAPER, 0.98, [0.0, 0.12], "fewer than 12 %"),
        ("k = 16", 0.98, [0.5, 0.5], "nearly half"),
        (AS_IN_THE_PAPER, 0.95, [0.76, 0.76], "76 %"),
        ("v = 1", 0.95, [0.16, 0.16], "16 %"),
    ];
    let finding =
        |(name, above, [least, most], words): (&str, f64, [f64; 2], &str)| {
            let row = rows.iter().find(|row| row.contender.name == name)?;
            let ours = 1.0 - row.followed.share_below(above);
            let same = least - SAME_SHARE <= ours && ours <= most + SAME_SHARE;
            Some(Finding::when(format!(
                "{name}: {words} of the samples use more than {above} of the slots (within {} \
                 points)",
                percent(SAME_SHARE, 0)
            ), format!("{} %", percent(ours, 0)), same).because(match same {
                true => String::new(),
                false => "follows from the mean, and from how the trace shrinks".to_owned(),
            }))
        };
    said.into_iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use cuculus_page::Holds;

    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn a_finding_follows_the_number() {
        let of = |name: &str, ours| {
            let contender = all().find(|contender| contender.name == name).unwrap();
            mean(ours, &contender).map(|finding| (finding.holds, finding.reason))
        };
        assert_eq!(of("k = 16", 0.955), Some((Holds::Yes, String::new())));
        assert!(of("k = 16", 0.985).unwrap().1.starts_with("higher"));
        assert_eq!(of("k = 4", 0.9), None);
    }

    #[test]
    fn every_figure_of_the_paper_has_a_finding() {
        let given = [("flows", "2000".to_owned())];
        let outcome = run(&Settings { given: &given, ..QUICK }).unwrap();
        let figures = CHANGES.iter().filter(|change| change.paper.is_some()).count();
        assert_eq!(outcome.findings.len(), figures + 4);
        assert!(outcome.plots.iter().all(|plot| !plot.is_empty()));
        assert_eq!(outcome.wrong_answers, 0);
    }
}
