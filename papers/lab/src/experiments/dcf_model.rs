//! What the Dynamic Cuckoo Filter paper computes: Figs. 4 and 6 to 9.

use cuculus::{CuckooFilter, ElasticFilter, Filter, Insert};
use cuculus_papers::DynamicCuckooFilter;
use cuculus_papers::analysis::{
    Counting, DynamicPlan, DynamicSizing, RelocationModel, SetSizes, ZipfOrder, dynamic_rate_bound,
};
use cuculus_papers::baselines::DynamicBloomFilter;

use super::dcf_list::paper_list;
use crate::candidate::planned;
use crate::literal::Literal;
use crate::prelude::*;

pub(super) const RATES: Experiment = Experiment::paper(
    ("dcf-rates", "Rate of a dynamic cuckoo filter"),
    "How does the false positive rate grow with the number of filters and fall with the length of \
     a fingerprint? (DCF Fig. 4, Eq. 4)",
    Chance::OwnSeeds,
    rates,
);

pub(super) const RELOCATIONS: Experiment = Experiment::paper(
    ("dcf-relocations", "Relocations and wasted space"),
    "How full does a cuckoo filter get, and how much does it move, for a limit on relocations? \
     (DCF Fig. 6, Eq. 5-11; l = 8, b = 4)",
    Chance::OwnSeeds,
    relocations,
);

pub(super) const MEMORY: Experiment = Experiment::paper(
    ("dcf-memory", "Memory of a set of changing size"),
    "Into how many filters should a dynamic cuckoo filter be divided, and what does that save? \
     (DCF Figs. 7-9, Eq. 12; N = 1,330, rate 0.98 %)",
    Chance::OwnSeeds,
    memory,
);

/// Keys of each filter of the lists whose rate is measured, and lookups of absent keys.
const EACH: usize = 960;
const PROBES: u64 = 100_000;
const SEEDS: u64 = 5;
/// The bound is for full filters, which these nearly are.
const NEAR_THE_BOUND: [f64; 2] = [0.85, 1.02];

/// The measured rate of a list of this many filters, over some seeds, and its bound.
fn measured_rates(filters: usize, bits: u32, seed: u64) -> anyhow::Result<Vec<f64>> {
    let rate = |seed| {
        let list = paper_list(EACH * filters, filters, 256).fingerprint_bits(bits).seed(seed);
        let mut list = list.build()?;
        for number in 0..(EACH * filters) as u64 {
            list.insert(&nth_key(seed, number))?;
        }
        Ok(rate_of_absent(seed, PROBES, |key| list.contains(key)))
    };
    (seed..seed + SEEDS).map(rate).collect()
}

fn rates(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let x = Axis::linear("filters, s");
    let mut plot = Plot::new("rate by the number of filters, b = 4", x, Axis::logarithmic("rate"));
    for bits in [8, 10, 12, 14, 16] {
        let points = (1..=32).map(|s| (f64::from(s), dynamic_rate_bound(bits, 4, s)));
        plot = plot.dashed(format!("f = {bits}, Eq. 4"), points);
    }
    let mut table = Table::new(["s", "f", "measured, %", "least", "most", "Eq. 4, %"]);
    let (mut shares, mut lines) = (Vec::new(), Vec::new());
    for bits in [8, 12] {
        let mut line = Vec::new();
        for filters in [1, 2, 4, 6, 8, 16, 32] {
            (settings.progress)(&format!("{filters} filters, {bits} bits"));
            let rates = measured_rates(filters, bits, settings.seed)?;
            let mean = mean(&rates);
            let bound = dynamic_rate_bound(bits, 4, filters as u32);
            let (least, most) = range(rates);
            let shown = [mean, least, most, bound].map(|rate| percent(rate, 4));
            table.row([filters.to_string(), bits.to_string()].into_iter().chain(shown));
            shares.push(mean / bound);
            line.push((filters as f64, mean));
        }
        plot = plot.line(format!("f = {bits}, measured"), line.iter().copied());
        lines.push(line);
    }
    let (six, rate) = (dynamic_rate_bound(12, 4, 6), 0.0117);
    let (low, high) = range(shares.iter().copied());
    let rising = lines.iter().all(|line| line.is_sorted_by(|one, other| one.1 < other.1));
    let shorter_is_worse = lines[0].iter().zip(&lines[1]).all(|(short, long)| short.1 > long.1);
    Ok(Outcome::of(vec![
        claim!("the experiments' rate of 1.17 % is that of s = 6, f = 12, b = 4";
            "{} %", percent(six, 3); (six / rate - 1.0).abs() < 0.01),
        claim!("Eq. 4 bounds the rate of lists that are 15/16 full, and they come near it \
             (measured over Eq. 4 between {} and {})", NEAR_THE_BOUND[0], NEAR_THE_BOUND[1];
            "{low:.3} to {high:.3}, {SEEDS} seeds each";
            NEAR_THE_BOUND[0] <= low && high <= NEAR_THE_BOUND[1] => mean(&shares)),
        claim!("the rate grows with s and falls with f (at every step)";
            "f = 12: {} % with one filter, {} % with 32", percent(lines[1][0].1, 3),
            percent(lines[1][6].1, 3); rising && shorter_is_worse => lines[1][6].1 / lines[1][0].1),
    ])
    .plot(plot.paper("f = 12, measured: the paper", [(6.0, rate)]))
    .table("lists of 256 buckets per filter, 15/16 full", table))
}

