//! How full tables get: with short fingerprints (Fig. 2 of the Cuckoo Filter paper), and by
//! placement and search.

use cuculus::CuckooFilter;
use cuculus::lab::{PlacementKind, Search};
use cuculus_papers::analysis;

use super::cf_filters::load_at_first_refusal;
use crate::literal::Literal;
use crate::prelude::*;

pub(super) const LOAD: Experiment = Experiment::paper(
    ("cf-load", "Load by the length of a fingerprint"),
    "How full is a table when it first refuses a key, and how long must fingerprints be for that? \
     (CF Fig. 2; b = 4 and 8)",
    Chance::OwnSeeds,
    |settings| {
        let (log2_buckets, runs) =
            settings.pick((&[10, 13, 16][..], 5), (&[15, 20, 25, HUGE_LOG2], 10));
        load(&Scale { log2_buckets, runs, decides: settings.size == Size::Full }, settings)
    },
);

pub(super) const WAYS_TO_FILL: Experiment = Experiment::paper(
    ("cf-fill", "Load by placement and search"),
    "How full is a table when it first refuses a key, by bucket size, table size, placement and \
     search? (CF §4: 95 % with b = 4)",
    Chance::OwnSeeds,
    ways,
)
.with(&[choices::SLOTS, MAX_LOG2]);

const MAX_LOG2: Choice = Choice::new("max-log2", "N", "the largest table has 2^N buckets");

struct Scale<'a> {
    log2_buckets: &'a [u32],
    /// The least of this many runs counts, as in the paper.
    runs: u64,
    decides: bool,
}

/// The library has no shorter fingerprints; a table as printed has.
const FEWEST_BITS: u32 = 4;
/// From this size on one run is enough: loads of large tables hardly differ.
const LARGE_LOG2: u32 = 24;
/// The paper's largest table: only with buckets of four, with few lengths, and with those for which there
/// is memory. All lengths and both sizes of buckets would be 10^11 insertions, a day.
const HUGE_LOG2: u32 = 30;
const HUGE_BITS: [u32; 4] = [4, 6, 8, 12];

/// Whether half of the free memory is enough for a table.
fn fits(log2_buckets: u32, slots: u32, bits: u32) -> bool {
    let bytes = (u64::from(slots * bits) << log2_buckets) / 8;
    crate::machine::available_bytes().is_some_and(|free| bytes <= free as u64 / 2)
}

const SMALL_TABLES: &str = "what equal fingerprints cost is little in tables of this size, and chance \
                            decides; the paper's have up to 2^30 buckets: run it with --full";

const BITS: [u32; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16];
/// Slots in a bucket, and the load that the paper reaches.
const PAPER: [(u32, f64); 2] = [(4, 0.95), (8, 0.98)];
/// The length above which the paper finds loads as good as they get.
const ENOUGH_BITS: u32 = 6;

/// The paper's filter: partial-key hashing by exclusive or, and a random walk of 500 steps.
const PAPER_WAY: Way =
    Way { name: "paper's walk xor", search: Search::PaperWalk, placement: PlacementKind::Xor };

const WAYS: [Way; 7] = [
    Way { name: "bfs any", search: Search::BreadthFirst, placement: PlacementKind::AnySize },
    Way { name: "bfs xor", search: Search::BreadthFirst, placement: PlacementKind::Xor },
    Way { name: "bfs simple", search: Search::BreadthFirst, placement: PlacementKind::Simplified },
    Way { name: "walk any", search: Search::RandomWalk, placement: PlacementKind::AnySize },
    Way { name: "walk xor", search: Search::RandomWalk, placement: PlacementKind::Xor },
    PAPER_WAY,
    Way { name: "walk simple", search: Search::RandomWalk, placement: PlacementKind::Simplified },
];

const WAY_BITS: u32 = 12;

#[derive(Clone, Copy, PartialEq)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) search: Search,
    pub(super) placement: PlacementKind,
}

