//! Filters that follow flows which come and go: Fig. 4 of the Consistent Cuckoo Filter paper, and in
//! [`parameters`] its Fig. 5.

mod filters;
mod followed;
mod parameters;

pub(super) use filters::{Tidied, Tidy};
pub(super) use followed::{Course, Followed};
pub(super) use parameters::PARAMETERS;

use std::path::PathBuf;

use anyhow::ensure;
use cuculus_page::table::{Table, number, percent};
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

use crate::experiment::{Choice, Experiment, Outcome, Settings, Size, choices};
use crate::flows::{Synthetic, Trace};
use filters::Contender;
use followed::WELL_USED;

pub(super) const TRACE: Experiment = Experiment {
    name: "ccf-trace",
    title: "Filters that follow a set",
    question: "How full, and how large, are filters while flows come and go? (CCF Fig. 4; 64 \
               buckets of three slots, 30 bits, at most 7,290 flows alive)",
    options: &[CSV, choices::FLOWS, choices::FPR, choices::ALL, choices::ONLY],
    run,
};

const CSV: Choice = Choice::new(
    "csv",
    "FILE",
    "a trace of real flows: lines of source,destination,start,end with times in seconds",
);

/// The paper's flows.
const PAPER_FLOWS: usize = 58_941;
/// How far from the paper's mean ours may be and still be called the same.
const SAME: f64 = 0.01;
/// The elastic filter's rate by default; the others have the paper's 30 bits.
const RATE: f64 = 0.01;
const BUCKET: f64 = 3.0;
/// Shares of the samples closer than this to the paper's are called the same.
const SAME_SHARE: f64 = 0.10;
/// More points than a plot draws dots for.
const POINTS: usize = 100;

/// The filters that are shown by default.
const SHOWN: [&str; 4] = ["DCF forwards walk", "CCF_B walk", "CCF_F all walk", "elastic"];

/// A filter and what it was like.
struct Row {
    contender: Contender,
    followed: Followed,
}

impl Row {
    fn is_shown(&self) -> bool {
        is_shown(&self.contender.name)
    }
}

fn is_shown(name: &str) -> bool {
    SHOWN.iter().any(|shown| name.starts_with(shown))
}

impl Course {
    fn follow_all(
        &self,
        contenders: impl Iterator<Item = Contender>,
        settings: &Settings<'_>,
    ) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for contender in contenders {
            (settings.progress)(&contender.name);
            let followed = self.follow_timed(&contender.way)?;
            rows.push(Row { contender, followed });
        }
        ensure!(!rows.is_empty(), "--only matches no filter");
        Ok(rows)
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let flows = settings.value(choices::FLOWS, PAPER_FLOWS)?.max(1);
    match settings.value(CSV, PathBuf::new())? {
        path if path.as_os_str().is_empty() => {
            of_trace(&Synthetic::yahoo(settings.seed).scaled(flows).trace(), settings)
        }
        path => of_trace(&Trace::from_csv(&path)?, settings),
    }
}

fn of_trace(trace: &Trace, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let course = Course::new(trace, settings.seed);
    let rate = settings.value(choices::FPR, RATE)?;
    let all = settings.size == Size::Full || settings.flag(choices::ALL);
    let some = settings.flag(choices::ONLY);
    let contenders = filters::all(rate, all || some).into_iter();
    let contenders = contenders.filter(|of| all || some || is_shown(&of.name));
    let contenders = contenders.filter(|of| settings.wants(&of.name));
    let rows = course.follow_all(contenders, settings)?;
    let drawn: Vec<&Row> = rows.iter().filter(|row| row.is_shown()).collect();
    let mut findings: Vec<Finding> = drawn.iter().flat_map(|row| of_the_paper(row)).collect();
    findings.extend(rows.iter().filter_map(|Row { contender, followed }| {
        let claim = format!("{}: mean utilisation", contender.name);
        Some(Finding::at_least(claim, followed.mean_utilization, contender.target?))
    }));
    findings.extend(compared(&drawn));
    let wrong_answers = rows.iter().map(|row| row.followed.wrong_answers()).sum();
    findings.push(Finding::never("no filter refuses or loses a flow", wrong_answers));
    Ok(Outcome {
        findings,
        plots: plots(&drawn),
        tables: tables(&rows),
        notes: vec![
            format!(
                "{} flows, at most {} alive, sampled after each of {} events. Unless a trace is \
                 given it is synthetic with the paper's counts: the paper's own is not public. \
                 The least utilisation is taken while at least a tenth of the most flows are \
                 alive. Seconds are those of insertions and removals.",
                trace.flows.len(),
                course.peak(),
                course.events()
            ),
            "The share of the slots in use says little of memory: slots of 30 bits and rings are \
             counted in bits per key only."
                .to_owned(),
        ],
        wrong_answers,
        ..Outcome::default()
    })
}