/// The walk of the Cuckoo Filter paper until it first gives up, in tables of eight buckets of four:
/// both candidates are looked at, then entries are kicked.
fn literal_walk(max_kicks: u32, tables: u32, seed: u64) -> (f64, f64) {
    let (mut loads, mut kicks) = (0.0, 0);
    for table in 0..u64::from(tables) {
        let mut table = Literal::new(3, 4, 32, max_kicks, seed.wrapping_mul(1 << 32) + table);
        loads += table.fill();
        kicks += table.kicks;
    }
    (loads / f64::from(tables), kicks as f64 / f64::from(tables))
}

/// One limit on relocations: the share of the slots that is filled and what is moved until then.
struct Limit {
    max_kicks: u32,
    /// By the model, and by the walk as printed.
    fills: [f64; 2],
    /// By Eq. 11 as printed, by the model, and by the walk as printed.
    moves: [f64; 3],
}

fn relocations(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let tables = settings.pick(4000, 40_000);
    let limit = |max_kicks| {
        (settings.progress)(&format!("limits of {max_kicks} relocations"));
        let model = RelocationModel { buckets: 8, slots_per_bucket: 4, max_kicks };
        let (literal, kicks) = literal_walk(max_kicks, tables, settings.seed);
        let printed = model.total_relocations_as_printed();
        Limit {
            max_kicks,
            fills: [model.expected_utilization(), literal],
            moves: [printed, model.total_relocations(), kicks],
        }
    };
    let limits: Vec<Limit> = (1..=10).map(limit).collect();
    let table = table!(&limits, |of| {
        "MNK": of.max_kicks.to_string();
        "model, Eq. 9": number(of.fills[0], 4);
        "literal walk": number(of.fills[1], 4);
        "relocations, Eq. 11": number(of.moves[0], 2);
        "of the model": number(of.moves[1], 2);
        "literal walk": number(of.moves[2], 2);
    });
    let line = |of: &dyn Fn(&Limit) -> f64| -> Vec<(f64, f64)> {
        limits.iter().map(|limit| (f64::from(limit.max_kicks), of(limit))).collect()
    };
    let values = |of: &dyn Fn(&Limit) -> f64| limits.iter().map(of).collect::<Vec<f64>>();
    let trends = relocation_trends(
        &[0, 1].map(|at| values(&|of| of.fills[at])),
        &[0, 2].map(|at| values(&|of| of.moves[at])),
    );
    let [model, literal] = limits[4].fills;
    let x = || Axis::linear("limit on relocations, MNK");
    let y = Axis::linear("utilisation");
    let fills = Plot::new("share of the slots in use at the first refusal", x(), y)
        .dashed("model (Eq. 9)", line(&|of| of.fills[0]))
        .line("literal walk, measured", line(&|of| of.fills[1]))
        .paper("model (Eq. 9): the paper", [(5.0, 0.95)]);
    let y = Axis::from_zero("relocations");
    let moves = Plot::new("relocations until the first refusal", x(), y)
        .dashed("Eq. 11 as printed", line(&|of| of.moves[0]))
        .dashed("the model's true mean", line(&|of| of.moves[1]))
        .line("literal walk, measured", line(&|of| of.moves[2]));
    let filled = [
        claim!("95 % of the entries are filled at MNK = 5 (in the model)";
            "model {model:.3}"; (model - 0.95).abs() < 0.005 => model),
        claim!("95 % of the entries are filled at MNK = 5 (in a filter)";
            "literal walk {literal:.3}"; literal >= 0.945 => literal;
            "the model takes every bucket for equally likely to be full, independently of the last"),
    ];
    Ok(Outcome::of(filled.into_iter().chain(trends))
        .plots([fills, moves])
        .table("eight buckets of four slots", table)
        .note(
            "Eq. 10 and 11 sum over insertions that may have failed; the model's true mean counts \
             those that succeed.",
        ))
}

