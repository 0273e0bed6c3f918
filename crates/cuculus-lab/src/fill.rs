//! How full a filter gets before it refuses a key, by bucket size, table size, placement and
//! search.

use clap::Args;
use cuculus::lab::{PlacementKind, Search};
use cuculus::{CuckooFilter, Filter, Insert, KeyHash};

use crate::keys::WorkKey;
use crate::verdict::{self, Verdict};
use cuculus_page::table::Table;

/// What to fill.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Slots in a bucket, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    pub slots: Vec<u32>,
    /// The length of a fingerprint.
    #[arg(long, default_value_t = 12)]
    pub bits: u32,
    /// The smallest table has two to this power buckets.
    #[arg(long, default_value_t = 10)]
    pub min_log2: u32,
    /// The largest power of two.
    #[arg(long, default_value_t = 20)]
    pub max_log2: u32,
}

/// The load that buckets of four must reach (Cuckoo Filter paper, §4).
const PLANNED_LOAD_OF_FOUR: f64 = 0.95;

const WAYS: [Way; 6] = [
    Way { name: "bfs any", search: Search::BreadthFirst, placement: PlacementKind::AnySize },
    Way { name: "bfs xor", search: Search::BreadthFirst, placement: PlacementKind::Xor },
    Way { name: "bfs simple", search: Search::BreadthFirst, placement: PlacementKind::Simplified },
    Way { name: "walk any", search: Search::RandomWalk, placement: PlacementKind::AnySize },
    Way { name: "walk xor", search: Search::RandomWalk, placement: PlacementKind::Xor },
    Way { name: "walk simple", search: Search::RandomWalk, placement: PlacementKind::Simplified },
];

struct Way {
    name: &'static str,
    search: Search,
    placement: PlacementKind,
}

/// Loads at the first refusal, of several seeds.
struct Loads {
    min: f64,
    mean: f64,
}

/// Fills tables and prints the loads.
///
/// # Errors
/// If the parameters cannot be built.
pub fn run(options: &Options) -> anyhow::Result<()> {
    println!("Load at the first refusal, {}-bit fingerprints: least (mean)\n", options.bits);
    let mut verdicts = Vec::new();
    for &slots in &options.slots {
        eprintln!("filling buckets of {slots}");
        let mut table = Table::new(["buckets"].into_iter().chain(WAYS.map(|way| way.name)));
        let mut least = [None::<f64>; WAYS.len()];
        for buckets in sizes(options.min_log2, options.max_log2) {
            let mut cells = vec![buckets.to_string()];
            for (way, least) in WAYS.iter().zip(&mut least) {
                // The other placements would round an uneven size up to the next power of two.
                if way.placement != PlacementKind::AnySize && !buckets.is_power_of_two() {
                    cells.push("-".to_owned());
                    continue;
                }
                let loads = loads(way, options.bits, slots, buckets)?;
                *least = Some(least.map_or(loads.min, |least| least.min(loads.min)));
                cells.push(format!("{:.4} ({:.4})", loads.min, loads.mean));
            }
            table.row(cells);
        }
        println!("{slots} slots in a bucket\n{table}");
        if slots == 4 {
            let verdict = |(way, load): (&Way, _)| {
                let claim = format!("4 slots, {}: least load", way.name);
                Verdict::at_least(claim, load, PLANNED_LOAD_OF_FOUR)
            };
            verdicts.extend(WAYS.iter().zip(least).map(verdict));
        }
    }
    println!("{}", verdict::table(&verdicts));
    Ok(())
}

/// Powers of two, and an uneven number after each.
fn sizes(min_log2: u32, max_log2: u32) -> impl Iterator<Item = u64> {
    (min_log2..=max_log2).flat_map(|log2| {
        let power = 1u64 << log2;
        [power, (power * 137 / 100) | 1]
    })
}

fn loads(way: &Way, bits: u32, slots: u32, buckets: u64) -> anyhow::Result<Loads> {
    let seeds = if buckets <= 1 << 16 { 3 } else { 1 };
    let mut loads = Vec::new();
    for seed in 0..seeds {
        let mut filter = CuckooFilter::builder()
            .buckets(buckets)
            .fingerprint_bits(bits)
            .slots_per_bucket(slots)
            .placement(way.placement)
            .search(way.search)
            .seed(seed)
            .build()?;
        let mut hashes = (0..).map(|number| KeyHash::new(u64::nth(seed, number)));
        while hashes.next().is_some_and(|hash| filter.insert_hash(hash).is_ok()) {}
        loads.push(filter.utilization());
    }
    let mean = loads.iter().sum::<f64>() / loads.len() as f64;
    Ok(Loads { min: loads.iter().copied().fold(1.0, f64::min), mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_power_has_an_uneven_neighbour() {
        let sizes: Vec<u64> = sizes(10, 11).collect();
        assert_eq!(sizes, [1024, 1403, 2048, 2805]);
    }

    #[test]
    fn a_load_is_that_of_the_first_refusal() {
        let loads = loads(&WAYS[0], 12, 4, 256).unwrap();
        assert!(0.9 < loads.min && loads.min <= loads.mean && loads.mean < 1.0);
    }
}
