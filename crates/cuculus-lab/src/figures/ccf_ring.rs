//! Filters on a ring, measured: Theorems 1 and 4 of the Consistent Cuckoo Filter paper.

use super::{Figure, Outcome, Settings, Size};
use crate::loads::{self, FINITE, Load};
use crate::rates::{self, Rate, SIGMAS};
use cuculus_page::table::percent;
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const RATES: Figure = Figure {
    name: "ccf-rates",
    title: "False positives of filters on a ring",
    question: "How often is an absent key found, and is it as often as computed? (CCF Theorem 1; \
               k = 2, b = 4)",
    run: rates,
};

pub(super) const LOADS: Figure = Figure {
    name: "ccf-loads",
    title: "How full filters on a ring get",
    question: "How full is a filter on a ring when it first refuses a key, and is it the threshold \
               that foretells it? (CCF Theorem 4)",
    run: loads,
};

fn rates(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let quick = settings.size == Size::Quick;
    let options = rates::Options {
        bits: vec![8, 10, 12, 14, 16, 18, 20],
        keys: if quick { vec![100, 1000, 5000] } else { vec![100, 1000, 5000, 20_000] },
        probes: if quick { 50_000 } else { 200_000 },
        seed: settings.seed,
        json: None,
    };
    let measured = rates::measure_all(&options, settings.progress)?;
    let mut plot = Plot::new(
        "false positive rate by the length of a fingerprint",
        Axis::linear("bits"),
        Axis::logarithmic("rate"),
    );
    for &keys in &options.keys {
        let line = |of: fn(&Rate) -> f64| -> Vec<(f64, f64)> {
            let rows = measured.iter().filter(|rate| rate.filter == "CCF_B" && rate.keys == keys);
            rows.map(|rate| (f64::from(rate.bits), of(rate))).collect()
        };
        plot = plot
            .series(format!("CCF_B, {keys} keys"), Shape::Line, line(|rate| rate.measured))
            .series(format!("1-(1-2^-f)^n, {keys}"), Shape::Dashed, line(|rate| rate.expected));
    }
    let first: Vec<&Rate> = measured.iter().filter(|rate| rate.filter == "CCF_B").collect();
    let theorem = first.iter().filter(|rate| rate.keys == options.keys[0]);
    let theorem: Vec<_> = theorem.map(|rate| (f64::from(rate.bits), rate.paper)).collect();
    let plot = plot.series("Theorem 1, one filter", Shape::Dashed, theorem);
    let most = measured.iter().map(Rate::deviation).fold(0.0, f64::max);
    let too_low = measured.iter().map(|rate| rate.measured / rate.paper).fold(0.0, f64::max);
    let wrong: usize = measured.iter().map(|rate| rate.wrong).sum();
    Ok(Outcome {
        findings: vec![
            Finding {
                claim: "Theorem 1 is the false positive rate (never measured above it)".to_owned(),
                measured: format!("up to {too_low:.0} times as often"),
                holds: Holds::when(too_low <= 1.0),
                reason: "it counts two buckets a key as if the candidates did not depend on the \
                         fingerprint; here they follow from it, so any equal fingerprint among all \
                         n keys is found"
                    .to_owned(),
            },
            Finding {
                claim: format!("1-(1-2^-f)^n is the rate (within {SIGMAS} standard deviations)"),
                measured: format!("at most {most:.1} off in {} filters", measured.len()),
                holds: Holds::when(most <= SIGMAS),
                reason: String::new(),
            },
            Finding {
                claim: "no key is refused or lost".to_owned(),
                measured: wrong.to_string(),
                holds: Holds::when(wrong == 0),
                reason: String::new(),
            },
        ],
        plots: vec![plot],
        tables: vec![("in % of absent keys".to_owned(), rates::table(&measured))],
        notes: vec![
            "Left out are more keys than the fingerprints of that length have places for."
                .to_owned(),
        ],
    })
}

fn loads(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let quick = settings.size == Size::Quick;
    let options = loads::Options {
        candidates: vec![2, 3, 4],
        slots: if quick { vec![1, 2, 4] } else { vec![1, 2, 3, 4] },
        nodes: vec![1, 10, 64],
        buckets: if quick { 1024 } else { 4096 },
        seeds: 3,
        json: None,
    };
    let measured = loads::measure_all(&options, settings.progress)?;
    let two: Vec<&Load> = measured.iter().filter(|load| load.candidates == 2).collect();
    let mut plot = Plot::new(
        "load at the first refusal, two candidates",
        Axis::logarithmic("nodes of a bucket on the ring"),
        Axis::linear("load"),
    );
    for &slots in &options.slots {
        let line = |of: fn(&Load) -> f64| -> Vec<(f64, f64)> {
            let rows = two.iter().filter(|load| load.slots == slots);
            rows.map(|load| (f64::from(load.nodes), of(load))).collect()
        };
        plot =
            plot.series(format!("measured, b = {slots}"), Shape::Line, line(Load::reached)).series(
                format!("T̂ of the ring, b = {slots}"),
                Shape::Dashed,
                line(|load| load.ring_threshold),
            );
    }
    let most = |of: &dyn Fn(&Load) -> f64| measured.iter().map(of).fold(f64::MIN, f64::max);
    let short = most(&|load| load.upper_threshold - load.reached());
    let short_with = |nodes: u32| {
        let of = |load: &Load| load.upper_threshold - load.reached();
        measured.iter().filter(|load| load.nodes == nodes).map(of).fold(f64::MIN, f64::max)
    };
    let beyond = most(&|load| load.reached() - load.ring_threshold);
    let planned = most(&|load| load.planned - load.walk.min(load.breadth_first));
    Ok(Outcome {
        findings: vec![
            Finding {
                claim: format!(
                    "T̂ is the load that is reached (never short of it by more than {} points)",
                    percent(FINITE, 1)
                ),
                measured: format!(
                    "short by up to {} points; {} with ten nodes a bucket, {} with 64",
                    percent(short, 1),
                    percent(short_with(10), 1),
                    percent(short_with(64), 1)
                ),
                holds: Holds::when(short <= FINITE),
                reason: "T̂ is an upper bound for equal shares, and a ring gives unequal ones"
                    .to_owned(),
            },
            Finding {
                claim: "T̂ for the unequal shares of a ring bounds the load".to_owned(),
                measured: format!("at most {} points beyond", percent(beyond.max(0.0), 2)),
                holds: Holds::when(beyond <= FINITE),
                reason: String::new(),
            },
            Finding {
                claim: "the load that our filters plan with is reached".to_owned(),
                measured: format!("at most {} points short", percent(planned.max(0.0), 2)),
                holds: Holds::when(planned <= 0.0),
                reason: match planned > 0.0 {
                    true => "it is planned for larger filters, whose loads scatter less".to_owned(),
                    false => String::new(),
                },
            },
        ],
        plots: vec![plot],
        tables: vec![("loads".to_owned(), loads::table(&measured))],
        notes: Vec::new(),
    })
}
