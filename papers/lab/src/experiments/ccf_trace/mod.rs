//! Filters that follow flows which come and go: Fig. 4 of the Consistent Cuckoo Filter paper, and in
//! [`parameters`] its Fig. 5.

mod filters;
mod followed;
mod parameters;
mod verdicts;

pub(super) use filters::{Follower, Following};
pub(super) use followed::{Course, Followed};
pub(super) use parameters::PARAMETERS;

use std::path::PathBuf;

use anyhow::ensure;

use crate::flows::{Synthetic, Trace};
use crate::prelude::*;
use filters::{Contender, Shape as ShapeOf, Share};
use followed::{FEW_EMPTY, MANY_EMPTY, WELL_USED};

pub(super) const TRACE: Experiment = Experiment::paper(
    ("ccf-trace", "Filters that follow a set"),
    "How full, and how large, are filters while flows come and go? (CCF Fig. 4; 64 buckets of \
     three slots, 30 bits, at most 7,290 flows alive)",
    Chance::Seed,
    run,
)
.with(&OPTIONS);

const CSV: Choice = Choice::new(
    "csv",
    "FILE",
    "a trace of real flows: lines of source,destination,start,end with times in seconds",
);

const OPTIONS: [Choice; 11] = {
    let [m, b, f, kicks, k, v] = ShapeOf::OPTIONS;
    let [fpr, all, only] = [choices::FPR, choices::ALL, choices::ONLY];
    [CSV, FULL, fpr, all, only, m, b, f, kicks, k, v]
};

const FULL: Choice = Choice::new("c", "N", "keys from which on a filter of the DCF counts as full");

const PAPER_FLOWS: usize = 58_941;
/// How far from the paper's mean ours may be and still be called the same, and be the same in part.
const SAME: f64 = 0.01;
const SAME_IN_PART: f64 = 0.03;
/// The elastic filter's rate by default; the others have the paper's 30 bits.
const RATE: f64 = 0.01;
const BUCKET: f64 = 3.0;
/// Shares of the samples closer than this to the paper's are called the same, and in part.
const SAME_SHARE: f64 = 0.10;
const SAME_SHARE_IN_PART: f64 = 0.20;
/// The paper's most empty slots of a DCF, and the share of the samples with more than 1,000.
const MOST_EMPTY: f64 = 3176.0;
const MANY_EMPTY_SHARE: f64 = 0.16;
/// More points than a plot draws dots for.
const POINTS: usize = 100;

const AS_PRINTED: &str = "As printed: victims are chosen at random up to 1,200 times and buckets may \
    be visited again (undone when the walk gives up, where the papers lose a key); after every \
    removal Algorithm 4 of the DCF paper moves what fits to the same bucket of denser filters, also \
    if that frees none. Our own walk never returns to a bucket, and our compact moves nothing that \
    does not free a filter (whole filters only). The paper does not say when a filter of the DCF \
    counts as full: here with 180 of 192 slots, the share of the DCF paper.";

struct Row {
    contender: Contender,
    followed: Followed,
}

impl Course {
    fn follow_all(
        &self,
        contenders: impl Iterator<Item = Contender>,
        settings: &Settings<'_>,
    ) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for contender in contenders {
            (settings.progress)(contender.name);
            let followed = self.follow(&contender.way)?;
            rows.push(Row { contender, followed });
        }
        ensure!(!rows.is_empty(), "--only matches no filter");
        Ok(rows)
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    match settings.value(CSV, PathBuf::new())? {
        path if path.as_os_str().is_empty() => {
            of_trace(&Synthetic::yahoo(settings.seed).trace(), settings)
        }
        path => of_trace(&Trace::from_csv(&path)?, settings),
    }
}

fn of_trace(trace: &Trace, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let course = Course::new(trace, settings.seed);
    let rate = settings.value(choices::FPR, RATE)?;
    let shape = ShapeOf::of(settings)?;
    let full = settings.value(FULL, shape.full_filter())?.max(1);
    let all = settings.size == Size::Full || settings.flag(choices::ALL);
    let some = settings.flag(choices::ONLY);
    let contenders = filters::all(shape, rate, full).into_iter();
    let contenders = contenders.filter(|of| all || some || of.is_shown);
    let contenders = contenders.filter(|of| settings.wants(of.name));
    let rows = course.follow_all(contenders, settings)?;
    let drawn: Vec<&Row> = rows.iter().filter(|row| row.contender.is_shown).collect();
    let wrong_answers = rows.iter().map(|row| row.followed.wrong_answers()).sum();
    let mut findings = verdicts::of(&rows);
    let claim = "no filter refuses or loses a flow";
    findings.push(Finding::never(claim, wrong_answers).of(Claimant::Ours));
    Ok(Outcome::of(findings)
        .plots(plots(&drawn))
        .tables(tables(&rows))
        .note(AS_PRINTED)
        .note(format!(
            "{} flows, at most {} alive, sampled after each of {} events. Unless a trace is \
                 given it is synthetic with the paper's counts: the paper's own is not public. \
                 The least utilisation is taken while at least a tenth of the most flows are \
                 alive. Seconds are those of insertions and removals.",
            trace.flows.len(),
            course.peak,
            course.events.len()
        ))
        .note(
            "The share of the slots in use says little of memory: slots of 30 bits and rings are \
             counted in bits per key only.",
        )
        .wrong(wrong_answers))
}

