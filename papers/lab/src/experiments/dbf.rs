//! What is wrong with a dynamic Bloom filter, the Dynamic Cuckoo Filter paper's reason to be: Fig. 1.

use cuculus::lab::PlacementKind;
use cuculus::{Filter, Insert, Remove};
use cuculus_papers::analysis::rate_of_all;
use cuculus_papers::baselines::DynamicBloomFilter;
use cuculus_papers::{DynamicCuckooFilter, Extension};

use crate::prelude::*;

pub(super) const ADDRESSES: Experiment = Experiment::paper(
    ("dbf", "Removals that a dynamic Bloom filter gives up"),
    "How often does a key seem to be in several filters of the list, so that it cannot be removed, \
     and what does it leave behind? (DCF Fig. 1; k = 7, 1,024 keys per filter)",
    Chance::OwnSeeds,
    addresses,
);

/// The paper's: 40,960 bits per filter, four per counter.
const COUNTERS: u64 = 10_240;
const HASHES: u32 = 7;
const EACH: usize = 1024;
const MOST_FILTERS: usize = 10;
/// How often the whole set is replaced by another.
const TURNS: u64 = 10;
/// A rate that grows by this factor has grown.
const WORSE: f64 = 1.25;

fn bloom(seed: u64) -> anyhow::Result<DynamicBloomFilter> {
    let builder = DynamicBloomFilter::builder().capacity(EACH * MOST_FILTERS);
    let builder = builder.capacity_per_filter(EACH).counters_per_filter(COUNTERS).hashes(HASHES);
    Ok(builder.seed(seed).build()?)
}

/// A list of cuckoo filters for as many keys with a rate as low.
fn cuckoo(seed: u64) -> anyhow::Result<DynamicCuckooFilter> {
    let builder = DynamicCuckooFilter::builder().capacity(EACH * MOST_FILTERS);
    let builder = builder.capacity_per_filter(EACH).extension(Extension::Passive);
    let builder = builder.buckets_per_filter(512).placement(PlacementKind::Xor);
    Ok(builder.fingerprint_bits(10).seed(seed).build()?)
}

#[derive(Clone, Copy, Default)]
struct Turn {
    rate: f64,
    bits_per_key: f64,
    /// Keys that were removed, and stayed.
    left: f64,
}

fn turns<F: Insert + Remove>(mut filter: F, seed: u64, probes: u64) -> anyhow::Result<Vec<Turn>> {
    let keys = EACH * MOST_FILTERS;
    let set = |turn: u64| (0..keys as u64).map(move |n| nth_key(seed, turn * keys as u64 + n));
    let mut turns = Vec::new();
    for turn in 0..=TURNS {
        if turn > 0 {
            // The oldest go first; other orders leave as much.
            for key in set(turn - 1) {
                filter.remove(&key);
            }
        }
        let left = filter.len() as f64;
        set(turn).try_for_each(|key| filter.insert(&key))?;
        let bits_per_key = 8.0 * filter.size_in_bytes() as f64 / keys as f64;
        let rate = rate_of_absent(seed, probes, |key| filter.contains(key));
        turns.push(Turn { rate, bits_per_key, left });
    }
    Ok(turns)
}

fn mean(all: &[Vec<Turn>]) -> Vec<Turn> {
    let of = |turn: usize, of: fn(&Turn) -> f64| {
        all.iter().map(|turns| of(&turns[turn])).sum::<f64>() / all.len() as f64
    };
    let turn = |at| Turn {
        rate: of(at, |turn| turn.rate),
        bits_per_key: of(at, |turn| turn.bits_per_key),
        left: of(at, |turn| turn.left),
    };
    (0..=TURNS as usize).map(turn).collect()
}

fn addresses(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let (seeds, probes) = settings.pick((5, 50_000), (50, 200_000));
    let seeds = settings.seed..settings.seed + seeds;
    let count = seeds.clone().count() as f64;
    let mut several = [0.0; MOST_FILTERS];
    let mut rates = [0.0; MOST_FILTERS];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for seed in seeds {
        (settings.progress)(&format!("seed {seed}"));
        let mut filter = bloom(seed)?;
        for filters in 0..MOST_FILTERS {
            let all = ((filters + 1) * EACH) as u64;
            let new = (filters * EACH) as u64..all;
            new.map(|n| nth_key(seed, n)).try_for_each(|key| filter.insert(&key))?;
            let hashes = (0..all).map(|number| filter.hasher().hash(&nth_key(seed, number)));
            several[filters] += filter.multiple_address_rate(hashes) / count;
            rates[filters] += rate_of_absent(seed, probes, |key| filter.contains(key)) / count;
        }
        theirs.push(turns(bloom(seed)?, seed, probes)?);
        ours.push(turns(cuckoo(seed)?, seed, probes)?);
    }
    Ok(outcome(&several, &rates, &mean(&theirs), &mean(&ours)))
}

