//! The adaptive cuckoo filter: false positives that are looked up again.

use cuculus::{CuckooFilter, Filter, Insert};
use cuculus_papers::baselines::AdaptiveCuckooFilter;

use crate::prelude::*;

pub(super) const ADAPTIVE: Experiment = Experiment::paper(
    ("acf", "A filter that learns from its mistakes"),
    "How does the rate fall when the same absent keys are looked up again and each mistake is \
     reported? (adaptive cuckoo filter, CCF §II, beside the CF of CF Table 1)",
    Chance::Seed,
    adaptive,
);

const BITS: u32 = 8;
const PASSES: usize = 8;
/// Absent keys for each key that is held.
const RATIOS: [u64; 3] = [1, 8, 32];

/// The rate of each pass over the same absent keys, and what the filter needs.
struct Course {
    rates: Vec<f64>,
    bits_per_item: f64,
    bits_read: f64,
}

/// Looks up the absent keys in random order, again and again; a mistake is reported at once.
fn course(items: u64, absent: &mut [u64], seed: u64) -> anyhow::Result<Course> {
    let builder = AdaptiveCuckooFilter::builder().capacity(items as usize);
    let mut filter = builder.fingerprint_bits(BITS).seed(seed).build()?;
    let inserted = keys(seed, 0..items);
    for key in &inserted {
        filter.insert(key)?;
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        random.shuffle(absent);
        let mut mistakes = 0;
        for key in &*absent {
            if filter.contains(key) {
                mistakes += 1;
                filter.report_false_positive(key);
            }
        }
        rates.push(mistakes as f64 / absent.len() as f64);
    }
    anyhow::ensure!(inserted.iter().all(|key| filter.contains(key)), "a key is lost");
    let bits = |bytes: usize| bytes as f64 * 8.0 / filter.len() as f64;
    Ok(Course {
        rates,
        bits_per_item: bits(filter.size_in_bytes()),
        bits_read: bits(filter.stats().fingerprint_bytes),
    })
}

/// The same fingerprints and keys without reports, and the bits per item.
fn plain_rate(items: u64, absent: &[u64], seed: u64) -> anyhow::Result<(f64, f64)> {
    let builder = CuckooFilter::builder().capacity(items as usize).fingerprint_bits(BITS);
    let mut filter = builder.seed(seed).build()?;
    for key in keys(seed, 0..items) {
        filter.insert(&key)?;
    }
    let found = absent.iter().filter(|key| filter.contains(*key)).count();
    let bits = filter.size_in_bytes() as f64 * 8.0 / filter.len() as f64;
    Ok((found as f64 / absent.len() as f64, bits))
}

fn adaptive(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let items = settings.pick(1 << 15, 1 << 20);
    let passes = (1..=PASSES).map(|pass| format!("pass {pass}, %"));
    let head = ["absent keys", "bits/item", "read by lookups", "CF bits/item", "CF, %"];
    let mut table = Table::new(head.map(str::to_owned).into_iter().chain(passes));
    let (x, y) = (Axis::linear("pass"), Axis::logarithmic("false positive rate"));
    let mut plot = Plot::new("rate of each pass over the same absent keys", x, y);
    let mut findings = Vec::new();
    let mut plain = 0.0;
    for ratio in RATIOS {
        (settings.progress)(&format!("{ratio} absent keys for each that is held"));
        let mut absent = absent_keys(settings.seed, 0..ratio * items);
        let (cuckoo_rate, cuckoo_bits) = plain_rate(items, &absent, settings.seed)?;
        let course = course(items, &mut absent, settings.seed)?;
        let known = [
            format!("{ratio} per key"),
            number(course.bits_per_item, 1),
            number(course.bits_read, 2),
            number(cuckoo_bits, 2),
            percent(cuckoo_rate, 3),
        ];
        let rates = course.rates.iter().map(|&rate| percent(rate, 4));
        table.row(known.into_iter().chain(rates));
        let points = course.rates.iter().enumerate().map(|(at, &rate)| ((at + 1) as f64, rate));
        plot = plot.line(format!("{ratio} absent per key held"), points);
        findings.push(finding(ratio, &course.rates, cuckoo_rate));
        plain = cuckoo_rate;
    }
    Ok(Outcome::of(findings)
        .plot(plot.mark("cuckoo filter", plain))
        .table(format!("{items} keys, fingerprints of {BITS} bits"), table)
        .note(
            "The hashes of all keys are kept beside the fingerprints to repair them, and count in \
             the bits per item; a lookup reads the fingerprints only.",
        ))
}

fn finding(ratio: u64, rates: &[f64], plain: f64) -> Finding {
    let last = rates.last().copied().unwrap_or(1.0);
    let measured = match last {
        0.0 => format!("no mistake is left of {} %", percent(plain, 3)),
        _ => format!(
            "{} % where a cuckoo filter has {} %, {:.1} times less",
            percent(last, 4),
            percent(plain, 3),
            plain / last
        ),
    };
    let finding = claim!("{ratio} absent for each key held: at the last pass the rate is at most a tenth of \
             a cuckoo filter's";
            "{measured}"; Holds::graded(last <= plain / 10.0, last <= plain / 2.0));
    finding.valued(last).because(
        "an entry has four forms only; with more absent keys for each bucket, every form is \
         mistaken for one of them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_rates() {
        assert_eq!(finding(1, &[0.03, 0.001], 0.03).holds, Holds::Yes);
        assert_eq!(finding(1, &[0.03, 0.01], 0.03).holds, Holds::Partly);
        assert_eq!(finding(1, &[0.03, 0.02], 0.03).holds, Holds::No);
    }
}
