//! Fig. 5 of the Cuckoo Filter paper: lookups of full filters.

use super::cf_filters::{KINDS, Kind, SpeedScale, drawn, false_positive_rate, filled};
use crate::prelude::*;
use crate::subject::Subject;

pub(super) const LOOKUP: Experiment = Experiment::paper(
    ("cf-lookup", "Lookups by the share of positive answers"),
    "How fast are lookups in full filters when more and more of the keys are there? (CF Fig. 5)",
    Chance::Clock,
    |settings| lookup(SpeedScale::of(settings), settings),
);

const SHARES: [u64; 6] = [0, 20, 40, 60, 80, 100];

const AT_ONCE: &str = "all bits of a key are in one block, and ours compares them without a branch";

/// Lookups of which this percentage are keys with numbers below `inserted`, in random order.
fn lookups(
    seed: u64,
    count: u64,
    percentage: u64,
    inserted: u64,
    random: &mut fastrand::Rng,
) -> Vec<u64> {
    let positive = count * percentage / 100;
    let mut lookups = absent_keys(seed, positive..count);
    lookups.extend((0..positive).map(|_| nth_key(seed, random.u64(..inserted))));
    random.shuffle(&mut lookups);
    lookups
}

type Lines = Vec<(Kind, Vec<f64>)>;

fn lookup(scale: SpeedScale, settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let seed = settings.seed;
    let mut contenders: Vec<(Kind, Box<dyn Subject>)> = Vec::new();
    for kind in KINDS {
        (settings.progress)(&format!("filling {}", kind.name()));
        contenders.push((kind, filled(kind, scale.buckets, seed)?));
    }
    // Keys that all of them hold.
    let inserted = contenders.iter().map(|(_, contender)| contender.held()).min().unwrap_or(1);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut lines: Lines = KINDS.map(|kind| (kind, vec![0.0; SHARES.len()])).to_vec();
    for (at, share) in SHARES.into_iter().enumerate() {
        (settings.progress)(&format!("{share} % positive"));
        let lookups = lookups(seed, scale.lookups, share, inserted as u64, &mut random);
        for _ in 0..scale.rounds {
            for ((_, contender), (_, line)) in contenders.iter().zip(&mut lines) {
                let (time, found) = timed(|| contender.count(&lookups));
                anyhow::ensure!(found as u64 >= scale.lookups * share / 100, "a key is missing");
                line[at] = f64::max(line[at], mops(lookups.len(), time));
            }
        }
    }
    let columns = SHARES.map(|share| (share as f64, format!("{share} %")));
    let (x, y) = ("positive lookups, %", "million lookups per second");
    let plot = Plot::new("lookups in full filters", Axis::linear(x), Axis::from_zero(y));
    let rows = contenders.iter().zip(&lines).map(|((kind, contender), (_, line))| {
        let rate = false_positive_rate(&**contender, seed, scale.rate_lookups);
        (*kind, contender.bits_per_key(), rate, &line[..])
    });
    let (plot, table) = drawn(plot, &columns, rows);
    Ok(Outcome::of(findings(&lines).into_iter().map(|finding| scale.judge(finding)))
        .plot(plot)
        .table("million lookups per second, by the share of positives", table)
        .note(format!(
            "One thread, one key at a time, hashing included, the best of {} rounds; {} buckets \
             of four entries. The elastic filter has grown from nothing with the keys of the CF.",
            scale.rounds, scale.buckets
        )))
}

fn findings(lines: &Lines) -> Vec<Finding> {
    let of = |wanted: Kind| {
        lines.iter().find(|(kind, _)| *kind == wanted).map_or(&[] as &[f64], |(_, line)| line)
    };
    let (cuckoo, bloom) = (of(Kind::Cuckoo), of(Kind::Bloom));
    let ends = |line: &[f64]| [line[0], line[line.len() - 1]];
    let count_above = |claim: &str, one: &[f64], other: &[f64]| {
        let held = points_above(one, other);
        claim!("{}", claim.to_owned();
            "at {held} of {} shares", one.len(); Holds::in_cases(held, one.len()))
    };
    // Of all at once: what is above the fastest of the others.
    let best_of = |kinds: &[Kind]| -> Vec<f64> {
        let at = |i: usize| kinds.iter().map(|&kind| of(kind)[i]).fold(0.0, f64::max);
        (0..cuckoo.len()).map(at).collect()
    };
    let dleft = Kind::Dleft { counter_bits: 2 };
    let rest = [Kind::SemiSorted, Kind::Bloom, Kind::Quotient, dleft];
    let all_but_quotient = [Kind::Cuckoo, Kind::SemiSorted, Kind::Bloom, Kind::Blocked, dleft];
    let least: Vec<f64> = (0..cuckoo.len())
        .map(|i| all_but_quotient.iter().map(|&kind| of(kind)[i]).fold(f64::INFINITY, f64::min))
        .collect();
    vec![
        level("CF, over all shares of positives", cuckoo, 0.8),
        level("CF, all negative against all positive", &ends(cuckoo), 0.85),
        falls("BF with more positives", bloom, 0.8),
        falls("blk-BF with more positives", of(Kind::Blocked), 0.8).because(AT_ONCE),
        count_above(
            "CF is faster than ss-CF, BF, QF and dl-CBF at every share",
            cuckoo,
            &best_of(&rest),
        ),
        count_above(
            "ss-CF is faster than BF when more than a quarter is positive",
            &of(Kind::SemiSorted)[2..],
            &bloom[2..],
        ),
        count_above("QF is the slowest at every share", &least, of(Kind::Quotient)),
        level("dl-CBF, all negative against all positive", &ends(of(dleft)), 0.8),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::QUICK;

    #[test]
    fn the_given_share_of_lookups_is_positive() {
        let mut random = fastrand::Rng::with_seed(1);
        let keys = keys(3, 0..50);
        let asked = lookups(3, 1000, 20, 50, &mut random);
        assert_eq!(asked.len(), 1000);
        assert_eq!(asked.iter().filter(|key| keys.contains(key)).count(), 200);
        assert!(asked[..500].iter().any(|key| keys.contains(key)));
    }

    #[test]
    fn findings_follow_the_lines() {
        let lines: Lines = KINDS
            .map(|kind| {
                let line = match kind {
                    Kind::Cuckoo => [12.0, 11.5, 11.0, 11.0, 11.5, 12.0],
                    Kind::Quotient => [2.0; 6],
                    Kind::Bloom => [10.0, 9.0, 8.0, 7.0, 6.0, 5.0],
                    Kind::Blocked => [15.0, 14.0, 13.0, 12.0, 11.0, 10.0],
                    _ => [7.0; 6],
                };
                (kind, line.to_vec())
            })
            .to_vec();
        let holds: Vec<Holds> = findings(&lines).iter().map(|finding| finding.holds).collect();
        assert_eq!(holds[..5], [Holds::Yes; 5]);
        assert_eq!(holds[5..], [Holds::Partly, Holds::Yes, Holds::Yes]);
    }

    #[test]
    fn it_runs() {
        let outcome = lookup(SpeedScale::tiny(), &QUICK).unwrap();
        assert_eq!(outcome.plots[0].series.len(), KINDS.len());
        assert_eq!(outcome.findings.len(), 8);
        assert!(outcome.findings.iter().all(|finding| finding.holds == Holds::Untested));
    }
}
