//! What filtering duplicates by a question costs a list of filters: Fig. 5 of the Dynamic Cuckoo
//! Filter paper.

use cuculus::{Filter, Insert, Remove};

use super::dcf_list::{FILTERS, KEYS, paper_list};
use crate::prelude::*;

pub(super) const DUPLICATES: Experiment = Experiment::paper(
    ("dcf-duplicates", "Keys that are taken for duplicates"),
    "How many keys are not stored because they seem to be there already, by the false positive \
     rate? (DCF Fig. 5; six filters, 46,080 keys)",
    Chance::Seed,
    duplicates,
);

/// The paper's length, and the share of the keys that is still slight.
const PAPER_BITS: u32 = 12;
const SLIGHT: f64 = 0.001;
/// Shares of the rate between which the misses are called proportional to it.
const PROPORTIONAL: [f64; 2] = [0.35, 0.65];

struct Missed {
    bits: u32,
    /// Of absent keys, all keys stored.
    rate: f64,
    /// Of keys that are no duplicates.
    missed: f64,
    /// Of the keys that stay, after half of the keys were removed.
    lost: f64,
    bits_per_key: f64,
}

fn measure(bits: u32, work: &Workload, seed: u64) -> anyhow::Result<Missed> {
    let list = paper_list(work.keys.len(), FILTERS, 2048).fingerprint_bits(bits).seed(seed);
    let mut all = list.build()?;
    work.keys.iter().try_for_each(|key| all.insert(key))?;
    let found = work.absent.iter().filter(|key| all.contains(*key)).count();
    let mut filtered = list.clone().filter_duplicates(true).build()?;
    work.keys.iter().try_for_each(|key| filtered.insert(key))?;
    let missed = work.keys.len() - filtered.len();
    let bits_per_key = 8.0 * all.size_in_bytes() as f64 / work.keys.len() as f64;
    let (gone, kept) = work.shuffled.split_at(work.keys.len() / 2);
    for key in gone {
        filtered.remove(key);
    }
    let lost = kept.iter().filter(|key| !filtered.contains(*key)).count();
    Ok(Missed {
        bits,
        rate: found as f64 / work.absent.len() as f64,
        missed: missed as f64 / work.keys.len() as f64,
        lost: lost as f64 / kept.len() as f64,
        bits_per_key,
    })
}

fn duplicates(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let probes = settings.pick(500_000, 5_000_000);
    let work = Workload::new(settings.seed, KEYS, probes);
    let mut rows = Vec::new();
    for bits in [8, 9, 10, 11, 12, 13, 14, 16, 18] {
        (settings.progress)(&format!("{bits} bits"));
        rows.push(measure(bits, &work, settings.seed)?);
    }
    let table = table!(&rows, |row| {
        "bits": row.bits.to_string();
        "FPR %": percent(row.rate, 4);
        "missed %": percent(row.missed, 4);
        "missed / FPR": number(row.missed / row.rate, 2);
        "lost %": percent(row.lost, 4);
        "bits/key": number(row.bits_per_key, 2);
    });
    let (x, y) = (Axis::logarithmic("false positive rate"), Axis::logarithmic("share of the keys"));
    let plot = Plot::new("keys missed, and keys lost once half of the others are removed", x, y)
        .line("missed when inserted", rows.iter().map(|row| (row.rate, row.missed)))
        .line("not found after removals", rows.iter().map(|row| (row.rate, row.lost)))
        .dashed("half of the rate", rows.iter().map(|row| (row.rate, row.rate / 2.0)));
    // Rates of a few absent keys in many are no more than chance.
    let sure = rows.iter().filter(|row| row.rate * probes as f64 > 400.0);
    let (least, most) = range(sure.map(|row| row.missed / row.rate));
    let [low, high] = PROPORTIONAL;
    let paper = rows.iter().find(|row| row.bits == PAPER_BITS);
    let (missed, lost) = paper.map_or((1.0, 1.0), |row| (row.missed, row.lost));
    Ok(Outcome::of(vec![
        claim!("the share missed changes slowly with the rate (not in proportion, {low} to {high} \
             of it)";
            "between {least:.2} and {most:.2} of the rate"; least < low || most > high => most;
            "a key is missed if it is a false positive of the keys before it, half as many on \
             average"),
        claim!("the false negatives are extremely slight (at most {} % of the keys with \
             {PAPER_BITS} bits)", percent(SLIGHT, 1);
            "{} % missed, {} % of the rest not found once half are removed", percent(missed, 2),
            percent(lost, 2); lost.max(missed) <= SLIGHT => missed;
            "a missed key is lost when the one that it was taken for is removed"),
    ])
    .plot(plot)
    .table("46,080 keys, six filters", table))
}
