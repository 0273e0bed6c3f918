//! What the Consistent Cuckoo Filter paper computes: Table II, Fig. 3 and Theorem 5.

use cuculus_papers::analysis::{
    Occupancy, TABLE_II, orientability_threshold, ring_threshold, success_bound, upper_threshold,
};

use crate::matching;
use crate::prelude::*;

pub(super) const THRESHOLDS: Experiment = Experiment::paper(
    ("ccf-thresholds", "How full a filter on a ring can be"),
    "Is T̂ the number of keys per bucket that can be stored? (CCF Table II, Fig. 3, Theorem 4)",
    Chance::None,
    thresholds,
);

pub(super) const SUCCESS: Experiment = Experiment::paper(
    ("ccf-success", "The chance that all keys fit"),
    "What is the chance that all keys fit, and what does the bound on it say? (CCF Fig. 3, Theorem \
     5; the truth by maximum matching)",
    Chance::OwnSeeds,
    success,
);

fn thresholds(_: &Settings<'_>) -> anyhow::Result<Outcome> {
    let mut table = Table::new([
        "k, b",
        "T̂, paper",
        "T̂, ours",
        "as a load",
        "true threshold, load",
        "T̂ on a ring, v = 10",
        "v = 1",
    ]);
    let mut furthest: f64 = 0.0;
    for (k, row) in (2..).zip(TABLE_II) {
        for (b, printed) in (1..).zip(row) {
            let ours = upper_threshold(k, b, 1 << 30);
            furthest = furthest.max((ours - printed).abs());
            let load = |per_bucket: f64| number(per_bucket / f64::from(b), 4);
            table.row([
                format!("{k}, {b}"),
                format!("{printed:.9}"),
                format!("{ours:.9}"),
                load(ours),
                number(orientability_threshold(k, b), 4),
                load(ring_threshold(k, b, 10)),
                load(ring_threshold(k, b, 1)),
            ]);
        }
    }
    let (x, y) = (Axis::linear("candidates, k"), Axis::linear("load"));
    let mut plot = Plot::new("loads by the number of candidates", x, y);
    for b in [1, 2, 3, 4] {
        let ks = || 2..=7u32;
        let bound = ks().map(|k| (f64::from(k), upper_threshold(k, b, 1 << 30) / f64::from(b)));
        let truth = ks().map(|k| (f64::from(k), orientability_threshold(k, b)));
        plot = plot
            .dashed(format!("T̂, b = {b}"), bound)
            .line(format!("true threshold, b = {b}"), truth);
    }
    for b in [1, 2, 3, 4] {
        let printed = |(k, row): (u32, [f64; 4])| (f64::from(k), row[b - 1] / b as f64);
        let points = (2..).zip(TABLE_II).map(printed);
        plot = plot.paper(format!("T̂, b = {b}: the paper"), points);
    }
    let of = |k: u32, b: u32| upper_threshold(k, b, 1 << 30);
    let by_k = (2..7).all(|k| (1..=4).all(|b| of(k, b) < of(k + 1, b)));
    let by_b = (2..=7).all(|k| (1..4).all(|b| of(k, b) < of(k, b + 1)));
    let rising = by_k && by_b;
    let two = (upper_threshold(2, 1, 1 << 30), orientability_threshold(2, 1));
    Ok(Outcome::of(vec![
        claim!("the 24 entries of Table II"; "all within {furthest:.1e}"; furthest < 1e-8),
        claim!("the more candidates and the more slots, the larger is T̂ (every step of Table II)";
            "k from 2 to 7, b from 1 to 4: {} steps", 5 * 4 + 6 * 3; rising),
        claim!("below T̂ all keys can be stored with high probability";
            "k = 2, b = 1: T̂ {:.3}, true threshold {:.3}", two.0, two.1;
            two.0 <= two.1 => two.0 - two.1;
            "T̂ counts a key in each of its candidates: it is an upper bound"),
    ])
    .plot(plot)
    .table("thresholds", table))
}

/// The share of a bucket's space that can be used, û of Eq. 7, with this many keys.
fn usable(m: u32, k: u32, b: u32, keys: u32) -> f64 {
    let mapped = 1.0 - (1.0 - 1.0 / f64::from(m)).powi(k as i32);
    // Binomial, one term after the other.
    let mut probability = (1.0 - mapped).powi(keys as i32);
    let mut lost = 0.0;
    for mapped_here in 0..b {
        lost += (1.0 - f64::from(mapped_here) / f64::from(b)) * probability;
        let left = f64::from(keys.saturating_sub(mapped_here));
        probability *= left / f64::from(mapped_here + 1) * mapped / (1.0 - mapped);
    }
    1.0 - lost
}

