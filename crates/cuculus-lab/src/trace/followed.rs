//! A trace followed to its end by one filter, and what the filter was like after every event.

use cuculus::KeyHash;
use serde::Serialize;

use super::follower::{Follower, Way};
use crate::clock::timed;
use crate::flows::{Event, Flow, Trace};

/// Every so many events all flows that are alive are looked for.
const EVENTS_BETWEEN_CHECKS: usize = 500;
/// A table less full than this wastes memory, in the paper's words.
pub(super) const WELL_USED: f64 = 0.90;
/// More empty slots than this are many, in the paper's words.
const FEW_EMPTY: usize = 500;

/// What a filter was like over the whole trace, by samples after every event.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Followed {
    /// Of every sample that had slots; of none no share is in use.
    #[serde(skip)]
    utilizations: Vec<f64>,
    pub(super) samples: usize,
    pub(super) mean_utilization: f64,
    /// While at least a tenth of the most keys were there: a set of one key wastes nearly all of
    /// any filter.
    pub(super) least_utilization: f64,
    pub(super) most_utilization: f64,
    /// The share of the samples below each of some utilisations: the curve of the paper's Fig. 4c.
    pub(super) shares_below: Vec<(f64, f64)>,
    /// The share of the samples with fewer than 500 empty slots.
    pub(super) few_empty: f64,
    pub(super) most_empty: usize,
    /// All memory over all keys, both summed over the samples.
    pub(super) mean_bits_per_key: f64,
    /// Of which for rings.
    pub(super) mean_ring_bits_per_key: f64,
    pub(super) most_keys: usize,
    pub(super) bits_per_key_at_the_peak: f64,
    pub(super) rate_at_the_peak: f64,
    pub(super) most_filters: usize,
    pub(super) bytes_at_the_end: usize,
    /// Insertions and removals alone, without samples and checks, if they were timed.
    pub(super) seconds: Option<f64>,
    pub(super) refused: usize,
    pub(super) false_negatives: usize,
}

/// Sums over the samples.
#[derive(Default)]
struct Sums {
    /// The least utilisation with so many keys.
    least: Vec<f64>,
    bytes: f64,
    ring_bytes: f64,
    keys: f64,
    few_empty: usize,
}

/// A trace with what every filter needs of it.
pub(super) struct Course {
    keys: Vec<String>,
    events: Vec<Event>,
    seed: u64,
}

/// What an event has done.
enum Outcome {
    Fine,
    Refused,
    Lost,
}

impl Course {
    pub(super) fn new(trace: &Trace, seed: u64) -> Self {
        Self { keys: trace.flows.iter().map(Flow::key).collect(), events: trace.events(), seed }
    }

    pub(super) fn events(&self) -> usize {
        self.events.len()
    }

    /// Follows the trace and samples it.
    pub(super) fn follow(&self, way: &Way) -> anyhow::Result<Followed> {
        let mut filter = way.empty(self.seed)?;
        let hashes = self.hashes(&*filter);
        Ok(self.sampled(&mut *filter, &hashes))
    }

    /// Follows the trace twice, which is the same twice: with a clock, and with samples.
    pub(super) fn follow_timed(&self, way: &Way) -> anyhow::Result<Followed> {
        let mut filter = way.empty(self.seed)?;
        let hashes = self.hashes(&*filter);
        let (time, ()) = timed(|| {
            let mut alive = vec![false; hashes.len()];
            for event in &self.events {
                step(&mut *filter, event, &hashes, &mut alive);
            }
        });
        Ok(Followed { seconds: Some(time.as_secs_f64()), ..self.follow(way)? })
    }

    fn hashes(&self, follower: &dyn Follower) -> Vec<KeyHash> {
        let hasher = follower.filter().hasher();
        self.keys.iter().map(|key| hasher.hash(key)).collect()
    }

    fn sampled(&self, filter: &mut dyn Follower, hashes: &[KeyHash]) -> Followed {
        let mut alive = vec![false; hashes.len()];
        let (mut followed, mut sums) = (Followed::default(), Sums::default());
        for (at, event) in self.events.iter().enumerate() {
            match step(filter, event, hashes, &mut alive) {
                Outcome::Fine => {}
                Outcome::Refused => followed.refused += 1,
                Outcome::Lost => followed.false_negatives += 1,
            }
            followed.sample(filter, &mut sums);
            if at % EVENTS_BETWEEN_CHECKS == 0 {
                let living = hashes.iter().zip(&alive).filter(|(_, alive)| **alive);
                let lost = living.filter(|&(&hash, _)| !filter.filter().contains_hash(hash));
                followed.false_negatives += lost.count();
            }
        }
        followed.bytes_at_the_end = filter.filter().size_in_bytes();
        followed.finish(&sums);
        followed
    }
}

fn step(
    filter: &mut dyn Follower,
    event: &Event,
    hashes: &[KeyHash],
    alive: &mut [bool],
) -> Outcome {
    let (hash, alive) = (hashes[event.flow], &mut alive[event.flow]);
    if event.begins {
        // A real trace may have the same flow many times over; what does not fit is not in.
        *alive = filter.insert(hash);
        return if *alive { Outcome::Fine } else { Outcome::Refused };
    }
    if std::mem::take(alive) && !filter.remove(hash) { Outcome::Lost } else { Outcome::Fine }
}

impl Followed {
    fn sample(&mut self, follower: &dyn Follower, sums: &mut Sums) {
        let filter = follower.filter();
        let (keys, slots, bytes) = (filter.len(), filter.slots(), filter.size_in_bytes());
        self.samples += 1;
        if slots > 0 {
            let used = filter.utilization();
            self.utilizations.push(used);
            sums.least.resize(sums.least.len().max(keys + 1), 1.0);
            sums.least[keys] = sums.least[keys].min(used);
        }
        self.most_empty = self.most_empty.max(slots - keys);
        self.most_filters = self.most_filters.max(follower.filters());
        sums.few_empty += usize::from(slots - keys < FEW_EMPTY);
        sums.bytes += bytes as f64;
        sums.ring_bytes += follower.ring_bytes() as f64;
        sums.keys += keys as f64;
        if keys > self.most_keys {
            self.most_keys = keys;
            self.bits_per_key_at_the_peak = 8.0 * bytes as f64 / keys as f64;
            self.rate_at_the_peak = filter.expected_false_positive_rate();
        }
    }

    fn finish(&mut self, sums: &Sums) {
        let used = &mut self.utilizations;
        used.sort_by(f64::total_cmp);
        self.mean_utilization = used.iter().sum::<f64>() / used.len() as f64;
        let large = sums.least.iter().skip(self.most_keys / 10);
        self.least_utilization = large.copied().fold(1.0, f64::min);
        self.most_utilization = used.last().copied().unwrap_or(0.0);
        self.few_empty = sums.few_empty as f64 / self.samples as f64;
        self.mean_bits_per_key = 8.0 * sums.bytes / sums.keys;
        self.mean_ring_bits_per_key = 8.0 * sums.ring_bytes / sums.keys;
        let marks = [0.5, 0.6, 0.7, 0.8, 0.85, WELL_USED, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99];
        self.shares_below = marks.map(|mark| (mark, self.share_below(mark))).to_vec();
    }

    /// The share of the samples with a smaller utilisation, once finished.
    pub(super) fn share_below(&self, utilization: f64) -> f64 {
        let below = self.utilizations.partition_point(|&used| used < utilization);
        below as f64 / self.utilizations.len() as f64
    }

    pub(super) fn wrong_answers(&self) -> usize {
        self.refused + self.false_negatives
    }
}
