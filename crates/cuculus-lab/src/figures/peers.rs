//! Our filters beside the crates that a user of Rust would find: those of fixed size, and those
//! that grow.

use super::cf_judge::{because, for_all};
use super::{Figure, Outcome, Settings, Size};
use crate::growing::{self, FIRST, Grown, Waits};
use crate::heap::Mark;
use crate::keys::Workload;
use crate::speed::{self, Phase, Row};
use cuculus_page::table::{Table, number, percent};
use cuculus_page::{Axis, Finding, Holds, Plot, Shape};

pub(super) const FIXED: Figure = Figure {
    name: "peers",
    title: "Beside crates of fixed size",
    question: "How do our filters compare with the crates that one would pick, for the same keys \
               and rate? (the columns of CF Table 3)",
    run: |settings| {
        let (keys, rounds) =
            if settings.size == Size::Quick { (1_000_000, 3) } else { (16_000_000, 4) };
        fixed(keys, rounds, settings)
    },
};

pub(super) const GROWING: Figure = Figure {
    name: "peers-growing",
    title: "Beside crates that grow",
    question: "Which filters grow from a thousand keys and keep their rate, their keys and their \
               caller's time? (what DCF Figs. 10-17 ask)",
    run: |settings| {
        let (keys, rounds) =
            if settings.size == Size::Quick { (1_000_000, 1) } else { (16_000_000, 2) };
        growing(keys, rounds, settings)
    },
};

const FIXED_RATE: f64 = 0.001;
const GROWING_RATE: f64 = 0.01;
/// Longer than this, and a caller notices.
const LONG_WAIT_NS: u32 = 1_000_000;
/// A rate is measured with so many questions, so it may be off by chance.
const QUESTIONS: usize = 1 << 21;

fn memory_is_counted() -> anyhow::Result<()> {
    anyhow::ensure!(Mark::now().is_some(), "this program does not count its memory");
    Ok(())
}

/// Bits a key over what no filter can do without at its measured rate.
fn overhead(row: &Row) -> f64 {
    row.bits_per_key / -row.false_positive_rate.log2()
}

fn fixed(keys: usize, rounds: usize, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    memory_is_counted()?;
    let work = Workload::<u64>::new(settings.seed, keys, QUESTIONS.max(keys / 4));
    let rows = speed::side_by_side(&work, FIXED_RATE, rounds, settings.progress)?;
    let phases =
        [Phase::Build, Phase::Present, Phase::Absent, Phase::PresentBatched, Phase::Delete];
    let head = ["filter", "bits/key", "FPR %", "over the bound"];
    let errors = ["refused", "false neg", "lost"];
    let phase_names = phases.iter().map(|phase| phase.name());
    let mut table = Table::new(head.into_iter().chain(phase_names).chain(errors));
    let mut space = Plot::new(
        "space by the measured rate",
        Axis::logarithmic("false positive rate"),
        Axis::from_zero("bits a key"),
    );
    let mut time = Plot::new(
        "lookups by space",
        Axis::from_zero("bits a key"),
        Axis::from_zero("million hits a second"),
    );
    for row in &rows {
        let known = [
            row.label.clone(),
            number(Some(row.bits_per_key), 2),
            percent(row.false_positive_rate, 4),
            number(Some(overhead(row)), 2),
        ];
        let speeds = phases.iter().map(|&phase| number(row.speeds.get(phase), 1));
        let errors = [row.refused, row.false_negatives, row.lost].map(|count| count.to_string());
        table.row(known.into_iter().chain(speeds).chain(errors));
        let at = (row.false_positive_rate, row.bits_per_key);
        space = space.series(row.name, Shape::Dots, [at]);
        let hits = row.speeds.get(Phase::Present).unwrap_or(0.0);
        time = time.series(row.name, Shape::Dots, [(row.bits_per_key, hits)]);
    }
    let rates = (4..=17).map(|bits| (f64::from(-bits).exp2(), f64::from(bits)));
    space = space.series("lower bound, log2(1/ε)", Shape::Dashed, rates);
    Ok(Outcome {
        findings: fixed_findings(&rows),
        plots: vec![space, time],
        tables: vec![(format!("{keys} keys, {} %", 100.0 * FIXED_RATE), table)],
        notes: vec![format!(
            "Millions of operations a second on one thread, hashing included, the best of {rounds} \
             rounds in which every filter has its turn. Bits are counted by the allocator. Each \
             crate is used as its documentation shows first. The elastic filter is told no size \
             and builds by growing. Lost keys could not be removed, or were gone after others \
             were."
        )],
    })
}

fn fixed_findings(rows: &[Row]) -> Vec<Finding> {
    let Some((ours, rest)) = rows.split_first() else { return Vec::new() };
    let peers: Vec<&Row> = rest.iter().filter(|row| !row.name.starts_with(ours.name)).collect();
    let deletes = |row: &&&Row| row.speeds.get(Phase::Delete).is_some();
    let ahead = |claim: &str, peers: Vec<&&Row>, better: &dyn Fn(&Row) -> bool| {
        let behind: Vec<&str> =
            peers.iter().filter(|row| !better(row)).map(|row| row.name).collect();
        Finding {
            claim: claim.to_owned(),
            measured: match behind.is_empty() {
                true => format!("all {}", peers.len()),
                false => format!("not {}", behind.join(", ")),
            },
            holds: for_all(peers.len() - behind.len(), peers.len()),
            reason: String::new(),
        }
    };
    let faster = |phase: Phase| {
        move |row: &Row| {
            ours.speeds.get(phase).unwrap_or(0.0) > row.speeds.get(phase).unwrap_or(0.0)
        }
    };
    let deleting = || peers.iter().filter(deletes).collect::<Vec<_>>();
    let kept = |row: &Row| row.refused + row.false_negatives + row.lost == 0;
    let own: Vec<&Row> = rows.iter().filter(|row| row.name.starts_with(ours.name)).collect();
    vec![
        ahead("our filters refuse, lose and forget no key", own.iter().collect(), &kept),
        ahead("our filters keep the rate that was asked for", own.iter().collect(), &|row| {
            row.false_positive_rate <= FIXED_RATE
        }),
        because(
            ahead(
                "fewer bits over the lower bound than every crate that deletes",
                deleting(),
                &|row| overhead(ours) < overhead(row),
            ),
            "a number of keys just below a power of two suits crates that round up to one",
        ),
        ahead("hits faster than every crate that deletes", deleting(), &faster(Phase::Present)),
        ahead("misses faster than every crate that deletes", deleting(), &faster(Phase::Absent)),
        ahead("builds faster than every crate that deletes", deleting(), &faster(Phase::Build)),
        ahead("deletes faster than every crate", deleting(), &faster(Phase::Delete)),
    ]
}