fn outcome(several: &[f64], rates: &[f64], bloom: &[Turn], cuckoo: &[Turn]) -> Outcome {
    let xs = |values: &[f64]| -> Vec<(f64, f64)> {
        (1..).map(f64::from).zip(values.iter().copied()).collect()
    };
    // Each of the others matches by mistake as often as one filter does.
    let model: Vec<f64> = (0..several.len() as u32).map(|n| rate_of_all(rates[0], n)).collect();
    let furthest = several.iter().zip(&model).skip(1);
    let furthest = furthest.map(|(ours, model)| (ours / model - 1.0).abs()).fold(0.0, f64::max);
    let mut by_filters =
        Table::new(["filters", "several addresses, %", "computed, %", "false positives, %"]);
    for (at, ((&several, &model), &rate)) in several.iter().zip(&model).zip(rates).enumerate() {
        let filters = (at + 1).to_string();
        by_filters.row([filters, percent(several, 2), percent(model, 2), percent(rate, 2)]);
    }
    let mut by_turns =
        Table::new(["turns", "DBF: left", "FPR %", "bits/key", "DCF: left", "FPR %", "bits/key"]);
    for (at, (bloom, cuckoo)) in bloom.iter().zip(cuckoo).enumerate() {
        let cells = [bloom, cuckoo].into_iter().flat_map(|turn| {
            let Turn { left, rate, bits_per_key } = *turn;
            [number(left, 0), percent(rate, 2), number(bits_per_key, 1)]
        });
        by_turns.row([at.to_string()].into_iter().chain(cells));
    }
    let x = || Axis::linear("filters in the list");
    let by_turn = |title: &str, y: &str, of: fn(&Turn) -> f64| {
        let line = |turns: &[Turn]| -> Vec<(f64, f64)> {
            (0..).map(f64::from).zip(turns.iter().map(of)).collect()
        };
        let x = Axis::linear("times that the whole set was replaced");
        Plot::new(title, x, Axis::from_zero(y)).line("DBF", line(bloom)).line("DCF", line(cuckoo))
    };
    let last = several.len() - 1;
    let (first, end) = (bloom[0], bloom[bloom.len() - 1]);
    let grows = several.windows(2).all(|pair| pair[0] < pair[1]);
    Outcome::of(vec![
        claim!("the multiple-address rate grows with the number of filters (at every step)";
            "{} % of the keys with two, {} % with ten; computed within {} %",
            percent(several[1], 2), percent(several[last], 2), percent(furthest, 0);
            grows => several[last]),
        claim!("what given-up removals leave raises the false positives (by at least {} % once the \
             set was replaced {TURNS} times)", percent(WORSE - 1.0, 0);
            "{} % at first, {} % then, with {:.0} keys left behind", percent(first.rate, 2),
            percent(end.rate, 2), end.left;
            end.rate >= WORSE * first.rate => end.rate / first.rate),
        claim!("a dynamic cuckoo filter removes every key that was inserted";
            "{:.0} left behind", cuckoo.iter().map(|turn| turn.left).sum::<f64>();
            cuckoo.iter().all(|turn| turn.left == 0.0)),
    ])
    .plot(
        Plot::new("keys that cannot be removed (Fig. 1 a)", x(), Axis::from_zero("share"))
            .line("measured", xs(several))
            .dashed("computed from one filter's rate", xs(&model)),
    )
    .plot(
        Plot::new("false positives (Fig. 1 b)", x(), Axis::from_zero("rate"))
            .line("DBF", xs(rates)),
    )
    .plot(by_turn("left behind after all keys were replaced", "keys", |turn| turn.left))
    .plot(by_turn("false positives after all keys were replaced", "rate", |turn| turn.rate))
    .table("by the number of filters", by_filters)
    .table("by the times that the whole set was replaced", by_turns)
}
