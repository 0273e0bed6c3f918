//! A trace followed to its end by one filter, and what the filter was like after every event.

use cuculus::{Filter, KeyHash};
use serde::Serialize;

use super::filters::Way;
use crate::clock::timed;
use crate::flows::{Event, Flow, Trace};
use crate::keys::WorkKey;
use crate::subject::Subject;

/// After this many events all flows that are alive are looked up.
const EVENTS_BETWEEN_CHECKS: usize = 500;
/// Absent keys that are looked up at the peak.
const PROBES: u64 = 100_000;
/// A table less full than this wastes memory, in the paper's words.
pub(in super::super) const WELL_USED: f64 = 0.90;
/// More empty slots than this are many, in the paper's words.
pub(super) const FEW_EMPTY: usize = 500;
/// And far too many.
pub(super) const MANY_EMPTY: usize = 1000;

/// What a filter was like over the whole trace, by samples after every event.
#[derive(Clone, Debug, Default, Serialize)]
pub(in super::super) struct Followed {
    /// Of every sample that had slots; of none no share is in use.
    #[serde(skip)]
    pub(in super::super) utilizations: Vec<f64>,
    /// The slots of every sample, in order of size.
    #[serde(skip)]
    pub(in super::super) slots: Vec<usize>,
    /// The slots that were empty.
    #[serde(skip)]
    pub(in super::super) empty: Vec<usize>,
    /// The keys.
    #[serde(skip)]
    pub(in super::super) keys: Vec<usize>,
    pub(in super::super) samples: usize,
    pub(in super::super) mean_utilization: f64,
    /// While at least a tenth of the most keys were there: a set of one key wastes nearly all of
    /// any filter.
    pub(in super::super) least_utilization: f64,
    pub(in super::super) most_utilization: f64,
    /// The share of the samples below each of some utilisations: the curve of the paper's Fig. 4c.
    pub(in super::super) shares_below: Vec<(f64, f64)>,
    /// The share of the samples with fewer than 500 empty slots.
    pub(in super::super) few_empty: f64,
    /// And with more than 1,000.
    pub(in super::super) many_empty: f64,
    pub(in super::super) most_empty: usize,
    /// All memory over all keys, both summed over the samples.
    pub(in super::super) mean_bits_per_key: f64,
    /// Of which for rings.
    pub(in super::super) mean_ring_bits_per_key: f64,
    pub(in super::super) most_keys: usize,
    pub(in super::super) bits_per_key_at_the_peak: f64,
    pub(in super::super) rate_at_the_peak: f64,
    /// Of absent keys that were looked up then.
    pub(in super::super) measured_rate: f64,
    pub(in super::super) most_filters: usize,
    pub(in super::super) bytes_at_the_end: usize,
    /// Insertions and removals alone, without samples and checks.
    pub(in super::super) seconds: f64,
    pub(in super::super) refused: usize,
    pub(in super::super) false_negatives: usize,
}

/// Sums over the samples.
#[derive(Default)]
struct Sums {
    /// The least utilisation by the number of keys.
    least: Vec<f64>,
    bytes: f64,
    ring_bytes: f64,
    keys: f64,
    few_empty: usize,
}

/// A trace with what every filter needs of it.
pub(in super::super) struct Course {
    keys: Vec<String>,
    events: Vec<Event>,
    /// The most flows alive at once.
    peak: usize,
    seed: u64,
}

/// What an event has done.
enum Outcome {
    Fine,
    Refused,
    Lost,
}

impl Course {
    pub(in super::super) fn new(trace: &Trace, seed: u64) -> Self {
        Self {
            keys: trace.flows.iter().map(Flow::key).collect(),
            events: trace.events(),
            peak: trace.peak(),
            seed,
        }
    }

    pub(in super::super) fn events(&self) -> usize {
        self.events.len()
    }

    /// Follows the trace and samples it.
    pub(in super::super) fn follow(&self, way: &Way) -> anyhow::Result<Followed> {
        Ok(self.follow_with(&mut *way.empty(self.seed)?))
    }

    /// The same with a filter that is there already, and empty.
    pub(in super::super) fn follow_with(&self, filter: &mut dyn Subject<KeyHash>) -> Followed {
        let hashes = self.hashes(filter);
        self.sampled(filter, &hashes)
    }

    /// The most flows alive at once.
    pub(in super::super) fn peak(&self) -> usize {
        self.peak
    }

