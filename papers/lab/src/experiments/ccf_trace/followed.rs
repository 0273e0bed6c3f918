//! A trace followed to its end by one filter, and what the filter was like after every event.

use cuculus::{Filter, KeyHash};

use super::filters::{Follower, Way};
use crate::flows::{Event, Flow, Trace};
use crate::prelude::*;

/// After this many events all flows that are alive are looked up.
const EVENTS_BETWEEN_CHECKS: usize = 500;
const PROBES: u64 = 100_000;
/// A table less full than this wastes memory, in the paper's words.
pub(in super::super) const WELL_USED: f64 = 0.90;
/// More empty slots than this are many, in the paper's words.
pub(super) const FEW_EMPTY: usize = 500;
/// And far too many.
pub(super) const MANY_EMPTY: usize = 1000;

/// What a filter was like over the whole trace, by samples after every event.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Followed {
    /// Of every sample that had slots; of none no share is in use. Sorted, as the next three are.
    pub(in super::super) utilizations: Vec<f64>,
    pub(in super::super) slots: Vec<usize>,
    pub(in super::super) empty: Vec<usize>,
    pub(in super::super) keys: Vec<usize>,
    pub(in super::super) mean_utilization: f64,
    /// While at least a tenth of the most keys were there: a set of one key wastes nearly all of
    /// any filter.
    pub(in super::super) least_utilization: f64,
    pub(in super::super) most_utilization: f64,
    /// The share of the samples with fewer than 500 empty slots, and with more than 1,000.
    pub(in super::super) few_empty: f64,
    pub(in super::super) many_empty: f64,
    pub(in super::super) most_empty: usize,
    /// All memory over all keys, both summed over the samples; and of which for rings.
    pub(in super::super) mean_bits_per_key: f64,
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

#[derive(Default)]
struct Sums {
    /// The least utilisation by the number of keys.
    least: Vec<f64>,
    bytes: f64,
    ring_bytes: f64,
    keys: f64,
}

pub(in super::super) struct Course {
    keys: Vec<String>,
    pub(super) events: Vec<Event>,
    pub(in super::super) peak: usize,
    seed: u64,
}

impl Course {
    pub(in super::super) fn new(trace: &Trace, seed: u64) -> Self {
        let keys = trace.flows.iter().map(Flow::key).collect();
        Self { keys, events: trace.events(), peak: trace.peak(), seed }
    }

    pub(super) fn follow(&self, way: &Way) -> anyhow::Result<Followed> {
        Ok(self.follow_with(&mut *way.empty(self.seed)?))
    }

    pub(in super::super) fn follow_with(&self, follower: &mut dyn Follower) -> Followed {
        let hasher = follower.filter().hasher();
        let hashes: Vec<KeyHash> = self.keys.iter().map(|key| hasher.hash(key)).collect();
        let mut alive = vec![false; hashes.len()];
        let (mut followed, mut sums) = (Followed::default(), Sums::default());
        let mut living = 0;
        for (at, &Event { flow, begins, .. }) in self.events.iter().enumerate() {
            let (hash, was_alive) = (hashes[flow], alive[flow]);
            let (time, done) = timed(|| match begins {
                true => follower.insert(hash),
                false => !was_alive || follower.remove(hash),
            });
            followed.seconds += time.as_secs_f64();
            // A real trace may have the same flow many times over; what does not fit is not in.
            alive[flow] = begins && done;
            living = living + usize::from(alive[flow]) - usize::from(was_alive);
            followed.refused += usize::from(begins && !done);
            followed.false_negatives += usize::from(!begins && !done);
            let first_peak = living == self.peak && followed.most_keys < living;
            followed.sample(follower, living, &mut sums);
            if first_peak {
                followed.measured_rate = measured_rate(follower.filter());
            }
            if at % EVENTS_BETWEEN_CHECKS == 0 {
                let living = hashes.iter().zip(&alive).filter(|(_, alive)| **alive);
                let lost = living.filter(|&(&hash, _)| !follower.filter().contains_hash(hash));
                followed.false_negatives += lost.count();
            }
        }
        followed.bytes_at_the_end = follower.filter().size_in_bytes();
        followed.finish(&sums);
        followed
    }
}

/// Of keys that no trace has: a flow has two addresses.
fn measured_rate(filter: &dyn Filter) -> f64 {
    let absent = (0..PROBES).map(|number| filter.hasher().hash(&absent_key(0, number)));
    absent.filter(|&hash| filter.contains_hash(hash)).count() as f64 / PROBES as f64
}

impl Followed {
    fn sample(&mut self, follower: &dyn Follower, keys: usize, sums: &mut Sums) {
        let (filter, (filters, ring_bytes)) = (follower.filter(), follower.parts());
        let (slots, bytes) = (filter.slots(), filter.size_in_bytes());
        self.slots.push(slots);
        self.empty.push(slots - keys);
        self.keys.push(keys);
        if slots > 0 {
            let used = filter.utilization();
            self.utilizations.push(used);
            sums.least.resize(sums.least.len().max(keys + 1), 1.0);
            sums.least[keys] = sums.least[keys].min(used);
        }
        self.most_filters = self.most_filters.max(filters);
        sums.bytes += bytes as f64;
        sums.ring_bytes += ring_bytes as f64;
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
        let samples = self.empty.len() as f64;
        let fewer_than = |most| self.empty.partition_point(|&empty| empty < most) as f64 / samples;
        self.few_empty = fewer_than(FEW_EMPTY);
        self.many_empty = 1.0 - fewer_than(MANY_EMPTY + 1);
        self.most_empty = self.empty.last().copied().unwrap_or(0);
        self.mean_bits_per_key = 8.0 * sums.bytes / sums.keys;
        self.mean_ring_bits_per_key = 8.0 * sums.ring_bytes / sums.keys;
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
