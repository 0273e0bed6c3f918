//! Filters that grow, side by side: all start with room for 1,024 keys and take many more, of which
//! half are then removed.

use super::speed::memory_is_counted;
use crate::candidate::{self, CUCKOO, Candidate};
use crate::heap::Mark;
use crate::pauses::{Pauses, Waits};
use crate::peers;
use crate::prelude::*;

pub(super) const GROWING: Experiment = Experiment::ours(
    ("growing", "Beside crates that grow"),
    "Which filters grow from a thousand keys and keep their rate, their keys and their caller's \
     time? (what DCF Figs. 10-17 ask)",
    Chance::Clock,
    run,
)
.with(&[choices::ITEMS, choices::FPR, choices::ROUNDS, choices::QUERIES, choices::ONLY]);

/// The keys that every filter has room for at first.
const FIRST: usize = 1024;
/// Longer than this, and a caller notices.
const LONG_WAIT_NS: u32 = 1_000_000;
/// How often memory is looked at while the number of keys doubles.
const LOOKS_PER_DOUBLING: f64 = 8.0;

#[derive(Clone, Debug, Default, PartialEq)]
struct Grown {
    name: &'static str,
    label: String,
    /// All memory by the allocator's count, over the keys.
    bits_per_key: f64,
    false_positive_rate: f64,
    queries: usize,
    /// Insertions with growth, hits, misses and removals, in millions per second.
    mops: [f64; 4],
    refused: usize,
    false_negatives: usize,
    not_removed: usize,
    /// Keys that are gone after others were removed.
    lost: usize,
    /// Memory after half of the keys were removed, over what it was.
    bytes_left: f64,
    /// How long single insertions take.
    waits: Waits,
    /// Numbers of keys, and the bits per key there.
    bits: Growth,
}

type Growth = Vec<(usize, f64)>;

impl Grown {
    /// The better speeds of two rounds; what is not a speed is the same in both, or nearly.
    fn best(&self, other: &Self) -> Self {
        let mops = std::array::from_fn(|at| self.mops[at].max(other.mops[at]));
        Self { mops, ..self.clone() }
    }

