//! What filters can do, by measurement: Table I of the Consistent Cuckoo Filter paper, which has
//! pluses.

mod flexibility;
mod followers;

use super::ccf_trace::{Course, Followed};
use crate::flows::Synthetic;
use crate::prelude::*;

pub(super) const FEATURES: Experiment = Experiment::paper(
    ("ccf-features", "Elasticity, efficiency and flexibility"),
    "Which filters follow a set, use their memory, and leave a choice? (CCF Table I)",
    Chance::Seed,
    features,
);

const RATE: f64 = 0.01;
/// A filter that has freed this share of its memory once the set is empty frees memory.
const GIVEN_BACK: f64 = 0.5;
/// Sizes no further apart than this, of the largest, are fine steps.
const FINE: f64 = 0.02;

struct Measured {
    name: &'static str,
    /// The paper's pluses for elasticity, efficiency and flexibility.
    paper: Option<[usize; 3]>,
    followed: Followed,
    choices: Vec<&'static str>,
}

const PAPER: [(&str, [usize; 3]); 8] = [
    ("BF", [0, 1, 2]),
    ("DBF", [2, 1, 2]),
    ("CF", [0, 2, 1]),
    ("DCF", [2, 2, 1]),
    ("ACF", [0, 2, 1]),
    ("SCF", [0, 2, 1]),
    ("I2CF", [2, 3, 3]),
    ("CCF", [3, 3, 3]),
];

impl Measured {
    fn slots(&self) -> (usize, usize) {
        let slots = &self.followed.slots;
        (slots.first().copied().unwrap_or(0), slots.last().copied().unwrap_or(0))
    }

    fn grows(&self) -> bool {
        let (least, most) = self.slots();
        least < most
    }

    /// The share of the memory at the peak that is freed when all flows have ended.
    fn given_back(&self) -> f64 {
        let Followed { bits_per_key_at_the_peak, most_keys, bytes_at_the_end, .. } = self.followed;
        let peak = bits_per_key_at_the_peak * most_keys as f64 / 8.0;
        1.0 - bytes_at_the_end as f64 / peak
    }

    /// The largest step from one size to the next, as a share of the largest size.
    fn step(&self) -> Option<f64> {
        let steps = self.followed.slots.windows(2).map(|pair| pair[1] - pair[0]);
        let largest = steps.max().filter(|&step| step > 0)?;
        Some(largest as f64 / self.slots().1 as f64)
    }

    /// One for each: grows, frees memory, in fine steps.
    fn elasticity(&self) -> usize {
        let fine = self.step().is_some_and(|step| step <= FINE);
        [self.grows(), self.grows() && self.given_back() >= GIVEN_BACK, fine]
            .map(usize::from)
            .iter()
            .sum()
    }
}

fn features(settings: &Settings<'_>) -> anyhow::Result<Outcome> {
    let flows = settings.pick(8000, 58_941);
    let course = Course::new(&Synthetic::yahoo(settings.seed).scaled(flows).trace(), settings.seed);
    let mut all = Vec::new();
    for (name, mut follower) in followers::all(course.peak, settings.seed)? {
        (settings.progress)(name);
        all.push(Measured {
            name,
            paper: PAPER.iter().find(|column| column.0 == name).map(|column| column.1),
            followed: course.follow_with(&mut *follower),
            choices: flexibility::of(name),
        });
    }
    let plot = Plot::new(
        "memory and use of the slots while flows come and go",
        Axis::from_zero("mean bits per live flow"),
        Axis::from_zero("share of the slots in use, mean"),
    );
    let plot = all.iter().fold(plot, |plot, one| {
        let Followed { mean_bits_per_key, mean_utilization, .. } = one.followed;
        plot.dots(one.name, [(mean_bits_per_key, mean_utilization)])
    });
    Ok(Outcome::of(findings(&all))
        .plot(plot)
        .table("elasticity and efficiency", table(&all))
        .table("what can be chosen", chosen(&all))
        .note(format!(
            "{flows} synthetic flows, at most {} alive, filters for a rate of {} %. Those of fixed \
             size are planned for the most flows. Elasticity is one each for growing, for freeing \
             half of the memory or more when the set is empty, and for steps of at most {} % of \
             the largest size. A single ring has buckets added and removed by the experiment.",
            course.peak,
            percent(RATE, 0),
            percent(FINE, 0)
        )))
}

fn pluses(one: &Measured, at: usize) -> String {
    one.paper.map_or("-".to_owned(), |paper| "+".repeat(paper[at]))
}

fn table(all: &[Measured]) -> Table {
    let sizes = |one: &Measured| {
        let mut sizes = one.followed.slots.clone();
        sizes.dedup();
        sizes.len().to_string()
    };
    table!(all, |one| {
        "filter": one.name.to_owned();
        "elasticity": "+".repeat(one.elasticity());
        "paper": pluses(one, 0);
        "sizes": sizes(one);
        "largest step, %": number(one.step().map(|step| 100.0 * step), 1);
        "freed, %": percent(one.given_back().max(0.0), 0);
        "slots in use": number(one.followed.mean_utilization, 3);
        "paper": pluses(one, 1);
        "bits/key, mean": number(one.followed.mean_bits_per_key, 1);
        "FPR at the peak, %": percent(one.followed.measured_rate, 2);
        "refused": one.followed.refused.to_string();
        "lost": one.followed.false_negatives.to_string();
    })
}

fn chosen(all: &[Measured]) -> Table {
    table!(all, |one| {
        "filter": one.name.to_owned();
        "choices": one.choices.len().to_string();
        "paper": pluses(one, 2);
        "which": one.choices.join(", ");
    })
}

/// How many of the pairs that the paper ranks have the same order here; equals rank nothing.
fn agreement(all: &[Measured], feature: usize, ours: impl Fn(&Measured) -> f64) -> (usize, usize) {
    let (mut same, mut ranked) = (0, 0);
    for (at, first) in all.iter().enumerate() {
        for second in &all[..at] {
            let Some((one, other)) = first.paper.zip(second.paper) else { continue };
            if one[feature] != other[feature] {
                ranked += 1;
                let more = ours(first).total_cmp(&ours(second));
                same += usize::from(more == one[feature].cmp(&other[feature]));
            }
        }
    }
    (same, ranked)
}

fn findings(all: &[Measured]) -> Vec<Finding> {
    let finding = |claim: &str, feature, ours: &dyn Fn(&Measured) -> f64, reason: &str| {
        let (same, ranked) = agreement(all, feature, ours);
        let share = same as f64 / ranked.max(1) as f64;
        claim!("{claim} (the order of the paper's pluses; in part from three quarters of the \
             pairs)";
            "{same} of {ranked} pairs in that order"; Holds::nearly(share, 0.75) => share;
            reason)
    };
    vec![
        finding(
            "capacity elasticity",
            0,
            &|one| one.elasticity() as f64,
            "a dynamic Bloom filter frees nothing, and a single ring that the experiment \
             resizes is as fine as a list of them",
        ),
        finding(
            "space efficiency, as the share of the slots in use",
            1,
            &|one| one.followed.mean_utilization,
            "a filter of fixed size for the most flows is mostly empty over the trace, whatever \
             its kind; a list is not",
        ),
        finding(
            "space efficiency, as bits per key",
            1,
            &|one| -one.followed.mean_bits_per_key,
            "rings and long fingerprints cost more than empty slots",
        ),
        finding(
            "design flexibility, as the number of choices",
            2,
            &|one| one.choices.len() as f64,
            "cuckoo filters leave the length of a fingerprint, the slots and the kicks to choose, \
             Bloom filters only two numbers",
        ),
    ]
}
