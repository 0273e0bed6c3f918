//! How often a filter refuses one of as many keys as it was built for.

use cuculus::{CuckooFilter, Insert};

use crate::prelude::*;

pub(super) const CAPACITY: Experiment = Experiment::ours(
    ("capacity", "Refusals within the capacity"),
    "How often does a filter refuse one of as many keys as it was built for, by the size of its \
     buckets?",
    Chance::OwnSeeds,
    run,
);

/// Up to here every capacity is tried.
const EVERY_UP_TO: u64 = 64;
/// Up to here with all seeds.
const ALL_SEEDS_UP_TO: u64 = 1000;
const FEWEST_SEEDS: u64 = 3;

struct Shape {
    name: String,
    slots: u32,
    semi_sorted: bool,
}

fn shapes() -> Vec<Shape> {
    let plural = |slots| if slots == 1 { "" } else { "s" };
    let name = |slots| format!("{slots} slot{}", plural(slots));
    let packed = (1..=8).map(|slots| Shape { name: name(slots), slots, semi_sorted: false });
    let sorted = Shape { name: "4 semi-sorted".to_owned(), slots: 4, semi_sorted: true };
    packed.chain([sorted]).collect()
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let (all_seeds, max) = settings.pick((20, 10_000), (1000, 1_000_000));
    let shapes = shapes();
    let names = shapes.iter().map(|shape| shape.name.as_str());
    let mut table = Table::new(["capacity", "filters"].into_iter().chain(names));
    let (mut built, mut refused) = (0, vec![0; shapes.len()]);
    let mut announced = 0;
    for capacity in capacities(max) {
        if capacity >= 10 * announced {
            (settings.progress)(&format!("capacities from {capacity}"));
            announced = capacity.max(10);
        }
        let filters = seeds(all_seeds, capacity);
        let mut cells = vec![capacity.to_string(), filters.to_string()];
        for (shape, sum) in shapes.iter().zip(&mut refused) {
            let mut refusing = 0;
            for seed in settings.seeds_of(filters) {
                refusing += u64::from(shape.refuses(capacity, seed)?);
            }
            *sum += refusing;
            cells.push(share(refusing, filters));
        }
        built += filters;
        table.row(cells);
    }
    let sums = refused.iter().map(|&sum| share(sum, built));
    table.row(["all".to_owned(), built.to_string()].into_iter().chain(sums));
    let finding = |(shape, &refused): (&Shape, &u64)| {
        let claim = format!("{}: no filter refuses a key within its capacity", shape.name);
        Finding::never(claim, usize::try_from(refused).unwrap_or(usize::MAX)).because(
            "buckets of one or two slots leave little room for chance, most of all in small \
             filters",
        )
    };
    Ok(Outcome::of(shapes.iter().zip(&refused).map(finding))
        .table("filters that refused one of `capacity` keys, in %", table))
}

/// A percentage that shows a single refusal.
fn share(refusing: u64, filters: u64) -> String {
    if refusing == 0 {
        return "0".to_owned();
    }
    format!("{:.3}", 100.0 * refusing as f64 / filters as f64)
}

fn capacities(max: u64) -> Vec<u64> {
    let larger =
        std::iter::successors(Some(EVERY_UP_TO * 8 / 5), |capacity| Some(capacity * 8 / 5));
    let mut capacities: Vec<u64> = (0..=EVERY_UP_TO.min(max)).collect();
    capacities.extend(larger.take_while(|&capacity| capacity < max));
    if capacities.last() < Some(&max) {
        capacities.push(max);
    }
    capacities
}

fn seeds(all: u64, capacity: u64) -> u64 {
    let affordable = all * ALL_SEEDS_UP_TO / capacity.max(ALL_SEEDS_UP_TO);
    affordable.max(FEWEST_SEEDS.min(all))
}

impl Shape {
    fn refuses(&self, capacity: u64, seed: u64) -> anyhow::Result<bool> {
        let builder = CuckooFilter::builder()
            .capacity(usize::try_from(capacity)?)
            .slots_per_bucket(self.slots)
            .semi_sorted(self.semi_sorted)
            .seed(seed);
        let mut filter = builder.false_positive_rate(0.01).build()?;
        Ok((0..capacity).any(|number| filter.insert(&nth_key(seed, number)).is_err()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_are_every_small_one_and_a_series_to_the_largest() {
        let all = capacities(1_000_000);
        assert_eq!(all[..65], (0..=64).collect::<Vec<_>>());
        assert_eq!(all[65], 102);
        assert_eq!(all.last(), Some(&1_000_000));
        assert!(all.is_sorted_by(|a, b| a < b));
        assert_eq!(capacities(3), [0, 1, 2, 3]);
    }

    #[test]
    fn large_capacities_get_fewer_seeds() {
        assert_eq!([64, 10_000, 1_000_000].map(|capacity| seeds(1000, capacity)), [1000, 100, 3]);
        assert_eq!(seeds(1, 1_000_000), 1);
    }
}
