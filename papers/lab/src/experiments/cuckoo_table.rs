//! How full a cuckoo hash table gets before it has to rehash everything.

use cuculus_papers::analysis::orientability_threshold;
use cuculus_papers::baselines::CuckooTable;

use crate::prelude::*;

pub(super) const LOADS: Experiment = Experiment::paper(
    ("cuckoo-table", "Load of a cuckoo hash table"),
    "How full does a cuckoo hash table of one or two parts with 1- to 8-way buckets get before a \
     rehash? (CF Fig. 1 and §2.2, thresholds as in CCF Theorem 4)",
    Chance::Seed,
    |settings| {
        let (keys, runs) = settings.pick((1 << 15, 5), (1 << 20, 4));
        loads(keys, runs, settings)
    },
);

const WAYS: std::ops::RangeInclusive<u32> = 1..=8;
/// What a table of finite size may be off a threshold for infinite ones.
const FINITE: f64 = 0.02;

fn load_at_rehash(tables: u32, ways: u32, keys: usize, seed: u64) -> anyhow::Result<f64> {
    let builder = CuckooTable::builder().capacity(keys).tables(tables).slots_per_bucket(ways);
    let mut table: CuckooTable<u64, ()> = builder.seed(seed).build()?;
    let slots = table.slots() as f64;
    for number in 0.. {
        let held = table.len();
        table.insert(nth_key(seed, number), ())?;
        if table.stats().rehashed > 0 {
            return Ok(held as f64 / slots);
        }
    }
    unreachable!("a table with a limit on kicks is full at some time")
}

fn loads(keys: usize, runs: u64, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let head = ["slots in a bucket", "one table", "least", "two tables", "least", "threshold"];
    let mut table = Table::new(head);
    let mut lines = [Vec::new(), Vec::new()];
    let mut thresholds = Vec::new();
    for ways in WAYS {
        (settings.progress)(&format!("buckets of {ways}"));
        let mut cells = vec![ways.to_string()];
        for (tables, line) in [1, 2].into_iter().zip(&mut lines) {
            let loads = (0..runs)
                .map(|run| load_at_rehash(tables, ways, keys, settings.seed.wrapping_add(run)))
                .collect::<anyhow::Result<Vec<f64>>>()?;
            let (mean, least) = (mean(&loads), range(loads.iter().copied()).0);
            line.push((f64::from(ways), mean));
            cells.extend([number(mean, 4), number(least, 4)]);
        }
        let threshold = orientability_threshold(2, ways);
        thresholds.push((f64::from(ways), threshold));
        cells.push(number(threshold, 4));
        table.row(cells);
    }
    let findings = findings(&lines, &thresholds);
    let [one, two] = lines;
    let (x, y) = (Axis::linear("slots in a bucket"), Axis::linear("load"));
    let plot = Plot::new("load when the first key finds no room", x, y)
        .line("one table", one)
        .line("two tables", two)
        .dashed("threshold", thresholds)
        .mark("0.5", 0.5)
        .mark("0.897", 0.897);
    Ok(Outcome::of(findings)
        .plot(plot)
        .table(format!("mean and least of {runs} tables for {keys} keys"), table)
        .note("A search for room opens at most 500 buckets."))
}

fn findings(lines: &[Vec<(f64, f64)>; 2], thresholds: &[(f64, f64)]) -> Vec<Finding> {
    let [one, two] = lines;
    let worst = |off: fn(f64, f64) -> f64, skip: usize| {
        let all = lines.iter().flat_map(|line| line.iter().zip(thresholds).skip(skip));
        all.map(|(at, threshold)| off(at.1, threshold.1)).fold(f64::MIN, f64::max)
    };
    let (short, beyond) =
        (worst(|load, limit| limit - load, 1), worst(|load, limit| load - limit, 1));
    let gap = one.iter().zip(two).map(|(one, two)| (one.1 - two.1).abs()).fold(0.0, f64::max);
    let findings = [
        claim!("four-way buckets use more of the table than single slots: at least 95 % against \
             about half";
            "one slot {:.3} and {:.3}, four {:.3} and {:.3} (one and two tables)", one[0].1,
            two[0].1, one[3].1, two[3].1;
            [one, two].iter().all(|line| line[3].1 >= 0.95 && (line[0].1 - 0.5).abs() < 0.1)
            => one[3].1),
        claim!("from two slots on the load is within {FINITE} of the threshold";
            "at most {short:.3} short of it and {:.3} beyond", beyond.max(0.0);
            short <= FINITE && beyond <= FINITE => short),
        claim!("one table is as good as two (means within {FINITE})";
            "at most {gap:.3} apart"; gap <= FINITE => gap),
    ];
    let reasons = [
        "with one slot the threshold of a half is not sharp: the first cycle too many may come \
         earlier or later",
        "a search of 500 buckets gives up a little before the threshold",
        "",
    ];
    findings.into_iter().zip(reasons).map(|(finding, why)| finding.because(why)).collect()
}