impl Way {
    pub(super) fn load(
        self,
        buckets: u64,
        slots: u32,
        bits: u32,
        seed: u64,
    ) -> anyhow::Result<f64> {
        let builder = CuckooFilter::builder()
            .buckets(buckets)
            .slots_per_bucket(slots)
            .fingerprint_bits(bits)
            .placement(self.placement)
            .search(self.search)
            .max_kicks(500)
            .seed(seed);
        Ok(load_at_first_refusal(&mut builder.build()?, seed))
    }

    /// The other placements would round an uneven size up to the next power of two.
    fn takes(self, buckets: u64) -> bool {
        self.placement == PlacementKind::AnySize || buckets.is_power_of_two()
    }
}

/// Powers of two, and an uneven number after each.
fn sizes(max_log2: u32) -> impl Iterator<Item = u64> {
    (10..=max_log2.min(40)).flat_map(|log2| {
        let power = 1u64 << log2;
        [power, (power * 137 / 100) | 1]
    })
}

fn ways(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let max_log2 = settings.value(MAX_LOG2, settings.pick(14, 20))?;
    let mut outcome = Outcome::default();
    for slots in settings.list(choices::SLOTS, &[1, 2, 4, 8])? {
        (settings.progress)(&format!("buckets of {slots}"));
        let mut table = Table::new(["buckets"].into_iter().chain(WAYS.map(|way| way.name)));
        let mut least = WAYS.map(|_| 1.0f64);
        for buckets in sizes(max_log2) {
            let mut cells = vec![buckets.to_string()];
            for (way, least) in WAYS.into_iter().zip(&mut least) {
                if !way.takes(buckets) {
                    cells.push("-".to_owned());
                    continue;
                }
                let seeds = if buckets <= 1 << 16 { 5 } else { 1 };
                let loads = settings.seeds_of(seeds);
                let loads = loads.map(|seed| way.load(buckets, slots, WAY_BITS, seed));
                let loads = loads.collect::<anyhow::Result<Vec<f64>>>()?;
                let (min, mean) = (range(loads.iter().copied()).0, mean(&loads));
                *least = least.min(min);
                cells.push(format!("{min:.4} ({mean:.4})"));
            }
            table.row(cells);
        }
        let plural = if slots == 1 { "" } else { "s" };
        let title = format!("{slots} slot{plural} per bucket, {WAY_BITS} bits: least (mean) load");
        outcome.tables.push((title, table));
        if slots == 4 {
            outcome.findings.extend(WAYS.iter().zip(least).map(|(way, load)| {
                let claim = format!("4 slots, {}: least load", way.name);
                let of = if *way == PAPER_WAY { Claimant::Paper } else { Claimant::Ours };
                Finding::at_least(claim, load, PAPER[0].1).of(of)
            }));
        }
    }
    outcome.notes.push(
        "bfs is our breadth-first search, walk our walk that never returns to a bucket, and the \
         paper's walk may return; all with 500 kicks; \
         any, xor and simple are the placements: of any size, of the Cuckoo Filter paper, and of \
         the simplified cuckoo filter. Up to 2^16 buckets five seeds, above one."
            .to_owned(),
    );
    Ok(outcome)
}

/// The shortest fingerprints with which a line comes within a hundredth of its best.
fn shortest(line: &[(f64, f64)]) -> f64 {
    let best = line.iter().map(|at| at.1).fold(0.0, f64::max);
    line.iter().find(|at| at.1 >= best - 0.01).map_or(f64::NAN, |at| at.0)
}

