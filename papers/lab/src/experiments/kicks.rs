//! Breadth-first search against the random walk: what an insertion costs as the table fills, and
//! how often it fails.

use std::time::Duration;

use cuculus::lab::Search;
use cuculus::{CuckooFilter, Insert, KeyHash};

use crate::prelude::*;

pub(super) const KICKS: Experiment = Experiment::ours(
    ("kicks", "Breadth-first search or random walk"),
    "What does an insertion cost as the table fills, and how often does it fail, with our search, \
     with our walk and with the paper's? (the walk of CF §3.1)",
    Chance::Clock,
    run,
)
.with(&[choices::LOG2_BUCKETS]);

/// The loads at which a band of the measurement begins or ends, in percent.
const LOADS: [u64; 6] = [0, 50, 75, 90, 93, 95];
const BANDS: usize = LOADS.len() - 1;
const GROUP: usize = 1024;

#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    search: Search,
    batched: bool,
}

const WAYS: [Way; 5] = [
    Way { name: "breadth-first", search: Search::BreadthFirst, batched: false },
    Way { name: "walk without return", search: Search::RandomWalk, batched: false },
    Way { name: "walk as printed", search: Search::PaperWalk, batched: false },
    Way { name: "breadth-first, batches", search: Search::BreadthFirst, batched: true },
    Way { name: "walk without return, batches", search: Search::RandomWalk, batched: true },
];

#[derive(Clone, Copy)]
struct Band {
    time: Duration,
    refused: usize,
}

const SLOTS: u32 = 4;
const BITS: u32 = 12;
const ROUNDS: usize = 3;

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let log2_buckets = settings.value(choices::LOG2_BUCKETS, settings.pick(16, 20))?.min(40);
    let slots = u64::from(SLOTS) << log2_buckets;
    let ends = LOADS.map(|percent| (slots * percent / 100) as usize);
    let hash = |number| KeyHash::new(nth_key(settings.seed, number));
    let hashes: Vec<KeyHash> = (0..ends[BANDS] as u64).map(hash).collect();
    let mut best = [[Band { time: Duration::MAX, refused: 0 }; BANDS]; WAYS.len()];
    for round in 1..=ROUNDS {
        (settings.progress)(&format!("round {round} of {ROUNDS}"));
        for (way, best) in WAYS.iter().zip(&mut best) {
            let mut filter = way.empty(log2_buckets, settings.seed)?;
            for ((best, start), end) in best.iter_mut().zip(ends).zip(&ends[1..]) {
                let band = way.insert(&mut filter, &hashes[start..*end]);
                *best = Band { time: band.time.min(best.time), refused: band.refused };
            }
        }
    }
    let bands = LOADS.windows(2).map(|load| format!("{}-{} %", load[0], load[1]));
    let head = ["search".to_owned()].into_iter().chain(bands);
    let mut table = Table::new(head.chain(["Mops to 95 %".to_owned()]));
    let mut totals = Vec::new();
    for (way, bands) in WAYS.iter().zip(&best) {
        let sizes = ends.windows(2).map(|end| end[1] - end[0]);
        let cell = |(band, size): (&Band, usize)| {
            format!("{:.1} ({})", nanoseconds(size, band.time), band.refused)
        };
        let cells = bands.iter().zip(sizes).map(cell);
        let total: Duration = bands.iter().map(|band| band.time).sum();
        let speed = number(mops(hashes.len(), total), 1);
        table.row([way.name.to_owned()].into_iter().chain(cells).chain([speed]));
        totals.push(total.as_secs_f64());
    }
    let refused: usize = best[0].iter().map(|band| band.refused).sum();
    let longer = totals[0] / totals[1];
    let claim = "time of breadth-first search over that of our walk without return, up to 95 %,";
    let findings = [
        Finding::never("breadth-first search refuses no key up to 95 %", refused),
        Finding::at_most(claim, longer, 1.0).timed(),
    ];
    let title = format!(
        "2^{log2_buckets} buckets of {SLOTS}, {BITS}-bit fingerprints, hashes given: ns per insertion \
         (refused) by load"
    );
    Ok(Outcome::of(findings).table(title, table).note(
        "The walk as printed may return to a bucket. It is walked on paper first, so that a key \
         that is refused leaves nothing behind; that costs time, which a walk that moves entries \
         at once would not take.",
    ))
}

impl Way {
    fn empty(self, log2_buckets: u32, seed: u64) -> anyhow::Result<CuckooFilter> {
        let builder = CuckooFilter::builder().buckets(1 << log2_buckets).slots_per_bucket(SLOTS);
        let builder = builder.fingerprint_bits(BITS).search(self.search).seed(seed);
        Ok(builder.build()?)
    }

    fn insert(self, filter: &mut CuckooFilter, hashes: &[KeyHash]) -> Band {
        let (time, refused) = timed(|| {
            if !self.batched {
                return hashes.iter().filter(|&&hash| filter.insert_hash(hash).is_err()).count();
            }
            let mut refused = 0;
            for mut group in hashes.chunks(GROUP) {
                while let Err(full) = filter.insert_batch(group) {
                    refused += 1;
                    group = &group[full.inserted + 1..];
                }
            }
            refused
        });
        Band { time, refused }
    }
}

#[cfg(test)]
mod tests {
    use cuculus::Filter;

    use super::*;

    /// More keys than slots: both ways of inserting count every key once.
    #[test]
    fn every_key_is_taken_or_refused() {
        let hashes: Vec<KeyHash> = (0..3000).map(|n| KeyHash::new(nth_key(1, n))).collect();
        for way in WAYS {
            let mut filter = way.empty(4, 1).unwrap();
            let band = way.insert(&mut filter, &hashes);
            assert!(band.refused > 2900 && filter.len() > 32);
            assert_eq!(filter.len() + band.refused, hashes.len());
        }
    }
}