/// Fig. 3: û and ū cross at T̂.
fn crossings() -> Plot {
    let (m, b) = FIG_3;
    let mut plot = Plot::new(
        format!("Fig. 3: space that can be used and that is needed, m = {m}, b = {b}"),
        Axis::from_zero("keys per bucket"),
        Axis::from_zero("share of the space"),
    );
    for k in [1, 2, 3, 4] {
        let line = (0..=3 * m).map(|keys| (f64::from(keys) / f64::from(m), usable(m, k, b, keys)));
        plot = plot.line(format!("û, k = {k}"), line.step_by(5));
    }
    let crossing = |k| {
        let threshold = upper_threshold(k, b, u64::from(m));
        (threshold, threshold / f64::from(b))
    };
    plot.dashed("ū", [(0.0, 0.0), (2.0, 1.0), (3.0, 1.5)]).dots("T̂", [1, 2, 3, 4].map(crossing))
}

const FIG_3: (u32, u32) = (50, 2);

fn success(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let hit = Occupancy::of(5, 6);
    let example = [0.00032, 0.03968, 0.3456, 0.4992, 0.1152];
    let furthest = (1..)
        .zip(example)
        .map(|(buckets, printed): (u64, f64)| (hit.exactly(buckets) - printed).abs())
        .fold(0.0, f64::max);
    let bound = success_bound(5, 2, 2, 3);
    let trials = settings.pick(400, 4000);
    let mut random = fastrand::Rng::with_seed(settings.seed);
    let (m, b) = FIG_3;
    let (x, y) = (Axis::linear("keys per bucket"), Axis::from_zero("probability"));
    let mut plot = Plot::new(format!("chance that all keys fit, {m} buckets of {b}"), x, y);
    let mut table = Table::new(["k", "keys", "per bucket", "Theorem 5", "true, by matching", "T̂"]);
    // How far the truth is above the bound, in standard deviations; and where it is a half.
    let (mut above, mut furthest_below) = (f64::MIN, 0.0f64);
    let mut at_threshold = Vec::new();
    for k in [2, 3, 4] {
        (settings.progress)(&format!("{k} candidates"));
        let (mut bounds, mut truths) = (Vec::new(), Vec::new());
        let threshold = upper_threshold(k, b, u64::from(m));
        for keys in (60..=100).step_by(4) {
            let x = f64::from(keys) / f64::from(m);
            let bound = success_bound(m, b, k, keys);
            let shape = (m as usize, b as usize, k as usize);
            let truth = matching::success(shape, keys as usize, trials, &mut random);
            let sigma = (bound * (1.0 - bound)).max(1.0 / f64::from(trials)) / f64::from(trials);
            above = above.max((truth - bound) / sigma.sqrt());
            furthest_below = furthest_below.max(bound - truth);
            table.row([
                k.to_string(),
                keys.to_string(),
                number(x, 2),
                number(bound, 4),
                number(truth, 4),
                number(threshold, 3),
            ]);
            bounds.push((x, bound));
            truths.push((x, truth));
        }
        plot = plot
            .dashed(format!("Theorem 5, k = {k}"), bounds)
            .line(format!("true, k = {k}"), truths);
        // Just below the threshold.
        let keys = (0.99 * threshold * f64::from(m)) as usize;
        let shape = (m as usize, b as usize, k as usize);
        at_threshold.push(matching::success(shape, keys, trials, &mut random));
    }
    let shown: Vec<String> = at_threshold.iter().map(|p| format!("{p:.2}")).collect();
    let likely = at_threshold.iter().filter(|&&p| p >= 0.5).count();
    Ok(Outcome::of(vec![
        claim!("the worked example: .03968, .3456, .4992, .1152, and .99968 in all";
            "within {furthest:.0e}, {bound:.5} in all";
            furthest < 1e-5 && (bound - 0.99968).abs() < 1e-5),
        claim!("Theorem 5 is an upper bound on the chance that all keys fit (the truth, by maximum \
             matching, nowhere more than four standard deviations above it)";
            "at most {:.1} above; the bound is up to {furthest_below:.2} too high", above.max(0.0);
            above <= 4.0 => furthest_below),
        claim!("just below T̂ (at .99 of it) all keys fit with high probability, m = 50, b = 2 (at \
             least a half)";
            "k = 2, 3, 4: {}", shown.join(", ");
            Holds::in_cases(likely, at_threshold.len()) => at_threshold[0];
            "T̂ counts a key in each of its candidates: it is an upper bound"),
    ])
    .plot(crossings())
    .plot(plot)
    .table(format!("{m} buckets of {b}, {trials} sets of keys each"), table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curves_of_fig_3_cross_at_the_threshold() {
        for (k, b) in [(2, 2), (3, 2), (2, 4)] {
            let threshold = upper_threshold(k, b, 50);
            let keys = (threshold * 50.0).round() as u32;
            let gap = usable(50, k, b, keys) - f64::from(keys) / f64::from(50 * b);
            assert!(gap.abs() < 0.01, "{k} {b}: {gap}");
        }
    }
}