fn load(scale: &Scale<'_>, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let lengths = BITS;
    let mut outcome = Outcome::default();
    // The shortest fingerprints that are enough, by the size of buckets.
    let mut enough = Vec::new();
    for (slots, paper) in PAPER {
        let head = lengths.iter().map(|bits| format!("f = {bits}"));
        let mut table = Table::new(["buckets".to_owned()].into_iter().chain(head));
        let (x, y) = (Axis::linear("length of a fingerprint, f"), Axis::linear("load"));
        let mut plot = Plot::new(format!("load at the first refusal, b = {slots}"), x, y);
        let mut lines: Vec<Vec<(f64, f64)>> = Vec::new();
        for &log2_buckets in scale.log2_buckets {
            (settings.progress)(&format!("2^{log2_buckets} buckets of {slots}"));
            let mut line = Vec::new();
            for &bits in &lengths {
                let mut least = 1.0f64;
                let is_chosen = slots == PAPER[0].0 && HUGE_BITS.contains(&bits);
                if log2_buckets >= HUGE_LOG2 && !(is_chosen && fits(log2_buckets, slots, bits)) {
                    continue;
                }
                let runs = if log2_buckets >= LARGE_LOG2 { 1 } else { scale.runs };
                for seed in settings.seeds_of(runs) {
                    least = least.min(match bits < FEWEST_BITS {
                        true => Literal::new(log2_buckets, slots, bits, 500, seed).fill(),
                        false => PAPER_WAY.load(1 << log2_buckets, slots, bits, seed)?,
                    });
                }
                line.push((f64::from(bits), least));
            }
            if line.is_empty() {
                continue;
            }
            let of = |bits: u32| line.iter().find(|at| at.0 == f64::from(bits)).map(|at| at.1);
            let cells = lengths.map(|bits| number(of(bits), 3));
            table.row([format!("2^{log2_buckets}")].into_iter().chain(cells));
            plot = plot.line(format!("2^{log2_buckets} buckets"), line.clone());
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
    // That large tables need longer fingerprints shows in tables that are large. In small ones
    // chance decides, and the verdict would change with the seed.
    let by_size = ["the larger the table", "larger buckets"];
    for finding in &mut outcome.findings {
        if by_size.iter().any(|words| finding.claim.contains(words)) {
            *finding = finding.clone().if_decided(scale.decides, SMALL_TABLES);
        }
    }
    outcome.notes.push(format!(
        "Least of {} runs with the paper's placement (exclusive or) and walk (500 steps, back to \
         buckets too). Fingerprints of one to three bits in a table that is exactly as printed: the \
         library has no shorter ones than four bits. From 2^24 buckets on one run. 2^30 buckets only \
         with --full, b = 4, some lengths, and those for which there is memory.",
        scale.runs
    ));
    Ok(outcome)
}

fn findings(slots: u32, paper: f64, lines: &[Vec<(f64, f64)>]) -> [Finding; 2] {
    let long = lines.iter().flatten().filter(|at| at.0 > f64::from(ENOUGH_BITS));
    let least = long.map(|at| at.1).fold(1.0, f64::min);
    // With four bits or more: below that equal fingerprints decide at any size.
    let shortest =
        |line: &Vec<(f64, f64)>| Some(line.iter().find(|at| at.0 >= f64::from(FEWEST_BITS))?.1);
    let short: Vec<f64> = lines.iter().filter_map(shortest).collect();
    let lost = short.first().unwrap_or(&0.0) - short.last().unwrap_or(&0.0);
    let shown: Vec<String> = short.iter().map(|&load| number(load, 3)).collect();
    let larger = claim!("b = {slots}: the larger the table, the longer fingerprints must be (with \
         the shortest, the largest table is less full than the smallest by 1 % or more)";
        "loads {}", shown.join(", "); Holds::graded(lost >= 0.01, lost > 0.0));
    [
        claim!("b = {slots}: with more than {ENOUGH_BITS} bits at least {:.0} % are filled (within \
             1 %)", 100.0 * paper;
            "least {:.1} %", 100.0 * least; least >= paper - 0.01 => least),
        larger
            .because("sixteen places for equal fingerprints are enough at these sizes")
            .valued(lost),
    ]
}

fn larger_buckets(lengths: &[f64]) -> Finding {
    let shown: Vec<String> = lengths.iter().map(f64::to_string).collect();
    claim!("larger buckets need shorter fingerprints (to come within 1 % of the best load in the \
         largest table)";
        "b = 4 and 8: {} bits", shown.join(" and ");
        lengths.is_sorted_by(|shorter, longer| shorter > longer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_that_is_good_enough() {
        assert_eq!(shortest(&[(4.0, 0.5), (5.0, 0.945), (6.0, 0.95), (7.0, 0.949)]), 5.0);
    }

    #[test]
    fn every_power_has_an_uneven_neighbour() {
        assert_eq!(sizes(11).collect::<Vec<_>>(), [1024, 1403, 2048, 2805]);
    }
}
