//! Table 3 of the Cuckoo Filter paper: what the same memory holds in each filter, at which error,
//! and how fast it is filled.

use anyhow::ensure;

use super::cf_filters::{
    ELASTIC_RATE, IN_CACHES, Kind, PAPER_LOG2_BUCKETS, false_positive_rate, fill,
};
use crate::prelude::*;
use crate::subject::Subject;

pub(super) const TABLE3: Experiment = Experiment::paper(
    ("cf-table3", "What 192 MB hold"),
    "How many items, bits per item, false positives and insertions per second do filters of equal \
     memory have? (CF Table 3)",
    Chance::Clock,
    |settings| {
        let (log2_buckets, rounds, lookups) =
            settings.pick((PAPER_LOG2_BUCKETS - 6, 2, 1 << 22), (PAPER_LOG2_BUCKETS, 1, 1 << 24));
        let log2_buckets = settings.value(choices::LOG2_BUCKETS, log2_buckets)?;
        let rounds = settings.value(choices::ROUNDS, rounds)?.max(1);
        ensure!(log2_buckets <= PAPER_LOG2_BUCKETS, "--log2-buckets: at most the paper's 25");
        table3(&Scale { log2_buckets, rounds, lookups }, settings)
    },
)
.with(&[choices::LOG2_BUCKETS, choices::ROUNDS]);

/// From this size on one seed is enough.
const LARGE_LOG2: u32 = 24;

/// How large, and how often filters are filled; the fastest counts.
struct Scale {
    log2_buckets: u32,
    rounds: u32,
    lookups: u64,
}

/// A column of the paper's table.
pub(super) struct Paper {
    items: f64,
    pub(super) bits: f64,
    pub(super) rate: f64,
    mops: f64,
}

pub(super) const CUCKOO: Paper = Paper { items: 127.78e6, bits: 12.60, rate: 0.0019, mops: 5.00 };
pub(super) const SEMI_SORTED: Paper =
    Paper { items: 128.04e6, bits: 12.58, rate: 0.0009, mops: 3.13 };
pub(super) const BLOOM: Paper = Paper { items: 123.89e6, bits: 13.00, rate: 0.0019, mops: 3.91 };
pub(super) const BLOCKED: Paper = Paper { items: 123.89e6, bits: 13.00, rate: 0.0043, mops: 7.64 };
const QUOTIENT: Paper = Paper { items: 120.80e6, bits: 13.33, rate: 0.0018, mops: 1.91 };
const DLEFT: Paper = Paper { items: 103.82e6, bits: 15.51, rate: 0.0076, mops: 4.78 };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// When it refuses a key, as the paper has it for filters that do.
    Refusal,
    /// When it holds what is planned.
    Planned,
}

struct Row {
    kind: Kind,
    stop: Stop,
    /// Not of a filter that the paper does not have.
    paper: Option<Paper>,
    /// How far the figures may be from the paper's.
    tolerance: f64,
    /// Why they are, where they are.
    reason: &'static str,
}

const SEARCH: &str = "an insertion fails later here than the paper's did, with 500 kicks as well: \
                      more items in the same memory, and more entries to match";
const FIELDS: &str = "the bits of a key within its block are chosen by independent fields of the \
                      hash; derived from two numbers, as usual at the time, they repeat patterns \
                      in a block of 512 bits, and the rate is the paper's (next line)";
const DIVISION: &str = "the paper does not say how the twelve bits of a cell are divided into \
                        remainder and counter; its rate is between the two divisions";

const ROWS: [Row; 10] = [
    Row::new(Kind::Printed { semi_sorted: false }, Stop::Refusal, CUCKOO, 0.03, SEARCH),
    Row::new(Kind::Cuckoo, Stop::Planned, CUCKOO, 0.03, ""),
    Row::new(Kind::Printed { semi_sorted: true }, Stop::Refusal, SEMI_SORTED, 0.03, SEARCH),
    Row::new(Kind::SemiSorted, Stop::Planned, SEMI_SORTED, 0.03, ""),
    Row::new(Kind::Bloom, Stop::Planned, BLOOM, 0.03, ""),
    Row::new(Kind::Blocked, Stop::Planned, BLOCKED, 0.10, FIELDS),
    Row::new(Kind::Quotient, Stop::Planned, QUOTIENT, 0.10, ""),
    Row::new(Kind::Dleft { counter_bits: 1 }, Stop::Refusal, DLEFT, 0.10, DIVISION),
    Row::new(Kind::Dleft { counter_bits: 2 }, Stop::Refusal, DLEFT, 0.10, DIVISION),
    Row { kind: Kind::Elastic, stop: Stop::Planned, paper: None, tolerance: 0.0, reason: "" },
];

struct Measured {
    items: usize,
    bits_per_item: f64,
    rate: f64,
    mops: f64,
}