/// The limit that the paper calls the knee of its curve.
const KNEE: usize = 3;

/// What the paper says of the curves of Fig. 6, in the model and in a filter: the space in use and
/// the relocations, by limits from one on.
fn relocation_trends(fills: &[Vec<f64>; 2], moves: &[Vec<f64>; 2]) -> [Finding; 3] {
    let rises = |line: &&Vec<f64>| line.is_sorted_by(|one, other| one < other);
    let rising = |claim: &str, lines: &[Vec<f64>; 2]| {
        let held = lines.iter().filter(rises).count();
        let ends = lines.each_ref().map(|line| format!("{:.3} to {:.3}", line[0], line[9]));
        claim!("{claim} (at every step from 1 to 10, in the model and in a filter)";
            "{}", ends.join(", "); Holds::in_cases(held, lines.len()))
    };
    // What a step gains after the knee, over what it gains before.
    let gains = fills.each_ref().map(|line| {
        let gain = |from: usize, to: usize| (line[to - 1] - line[from - 1]) / (to - from) as f64;
        gain(KNEE, line.len()) / gain(1, KNEE)
    });
    [
        rising("the more relocations are allowed, the fuller", fills).valued(fills[1][9]),
        claim!("from MNK = {KNEE} on it gets fuller slowly (a step gains at most a third of what \
             one gains before, in the model and in a filter)";
            "{}", gains.map(|gain| format!("{gain:.2}")).join(", ");
            Holds::in_cases(gains.iter().filter(|&&gain| gain <= 1.0 / 3.0).count(), gains.len())
            => gains[1]),
        rising("the more relocations are allowed, the more there are", moves).valued(moves[1][9]),
    ]
}

/// The paper's largest set, and its rate.
const LARGEST: usize = 1330;
const RATE: f64 = 9.8e-3;

/// A filter that was really built, and the bits that it takes with 1, 2, 3 … keys.
struct Built {
    name: &'static str,
    bits: Vec<f64>,
}

impl Built {
    fn new(name: &'static str, mut filter: impl Insert) -> anyhow::Result<Self> {
        let mut bits = Vec::with_capacity(LARGEST);
        for key in 0..LARGEST as u64 {
            filter.insert(&key)?;
            bits.push(filter.size_in_bytes() as f64 * 8.0);
        }
        Ok(Self { name, bits })
    }

    fn all(seed: u64) -> anyhow::Result<[Self; 5]> {
        let elastic = ElasticFilter::builder().false_positive_rate(RATE).seed(seed);
        let fixed = planned!(CuckooFilter, LARGEST, RATE).seed(seed);
        Ok([
            Self::new("CF for the largest", fixed.build()?)?,
            Self::new("DCF", planned!(DynamicCuckooFilter, LARGEST, RATE).seed(seed).build()?)?,
            Self::new("DBF", planned!(DynamicBloomFilter, LARGEST, RATE).seed(seed).build()?)?,
            Self::new("elastic", elastic.clone().build()?)?,
            Self::new("elastic, no spare", elastic.spare_bytes(0).build()?)?,
        ])
    }

    fn mean(&self, sizes: &SetSizes) -> f64 {
        let at = |(size, bits): (usize, &f64)| sizes.probability(size..=size) * bits;
        (1..).zip(&self.bits).map(at).sum()
    }
}

/// A distribution of sizes, and what the paper saves with it.
struct Case {
    name: &'static str,
    sizes: SetSizes,
    paper: Option<f64>,
}