    fn hashes(&self, follower: &dyn Subject<KeyHash>) -> Vec<KeyHash> {
        let Some(filter) = follower.as_filter() else { return Vec::new() };
        self.keys.iter().map(|key| filter.hasher().hash(key)).collect()
    }

    fn sampled(&self, filter: &mut dyn Subject<KeyHash>, hashes: &[KeyHash]) -> Followed {
        let mut alive = vec![false; hashes.len()];
        let (mut followed, mut sums) = (Followed::default(), Sums::default());
        let mut living = 0;
        for (at, event) in self.events.iter().enumerate() {
            let was_alive = alive[event.flow];
            let (time, outcome) = timed(|| step(filter, event, hashes, &mut alive));
            followed.seconds += time.as_secs_f64();
            living = living + usize::from(alive[event.flow]) - usize::from(was_alive);
            match outcome {
                Outcome::Fine => {}
                Outcome::Refused => followed.refused += 1,
                Outcome::Lost => followed.false_negatives += 1,
            }
            let first_peak = living == self.peak && followed.most_keys < living;
            followed.sample(filter, living, &mut sums);
            if first_peak {
                followed.measured_rate = measured_rate(filter);
            }
            if at % EVENTS_BETWEEN_CHECKS == 0 {
                let living = hashes.iter().zip(&alive).filter(|(_, alive)| **alive);
                let lost = living.filter(|&(hash, _)| !filter.contains(hash));
                followed.false_negatives += lost.count();
            }
        }
        followed.bytes_at_the_end = filter.as_filter().map_or(0, Filter::size_in_bytes);
        followed.finish(&sums);
        followed
    }
}

/// Of keys that no trace has: a flow has two addresses.
fn measured_rate(filter: &dyn Subject<KeyHash>) -> f64 {
    let Some(filter) = filter.as_filter() else { return 0.0 };
    let absent = (0..PROBES).map(|number| filter.hasher().hash(&u64::absent(0, number)));
    absent.filter(|&hash| filter.contains_hash(hash)).count() as f64 / PROBES as f64
}

fn step(
    filter: &mut dyn Subject<KeyHash>,
    event: &Event,
    hashes: &[KeyHash],
    alive: &mut [bool],
) -> Outcome {
    let (hash, alive) = (hashes[event.flow], &mut alive[event.flow]);
    if event.begins {
        // A real trace may have the same flow many times over; what does not fit is not in.
        *alive = filter.insert(&hash);
        return if *alive { Outcome::Fine } else { Outcome::Refused };
    }
    if std::mem::take(alive) && filter.remove(&hash) == Some(false) {
        Outcome::Lost
    } else {
        Outcome::Fine
    }
}

impl Followed {
    fn sample(&mut self, follower: &dyn Subject<KeyHash>, keys: usize, sums: &mut Sums) {
        let Some(filter) = follower.as_filter() else { return };
        let (slots, bytes) = (filter.slots(), filter.size_in_bytes());
        self.samples += 1;
        self.slots.push(slots);
        self.empty.push(slots - keys);
        self.keys.push(keys);
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
        for counts in [&mut self.slots, &mut self.empty, &mut self.keys] {
            counts.sort_unstable();
        }
        let used = &mut self.utilizations;
        used.sort_by(f64::total_cmp);
        self.mean_utilization = used.iter().sum::<f64>() / used.len() as f64;
        let large = sums.least.iter().skip(self.most_keys / 10);
        self.least_utilization = large.copied().fold(1.0, f64::min);
        self.most_utilization = used.last().copied().unwrap_or(0.0);
        self.few_empty = sums.few_empty as f64 / self.samples as f64;
        let few = self.empty.partition_point(|&empty| empty <= MANY_EMPTY);
        self.many_empty = 1.0 - few as f64 / self.samples as f64;
        self.mean_bits_per_key = 8.0 * sums.bytes / sums.keys;
        self.mean_ring_bits_per_key = 8.0 * sums.ring_bytes / sums.keys;
        let marks = [0.5, 0.6, 0.7, 0.8, 0.85, WELL_USED, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99];
        self.shares_below = marks.map(|mark| (mark, self.share_below(mark))).to_vec();
    }

    /// The share of the samples with a smaller utilisation, once finished.
    pub(in super::super) fn share_below(&self, utilization: f64) -> f64 {
        let below = self.utilizations.partition_point(|&used| used < utilization);
        below as f64 / self.utilizations.len() as f64
    }

    pub(in super::super) fn wrong_answers(&self) -> usize {
        self.refused + self.false_negatives
    }
}
