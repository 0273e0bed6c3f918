//! How full a filter on a ring gets before it refuses a key, beside the thresholds that are to
//! predict it (CCF paper, Theorem 4).

use std::ops::Range;

use cuculus::lab::{PlacementKind, Search};
use cuculus_papers::IndexIndependentCuckooFilter;
use cuculus_papers::analysis;

use super::cf_filters::load_at_first_refusal;
use super::cf_load::Way;
use crate::prelude::*;

pub(super) const LOADS: Experiment = Experiment::paper(
    ("ccf-loads", "How full filters on a ring get"),
    "How full is a filter on a ring when it first refuses a key, and does the threshold predict \
     it? (CCF Theorem 4)",
    Chance::OwnSeeds,
    run,
);

const FILTERS: u64 = 5;
const MAX_KICKS: u32 = 500;
/// Long enough for no two of the keys to be alike.
const BITS: u32 = 30;
/// What a table of finite size may be off a threshold for infinite ones.
const FINITE: f64 = 0.005;

#[derive(Clone, Debug)]
struct Load {
    candidates: u32,
    slots: u32,
    nodes: u32,
    /// As printed.
    walk: f64,
    no_return: f64,
    breadth_first: f64,
    upper_threshold: f64,
    orientability: f64,
    ring_threshold: f64,
    planned: f64,
}

impl Load {
    fn reached(&self) -> f64 {
        self.walk.max(self.breadth_first)
    }
}

fn run(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let slots = settings.pick(&[1, 2, 4][..], &[1, 2, 3, 4]);
    let buckets = settings.pick(1024, 4096);
    let seeds = settings.seeds_of(FILTERS);
    let mut loads = Vec::new();
    for candidates in [2, 3, 4] {
        (settings.progress)(&format!("{candidates} candidates"));
        for &slots in slots {
            for nodes in [1, 10, 64] {
                loads.push(Load::measure((candidates, slots, nodes), buckets, &seeds)?);
            }
        }
    }
    let title = format!("{buckets} buckets, {MAX_KICKS} kicks, mean of {FILTERS} filters");
    let small = SmallLoads::measure(settings)?;
    Ok(Outcome::of(findings(&loads).into_iter().chain([small.finding()]))
        .plot(plot(&loads, slots))
        .table(title, table(&loads))
        .table(SmallLoads::title(), small.table())
        .note(
            "Thresholds are given as loads: T̂ as in the paper, the true one for even shares, and \
             T̂ for the uneven shares of a ring.",
        ))
}

fn ring_load(
    (candidates, slots, nodes): (u32, u32, u32),
    buckets: u64,
    search: Search,
    seed: u64,
) -> anyhow::Result<f64> {
    let builder = IndexIndependentCuckooFilter::builder().buckets(buckets).candidates(candidates);
    let builder = builder.slots_per_bucket(slots).virtual_nodes(nodes).fingerprint_bits(BITS);
    let builder = builder.max_kicks(MAX_KICKS).search(search).seed(seed);
    Ok(load_at_first_refusal(&mut builder.build()?, seed))
}

fn mean(seeds: &Range<u64>, load: impl Fn(u64) -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    let count = (seeds.end - seeds.start) as f64;
    Ok(seeds.clone().map(load).sum::<anyhow::Result<f64>>()? / count)
}

impl Load {
    fn measure(
        shape @ (candidates, slots, nodes): (u32, u32, u32),
        buckets: u64,
        seeds: &Range<u64>,
    ) -> anyhow::Result<Self> {
        let ring = |search| mean(seeds, |seed| ring_load(shape, buckets, search, seed));
        let of_slots = |keys: f64| keys / f64::from(slots);
        Ok(Self {
            candidates,
            slots,
            nodes,
            walk: ring(Search::PaperWalk)?,
            no_return: ring(Search::RandomWalk)?,
            breadth_first: ring(Search::BreadthFirst)?,
            upper_threshold: of_slots(analysis::upper_threshold(candidates, slots, 1 << 30)),
            orientability: analysis::orientability_threshold(candidates, slots),
            ring_threshold: of_slots(analysis::ring_threshold(candidates, slots, nodes)),
            planned: analysis::planned_ring_load(candidates, slots, nodes),
        })
    }
}