fn growing(keys: usize, rounds: usize, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    memory_is_counted()?;
    let work = Workload::<u64>::new(settings.seed, keys, QUESTIONS);
    let growers = growing::growers();
    let case = growing::measure(&growers, &work, GROWING_RATE, rounds, settings.progress)?;
    let mut bits = Plot::new(
        "bits a key while the set grows",
        Axis::logarithmic("keys"),
        Axis::logarithmic("bits a key"),
    );
    let mut waits = Plot::new(
        "the longest insertion by space",
        Axis::from_zero("bits a key"),
        Axis::logarithmic("microseconds"),
    )
    .mark("1 ms", f64::from(LONG_WAIT_NS) / 1000.0);
    for row in &case.rows {
        let Some(of) = &row.waits else { continue };
        // Below some thousand keys, what a filter begins with is all that shows.
        let course = of.bits.iter().filter(|at| at.0 >= 4 * FIRST).map(|at| (at.0 as f64, at.1));
        bits = bits.series(row.name, Shape::Line, course);
        let longest = f64::from(of.least.max) / 1000.0;
        waits = waits.series(row.name, Shape::Dots, [(row.bits_per_key, longest)]);
    }
    Ok(Outcome {
        findings: case.rows.iter().map(keeps_its_word).collect(),
        plots: vec![bits, waits],
        tables: vec![(
            format!("from {FIRST} to {keys} keys at {} %, then half removed", 100.0 * GROWING_RATE),
            growing::table(&case),
        )],
        notes: vec![
            "Millions of operations a second. Bits are counted by the allocator. The longest \
             insertion is the shorter time of two runs, which leaves out most of the machine's own \
             pauses; `as timed` is that of one run. The consistent filter is left out: a ring for \
             so many keys would take several times the memory of all others; it is in ccf-trace."
                .to_owned(),
        ],
    })
}

/// What a filter that grows owes its user.
fn keeps_its_word(row: &Grown) -> Finding {
    // Three standard deviations of what chance does to the measurement.
    let chance = 3.0 * (GROWING_RATE / QUESTIONS as f64).sqrt();
    let longest = row.waits.as_ref().map_or(0, |waits: &Waits| waits.least.max);
    let lost = row.refused + row.false_negatives + row.not_removed + row.lost;
    let kept = [
        row.false_positive_rate <= GROWING_RATE + chance,
        lost == 0,
        longest <= LONG_WAIT_NS,
        row.bytes_left <= 0.75,
    ];
    let count = kept.iter().filter(|&&kept| kept).count();
    Finding {
        claim: format!(
            "{}: keeps the rate, loses no key, no insertion takes over 1 ms, and a quarter of the \
             memory or more comes back with half of the keys",
            row.label
        ),
        measured: format!(
            "{} %, {lost} keys lost, longest {:.2} ms, {} % of the memory left",
            percent(row.false_positive_rate, 3),
            f64::from(longest) / 1e6,
            percent(row.bytes_left, 0)
        ),
        holds: match count {
            4 => Holds::Yes,
            0 => Holds::No,
            _ => Holds::Partly,
        },
        reason: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Summary;

    #[test]
    fn a_filter_that_keeps_all_but_one_keeps_in_part() {
        let waits =
            |max| Some(Waits { least: Summary { max, ..Summary::default() }, ..Waits::default() });
        let good = Grown {
            false_positive_rate: GROWING_RATE,
            bytes_left: 0.5,
            waits: waits(1000),
            ..Grown::default()
        };
        assert_eq!(keeps_its_word(&good).holds, Holds::Yes);
        let slow = Grown { waits: waits(2_000_000), ..good.clone() };
        assert_eq!(keeps_its_word(&slow).holds, Holds::Partly);
        let bad = Grown { lost: 1, bytes_left: 1.0, false_positive_rate: 0.02, ..slow };
        assert_eq!(keeps_its_word(&bad).holds, Holds::No);
    }

    #[test]
    fn those_that_are_not_beaten_are_named() {
        let row = |name, bits_per_key| Row {
            name,
            bits_per_key,
            false_positive_rate: 0.001,
            ..Row::default()
        };
        let mut rows = vec![row("cuculus", 13.0), row("slow", 14.0), row("fast", 12.0)];
        for (row, mops) in rows.iter_mut().zip([10.0, 5.0, 20.0]) {
            for phase in [Phase::Build, Phase::Present, Phase::Absent, Phase::Delete] {
                row.speeds.keep_best(phase, mops);
            }
        }
        let findings = fixed_findings(&rows);
        assert_eq!(findings[0].holds, Holds::Yes);
        assert!(findings[2..].iter().all(|finding| finding.holds == Holds::Partly));
        assert!(findings[2..].iter().all(|finding| finding.measured == "not fast"));
    }
}
