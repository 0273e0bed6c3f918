//! What the elastic filter claims, computed from its way.

use super::course::{Checkpoint, Course};
use super::walk::LAST_KEYS;
use crate::pauses::Waits;
use crate::prelude::*;

/// From here on the allocator's and the system's own needs are small beside the filter.
const LARGE: usize = 1_000_000;
const LARGER: usize = 4_000_000;
const LARGEST: usize = 16_000_000;

/// The most bits per key, everything counted.
struct Bits {
    rate: f64,
    large: f64,
    larger: f64,
    declared: f64,
}

const BITS: [Bits; 2] = [
    Bits { rate: 0.01, large: 19.0, larger: 16.0, declared: 11.8 },
    Bits { rate: 0.001, large: 23.0, larger: 20.0, declared: 15.0 },
];

const RESIDENT_RATIO: f64 = 1.15;
const UTILIZATION: f64 = 0.90;
const LAST_BYTES: f64 = 16384.0;
const ENTRIES_WRITTEN: f64 = 4096.0;
const WAIT_MICROSECONDS: f64 = 100.0;
/// Of the filter's account of its size; the allocator counts the same blocks.
const SIZE_ERROR: f64 = 0.001;

/// The claims about one way. What the system does not tell, or the way did not reach, is not judged.
pub(super) fn of(course: &Course) -> Vec<Finding> {
    let name = |text: &str| {
        let declared = if course.declared { "declared, " } else { "" };
        format!("{} %, {declared}{text}", 100.0 * course.rate)
    };
    let most = |text: &str, value: Option<f64>, limit| {
        value.map(|value| Finding::at_most(name(text), value, limit))
    };
    let least = |text: &str, value: Option<f64>, limit| {
        value.map(|value| Finding::at_least(name(text), value, limit))
    };
    let percent = 100.0 * course.rate;
    let all = || course.checkpoints.iter();
    let resident = |up| {
        let large = all().filter(|at| at.up == up && at.keys >= LARGE);
        largest(large.filter_map(Checkpoint::resident_ratio))
    };
    let mut findings = Vec::new();
    if let Some(bits) = BITS.iter().find(|bits| (bits.rate / course.rate - 1.0).abs() < 1e-6) {
        let at = |keys| all().find(|at| at.up && at.keys == keys).map(Checkpoint::bits_per_key);
        findings.extend(match course.declared {
            true => vec![most("bits per key at 16 M", at(LARGEST), bits.declared)],
            false => vec![
                most("bits per key at 1 M", at(LARGE), bits.large),
                most("bits per key at 4 M", at(LARGER), bits.larger),
                most("bits per key at 16 M", at(LARGEST), bits.larger),
            ],
        });
    }
    let last = all().rfind(|at| !at.up && at.keys == LAST_KEYS);
    let wait = |waits: &Waits| Some(f64::from(waits.least.p9999) / 1000.0);
    let expected = largest(all().map(|at| 100.0 * at.expected_rate));
    let certain = largest(all().map(|at| 100.0 * at.certain_rate()));
    let size_error = largest(all().filter_map(Checkpoint::size_error));
    let written = Some(f64::from(course.most_entries_written));
    findings.extend([
        most("largest expected rate in %", expected, percent),
        most("largest measured rate in %, less three standard errors,", certain, percent),
        most("largest error of size_in_bytes", size_error, SIZE_ERROR),
        most("resident over own bytes growing", resident(true), RESIDENT_RATIO),
        most("resident over own bytes shrinking", resident(false), RESIDENT_RATIO),
        least("mean utilisation growing", course.growing_utilization, UTILIZATION),
        least("mean utilisation shrinking", course.shrinking_utilization, UTILIZATION),
        most("bytes back at 1,000 keys", last.map(|at| at.bytes as f64), LAST_BYTES),
        most("most entries written at once", written, ENTRIES_WRITTEN),
        most("p99.99 of insert in µs, least of two,", wait(&course.inserts), WAIT_MICROSECONDS),
        most("p99.99 of remove in µs, least of two,", wait(&course.removes), WAIT_MICROSECONDS),
        Some(Finding::never(name("no wrong answers"), course.wrong_answers())),
    ]);
    findings.into_iter().flatten().collect()
}

fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(up: bool, keys: usize, bits_per_key: f64) -> Checkpoint {
        let bytes = (keys as f64 * bits_per_key / 8.0) as usize;
        Checkpoint {
            up,
            keys,
            expected_rate: 0.009,
            measured_rate: 0.0101,
            probes: 100_000,
            bytes,
            counted_bytes: Some(bytes),
            resident_growth: Some(bytes),
            ..Checkpoint::default()
        }
    }

    fn course(checkpoints: Vec<Checkpoint>) -> Course {
        let used = Some(0.91);
        Course {
            rate: 0.01,
            keys: LARGEST,
            checkpoints,
            growing_utilization: used,
            shrinking_utilization: used,
            most_entries_written: 3000,
            ..Course::default()
        }
    }

    fn missed(course: &Course) -> Vec<String> {
        let missed = of(course).into_iter().filter(|finding| finding.holds == Holds::No);
        missed.map(|finding| finding.claim).collect()
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let good = course(vec![
            checkpoint(true, LARGE, 18.9),
            checkpoint(true, LARGEST, 15.9),
            checkpoint(false, LARGE, 18.9),
            checkpoint(false, LAST_KEYS, 40.0),
        ]);
        assert_eq!(missed(&good), Vec::<String>::new());
        let mut bits =
            of(&good).into_iter().filter(|finding| finding.claim.contains("bits per key"));
        assert_eq!(bits.by_ref().count(), 2, "4 M keys were not reached");

        let mut bad = good.clone();
        bad.checkpoints[1] = checkpoint(true, LARGEST, 16.1);
        bad.checkpoints[2].resident_growth = Some(1 << 30);
        bad.checkpoints[3].measured_rate = 0.0120;
        bad.false_negatives = 1;
        let claims = missed(&bad);
        assert_eq!(claims.len(), 4, "{claims:?}");
    }
}