fn tables(rows: &[Row]) -> Vec<(String, Table)> {
    vec![
        ("share of the slots in use".to_owned(), utilization(rows)),
        ("memory, everything counted".to_owned(), memory(rows)),
    ]
}

fn utilization(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "share of the slots in use",
        "mean",
        "paper",
        "< .90, % of events",
        "paper",
        "least",
        "most",
        "paper",
        "< 500 empty, %",
        "paper",
        "most empty",
        "filters",
        "refused",
        "false neg",
    ]);
    for Row { contender, followed } in rows {
        let paper = &contender.paper;
        table.row([
            contender.name.clone(),
            number(Some(followed.mean_utilization), 4),
            number(paper.mean, 4),
            percent(followed.share_below(WELL_USED), 2),
            paper.badly_used.unwrap_or("-").to_owned(),
            number(Some(followed.least_utilization), 3),
            number(Some(followed.most_utilization), 3),
            number(paper.most, 3),
            percent(followed.few_empty, 1),
            number(paper.few_empty.map(|share| 100.0 * share), 0),
            followed.most_empty.to_string(),
            followed.most_filters.to_string(),
            followed.refused.to_string(),
            followed.false_negatives.to_string(),
        ]);
    }
    table
}

fn memory(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "everything counted",
        "bits/key, mean",
        "of which rings",
        "at the peak",
        "FPR there",
        "measured",
        "bytes at the end",
        "seconds",
    ]);
    for Row { contender, followed } in rows {
        table.row([
            contender.name.clone(),
            number(Some(followed.mean_bits_per_key), 2),
            number(Some(followed.mean_ring_bits_per_key), 2),
            number(Some(followed.bits_per_key_at_the_peak), 2),
            format!("{:.2e}", followed.rate_at_the_peak),
            format!("{:.2e}", followed.measured_rate),
            followed.bytes_at_the_end.to_string(),
            number(followed.seconds, 3),
        ]);
    }
    table
}

/// The paper's numbers for one filter.
fn of_the_paper(row: &Row) -> Vec<Finding> {
    let Row { contender, followed } = row;
    let mut findings = Vec::new();
    if let Some(paper) = contender.paper.mean {
        let ours = followed.mean_utilization;
        let finding = Finding::new(
            format!(
                "{}: {paper:.4} of the slots in use on average (within {SAME}; in part if more)",
                contender.name
            ),
            format!("{ours:.4}"),
            match ours - paper {
                off if off.abs() <= SAME => Holds::Yes,
                off if off > 0.0 => Holds::Partly,
                _ => Holds::No,
            },
        );
        findings.push(finding.because(
            "the paper's trace is not public, and the paper does not say when a filter counts as \
             full",
        ));
    }
    if let Some(paper) = contender.paper.few_empty {
        let ours = followed.few_empty;
        findings.push(
            Finding::when(
                format!(
                    "{}: fewer than 500 slots empty in {} % of the samples (within {} points)",
                    contender.name,
                    percent(paper, 0),
                    percent(SAME_SHARE, 0)
                ),
                format!("{} %, most empty {}", percent(ours, 0), followed.most_empty),
                (ours - paper).abs() <= SAME_SHARE,
            )
            .because("depends on how fast the set shrinks, which the paper's trace would show"),
        );
    }
    findings
}

