//! How often filters on a ring report an absent key, beside what the Consistent Cuckoo Filter paper
//! says (Theorem 1) and what follows from equal fingerprints.

use std::path::PathBuf;

use clap::Args;
use cuculus::papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter, Resizing};
use cuculus::{Insert, analysis};
use serde::Serialize;
use serde_json::json;

use crate::keys::WorkKey;
use crate::report;
use crate::verdict::{self, Verdict};
use cuculus_page::table::{Table, number, percent};

/// Which filters.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Lengths of a fingerprint, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [8, 10, 12, 14, 16, 18, 20])]
    pub bits: Vec<u32>,
    /// Numbers of keys, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1000, 5000, 20_000])]
    pub keys: Vec<usize>,
    /// Absent keys to ask for.
    #[arg(long, default_value_t = 200_000)]
    pub probes: u64,
    /// The seed of the keys and of the filters.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Writes all numbers to this file too.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

const CANDIDATES: u32 = 2;
const SLOTS: u32 = 4;
/// More fingerprints than this that have more equal keys than places, by expectation, and the keys
/// cannot be stored.
const OVERFULL: f64 = 0.01;
pub(crate) const SIGMAS: f64 = 5.0;

/// What one filter said.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rate {
    pub(crate) filter: &'static str,
    pub(crate) bits: u32,
    pub(crate) keys: usize,
    pub(crate) filters: usize,
    pub(crate) measured: f64,
    /// Of as many keys and fingerprint values as there are.
    pub(crate) expected: f64,
    /// As printed.
    pub(crate) paper: f64,
    sigma: f64,
    /// Keys that were not taken, or not found.
    pub(crate) wrong: usize,
}

impl Rate {
    /// How many standard deviations the measured rate is off.
    pub(crate) fn deviation(&self) -> f64 {
        (self.measured - self.expected).abs() / self.sigma
    }
}

/// Fills filters, asks for absent keys and prints the share that was found.
///
/// Returns whether no key was refused or lost.
///
/// # Errors
/// If a filter cannot be built, or the report cannot be written.
pub fn run(options: &Options) -> anyhow::Result<bool> {
    println!(
        "How often is an absent key found by a filter on a ring?\n\
         In % of {} absent keys, {CANDIDATES} candidates, {SLOTS} slots a bucket. Left out: more keys than the\n\
         fingerprints have places for.\n",
        options.probes
    );
    let rates = measure_all(options, &|part| eprintln!("{part}"))?;
    println!("{}", table(&rates));
    let most = rates.iter().map(Rate::deviation).max_by(f64::total_cmp);
    let times = |rate: &Rate| rate.measured / rate.paper;
    let paper = rates.iter().map(times).max_by(f64::total_cmp);
    let wrong: usize = rates.iter().map(|rate| rate.wrong).sum();
    let verdicts = [
        Verdict::at_most("1-(1-2^-f)^n: most standard deviations off", most, SIGMAS),
        Verdict::at_most("Theorem 1 as printed: most times too low", paper, 1.0),
        Verdict::at_most("keys refused or lost", Some(wrong as f64), 0.0),
    ];
    println!("{}", verdict::table(&verdicts));
    if let Some(path) = &options.json {
        let asked = json!({ "probes": options.probes, "candidates": CANDIDATES, "slots": SLOTS,
            "seed": options.seed });
        report::write(path, &asked, &json!(rates), &verdicts)?;
    }
    Ok(wrong == 0)
}

/// All filters with all lengths and numbers of keys that go together.
pub(crate) fn measure_all(options: &Options, told: &dyn Fn(&str)) -> anyhow::Result<Vec<Rate>> {
    let mut rates = Vec::new();
    for &bits in &options.bits {
        told(&format!("{bits} bits"));
        for &keys in &options.keys {
            if analysis::overfull_fingerprints(bits, CANDIDATES, SLOTS, keys as f64) < OVERFULL {
                // Other keys for each, so that what is off by chance is not off in the same way.
                let seed = options.seed + 1000 * u64::from(bits) + keys as u64;
                rates.extend(measure(&Options { seed, ..options.clone() }, bits, keys)?);
            }
        }
    }
    Ok(rates)
}

