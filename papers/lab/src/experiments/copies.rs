//! What copies of keys cost in the elastic filter, from one to a million of each.

use cuculus::{ElasticFilter, Filter, Insert, KeyHash, Remove};

use crate::prelude::*;

pub(super) const COPIES: Experiment = Experiment::ours(
    ("copies", "Copies of keys in the elastic filter"),
    "What do copies of keys cost, and are they counted exactly?",
    Chance::Clock,
    run,
);

const RATE: f64 = 0.01;
const STEPS: [usize; 7] = [1, 2, 3, 8, 64, 1000, 1_000_000];
const KEYS: usize = 10_000;
const FEWEST_KEYS: usize = 10;
/// The most time that a copy may take, as a multiple of the first.
const MOST: f64 = 2.0;

struct Row {
    insert: f64,
    hit: f64,
    remove: f64,
    bytes: usize,
    miscounted: usize,
    left: usize,
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    // Insertions of one row.
    let most = settings.pick(1_000_000, 10_000_000);
    let head =
        ["keys", "copies", "ns per insert", "per hit", "per removal", "bytes", "bits per key"];
    let mut table = Table::new(head);
    let (mut times, mut miscounted, mut left) = (Vec::new(), 0, 0);
    for copies in STEPS {
        let count = (most / copies).clamp(FEWEST_KEYS, KEYS);
        (settings.progress)(&format!("{copies} copies of {count} keys"));
        let row = measure(settings.seed, count, copies)?;
        let bits = row.bytes as f64 * 8.0 / count as f64;
        let times_shown = [row.insert, row.hit, row.remove].map(|time| format!("{time:.0}"));
        table.row(
            [count.to_string(), copies.to_string()]
                .into_iter()
                .chain(times_shown)
                .chain([row.bytes.to_string(), format!("{bits:.1}")]),
        );
        times.push((copies, row.insert));
        miscounted += row.miscounted;
        left += row.left;
    }
    let first = times[0].1;
    let slowest = times.iter().fold((1, 0.0), |most, &now| if now.1 > most.1 { now } else { most });
    let ratio = slowest.1 / first;
    let detail = format!("{ratio:.2} times, at {} copies", slowest.0);
    Ok(Outcome::of(vec![
        claim!("a copy takes at most {MOST} times as long to insert as a first key";
            "{detail}"; ratio <= MOST),
        Finding::never("no key is counted too low", miscounted),
        Finding::never("no copy is left when all were removed", left),
    ])
    .table(format!("copies of every key of a set, at a rate of {RATE}"), table))
}

/// Inserts every key so many times, all keys in turn; looks them up, counts them, removes them.
fn measure(seed: u64, count: usize, copies: usize) -> anyhow::Result<Row> {
    let mut filter = ElasticFilter::builder().false_positive_rate(RATE).seed(seed).build()?;
    let keys = keys(seed, 0..count as u64);
    let hashes: Vec<KeyHash> = keys.iter().map(|key| filter.hasher().hash(key)).collect();
    let all = count * copies;
    let mut refused = 0;
    let (insert, ()) = timed(|| {
        for _ in 0..copies {
            refused += hashes.iter().filter(|&&hash| filter.insert_hash(hash).is_err()).count();
        }
    });
    anyhow::ensure!(refused == 0, "{refused} insertions were refused");
    let bytes = filter.size_in_bytes();
    let rounds = (100_000 / count).max(1);
    let (hit, found) = timed(|| {
        let once = || hashes.iter().filter(|&&hash| filter.contains_hash(hash)).count();
        (0..rounds).map(|_| once()).sum::<usize>()
    });
    anyhow::ensure!(found == rounds * count, "keys are lost");
    // More than there are is a false positive of the counting kind; fewer would be a loss.
    let miscounted = hashes.iter().filter(|&&hash| filter.count_hash(hash) < copies).count();
    let (remove, ()) = timed(|| {
        for _ in 0..copies {
            refused += hashes.iter().filter(|&&hash| !filter.remove_hash(hash)).count();
        }
    });
    Ok(Row {
        insert: nanoseconds(all, insert),
        hit: nanoseconds(rounds * count, hit),
        remove: nanoseconds(all, remove),
        bytes,
        miscounted,
        left: filter.len() + refused,
    })
}