/// One filter against another.
fn compared(rows: &[&Row]) -> Vec<Finding> {
    let of = |name: &str| {
        rows.iter().find(|row| row.contender.name.starts_with(name)).map(|row| &row.followed)
    };
    let (Some(dynamic), Some(buckets), Some(filters), Some(elastic)) =
        (of("DCF"), of("CCF_B"), of("CCF_F"), of("elastic as"))
    else {
        return Vec::new();
    };
    let means = [buckets, filters].map(|followed| followed.mean_utilization);
    let bits = [dynamic, buckets, filters, elastic].map(|followed| followed.mean_bits_per_key);
    let smaller = bits[1].max(bits[2]) < bits[0];
    vec![
        Finding::when(
            "both CCFs use more of their slots than a DCF",
            format!("{:.3} and {:.3} against {:.3}", means[0], means[1], dynamic.mean_utilization),
            means.iter().all(|&mean| mean > dynamic.mean_utilization),
        ),
        Finding::new(
            "and so take less memory (bits per key, everything counted)",
            format!(
                "{:.1} and {:.1} against {:.1}; elastic, at a rate of 1 %: {:.1}",
                bits[1], bits[2], bits[0], bits[3]
            ),
            match (smaller, bits[1].min(bits[2]) < bits[0]) {
                (true, _) => Holds::Yes,
                (false, true) => Holds::Partly,
                (false, false) => Holds::No,
            },
        )
        .because("a ring of ten nodes per bucket of three slots takes more than it saves"),
    ]
}

fn plots(rows: &[&Row]) -> Vec<Plot> {
    let plot = |title: &str, x: Axis, of: &dyn Fn(&Followed) -> Vec<f64>| {
        rows.iter().fold(
            Plot::new(title, x, Axis::from_zero("share of the samples")),
            |plot, row| {
                plot.series(&row.contender.name, Shape::Line, distribution(&of(&row.followed)))
            },
        )
    };
    let floats = |counts: &[usize]| counts.iter().map(|&count| count as f64).collect::<Vec<f64>>();
    let mut buckets =
        plot("buckets of three slots (Fig. 4 a, b)", Axis::from_zero("buckets"), &|of| {
            floats(&of.slots).iter().map(|slots| slots / BUCKET).collect()
        });
    if let Some(row) = rows.first() {
        let best: Vec<f64> =
            floats(&row.followed.keys).iter().map(|keys| (keys / BUCKET).ceil()).collect();
        buckets = buckets.series("as many as needed", Shape::Dashed, distribution(&best));
    }
    vec![
        buckets,
        plot("share of the slots in use (Fig. 4 c)", Axis::linear("utilisation"), &|of| {
            of.utilizations.clone()
        }),
        plot("empty slots (Fig. 4 d)", Axis::from_zero("empty slots"), &|of| floats(&of.empty)),
    ]
}

/// Some points of the distribution of sorted values, for a plot.
fn distribution(sorted: &[f64]) -> Vec<(f64, f64)> {
    let last = sorted.len().saturating_sub(1);
    let point = |at: usize| Some((*sorted.get(at * last / POINTS)?, at as f64 / POINTS as f64));
    (0..=POINTS).filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn every_filter_follows_a_small_trace_to_its_end() {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let course = Course::new(&trace, 1);
        for contender in filters::all(0.01, true) {
            let followed = course.follow(&contender.way).unwrap();
            let name = contender.name;
            assert_eq!((followed.samples, followed.most_keys), (4000, trace.peak()), "{name}");
            assert_eq!(followed.wrong_answers(), 0, "{name}");
            let mean = followed.mean_utilization;
            assert!(0.4 < mean && mean < 1.0, "{name}: {mean}");
            assert!(followed.share_below(0.0) < followed.share_below(1.1), "{name}");
            let rings = followed.mean_ring_bits_per_key;
            assert_eq!(rings > 0.0, name.starts_with("CCF"), "{name}: {rings}");
            assert!(rings < followed.mean_bits_per_key);
        }
    }

    #[test]
    fn names_choose_filters() {
        let given = |only: &str| [("only", only.to_owned()), ("flows", "500".to_owned())];
        let outcome = run(&Settings { given: &given("dcf re-use"), ..QUICK }).unwrap();
        let rows: Vec<_> = outcome.tables[0].1.rows().map(|row| row[0].clone()).collect();
        assert_eq!(rows.len(), 5, "{rows:?}");
        assert!(run(&Settings { given: &given("no such filter"), ..QUICK }).is_err());
    }

    #[test]
    fn distributions_go_from_the_least_to_the_most() {
        let points = distribution(&[1.0, 2.0, 5.0]);
        assert_eq!((points[0], points[POINTS]), ((1.0, 0.0), (5.0, 1.0)));
        assert!(distribution(&[]).is_empty());
    }

    #[test]
    fn a_small_trace_has_its_findings() {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let outcome = of_trace(&trace, &QUICK).unwrap();
        assert_eq!(outcome.findings.len(), 12);
        assert!(outcome.plots.iter().all(|plot| !plot.is_empty() && plot.series.len() >= 5));
    }
}