fn tables(rows: &[Row]) -> [(String, Table); 2] {
    let badly_used = |row: &Row| match row.contender.paper.badly_used {
        None => "-".to_owned(),
        Some(Share::About(share)) => percent(share, 0),
        Some(Share::Below(share)) => format!("< {}", percent(share, 0)),
    };
    let few_empty = |row: &Row| row.contender.paper.few_empty.map(|share| 100.0 * share);
    let used = table!(rows, |row| {
        "share of the slots in use": row.contender.name.to_owned();
        "mean": number(row.followed.mean_utilization, 4);
        "paper": number(row.contender.paper.mean, 4);
        "< .90, % of events": percent(row.followed.share_below(WELL_USED), 2);
        "paper": badly_used(row);
        "least": number(row.followed.least_utilization, 3);
        "most": number(row.followed.most_utilization, 3);
        "paper": number(row.contender.paper.most, 3);
        "< 500 empty, %": percent(row.followed.few_empty, 1);
        "paper": number(few_empty(row), 0);
        "most empty": row.followed.most_empty.to_string();
        "filters": row.followed.most_filters.to_string();
        "refused": row.followed.refused.to_string();
        "false neg": row.followed.false_negatives.to_string();
    });
    let memory = table!(rows, |row| {
        "everything counted": row.contender.name.to_owned();
        "bits/key, mean": number(row.followed.mean_bits_per_key, 2);
        "of which rings": number(row.followed.mean_ring_bits_per_key, 2);
        "at the peak": number(row.followed.bits_per_key_at_the_peak, 2);
        "FPR there": format!("{:.2e}", row.followed.rate_at_the_peak);
        "measured": format!("{:.2e}", row.followed.measured_rate);
        "bytes at the end": row.followed.bytes_at_the_end.to_string();
        "seconds": number(row.followed.seconds, 3);
    });
    [
        ("share of the slots in use".to_owned(), used),
        ("memory, everything counted".to_owned(), memory),
    ]
}

fn plots(rows: &[&Row]) -> Vec<Plot> {
    let plot = |title: &str, x: Axis, of: &dyn Fn(&Followed) -> Vec<f64>| {
        rows.iter()
            .fold(Plot::new(title, x, Axis::from_zero("share of the samples")), |plot, row| {
                plot.line(row.contender.name, distribution(&of(&row.followed)))
            })
    };
    let floats = |counts: &[usize]| counts.iter().map(|&count| count as f64).collect::<Vec<f64>>();
    let mut buckets =
        plot("buckets of three slots (Fig. 4 a, b)", Axis::from_zero("buckets"), &|of| {
            floats(&of.slots).iter().map(|slots| slots / BUCKET).collect()
        });
    if let Some(row) = rows.first() {
        let best: Vec<f64> =
            floats(&row.followed.keys).iter().map(|keys| (keys / BUCKET).ceil()).collect();
        buckets = buckets.dashed("as many as needed", distribution(&best));
    }
    vec![
        buckets,
        paper_points(
            plot("share of the slots in use (Fig. 4 c)", Axis::from("utilisation", 0.8), &|of| {
                of.utilizations.clone()
            }),
            rows,
            utilization_points,
        ),
        paper_points(
            plot("empty slots (Fig. 4 d)", Axis::from_zero("empty slots"), &|of| floats(&of.empty)),
            rows,
            empty_points,
        ),
    ]
}

/// What the paper prints of the distributions of the filters that are as printed.
fn paper_points(plot: Plot, rows: &[&Row], of: fn(&Contender) -> Vec<(f64, f64)>) -> Plot {
    let printed = rows.iter().filter(|row| row.contender.is_printed);
    printed.fold(plot, |plot, Row { contender, .. }| {
        plot.paper(format!("{}: the paper", contender.name), of(contender))
    })
}

/// Of Fig. 4 c: a share below .90, or what it is less than, and the most.
fn utilization_points(contender: &Contender) -> Vec<(f64, f64)> {
    let share = contender.paper.badly_used.map(|share| match share {
        Share::About(share) | Share::Below(share) => (WELL_USED, share),
    });
    share.into_iter().chain(contender.paper.most.map(|most| (most, 1.0))).collect()
}

/// Of Fig. 4 d: a share with fewer than 500, and of a DCF with more than 1,000 and the most.
fn empty_points(contender: &Contender) -> Vec<(f64, f64)> {
    let few = contender.paper.few_empty.map(|share| (FEW_EMPTY as f64, share));
    let more = [(MANY_EMPTY as f64, 1.0 - MANY_EMPTY_SHARE), (MOST_EMPTY, 1.0)];
    let is_list = contender.name == filters::DCF_PRINTED;
    few.into_iter().chain(more.into_iter().filter(|_| is_list)).collect()
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
        for contender in filters::all(ShapeOf::PAPER, 0.01, 180) {
            let followed = course.follow(&contender.way).unwrap();
            let name = contender.name;
            assert_eq!((followed.keys.len(), followed.most_keys), (4000, trace.peak()), "{name}");
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
        let trace = Synthetic::yahoo(1).scaled(500).trace();
        let named = |only: &str| {
            of_trace(&trace, &Settings { given: &[("only", only.to_owned())], ..QUICK })
        };
        let outcome = named("without return").unwrap();
        let rows: Vec<_> = outcome.tables[0].1.rows().map(|row| row[0].clone()).collect();
        assert_eq!(rows.len(), 5, "{rows:?}");
        assert!(named("no such filter").is_err());
    }

    #[test]
    fn distributions_go_from_the_least_to_the_most() {
        let points = distribution(&[1.0, 2.0, 5.0]);
        assert_eq!((points[0], points[POINTS]), ((1.0, 0.0), (5.0, 1.0)));
        assert!(distribution(&[]).is_empty());
    }

    #[test]
    fn a_small_trace_has_its_plots() {
        let trace = Synthetic::yahoo(1).scaled(2000).trace();
        let outcome = of_trace(&trace, &QUICK).unwrap();
        assert!(outcome.plots.iter().all(|plot| !plot.is_empty() && plot.series.len() >= 5));
    }
}