impl Row {
    const fn new(
        kind: Kind,
        stop: Stop,
        paper: Paper,
        tolerance: f64,
        reason: &'static str,
    ) -> Self {
        Self { kind, stop, paper: Some(paper), tolerance, reason }
    }

    fn name(&self) -> String {
        let stop = match (self.stop, self.kind) {
            (Stop::Refusal, _) => ", first refusal",
            (Stop::Planned, Kind::Cuckoo | Kind::SemiSorted) => ", 95 %",
            (Stop::Planned, _) => "",
        };
        format!("{}{stop}", self.kind.name())
    }

    /// Fills it once in each round.
    fn measure(&self, scale: &Scale, seed: u64, rounds: u32) -> anyhow::Result<Measured> {
        let buckets = 1u64 << scale.log2_buckets;
        let most = match self.stop {
            Stop::Refusal => u64::MAX,
            Stop::Planned => self.kind.capacity(buckets),
        };
        let mut speed = 0.0f64;
        let mut last: Option<Box<dyn Subject>> = None;
        for _ in 0..rounds {
            // The last filter goes before the next one comes: there may be room for one only.
            drop(last.take());
            let mut contender = self.kind.empty(buckets, seed)?;
            let time = fill(&mut *contender, seed, 0..most);
            speed = speed.max(mops(contender.held(), time));
            last = Some(contender);
        }
        let contender = last.ok_or_else(|| anyhow::anyhow!("no rounds"))?;
        let items = contender.held();
        let full = self.stop == Stop::Refusal || items as u64 == most;
        anyhow::ensure!(full, "{} refused a key after {items}", self.name());
        Ok(Measured {
            items,
            bits_per_item: contender.bits_per_key(),
            rate: false_positive_rate(&*contender, seed, scale.lookups),
            mops: speed,
        })
    }

    /// Of the paper's bits and rate, or of the rate that it was built for.
    fn judge(&self, ours: &Measured) -> Finding {
        let Some(paper) = &self.paper else {
            return claim!("{}: keeps the rate that it was built for, {} %", self.name(),
                percent(ELASTIC_RATE, 2);
                "{} % in {:.2} bits per item", percent(ours.rate, 4), ours.bits_per_item;
                ours.rate <= ELASTIC_RATE => ours.rate)
            .of(Claimant::Ours);
        };
        let bits = off(ours.bits_per_item, paper.bits, 0.005);
        let rate = off(ours.rate, paper.rate, 0.00005);
        let kept = [bits, rate].iter().filter(|&&off| off.abs() <= self.tolerance).count();
        let holds = Holds::in_cases(kept, 2);
        claim!("{}: {:.2} bits per item and a rate of {} %, within {:.0} % of what is printed",
            self.name(), paper.bits, percent(paper.rate, 2), 100.0 * self.tolerance;
            "{:.2} bits ({:+.1} %), {} % ({:+.1} %)", ours.bits_per_item, 100.0 * bits,
            percent(ours.rate, 4), 100.0 * rate; holds => ours.rate;
            self.reason)
    }
}

/// How far a value is from a printed one, as a share of it; a printed value stands for all that
/// are rounded to it.
fn off(value: f64, printed: f64, rounding: f64) -> f64 {
    let nearest = value.clamp(printed - rounding, printed + rounding);
    (value - nearest) / printed
}

fn table3(scale: &Scale, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let mut rows = Vec::new();
    let mut findings = Vec::new();
    let mut speeds = Vec::new();
    let seeds = if scale.log2_buckets >= LARGE_LOG2 { 1 } else { settings.seeds.max(1) };
    let other_seeds = || (1..seeds).map(|number| settings.seed.wrapping_add(number));
    for row in &ROWS {
        (settings.progress)(&row.name());
        let ours = row.measure(scale, settings.seed, scale.rounds)?;
        // Bits and rates are left to chance, and are judged with every seed.
        let mut judged = vec![row.judge(&ours)];
        for seed in other_seeds() {
            judged.push(row.judge(&row.measure(scale, seed, 1)?));
        }
        findings.extend(Finding::over_seeds(&judged));
        if row.kind == Kind::Blocked {
            let judged: Vec<Finding> = [settings.seed]
                .into_iter()
                .chain(other_seeds())
                .map(blocked_by_two_numbers)
                .collect();
            findings.extend(Finding::over_seeds(&judged));
        }
        if row.kind != Kind::Cuckoo || row.stop == Stop::Planned {
            speeds.push((row.kind, ours.mops));
        }
        rows.push((row, ours));
    }
    let scaled = f64::from(PAPER_LOG2_BUCKETS - scale.log2_buckets).exp2();
    let paper = |row: &Row, of: fn(&Paper) -> f64| row.paper.as_ref().map(of);
    let table = table!(&rows, |(row, ours)| {
        "filter": row.name();
        "items (M)": number(ours.items as f64 / 1e6, 3);
        "paper": number(paper(row, |of| of.items).map(|it| it / scaled / 1e6), 3);
        "bits/item": number(ours.bits_per_item, 2);
        "paper": number(paper(row, |of| of.bits), 2);
        "FPR %": percent(ours.rate, 4);
        "paper": number(paper(row, |of| 100.0 * of.rate), 2);
        "build Mops": number(ours.mops, 2);
        "paper": number(paper(row, |of| of.mops), 2);
    });
    let decides = scale.log2_buckets >= PAPER_LOG2_BUCKETS;
    findings.push(fastest_but_blocked(&speeds).if_decided(decides, IN_CACHES).timed());
    let megabytes = (12u64 << scale.log2_buckets >> 1) as f64 / f64::from(1 << 20);
    Ok(Outcome::of(findings)
        .table(
            format!(
                "{megabytes} MiB each; the paper's numbers of items scaled to that, its speeds \
                 are those of its machine"
            ),
            table,
        )
        .note(format!(
            "The table is of the first seed. Bits and rates are judged over {seeds} seeds; with \
             2^{LARGE_LOG2} buckets or more over one: such filters hardly differ."
        )))
}