/// The paper's five distributions and two more. It gives no exponents.
fn cases(seed: u64) -> anyhow::Result<Vec<Case>> {
    let half = LARGEST as f64 / 2.0;
    let zipf = |exponent, order| SetSizes::zipf(LARGEST, exponent, order);
    let (small, large) = (ZipfOrder::SmallLikely, ZipfOrder::LargeLikely);
    let all = [
        ("uniform", SetSizes::uniform(LARGEST), Some(0.25)),
        ("normal", SetSizes::normal(LARGEST, half, LARGEST as f64 / 6.0), Some(0.25)),
        ("Zipf .33, small likely", zipf(0.33, small), Some(0.40)),
        ("Zipf .33, large likely", zipf(0.33, large), Some(0.15)),
        ("Zipf .33, shuffled", zipf(0.33, ZipfOrder::Shuffled(seed)), Some(0.25)),
        ("Zipf 1, small likely", zipf(1.0, small), None),
        ("Zipf 1, large likely", zipf(1.0, large), None),
    ];
    let case = |(name, sizes, paper): (&'static str, Option<SetSizes>, Option<f64>)| {
        let sizes = sizes.ok_or_else(|| anyhow::anyhow!("no such distribution: {name}"))?;
        Ok(Case { name, sizes, paper })
    };
    all.into_iter().map(case).collect()
}

const COUNTER_BITS: f64 = 4.0;
/// What the paper saves against a DBF, and from where on that counts as the same.
const OF_A_DBF: f64 = 0.75;
const NEARLY_OF_A_DBF: f64 = 0.70;
const MOST_FILTERS: u32 = 64;

impl Case {
    /// The best number of filters of a DCF, as printed.
    fn best(&self) -> DynamicPlan {
        PRINTED.best(&self.sizes, MOST_FILTERS)
    }

    /// The least memory of a DBF on average, over its numbers of filters, by the same formula: a
    /// key takes log2(1/ε)/ln 2 counters in one of them.
    fn bloom_bits(&self) -> f64 {
        let bits = |filters| {
            let plan = PRINTED.plan(&self.sizes, filters);
            let keys = LARGEST as f64 / f64::from(filters);
            let counters = (1.0 / plan.rate_per_filter).log2() / std::f64::consts::LN_2;
            plan.expected_filters * keys * counters * COUNTER_BITS
        };
        (1..=MOST_FILTERS).map(bits).fold(f64::INFINITY, f64::min)
    }

    /// The share of a DBF's memory that a DCF saves, each with its best number of filters.
    fn saved_of_a_bloom(&self) -> f64 {
        1.0 - self.best().expected_bits / self.bloom_bits()
    }

    fn finding(&self) -> Option<Finding> {
        let (name, best, paper) = (self.name, self.best(), self.paper?);
        let finding = claim!("{name}: a dynamic filter saves {} %", percent(paper, 0);
            "{} % with s = {}", percent(best.saved(), 1), best.filters;
            (best.saved() - paper).abs() < 0.03);
        Some(finding.valued(best.saved()).because(
            "for an exponent of about .33, which the paper does not state; Zipf(1) gives quite other \
             figures",
        ))
    }
}

const PRINTED: DynamicSizing =
    DynamicSizing { rate: RATE, slots_per_bucket: 4, counting: Counting::Printed };

/// All of the paper's distributions, against a DBF.
fn of_a_bloom(cases: &[Case]) -> Finding {
    let printed = cases.iter().filter(|case| case.paper.is_some());
    let saved: Vec<f64> = printed.map(Case::saved_of_a_bloom).collect();
    let held = saved.iter().filter(|&&saved| saved >= NEARLY_OF_A_DBF).count();
    let shown: Vec<String> = saved.iter().map(|&saved| percent(saved, 1)).collect();
    claim!("a DCF takes {} % less than a DBF, each with its best s (holds from {} %, at every \
         distribution)", percent(OF_A_DBF, 0), percent(NEARLY_OF_A_DBF, 0);
        "{} %", shown.join(", ");
        Holds::in_cases(held, saved.len()) => saved.iter().copied().fold(1.0, f64::min))
}

