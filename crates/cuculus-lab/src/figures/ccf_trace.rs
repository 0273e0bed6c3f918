//! Filters that follow flows which come and go: Figs. 4 and 5 of the Consistent Cuckoo Filter paper.

use super::{Figure, Outcome, Settings, Size};
use crate::flows::{Synthetic, Trace};
use crate::trace::sweep::{self, SAME};
use crate::trace::{Course, Followed, Row, contenders, report};
use cuculus_page::table::percent;
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const TRACE: Figure = Figure {
    name: "ccf-trace",
    title: "Filters that follow a set",
    question: "How full, and how large, are filters while flows come and go? (CCF Fig. 4; 64 buckets \
               of three slots, 30 bits, at most 7,290 flows alive)",
    run: trace,
};

pub(super) const PARAMETERS: Figure = Figure {
    name: "ccf-parameters",
    title: "Parameters of a consistent cuckoo filter",
    question: "How full is a CCF_B with other numbers of candidates, slots, kicks and nodes while \
               flows come and go? (CCF Fig. 5)",
    run: parameters,
};

/// The paper's flows, and enough of them for its Fig. 5.
const PAPER_FLOWS: usize = 58_941;
const FEW_FLOWS: usize = 8000;
/// The elastic filter's rate; the others have the paper's 30 bits.
const RATE: f64 = 0.01;
const BUCKET: f64 = 3.0;
/// Shares of the samples closer than this to the paper's are called the same.
const SAME_SHARE: f64 = 0.10;
/// More points than a plot draws dots for.
const POINTS: usize = 100;

fn trace(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    of_trace(&Synthetic::yahoo(settings.seed).trace(), settings)
}

/// What became of the experiment `ccf-trace` with another trace, of real flows say.
///
/// # Errors
/// If a filter cannot be built.
pub fn of_trace(trace: &Trace, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let course = Course::new(trace, settings.seed);
    let shown = ["DCF forwards walk", "CCF_B walk", "CCF_F all walk", "elastic"];
    let mut rows = Vec::new();
    for contender in contenders::all(RATE, settings.size == Size::Paper) {
        let wanted = settings.size == Size::Paper
            || shown.iter().any(|name| contender.name.starts_with(name));
        if wanted {
            (settings.progress)(&contender.name);
            let followed = course.follow_timed(&contender.way)?;
            rows.push(Row { contender, followed });
        }
    }
    let drawn: Vec<&Row> = rows
        .iter()
        .filter(|row| shown.iter().any(|name| row.contender.name.starts_with(name)))
        .collect();
    let mut findings: Vec<Finding> = drawn.iter().flat_map(|row| of_the_paper(row)).collect();
    findings.extend(compared(&drawn));
    let lost: usize = rows.iter().map(|row| row.followed.wrong_answers()).sum();
    findings.push(Finding {
        claim: "no filter refuses or loses a flow".to_owned(),
        measured: lost.to_string(),
        holds: Holds::when(lost == 0),
        reason: String::new(),
    });
    Ok(Outcome {
        findings,
        plots: plots(&drawn),
        tables: vec![
            ("share of the slots in use".to_owned(), report::utilization(&rows)),
            ("memory, everything counted".to_owned(), report::memory(&rows)),
        ],
        notes: vec![
            format!(
                "{} flows, at most {} alive, sampled after each of {} events. Unless a trace is \
                 given it is made up with the paper's counts: the paper's own is not public.",
                trace.flows.len(),
                course.peak(),
                course.events()
            ),
            "Share of the slots in use says little of memory: slots of 30 bits and rings are counted \
             in bits per key only."
                .to_owned(),
        ],
    })
}

