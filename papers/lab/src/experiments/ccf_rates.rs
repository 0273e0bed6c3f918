//! How often filters on a ring report an absent key, beside what the Consistent Cuckoo Filter paper
//! says (Theorem 1) and what follows from equal fingerprints.

use cuculus_papers::analysis;
use cuculus_papers::{ConsistentCuckooFilter, IndexIndependentCuckooFilter, Resizing};

use crate::prelude::*;
use crate::subject::Subject;

pub(super) const RATES: Experiment = Experiment::paper(
    ("ccf-rates", "False positives of filters on a ring"),
    "How often is an absent key found, and is it as often as computed? (CCF Theorem 1; k = 2, b = \
     4)",
    Chance::OwnSeeds,
    run,
);

const CANDIDATES: u32 = 2;
const SLOTS: u32 = 4;
/// More fingerprints than this that have more equal keys than places, by expectation, and the keys
/// cannot be stored.
const OVERFULL: f64 = 0.01;
const SIGMAS: f64 = 5.0;

#[derive(Clone, Debug)]
struct Rate {
    filter: &'static str,
    bits: u32,
    keys: usize,
    filters: usize,
    measured: f64,
    /// Of as many keys and fingerprint values as there are.
    expected: f64,
    paper: f64,
    sigma: f64,
    /// Keys that were not taken, or not found.
    wrong: usize,
}

impl Rate {
    fn deviation(&self) -> f64 {
        (self.measured - self.expected).abs() / self.sigma
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let items = settings.pick(&[100, 1000, 5000][..], &[100, 1000, 5000, 20_000]);
    let probes = settings.pick(50_000, 200_000);
    let mut rates = Vec::new();
    for bits in [8, 10, 12, 14, 16, 18, 20] {
        (settings.progress)(&format!("{bits} bits"));
        for &keys in items {
            if analysis::overfull_fingerprints(bits, CANDIDATES, SLOTS, keys as f64) < OVERFULL {
                // Other keys for each, so that what is off by chance is not off in the same way.
                let seed = settings.seed + 1000 * u64::from(bits) + keys as u64;
                rates.extend(measure(bits, keys, probes, seed)?);
            }
        }
    }
    let wrong = rates.iter().map(|rate| rate.wrong).sum();
    Ok(Outcome::of(findings(&rates, wrong))
        .plot(plot(&rates, items))
        .table(format!("in % of {probes} absent keys"), table(&rates))
        .note("Left out: more keys than the fingerprints of that length have places for.")
        .wrong(wrong))
}

fn findings(rates: &[Rate], wrong: usize) -> Vec<Finding> {
    let most = range(rates.iter().map(Rate::deviation)).1;
    let too_low = range(rates.iter().map(|rate| rate.measured / rate.paper)).1;
    vec![
        claim!("Theorem 1 is the false positive rate (never measured above it)";
            "up to {too_low:.0} times as often"; too_low <= 1.0 => too_low;
            "it counts two buckets per key as if the candidates did not depend on the fingerprint; \
             here they follow from it, so any equal fingerprint among all n keys is found"),
        claim!("1-(1-2^-f)^n is the rate (within {SIGMAS} standard deviations)";
            "at most {most:.1} off in {} filters, each with its own keys", rates.len();
            most <= SIGMAS => most)
        .of(Claimant::Ours),
        Finding::never("no key is refused or lost", wrong).of(Claimant::Ours),
    ]
}

fn plot(rates: &[Rate], items: &[usize]) -> Plot {
    let line = |keys: usize, of: fn(&Rate) -> f64| -> Vec<(f64, f64)> {
        let rows = rates.iter().filter(|rate| rate.filter == "CCF_B" && rate.keys == keys);
        rows.map(|rate| (f64::from(rate.bits), of(rate))).collect()
    };
    let title = "false positive rate by the length of a fingerprint";
    let plot = Plot::new(title, Axis::linear("bits"), Axis::logarithmic("rate"));
    let plot = items.iter().fold(plot, |plot, &keys| {
        plot.line(format!("CCF_B, {keys} keys"), line(keys, |rate| rate.measured))
            .dashed(format!("1-(1-2^-f)^n, {keys}"), line(keys, |rate| rate.expected))
    });
    let first = items.first().copied().unwrap_or(0);
    plot.dashed("Theorem 1, one filter", line(first, |rate| rate.paper))
}

fn measure(bits: u32, items: usize, probes: u64, seed: u64) -> anyhow::Result<[Rate; 3]> {
    let one = IndexIndependentCuckooFilter::builder()
        .capacity(items)
        .fingerprint_bits(bits)
        .candidates(CANDIDATES)
        .slots_per_bucket(SLOTS)
        .seed(seed);
    let consistent = |resizing| {
        ConsistentCuckooFilter::builder()
            .fingerprint_bits(bits)
            .candidates(CANDIDATES)
            .slots_per_bucket(SLOTS)
            .resizing(resizing)
            .max_filters(1024)
            .seed(seed)
            .build()
    };
    // Each filter has its own keys: with the same, all three would give the same answers, since any
    // equal fingerprint is found, wherever it lies.
    let rate = |filter: &'static str, of: &mut dyn Subject, number: u64| {
        let seed = 3 * seed + number;
        let (inserted, absent) = (keys(seed, 0..items as u64), absent_keys(seed, 0..probes));
        let refused = of.insert_all(&inserted).len();
        let filters = of.filters();
        Rate {
            filter,
            bits,
            keys: items,
            filters,
            measured: of.count(&absent) as f64 / probes as f64,
            expected: analysis::false_positive_rate(bits, items as f64),
            paper: analysis::consistent_rate_as_printed(bits, CANDIDATES, SLOTS, filters as u32),
            sigma: deviation(bits, items as f64, probes as f64),
            wrong: refused + (items - of.count(&inserted)),
        }
    };
    Ok([
        rate("I2CF", &mut one.build()?, 0),
        rate("CCF_B", &mut consistent(Resizing::Buckets)?, 1),
        rate("CCF_F", &mut consistent(Resizing::Filters)?, 2),
    ])
}

/// The standard deviation of a measured rate: of the absent keys that are looked up, and of the
/// number of different fingerprints among the keys, which is that of balls in urns.
fn deviation(bits: u32, keys: f64, probes: f64) -> f64 {
    let rate = analysis::false_positive_rate(bits, keys);
    let values = (1u64 << bits) as f64 - 1.0; // none is zero
    let (load, missed) = (keys / values, f64::exp(-keys / values));
    let different = missed * (1.0 - (1.0 + load) * missed) / values;
    (rate * (1.0 - rate) / probes + different.max(0.0)).sqrt()
}

fn table(rates: &[Rate]) -> Table {
    table!(rates, |rate| {
        "filter": rate.filter.to_owned();
        "bits": rate.bits.to_string();
        "keys": rate.keys.to_string();
        "filters": rate.filters.to_string();
        "measured": percent(rate.measured, 4);
        "1-(1-2^-f)^n": percent(rate.expected, 4);
        "sigmas off": number(rate.deviation(), 1);
        "Theorem 1": percent(rate.paper, 4);
        "wrong": rate.wrong.to_string();
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
