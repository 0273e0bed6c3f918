//! Fig. 2 of the Cuckoo Filter paper: how full tables get with short fingerprints.

use cuculus::lab::{PlacementKind, Search};
use cuculus::{CuckooFilter, Filter, analysis};

use super::cf_contenders::{deleting, fill, one_by_one};
use super::cf_judge::because;
use super::{Figure, Outcome, Settings, Size};
use cuculus_page::table::{Table, number};
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const LOAD: Figure = Figure {
    name: "cf-load",
    title: "Load by the length of a fingerprint",
    question: "How full is a table when it first refuses a key, and how long must fingerprints be \
               for that? (CF Fig. 2; b = 4 and 8)",
    run: |settings| {
        let scale = match settings.size {
            Size::Quick => Scale { log2_buckets: &[10, 13, 16], runs: 5 },
            Size::Paper => Scale { log2_buckets: &[15, 20, 25], runs: 10 },
        };
        load(&scale, settings)
    },
};

struct Scale<'a> {
    log2_buckets: &'a [u32],
    /// The least of so many runs counts, as in the paper.
    runs: u64,
}

const BITS: [u32; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16];
/// Slots in a bucket, and the load that the paper reaches.
const PAPER: [(u32, f64); 2] = [(4, 0.95), (8, 0.98)];
/// The length above which the paper finds loads as good as they get.
const ENOUGH_BITS: u32 = 6;

/// The paper's filter: partial-key hashing by exclusive or, and a random walk of 500 steps.
fn first_refusal(log2_buckets: u32, slots: u32, bits: u32, seed: u64) -> anyhow::Result<f64> {
    let builder = CuckooFilter::builder()
        .buckets(1 << log2_buckets)
        .slots_per_bucket(slots)
        .fingerprint_bits(bits)
        .placement(PlacementKind::Xor)
        .search(Search::RandomWalk)
        .max_kicks(500)
        .seed(seed);
    let filter = builder.build()?;
    let all = filter.slots() as f64;
    let mut contender = deleting(filter);
    fill(&mut *contender, seed, 0..u64::MAX, one_by_one);
    Ok(contender.len() as f64 / all)
}

/// The shortest fingerprints with which a line comes within a hundredth of its best.
fn shortest(line: &[(f64, f64)]) -> f64 {
    let best = line.iter().map(|at| at.1).fold(0.0, f64::max);
    line.iter().find(|at| at.1 >= best - 0.01).map_or(f64::NAN, |at| at.0)
}

fn load(scale: &Scale<'_>, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let allowed = |bits: u32| CuckooFilter::builder().buckets(1).fingerprint_bits(bits).build();
    let lengths: Vec<u32> = BITS.into_iter().filter(|&bits| allowed(bits).is_ok()).collect();
    let mut outcome = Outcome::default();
    // The shortest fingerprints that are enough, by the size of buckets.
    let mut enough = Vec::new();
    for (slots, paper) in PAPER {
        let head = lengths.iter().map(|bits| format!("f = {bits}"));
        let mut table = Table::new(["buckets".to_owned()].into_iter().chain(head));
        let mut plot = Plot::new(
            format!("load at the first refusal, b = {slots}"),
            Axis::linear("length of a fingerprint, f"),
            Axis::linear("load"),
        );
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        for &log2_buckets in scale.log2_buckets {
            (settings.progress)(&format!("2^{log2_buckets} buckets of {slots}"));
            let mut line = Vec::new();
            for &bits in &lengths {
                let mut least = 1.0f64;
                for run in 0..scale.runs {
                    let seed = settings.seed.wrapping_mul(1 << 16).wrapping_add(run);
                    least = least.min(first_refusal(log2_buckets, slots, bits, seed)?);
                }
                line.push((f64::from(bits), least));
            }
            let cells = line.iter().map(|at| number(Some(at.1), 3));
            table.row([format!("2^{log2_buckets}")].into_iter().chain(cells));
            plot = plot.series(format!("2^{log2_buckets} buckets"), Shape::Line, line.clone());
            lines.push(line);
        }
        let threshold = analysis::orientability_threshold(2, slots);
        plot = plot.mark("paper", paper).mark("threshold of independent hashes", threshold);
        outcome.findings.extend(findings(slots, paper, &lines));
        enough.extend(lines.last().map(|line| shortest(line)));
        outcome.plots.push(plot);
        outcome.tables.push((format!("least load at the first refusal, b = {slots}"), table));
    }
    outcome.findings.push(larger_buckets(&enough));
    outcome.notes.push(format!(
        "Least of {} runs with the paper's placement (exclusive or) and walk (500 steps).",
        scale.runs
    ));
    Ok(outcome)
}

fn findings(slots: u32, paper: f64, lines: &[Vec<(f64, f64)>]) -> [Finding; 2] {
    let long = lines.iter().flatten().filter(|at| at.0 > f64::from(ENOUGH_BITS));
    let least = long.map(|at| at.1).fold(1.0, f64::min);
    let short: Vec<f64> = lines.iter().filter_map(|line| Some(line.first()?.1)).collect();
    let lost = short.first().unwrap_or(&0.0) - short.last().unwrap_or(&0.0);
    let shown: Vec<String> = short.iter().map(|&load| number(Some(load), 3)).collect();
    let larger = Finding {
        claim: format!(
            "b = {slots}: the larger the table, the longer fingerprints must be (with the \
             shortest, the largest table is less full than the smallest by 1 % or more)"
        ),
        measured: format!("loads {}", shown.join(", ")),
        holds: match lost {
            lost if lost >= 0.01 => Holds::Yes,
            lost if lost > 0.0 => Holds::Partly,
            _ => Holds::No,
        },
        reason: String::new(),
    };
    [
        Finding {
            claim: format!(
                "b = {slots}: with more than {ENOUGH_BITS} bits at least {:.0} % are filled \
                 (within 1 %)",
                100.0 * paper
            ),
            measured: format!("least {:.1} %", 100.0 * least),
            holds: Holds::when(least >= paper - 0.01),
            reason: String::new(),
        },
        because(larger, "sixteen places for equal fingerprints are enough at these sizes"),
    ]
}

/// Of the largest tables of each size of buckets.
fn larger_buckets(lengths: &[f64]) -> Finding {
    let shown: Vec<String> = lengths.iter().map(f64::to_string).collect();
    Finding {
        claim: "larger buckets need shorter fingerprints (to come within 1 % of the best load in \
                the largest table)"
            .to_owned(),
        measured: format!("b = 4 and 8: {} bits", shown.join(" and ")),
        holds: Holds::when(lengths.is_sorted_by(|shorter, longer| shorter > longer)),
        reason: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_that_is_good_enough() {
        assert_eq!(shortest(&[(4.0, 0.5), (5.0, 0.945), (6.0, 0.95), (7.0, 0.949)]), 5.0);
    }

    #[test]
    fn it_runs() {
        let settings = Settings { size: Size::Quick, seed: 1, progress: &|_| () };
        let outcome = load(&Scale { log2_buckets: &[6, 8], runs: 1 }, &settings).unwrap();
        assert_eq!((outcome.plots.len(), outcome.findings.len()), (2, 5));
        assert!(outcome.plots.iter().all(|plot| plot.series.len() == 2 && !plot.is_empty()));
    }
}