/// The paper's numbers for one filter.
fn of_the_paper(row: &Row) -> Vec<Finding> {
    let Row { contender, followed } = row;
    let mut findings = Vec::new();
    if let Some(paper) = contender.paper.mean {
        let ours = followed.mean_utilization;
        findings.push(Finding {
            claim: format!(
                "{}: {paper:.4} of the slots in use on average (within {SAME}; in part if more)",
                contender.name
            ),
            measured: format!("{ours:.4}"),
            holds: match ours - paper {
                off if off.abs() <= SAME => Holds::Yes,
                off if off > 0.0 => Holds::Partly,
                _ => Holds::No,
            },
            reason: "the paper's trace is not public, nor is it said when a filter counts as full"
                .to_owned(),
        });
    }
    if let Some(paper) = contender.paper.few_empty {
        let ours = followed.few_empty;
        findings.push(Finding {
            claim: format!(
                "{}: fewer than 500 slots empty in {} % of the samples (within {} points)",
                contender.name,
                percent(paper, 0),
                percent(SAME_SHARE, 0)
            ),
            measured: format!("{} %, most empty {}", percent(ours, 0), followed.most_empty),
            holds: Holds::when((ours - paper).abs() <= SAME_SHARE),
            reason: "depends on how fast the set shrinks, which the paper's trace would tell"
                .to_owned(),
        });
    }
    // No reason is due where the claim holds.
    for finding in findings.iter_mut().filter(|finding| finding.holds == Holds::Yes) {
        finding.reason.clear();
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
        Finding {
            claim: "both CCFs use more of their slots than a DCF".to_owned(),
            measured: format!(
                "{:.3} and {:.3} against {:.3}",
                means[0], means[1], dynamic.mean_utilization
            ),
            holds: Holds::when(means.iter().all(|&mean| mean > dynamic.mean_utilization)),
            reason: String::new(),
        },
        Finding {
            claim: "and so take less memory (bits a key, everything counted)".to_owned(),
            measured: format!(
                "{:.1} and {:.1} against {:.1}; elastic, at a rate of 1 %: {:.1}",
                bits[1], bits[2], bits[0], bits[3]
            ),
            holds: match (smaller, bits[1].min(bits[2]) < bits[0]) {
                (true, _) => Holds::Yes,
                (false, true) => Holds::Partly,
                (false, false) => Holds::No,
            },
            reason: match smaller {
                true => String::new(),
                false => "a ring of ten nodes a bucket of three slots takes more than it saves"
                    .to_owned(),
            },
        },
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

fn parameters(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let flows = if settings.size == Size::Quick { FEW_FLOWS } else { PAPER_FLOWS };
    let course = Course::new(&Synthetic::yahoo(settings.seed).scaled(flows).trace(), settings.seed);
    let mut rows = Vec::new();
    for contender in sweep::all() {
        (settings.progress)(&contender.name);
        let followed = course.follow_timed(&contender.way)?;
        rows.push(Row { contender, followed });
    }
    let mut findings: Vec<Finding> = sweep::findings(&rows)
        .iter()
        .map(|compared| Finding {
            claim: format!(
                "{}: {:.4} of the slots in use on average (within {SAME})",
                compared.name, compared.paper
            ),
            measured: format!("{:.4}; T̂ of random arcs {:.3}", compared.ours, compared.random),
            holds: Holds::when(compared.reproduces()),
            reason: match compared.reproduces() {
                true => String::new(),
                false => compared.reason.to_owned(),
            },
        })
        .collect();
    findings.extend(shares(&rows));
    let reference = |plot: Plot, names: &[&str]| {
        names.iter().filter_map(|name| rows.iter().find(|row| row.contender.name == *name)).fold(
            plot,
            |plot, row| {
                let points = distribution(&row.followed.utilizations);
                plot.series(&row.contender.name, Shape::Line, points)
            },
        )
    };
    let plot = |title: &str, names: &[&str]| {
        let y = Axis::from_zero("share of the samples");
        reference(Plot::new(title, Axis::linear("utilisation"), y), names)
    };
    let paper = "as in the paper";
    Ok(Outcome {
        findings,
        plots: vec![
            plot("candidates (Fig. 5 a)", &[paper, "k = 4", "k = 8", "k = 16"]),
            plot("slots (Fig. 5 b)", &[paper, "b = 6 removed below 2", "b = 6 removed below 5"]),
            plot(
                "limit on kicks (Fig. 5 c)",
                &[paper, "max = 700", "max = 50", "max = 1200 bfs", "max = 700 bfs"],
            ),
            plot("nodes of a bucket (Fig. 5 d)", &[paper, "v = 1", "v = 2", "v = 5", "v = 20"]),
        ],
        tables: vec![
            ("share of the slots in use".to_owned(), report::utilization(&rows)),
            ("memory, everything counted".to_owned(), report::memory(&rows)),
        ],
        notes: vec![format!("{flows} flows, at most {} alive.", course.peak())],
    })
}

/// Shares of the samples above a utilisation, as the paper's text has them.
fn shares(rows: &[Row]) -> Vec<Finding> {
    // Of the first it is said that there are fewer.
    let said: [(&str, f64, [f64; 2], &str); 4] = [
        ("as in the paper", 0.98, [0.0, 0.12], "fewer than 12 %"),
        ("k = 16", 0.98, [0.5, 0.5], "nearly half"),
        ("as in the paper", 0.95, [0.76, 0.76], "76 %"),
        ("v = 1", 0.95, [0.16, 0.16], "16 %"),
    ];
    let finding = |(name, above, [least, most], words): (&str, f64, [f64; 2], &str)| {
        let row = rows.iter().find(|row| row.contender.name == name)?;
        let ours = 1.0 - row.followed.share_below(above);
        let same = least - SAME_SHARE <= ours && ours <= most + SAME_SHARE;
        Some(Finding {
            claim: format!(
                "{name}: {words} of the samples use more than {above} of the slots (within {} points)",
                percent(SAME_SHARE, 0)
            ),
            measured: format!("{} %", percent(ours, 0)),
            holds: Holds::when(same),
            reason: match same {
                true => String::new(),
                false => "follows from the mean, and from how the trace shrinks".to_owned(),
            },
        })
    };
    said.into_iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_go_from_the_least_to_the_most() {
        let points = distribution(&[1.0, 2.0, 5.0]);
        assert_eq!((points[0], points[POINTS]), ((1.0, 0.0), (5.0, 1.0)));
        assert!(distribution(&[]).is_empty());
    }

    #[test]
    fn a_small_trace_has_its_findings() {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let settings = Settings { size: Size::Quick, seed: 1, progress: &|_| () };
        let outcome = of_trace(&trace, &settings).unwrap();
        assert_eq!(outcome.findings.len(), 9);
        assert!(outcome.plots.iter().all(|plot| !plot.is_empty() && plot.series.len() >= 5));
    }
}