/// The paper's blocked filter as it probably was: the nine bits of a key in its block are
/// a + i·b, b odd.
fn blocked_by_two_numbers(seed: u64) -> Finding {
    const BLOCKS: usize = 1 << 16;
    const QUESTIONS: u32 = 1 << 22;
    type Block = [u64; 8];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut key = || {
        let hash = random.u64(..);
        let (first, step) = (hash as u32, (hash >> 32) as u32 | 1);
        let mut mask: Block = [0; 8];
        for i in 0..9 {
            let bit = first.wrapping_add(step.wrapping_mul(i)) as usize % 512;
            mask[bit / 64] |= 1 << (bit % 64);
        }
        (random.usize(..BLOCKS), mask)
    };
    let mut blocks = vec![[0u64; 8]; BLOCKS];
    for _ in 0..BLOCKS * 512 / 13 {
        let (at, mask) = key();
        blocks[at].iter_mut().zip(mask).for_each(|(word, bits)| *word |= bits);
    }
    let found = (0..QUESTIONS)
        .map(|_| key())
        .filter(|(at, mask)| blocks[*at].iter().zip(mask).all(|(word, bits)| word & bits == *bits));
    let rate = found.count() as f64 / f64::from(QUESTIONS);
    claim!("blk-BF whose nine bits come from two numbers: a rate of {} %, within 3 % of what is \
         printed", percent(BLOCKED.rate, 2);
        "{} %", percent(rate, 4); off(rate, BLOCKED.rate, 0.00005).abs() <= 0.03 => rate)
}

fn fastest_but_blocked(speeds: &[(Kind, f64)]) -> Finding {
    let of = |wanted: Kind| speeds.iter().find(|(kind, _)| *kind == wanted).map_or(0.0, |at| at.1);
    let others = speeds.iter().filter(|(kind, _)| {
        !matches!(kind, Kind::Cuckoo | Kind::Printed { .. } | Kind::Blocked | Kind::Elastic)
    });
    let ours = of(Kind::Cuckoo);
    let (held, all) =
        others.clone().fold((0, 0), |(held, all), at| (held + usize::from(ours > at.1), all + 1));
    let faster: Vec<String> = others
        .filter(|at| at.1 >= ours)
        .map(|(kind, mops)| format!("{} {mops:.1}", kind.name()))
        .collect();
    claim!("filling the CF (to 95 %) is faster than all others but the blocked Bloom filter";
        "CF {ours:.1}, blk-BF {:.1} million per second; faster than CF: {}", of(Kind::Blocked),
        if faster.is_empty() { "none of the others".to_owned() } else { faster.join(", ") };
        Holds::in_cases(held, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_value_stands_for_all_that_round_to_it() {
        assert_eq!(off(0.00094, 0.0009, 0.00005), 0.0);
        assert!((off(0.00099, 0.0009, 0.00005) - 0.04 / 0.9).abs() < 1e-9);
        assert!((off(12.0, 12.6, 0.0) + 0.6 / 12.6).abs() < 1e-9);
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let at = |rate, bits_per_item| Measured { items: 1, bits_per_item, rate, mops: 1.0 };
        assert_eq!(ROWS[0].judge(&at(0.00189, 12.5)).holds, Holds::Yes);
        let partly = ROWS[0].judge(&at(0.00189, 12.0));
        assert_eq!((partly.holds, partly.reason.as_str()), (Holds::Partly, SEARCH));
        assert_eq!(ROWS[1].judge(&at(0.0025, 14.0)).holds, Holds::No);
        let speeds = [(Kind::Cuckoo, 5.0), (Kind::Blocked, 7.0), (Kind::Bloom, 4.0)];
        assert_eq!(fastest_but_blocked(&speeds).holds, Holds::Yes);
    }
}
