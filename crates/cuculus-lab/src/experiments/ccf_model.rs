//! What the Consistent Cuckoo Filter paper computes: Table II, Fig. 3 and Theorem 5.

use cuculus::analysis::{
    Occupancy, orientability_threshold, ring_threshold, success_bound, success_bound_as_printed,
    upper_threshold,
};

use crate::experiment::{Experiment, Outcome, Settings};
use cuculus_page::table::{Table, number};
use cuculus_page::{Axis, Finding, Plot, Shape};

pub(super) const THRESHOLDS: Experiment = Experiment {
    name: "ccf-thresholds",
    title: "How full a filter on a ring can be",
    question: "Is T̂ the number of keys per bucket that can be stored? (CCF Table II, Fig. 3, \
               Theorem 4)",
    options: &[],
    run: thresholds,
};

pub(super) const SUCCESS: Experiment = Experiment {
    name: "ccf-success",
    title: "The chance that all keys fit",
    question: "What does the bound on the probability of success say? (CCF Theorem 5)",
    options: &[],
    run: success,
};

/// Table II: candidates from two to seven, slots from one to four.
const TABLE_II: [[f64; 4]; 6] = [
    [0.796812130, 1.861790807, 2.905683863, 3.934728166],
    [0.940479791, 1.979049536, 2.992264312, 3.997079786],
    [0.980172599, 1.996604114, 2.999390447, 3.999888473],
    [0.993022846, 1.999453835, 2.999955482, 3.999996295],
    [0.997483538, 1.999913939, 2.999996938, 3.999999888],
    [0.999082240, 1.999986694, 2.999999798, 3.999999996],
];

fn thresholds(_: &Settings<'_>) -> anyhow::Result<Outcome> {
    let mut table = Table::new([
        "k, b",
        "T̂, paper",
        "T̂, ours",
        "as a load",
        "true threshold, load",
        "T̂ on a ring, v = 10",
        "v = 1",
    ]);
    let mut furthest: f64 = 0.0;
    for (k, row) in (2..).zip(TABLE_II) {
        for (b, printed) in (1..).zip(row) {
            let ours = upper_threshold(k, b, 1 << 30);
            furthest = furthest.max((ours - printed).abs());
            let load = |per_bucket: f64| number(Some(per_bucket / f64::from(b)), 4);
            table.row([
                format!("{k}, {b}"),
                format!("{printed:.9}"),
                format!("{ours:.9}"),
                load(ours),
                number(Some(orientability_threshold(k, b)), 4),
                load(ring_threshold(k, b, 10)),
                load(ring_threshold(k, b, 1)),
            ]);
        }
    }
    let mut plot = Plot::new(
        "loads by the number of candidates",
        Axis::linear("candidates, k"),
        Axis::linear("load"),
    );
    for b in [1, 2, 4] {
        let ks = || 2..=8u32;
        let bound = ks().map(|k| (f64::from(k), upper_threshold(k, b, 1 << 30) / f64::from(b)));
        let truth = ks().map(|k| (f64::from(k), orientability_threshold(k, b)));
        plot = plot.series(format!("T̂, b = {b}"), Shape::Dashed, bound).series(
            format!("true threshold, b = {b}"),
            Shape::Line,
            truth,
        );
    }
    let two = (upper_threshold(2, 1, 1 << 30), orientability_threshold(2, 1));
    Ok(Outcome {
        findings: vec![
            Finding::when(
                "the 24 entries of Table II",
                format!("all within {furthest:.1e}"),
                furthest < 1e-8,
            ),
            Finding::when(
                "below T̂ all keys can be stored with high probability",
                format!("k = 2, b = 1: T̂ {:.3}, true threshold {:.3}", two.0, two.1),
                two.0 <= two.1,
            )
            .because("T̂ counts a key in each of its candidates: it is an upper bound"),
        ],
        plots: vec![plot],
        tables: vec![("thresholds".to_owned(), table)],
        ..Outcome::default()
    })
}

fn success(_: &Settings<'_>) -> anyhow::Result<Outcome> {
    let hit = Occupancy::of(5, 6);
    let example = [0.00032, 0.03968, 0.3456, 0.4992, 0.1152];
    let furthest = (1..)
        .zip(example)
        .map(|(buckets, printed): (u64, f64)| (hit.exactly(buckets) - printed).abs())
        .fold(0.0, f64::max);
    let (bound, printed) = (success_bound(5, 2, 2, 3), success_bound_as_printed(5, 2, 2, 3));
    let mut plot = Plot::new(
        "bound on the chance that all keys fit, 200 buckets of 2, k = 2",
        Axis::linear("keys per bucket"),
        Axis::from_zero("probability"),
    );
    let points = (300..=400).map(|keys| (f64::from(keys) / 200.0, success_bound(200, 2, 2, keys)));
    plot = plot.series("Theorem 5", Shape::Line, points);
    let threshold = 2.0 * orientability_threshold(2, 2);
    plot = plot.series("true threshold", Shape::Dashed, [(threshold, 0.0), (threshold, 1.0)]);
    Ok(Outcome {
        findings: vec![
            Finding::when(
                "the worked example: .03968, .3456, .4992, .1152, and .99968 in all",
                format!("within {furthest:.0e}, {bound:.5} in all"),
                furthest < 1e-5 && (bound - 0.99968).abs() < 1e-5,
            ),
            Finding::when(
                "the sum begins at ⌊n/b⌋ (Eq. 10 as printed)",
                format!("{printed:.5} for the same example"),
                (printed - 0.99968).abs() < 1e-5,
            )
            .because("⌈n/b⌉ buckets are needed, and the example begins there"),
        ],
        plots: vec![plot],
        ..Outcome::default()
    })
}
