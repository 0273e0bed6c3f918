//! Times of a list of filters beside other filters: Figs. 10 to 15 of the Dynamic Cuckoo Filter
//! paper.

use super::{Figure, Outcome, Settings, Size};
use crate::dcf::RATE;
use crate::dcf::times::{
    LINEAR, NAMES, NEARLY_THE_SAME, Operation, Options, Point, Times, by_keys, by_length, line,
    lines, table,
};
use cuculus_page::table::{number, percent};
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const TIMES: Figure = Figure {
    name: "dcf-times",
    title: "Times of a list of filters",
    question: "How long do an insertion, a question and a removal take, by the number of keys and \
               by the length of the list? (DCF Figs. 10-15; rate 1.17 %)",
    run: times,
};

/// What the paper draws: half of the questions are for keys that are there.
const DRAWN: [Operation; 3] = [
    ("insert", |times| times.insert),
    ("query", |times| times.mixed),
    ("delete", |times| times.remove),
];
/// So much of a gain that is claimed must be there for the claim to hold.
const OF_THE_GAIN: f64 = 0.8;

fn times(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let quick = settings.size == Size::Quick;
    let options = Options {
        items: vec![8064, 16_128, 32_256, 46_080, 64_512],
        lengths: if quick { vec![3, 6, 12, 24, 48] } else { vec![3, 6, 12, 24, 48, 96] },
        rounds: if quick { 3 } else { 9 },
        queries: 100_000,
        seed: settings.seed,
        json: None,
    };
    let by_keys = by_keys(&options, settings.progress)?;
    let by_length = by_length(&options, settings.progress)?;
    let mut findings = vec![
        faster("inserts", 0.5, &by_keys, |times| times.insert),
        faster("answers", 0.8, &by_keys, |times| times.mixed),
        faster("removes", 0.25, &by_keys, |times| times.remove),
        smaller(&by_keys),
    ];
    findings.extend(shapes(&by_length));
    let plots = DRAWN.into_iter().flat_map(|operation| {
        let sizes = plot(&by_keys, operation, "keys", |point| point.keys as f64);
        [sizes, plot(&by_length, operation, "filters in the list", |point| point.filters as f64)]
    });
    Ok(Outcome {
        findings,
        plots: plots.collect(),
        tables: vec![
            ("six filters, more and more keys; nanoseconds".to_owned(), table(&by_keys)),
            ("46,080 keys, more and more filters; nanoseconds".to_owned(), table(&by_length)),
            ("what one more filter costs".to_owned(), lines(&by_length)),
        ],
        notes: vec![
            "Left are keys that were removed and stayed: a dynamic Bloom filter cannot tell in which \
             of its filters they are. The three others are no lists and stand beside them for what \
             a list costs; a cuckoo filter of fixed size has as many slots as the whole list."
                .to_owned(),
        ],
    })
}

fn plot(points: &[Point], operation: Operation, x: &str, at: fn(&Point) -> f64) -> Plot {
    let (name, of) = operation;
    let title = format!("{name}, by the number of {x}");
    let mut plot = Plot::new(title, Axis::logarithmic(x), Axis::logarithmic("nanoseconds a key"));
    for (series, name) in NAMES.into_iter().enumerate() {
        let line = points.iter().map(|point| (at(point), of(&point.times[series])));
        plot = plot.series(name, Shape::Line, line);
    }
    plot
}

/// What a DBF has for one of a DCF's, by the number of keys.
fn against_bloom(points: &[Point], of: fn(&Times) -> f64) -> Vec<(usize, f64)> {
    points.iter().map(|point| (point.keys, of(&point.times[1]) / of(&point.times[0]))).collect()
}

fn faster(verb: &str, claimed: f64, points: &[Point], of: fn(&Times) -> f64) -> Finding {
    let ratios = against_bloom(points, of);
    let logs = ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>();
    let mean = (logs / ratios.len() as f64).exp();
    let least = ratios.iter().min_by(|one, other| one.1.total_cmp(&other.1));
    let &(keys, least) = least.unwrap_or(&(0, 0.0));
    let enough = 1.0 + OF_THE_GAIN * claimed;
    let more = |ratio: f64| format!("{:+.0} %", 100.0 * (ratio - 1.0));
    let holds = match mean {
        mean if mean >= enough && least > 1.0 => Holds::Yes,
        mean if mean > 1.0 => Holds::Partly,
        _ => Holds::No,
    };
    Finding {
        claim: format!(
            "a DCF {verb} {} % faster than a DBF (holds if faster with every number of keys and by \
             {} % on average, in part if faster on average)",
            percent(claimed, 0),
            percent(enough - 1.0, 0)
        ),
        measured: format!("{} on average, {} with {keys} keys", more(mean), more(least)),
        holds,
        reason: match holds {
            Holds::Yes => String::new(),
            _ => "a filter whose slots are nearly all taken moves entries; with most numbers of keys \
                  a power of two buckets leaves many slots empty, and nothing moves"
                .to_owned(),
        },
    }
}

fn smaller(points: &[Point]) -> Finding {
    let last = points.iter().find(|point| point.keys == crate::dcf::times::KEYS);
    let bits = last.map(|point| [0, 1].map(|at| point.times[at].bits_per_key));
    let rates = last.map(|point| [0, 1].map(|at| percent(point.times[at].false_positive_rate, 2)));
    let saved = bits.map_or(0.0, |[ours, theirs]| 1.0 - ours / theirs);
    let bits = bits.unwrap_or_default().map(|bits| number(Some(bits), 1));
    let rates = rates.unwrap_or_default();
    Finding {
        claim: format!(
            "a DCF takes 75 % less memory than a DBF with a rate of {} % (46,080 keys; holds from \
             70 %, in part if less at all)",
            percent(RATE, 2)
        ),
        measured: format!(
            "{} % less: {} bits a key and {} % false positives against {} and {} %",
            percent(saved, 0),
            bits[0],
            rates[0],
            bits[1],
            rates[1]
        ),
        holds: match saved {
            0.7.. => Holds::Yes,
            0.0.. => Holds::Partly,
            _ => Holds::No,
        },
        reason: String::new(),
    }
}

/// How the times change with the length of the list.
fn shapes(by_length: &[Point]) -> Vec<Finding> {
    let insert: Vec<f64> = by_length.iter().map(|point| point.times[0].insert).collect();
    let longer = insert.last().zip(insert.first()).map_or(1.0, |(last, first)| last / first);
    let mut findings = vec![Finding {
        claim: format!(
            "insertion into a DCF is nearly independent of the length of the list (longest over \
             shortest at most {NEARLY_THE_SAME})"
        ),
        measured: format!("{longer:.2}"),
        holds: Holds::when(longer <= NEARLY_THE_SAME),
        reason: match longer > NEARLY_THE_SAME {
            true => "small filters that are full to their limit move more entries".to_owned(),
            false => String::new(),
        },
    }];
    for (name, of) in [DRAWN[1], DRAWN[2]] {
        let r_squared = line(by_length, of).map_or(0.0, |line| line.r_squared);
        findings.push(Finding {
            claim: format!("{name} times of a DCF are linear in its length (R² at least {LINEAR})"),
            measured: format!("R² {r_squared:.4}"),
            holds: Holds::when(r_squared >= LINEAR),
            reason: match r_squared < LINEAR {
                true => "several filters of the list are asked at once".to_owned(),
                false => String::new(),
            },
        });
    }
    findings
}