fn measure(options: &Options, bits: u32, keys: usize) -> anyhow::Result<[Rate; 3]> {
    let one = IndexIndependentCuckooFilter::builder()
        .capacity(keys)
        .fingerprint_bits(bits)
        .candidates(CANDIDATES)
        .slots_per_bucket(SLOTS)
        .seed(options.seed)
        .build()?;
    let consistent = |resizing| {
        ConsistentCuckooFilter::builder()
            .fingerprint_bits(bits)
            .candidates(CANDIDATES)
            .slots_per_bucket(SLOTS)
            .resizing(resizing)
            .max_filters(1024)
            .seed(options.seed)
            .build()
    };
    Ok([
        rate("I2CF", one, options, (bits, keys), |_| 1),
        rate(
            "CCF_B",
            consistent(Resizing::Buckets)?,
            options,
            (bits, keys),
            ConsistentCuckooFilter::filters,
        ),
        rate(
            "CCF_F",
            consistent(Resizing::Filters)?,
            options,
            (bits, keys),
            ConsistentCuckooFilter::filters,
        ),
    ])
}

fn rate<F: Insert>(
    name: &'static str,
    mut filter: F,
    options: &Options,
    (bits, keys): (u32, usize),
    filters: fn(&F) -> usize,
) -> Rate {
    let key = |number| u64::nth(options.seed, number);
    let taken = (0..keys as u64).filter(|&number| filter.insert(&key(number)).is_ok()).count();
    let found = (0..keys as u64).filter(|&number| filter.contains(&key(number))).count();
    let absent = (0..options.probes).filter(|&n| filter.contains(&u64::absent(options.seed, n)));
    let filters = filters(&filter);
    Rate {
        filter: name,
        bits,
        keys,
        filters,
        measured: absent.count() as f64 / options.probes as f64,
        expected: analysis::false_positive_rate(bits, keys as f64),
        paper: analysis::equal_consistent_rate_as_printed(bits, filters as u32, CANDIDATES, SLOTS),
        sigma: deviation(bits, keys as f64, options.probes as f64),
        wrong: (keys - taken) + (keys - found),
    }
}

/// The standard deviation of a measured rate: of the absent keys that are asked for, and of the
/// number of different fingerprints among the keys, which is that of balls in urns.
fn deviation(bits: u32, keys: f64, probes: f64) -> f64 {
    let rate = analysis::false_positive_rate(bits, keys);
    let values = (1u64 << bits) as f64 - 1.0; // none is zero
    let (load, missed) = (keys / values, f64::exp(-keys / values));
    let different = missed * (1.0 - (1.0 + load) * missed) / values;
    (rate * (1.0 - rate) / probes + different.max(0.0)).sqrt()
}

pub(crate) fn table(rates: &[Rate]) -> Table {
    let mut table = Table::new([
        "filter",
        "bits",
        "keys",
        "filters",
        "measured",
        "1-(1-2^-f)^n",
        "sigmas off",
        "Theorem 1",
        "wrong",
    ]);
    for rate in rates {
        table.row([
            rate.filter.to_owned(),
            rate.bits.to_string(),
            rate.keys.to_string(),
            rate.filters.to_string(),
            percent(rate.measured, 4),
            percent(rate.expected, 4),
            number(Some(rate.deviation()), 1),
            percent(rate.paper, 4),
            rate.wrong.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The deviation is that of many fillings, within a tenth.
    #[test]
    fn the_deviation_is_that_of_many_fillings() {
        let (bits, keys, probes) = (10, 400, 5000);
        let mut random = fastrand::Rng::with_seed(5);
        let rates: Vec<f64> = (0..2000)
            .map(|_| {
                let mut stored = [false; 1023];
                (0..keys).for_each(|_| stored[random.usize(..1023)] = true);
                let found = (0..probes).filter(|_| stored[random.usize(..1023)]).count();
                found as f64 / f64::from(probes)
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / 2000.0;
        let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        let ratio = (squares / 2000.0).sqrt() / deviation(bits, f64::from(keys), f64::from(probes));
        assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    }

    #[test]
    fn rates_are_those_of_equal_fingerprints() {
        let options = Options { bits: vec![], keys: vec![], probes: 20_000, seed: 1, json: None };
        for rate in measure(&options, 12, 1000).unwrap() {
            assert!(rate.deviation() < SIGMAS, "{rate:?}");
            assert_eq!(rate.wrong, 0, "{rate:?}");
        }
    }
}
