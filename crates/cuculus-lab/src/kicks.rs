//! Breadth-first search against the random walk: what an insertion costs as the table fills, and
//! how often it fails.

use std::time::Duration;

use clap::Args;
use cuculus::lab::Search;
use cuculus::{CuckooFilter, Insert, KeyHash};

use crate::clock::{mops, nanoseconds, timed};
use crate::keys::WorkKey;
use cuculus_page::table::{Table, number};

/// What to fill.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Two to this power buckets.
    #[arg(long, default_value_t = 20)]
    pub log2_buckets: u32,
    /// Slots in a bucket.
    #[arg(long, default_value_t = 4)]
    pub slots: u32,
    /// The length of a fingerprint.
    #[arg(long, default_value_t = 12)]
    pub bits: u32,
    /// Rounds; the best of them counts.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
    /// The seed of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// The loads at which a band of the measurement begins or ends, in percent.
const LOADS: [u64; 6] = [0, 50, 75, 90, 93, 95];
const BANDS: usize = LOADS.len() - 1;
/// Keys handed over at a time.
const GROUP: usize = 1024;

/// A way to insert.
#[derive(Clone, Copy)]
struct Way {
    name: &'static str,
    search: Search,
    batched: bool,
}

const WAYS: [Way; 4] = [
    Way { name: "breadth-first", search: Search::BreadthFirst, batched: false },
    Way { name: "random walk", search: Search::RandomWalk, batched: false },
    Way { name: "breadth-first, batches", search: Search::BreadthFirst, batched: true },
    Way { name: "random walk, batches", search: Search::RandomWalk, batched: true },
];

/// What a band cost.
#[derive(Clone, Copy)]
struct Band {
    time: Duration,
    refused: usize,
}

/// Fills tables in both ways and prints what each band of loads costs.
///
/// # Errors
/// If the parameters cannot be built.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let slots = (1u64 << options.log2_buckets) * u64::from(options.slots);
    let ends = LOADS.map(|percent| (slots * percent / 100) as usize);
    let hash = |number| KeyHash::new(u64::nth(options.seed, number));
    let hashes: Vec<KeyHash> = (0..ends[BANDS] as u64).map(hash).collect();
    let mut best = [[Band { time: Duration::MAX, refused: 0 }; BANDS]; WAYS.len()];
    for round in 0..options.rounds.max(1) {
        eprintln!("round {} of {}", round + 1, options.rounds.max(1));
        for (way, best) in WAYS.iter().zip(&mut best) {
            let mut filter = way.empty(options)?;
            for ((best, start), end) in best.iter_mut().zip(ends).zip(&ends[1..]) {
                let band = way.insert(&mut filter, &hashes[start..*end]);
                *best = Band { time: band.time.min(best.time), refused: band.refused };
            }
        }
    }
    println!(
        "2^{} buckets of {}, {}-bit fingerprints, hashes given: ns an insertion (refused) by load\n",
        options.log2_buckets, options.slots, options.bits
    );
    let bands = LOADS.windows(2).map(|load| format!("{}-{} %", load[0], load[1]));
    let head = ["search".to_owned()].into_iter().chain(bands);
    let mut table = Table::new(head.chain(["Mops to 95 %".to_owned()]));
    for (way, bands) in WAYS.iter().zip(&best) {
        let sizes = ends.windows(2).map(|end| end[1] - end[0]);
        let cell = |(band, size): (&Band, usize)| {
            format!("{:.1} ({})", nanoseconds(size, band.time), band.refused)
        };
        let cells = bands.iter().zip(sizes).map(cell);
        let total = bands.iter().map(|band| band.time).sum();
        let speed = number(Some(mops(hashes.len(), total)), 1);
        table.row([way.name.to_owned()].into_iter().chain(cells).chain([speed]));
    }
    println!("{table}");
    Ok(())
}

impl Way {
    fn empty(self, options: &Options) -> anyhow::Result<CuckooFilter> {
        let builder = CuckooFilter::builder()
            .buckets(1 << options.log2_buckets)
            .slots_per_bucket(options.slots)
            .fingerprint_bits(options.bits)
            .search(self.search)
            .seed(options.seed);
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
        let options = Options { log2_buckets: 4, slots: 4, bits: 12, rounds: 1, seed: 1 };
        let hashes: Vec<KeyHash> = (0..3000).map(|n| KeyHash::new(u64::nth(1, n))).collect();
        for way in WAYS {
            let mut filter = way.empty(&options).unwrap();
            let band = way.insert(&mut filter, &hashes);
            assert!(band.refused > 2900 && filter.len() > 32);
            assert_eq!(filter.len() + band.refused, hashes.len());
        }
    }
}