fn memory(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let all = cases(settings.seed)?;
    let whole = DynamicSizing { counting: Counting::WholeBits, ..PRINTED };
    let best_whole = |case: &Case| whole.best(&case.sizes, MOST_FILTERS);
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |it| percent(it, 0));
    let table = table!(&all, |case| {
        "sizes": case.name.to_owned();
        "best s": case.best().filters.to_string();
        "saved of a CF, %": percent(case.best().saved(), 1);
        "paper, %": share(case.paper);
        "of a DBF, %": percent(case.saved_of_a_bloom(), 1);
        "paper, %": share(case.paper.map(|_| OF_A_DBF));
        "best s, whole bits": best_whole(case).filters.to_string();
        "saved, %": percent(best_whole(case).saved(), 1);
    });
    let built = Built::all(settings.seed)?;
    let mut real = Table::new(["sizes"].into_iter().chain(built.iter().map(|built| built.name)));
    let (x, y) = (Axis::linear("filters, s"), Axis::linear("kilobits"));
    let mut plot = Plot::new("expected memory (Fig. 7)", x, y);
    let single = all.last().map_or(0.0, |case| case.best().plain_bits / 1000.0);
    for Case { name, sizes, .. } in &all {
        let points = (1..=MOST_FILTERS)
            .map(|s| (f64::from(s), PRINTED.plan(sizes, s).expected_bits / 1000.0));
        plot = plot.line(*name, points);
        let means = built.iter().map(|built| number(built.mean(sizes) / 1000.0, 1));
        real.row([(*name).to_owned()].into_iter().chain(means));
    }
    // The paper prints what is saved at the best s, not where that is.
    for (case, paper) in all.iter().filter_map(|case| Some((case, case.paper?))) {
        let point = (f64::from(case.best().filters), single * (1.0 - paper));
        plot = plot.paper(format!("{}: the paper", case.name), [point]);
    }
    // The order of one distribution is left to chance.
    let seeds = settings.seed..settings.seed + SEEDS;
    let others = seeds.map(cases).collect::<anyhow::Result<Vec<_>>>()?;
    let over_seeds = |at: usize| {
        let all: Vec<Finding> = others.iter().filter_map(|cases| cases[at].finding()).collect();
        let is_same = all.windows(2).all(|pair| pair[0].measured == pair[1].measured);
        if is_same { all.into_iter().next() } else { Finding::over_seeds(&all) }
    };
    let of_blooms: Vec<Finding> = others.iter().map(|cases| of_a_bloom(cases)).collect();
    let findings = (0..all.len()).filter_map(over_seeds).chain(Finding::over_seeds(&of_blooms));
    Ok(Outcome::of(findings)
        .plot(plot.mark("one filter for all", single))
        .table("the best number of filters (Figs. 8 and 9)", table)
        .table("kilobits that filters really take, everything counted", real)
        .note(
            "Eq. 12 is a search over whole numbers, not a linear program. Saved is against a single \
             filter for the largest set (Fig. 8), and against a DBF of as many keys, rate and \
             distribution, with four bits per counter and its own best s (Fig. 9). The second \
             table is of filters that were filled key by key: headers and directories count there, \
             which are much at this size, and our elastic filter by default spends up to 192 KiB \
             on long entries, which pay when a set grows on.",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trends_follow_the_lines() {
        let line = |step: fn(f64) -> f64| (1..=10).map(|at| step(f64::from(at))).collect();
        let (bends, falls): (Vec<f64>, Vec<f64>) =
            (line(|at| 1.0 - 0.3f64.powf(at)), line(|at| -at));
        let holds = |fills: [&Vec<f64>; 2], moves: [&Vec<f64>; 2]| {
            let [fills, moves] = [fills, moves].map(|lines| lines.map(Clone::clone));
            relocation_trends(&fills, &moves).map(|finding| finding.holds)
        };
        assert_eq!(holds([&bends; 2], [&bends; 2]), [Holds::Yes; 3]);
        // A straight line has no knee, and what falls does not rise.
        let straight: Vec<f64> = line(|at| at);
        let mixed = [Holds::Yes, Holds::No, Holds::Partly];
        assert_eq!(holds([&straight; 2], [&bends, &falls]), mixed);
        assert_eq!(holds([&falls; 2], [&bends; 2])[0], Holds::No);
    }

    /// Of a single filter for all sizes: thirteen bits over .95 against four times 9.6.
    #[test]
    fn a_counter_of_a_bloom_filter_takes_four_bits() {
        let sizes = SetSizes::from_weights((1..=LARGEST).map(|size| f64::from(size == LARGEST)));
        let case = Case { name: "one size", sizes: sizes.unwrap(), paper: None };
        let counters = 1330.0 * (1.0 / RATE).log2() * std::f64::consts::LOG2_E;
        assert!((case.bloom_bits() / (4.0 * counters) - 1.0).abs() < 1e-9);
        assert!((0.7..0.8).contains(&case.saved_of_a_bloom()), "{}", case.saved_of_a_bloom());
    }
}