/// The papers' walk beside ours in tables as small as those of the CCF paper, where it matters most.
struct SmallLoads {
    /// On a ring, and with exclusive or: as printed, without return, breadth-first.
    rows: [(&'static str, [f64; 3]); 2],
}

impl SmallLoads {
    const BUCKETS: u64 = 64;
    const SLOTS: u32 = 3;
    const FILTERS: u64 = 100;
    const SEARCHES: [Search; 3] = [Search::PaperWalk, Search::RandomWalk, Search::BreadthFirst];

    fn measure(settings: &Settings<'_>) -> anyhow::Result<Self> {
        let seeds = settings.seeds_of(Self::FILTERS);
        let (mut ring, mut even) = ([0.0; 3], [0.0; 3]);
        for (at, search) in Self::SEARCHES.into_iter().enumerate() {
            let (shape, buckets) = ((2, Self::SLOTS, 10), Self::BUCKETS);
            ring[at] = mean(&seeds, |seed| ring_load(shape, buckets, search, seed))?;
            let xor = Way { name: "", search, placement: PlacementKind::Xor };
            even[at] = mean(&seeds, |seed| xor.load(buckets, Self::SLOTS, BITS, seed))?;
        }
        Ok(Self { rows: [("ring, v = 10", ring), ("exclusive or", even)] })
    }

    fn title() -> String {
        let (buckets, slots, filters) = (Self::BUCKETS, Self::SLOTS, Self::FILTERS);
        format!("{buckets} buckets of {slots}, two candidates, mean of {filters} filters")
    }

    fn table(&self) -> Table {
        table!(&self.rows, |row| {
            "placement": row.0.to_owned();
            "walk as printed": number(row.1[0], 4);
            "without return": number(row.1[1], 4);
            "bfs": number(row.1[2], 4);
        })
    }

    /// What the deviation of our own walk would have done to the verdicts.
    fn finding(&self) -> Finding {
        let gains = self.rows.map(|(_, [printed, ours, _])| printed - ours);
        let shown = self
            .rows
            .map(|(name, [printed, ours, _])| format!("{name}: {printed:.3} instead of {ours:.3}"));
        claim!("a walk that may return to a bucket, as printed, fills small tables further than \
             one that may not (by at least .03 of the slots, 64 buckets of three)";
            "{}", shown.join("; "); gains.iter().all(|&gain| gain >= 0.03) => gains[0])
        .of(Claimant::Ours)
    }
}

fn plot(loads: &[Load], slots: &[u32]) -> Plot {
    let (x, y) = (Axis::logarithmic("nodes of a bucket on the ring"), Axis::linear("load"));
    let plot = Plot::new("load at the first refusal, two candidates", x, y);
    slots.iter().fold(plot, |plot, &slots| {
        let line = |of: fn(&Load) -> f64| -> Vec<(f64, f64)> {
            let rows = loads.iter().filter(|load| load.candidates == 2 && load.slots == slots);
            rows.map(|load| (f64::from(load.nodes), of(load))).collect()
        };
        plot.line(format!("measured, b = {slots}"), line(Load::reached))
            .dashed(format!("T̂ of the ring, b = {slots}"), line(|load| load.ring_threshold))
    })
}

fn table(loads: &[Load]) -> Table {
    table!(loads, |load| {
        "k, b, v": format!("{}, {}, {}", load.candidates, load.slots, load.nodes);
        "walk as printed": number(load.walk, 4);
        "without return": number(load.no_return, 4);
        "bfs": number(load.breadth_first, 4);
        "planned": number(load.planned, 4);
        "T̂ of the ring": number(load.ring_threshold, 4);
        "true, even": number(load.orientability, 4);
        "T̂": number(load.upper_threshold, 4);
    })
}

fn findings(loads: &[Load]) -> Vec<Finding> {
    let most = |of: &dyn Fn(&Load) -> f64| range(loads.iter().map(of)).1;
    let points = |load: f64| percent(load.max(0.0), 2);
    let short = most(&|load| load.upper_threshold - load.reached());
    let short_with = |nodes: u32| {
        most(&|load| match load.nodes == nodes {
            true => load.upper_threshold - load.reached(),
            false => 0.0,
        })
    };
    let beyond = most(&|load| load.reached() - load.ring_threshold);
    // With one slot and two candidates the threshold is not sharp.
    let beyond_true = most(&|load| match (load.candidates, load.slots) {
        (2, 1) => 0.0,
        _ => load.reached() - load.orientability,
    });
    let planned = most(&|load| load.planned - load.no_return.min(load.breadth_first));
    vec![
        claim!("T̂ is the load that is reached (never short of it by more than {} points)",
            percent(FINITE, 1);
            "short by up to {} points; {} with ten nodes per bucket, {} with 64", points(short),
            points(short_with(10)), points(short_with(64)); short <= FINITE => short;
            "T̂ is an upper bound for equal shares, and a ring gives unequal ones"),
        claim!("T̂ for the unequal shares of a ring bounds the load";
            "at most {} points beyond", points(beyond); beyond <= FINITE => beyond),
        claim!("the true threshold for even shares bounds the load";
            "at most {} points beyond", points(beyond_true); beyond_true <= FINITE => beyond_true),
        claim!("the load that our filters plan with is reached";
            "at most {} points short", points(planned); planned <= 0.0 => planned)
        .of(Claimant::Ours)
        .because("it is planned for larger filters, whose loads scatter less"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_that_returns_must_fill_further() {
        let of = |printed| SmallLoads {
            rows: [("ring", [printed, 0.85, 0.9]), ("xor", [0.96, 0.9, 1.0])],
        };
        assert_eq!([0.9, 0.86].map(|printed| of(printed).finding().holds), [Holds::Yes, Holds::No]);
    }
}