    /// Keys that were taken and not kept.
    fn not_kept(&self) -> usize {
        self.false_negatives + self.not_removed + self.lost
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    memory_is_counted()?;
    let items = settings.pick(&[1_000_000][..], &[16_000_000]);
    let rates = settings.list(choices::FPR, settings.pick(&[0.01][..], &[0.01, 0.001]))?;
    let rounds = settings.value(choices::ROUNDS, settings.pick(1, 2))?.max(1);
    let queries = settings.value(choices::QUERIES, settings.pick(1 << 21, 4_000_000))?.max(1);
    // Ours first, the elastic one before the list.
    let ours = [candidate::elastic(), candidate::dynamic()];
    let mut candidates: Vec<_> = ours.into_iter().chain(peers::growing()).collect();
    candidates.retain(|candidate| settings.wants(&candidate.label()));
    let mut outcome = Outcome::default();
    for items in settings.list(choices::ITEMS, items)? {
        let work = Workload::new(settings.seed, items.max(1), queries);
        for &rate in &rates {
            let rows = measure(&candidates, &work, rate, rounds, settings)?;
            let name = format!("{items} keys, {} %", 100.0 * rate);
            outcome.findings.extend(rows.iter().map(|row| promises(row, &name, rate)));
            outcome.findings.extend(beside(&rows, &name, rate));
            outcome.plots.extend(plots(&rows, &name));
            outcome.tables.push((format!("from {FIRST} to {name}; half removed"), table(&rows)));
            let elastic = rows.iter().filter(|row| row.name == candidate::ELASTIC);
            outcome.wrong_answers += elastic.map(|row| row.refused + row.not_kept()).sum::<usize>();
        }
    }
    outcome.notes.push(format!(
        "Millions of operations per second, one thread, best of {rounds}. Bits are counted by the \
         allocator. The longest insertion is the shorter time of two runs, which leaves out most \
         of the machine's own pauses; `as timed` is that of one run. The consistent filter is left \
         out: a ring for this many keys would take several times the memory of all others; it is \
         in ccf-trace."
    ));
    Ok(outcome)
}

/// Every filter in turn within a round, so that a slow minute hits all alike.
fn measure(
    candidates: &[Candidate],
    work: &Workload,
    rate: f64,
    rounds: usize,
    settings: &Settings<'_>,
) -> anyhow::Result<Vec<Grown>> {
    let mut rows: Vec<Option<Grown>> = vec![None; candidates.len()];
    let told = |part: &str, of: &Candidate| {
        (settings.progress)(&format!("{} %, {part}: {}", 100.0 * rate, of.label()));
    };
    for round in 1..=rounds {
        for (candidate, row) in candidates.iter().zip(&mut rows) {
            told(&format!("round {round} of {rounds}"), candidate);
            let grown = grow(candidate, work, rate)?;
            *row = Some(row.take().map_or_else(|| grown.clone(), |best| best.best(&grown)));
        }
    }
    for (candidate, row) in candidates.iter().zip(rows.iter_mut().flatten()) {
        told("single insertions", candidate);
        (row.waits, row.bits) = waits(candidate, work, rate)?;
    }
    Ok(rows.into_iter().flatten().collect())
}

fn grow(candidate: &Candidate, work: &Workload, rate: f64) -> anyhow::Result<Grown> {
    let keys = &work.keys;
    let mark = Mark::now();
    let mut filter = candidate.start(FIRST, keys.len(), rate)?;
    let (insert_time, refused) = timed(|| filter.insert_all(keys).len());
    let bytes = mark.map_or(0, Mark::held);
    let false_negatives = (keys.len() - refused).saturating_sub(filter.count(keys));
    let (hit_time, _) = timed(|| filter.count(&work.present));
    let (miss_time, found) = timed(|| filter.count(&work.absent));
    let (removed, kept) = work.shuffled.split_at(keys.len() / 2);
    let (remove_time, gone) = timed(|| filter.remove_all(removed).unwrap_or(0));
    Ok(Grown {
        name: candidate.name,
        label: candidate.label(),
        bits_per_key: bytes as f64 * 8.0 / keys.len() as f64,
        false_positive_rate: found as f64 / work.absent.len() as f64,
        queries: work.absent.len(),
        mops: [
            mops(keys.len(), insert_time),
            mops(work.present.len(), hit_time),
            mops(work.absent.len(), miss_time),
            mops(removed.len(), remove_time),
        ],
        refused,
        false_negatives,
        not_removed: removed.len() - gone,
        lost: kept.len() - filter.count(kept),
        bytes_left: mark.map_or(0, Mark::held) as f64 / bytes as f64,
        waits: Waits::default(),
        bits: Vec::new(),
    })
}

/// Peers that relocate at random do not do the same twice, but they grow at the same places, and
/// the long waits are there.
fn waits(candidate: &Candidate, work: &Workload, rate: f64) -> anyhow::Result<(Waits, Growth)> {
    let run = || -> anyhow::Result<(Pauses, Growth)> {
        let mut pauses = Pauses::with_capacity(work.keys.len());
        let mut bits = Vec::with_capacity(usize::BITS as usize * LOOKS_PER_DOUBLING as usize);
        let mut next_look = FIRST as f64;
        let mark = Mark::now();
        let mut filter = candidate.start(FIRST, work.keys.len(), rate)?;
        for (held, key) in (1..).zip(&work.keys) {
            pauses.time(|| filter.insert(key));
            if held as f64 >= next_look {
                bits.push((held, mark.map_or(0, Mark::held) as f64 * 8.0 / held as f64));
                next_look *= (1.0 / LOOKS_PER_DOUBLING).exp2();
            }
        }
        Ok((pauses, bits))
    };
    let ((first, bits), (second, _)) = (run()?, run()?);
    Ok((Waits::of(&first, &second), bits))
}

fn table(rows: &[Grown]) -> Table {
    let microseconds = |wait: u32| number(f64::from(wait) / 1000.0, 1);
    table!(rows, |row| {
        "filter": row.label.clone();
        "insert": number(row.mops[0], 2);
        "hit": number(row.mops[1], 2);
        "miss": number(row.mops[2], 2);
        "remove": number(row.mops[3], 2);
        "bits/key": number(row.bits_per_key, 2);
        "FPR %": percent(row.false_positive_rate, 4);
        "refused": row.refused.to_string();
        "false neg": row.false_negatives.to_string();
        "not removed": row.not_removed.to_string();
        "lost": row.lost.to_string();
        "bytes left %": percent(row.bytes_left, 1);
        "p99.99 µs": microseconds(row.waits.least.p9999);
        "longest µs": microseconds(row.waits.least.max);
        "as timed": microseconds(row.waits.raw.max);
    })
}

fn plots(rows: &[Grown], name: &str) -> [Plot; 2] {
    let (x, y) = (Axis::logarithmic("keys"), Axis::logarithmic("bits per key"));
    let mut bits = Plot::new(format!("bits per key while the set grows: {name}"), x, y);
    let (x, y) = (Axis::from_zero("bits per key"), Axis::logarithmic("microseconds"));
    let mut waits = Plot::new(format!("the longest insertion by space: {name}"), x, y)
        .mark("1 ms", f64::from(LONG_WAIT_NS) / 1000.0);
    for row in rows {
        // Below some thousand keys, what a filter begins with is all that shows.
        let seen = row.bits.iter().filter(|at| at.0 >= 4 * FIRST);
        bits = bits.line(row.name, seen.map(|at| (at.0 as f64, at.1)));
        let longest = f64::from(row.waits.least.max) / 1000.0;
        waits = waits.dots(row.name, [(row.bits_per_key, longest)]);
    }
    [bits, waits]
}

/// What a filter that grows owes its user.
fn promises(row: &Grown, name: &str, rate: f64) -> Finding {
    // Three standard deviations of what chance does to the measurement.
    let chance = 3.0 * (rate / row.queries.max(1) as f64).sqrt();
    let longest = row.waits.least.max;
    let lost = row.refused + row.not_kept();
    let kept = [
        row.false_positive_rate <= rate + chance,
        lost == 0,
        longest <= LONG_WAIT_NS,
        row.bytes_left <= 0.75,
    ];
    claim!("{name}, {}: keeps the rate, loses no key, no insertion takes over 1 ms, and a quarter \
         of the memory or more is freed with half of the keys", row.label;
        "{} %, {lost} keys lost, longest {:.2} ms, {} % of the memory left",
        percent(row.false_positive_rate, 3), f64::from(longest) / 1e6, percent(row.bytes_left, 0);
        Holds::in_cases(kept.iter().filter(|&&kept| kept).count(), kept.len()))
    .of(if row.name.starts_with(CUCKOO) { Claimant::Ours } else { Claimant::Others })
}

/// The elastic filter against each of the others: lookups, bits and kept keys.
fn beside(rows: &[Grown], name: &str, rate: f64) -> Vec<Finding> {
    let Some((ours, others)) = rows.split_first() else { return Vec::new() };
    let of_other = |other: &Grown| {
        let claim = |text: &str| format!("{name}, {}: {text} {},", ours.name, other.name);
        let [_, hit, miss, _] = std::array::from_fn(|at| ours.mops[at] / other.mops[at]);
        [
            Finding::at_least(claim("hits over those of"), hit, 1.0),
            Finding::at_least(claim("misses over those of"), miss, 1.0),
            fewer_bits(&claim("bits at no higher rate, over those of"), ours, other, rate),
            Finding::at_most(
                claim("keys not kept, against"),
                ours.not_kept() as f64,
                other.not_kept() as f64,
            ),
        ]
    };
    others.iter().flat_map(of_other).collect()
}

/// Fewer bits are a saving only where absent keys are not found more often than by the other, or
/// than was asked for.
fn fewer_bits(claim: &str, ours: &Grown, other: &Grown, rate: f64) -> Finding {
    let ratio = ours.bits_per_key / other.bits_per_key;
    let rates = [ours, other].map(|of| of.false_positive_rate);
    let chance = 3.0 * (rate / ours.queries.max(1) as f64).sqrt();
    claim!("{claim} at most 1";
        "{ratio:.3}; {} % and {} % false positives", percent(rates[0], 3), percent(rates[1], 3);
        ratio <= 1.0 && rates[0] <= rate.max(rates[1]) + chance => ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pauses::Summary;

    #[test]
    fn ours_loses_nothing() {
        let work = Workload::new(1, 20_000, 1000);
        let grown = grow(&candidate::elastic(), &work, 0.01).unwrap();
        assert_eq!(grown.refused + grown.not_kept(), 0);
        assert!(grown.mops.iter().all(|&mops| mops > 0.0));
    }

    #[test]
    fn the_best_of_two_rounds_is_kept_for_each_speed() {
        let a = Grown { mops: [1.0, 4.0, 1.0, 1.0], lost: 3, ..Grown::default() };
        let b = Grown { mops: [2.0, 3.0, 1.0, 1.0], lost: 3, ..Grown::default() };
        assert_eq!(a.best(&b), Grown { mops: [2.0, 4.0, 1.0, 1.0], ..a });
    }

    #[test]
    fn a_filter_that_keeps_all_but_one_keeps_in_part() {
        let rate = 0.01;
        let waits =
            |max| Waits { least: Summary { max, ..Summary::default() }, ..Waits::default() };
        let good = Grown {
            false_positive_rate: rate,
            queries: 1 << 21,
            bytes_left: 0.5,
            waits: waits(1000),
            ..Grown::default()
        };
        assert_eq!(promises(&good, "", rate).holds, Holds::Yes);
        let slow = Grown { waits: waits(2_000_000), ..good.clone() };
        assert_eq!(promises(&slow, "", rate).holds, Holds::Partly);
        let bad = Grown { lost: 1, bytes_left: 1.0, false_positive_rate: 0.02, ..slow };
        assert_eq!(promises(&bad, "", rate).holds, Holds::No);
    }

    #[test]
    fn comparisons_follow_the_numbers() {
        let row = |mops, bits_per_key, lost| Grown {
            mops: [mops; 4],
            bits_per_key,
            lost,
            ..Grown::default()
        };
        let holds = |ours| -> Vec<_> {
            let rows = [ours, row(10.0, 20.0, 3)];
            beside(&rows, "", 0.01).iter().map(|finding| finding.holds).collect()
        };
        assert_eq!(holds(row(11.0, 19.0, 0)), [Holds::Yes; 4]);
        assert_eq!(holds(row(9.0, 21.0, 4)), [Holds::No; 4]);
        let often = Grown { false_positive_rate: 0.02, queries: 1 << 20, ..row(11.0, 19.0, 0) };
        assert_eq!(holds(often)[2], Holds::No, "fewer bits at a higher rate are no saving");
    }
}
